"""The usual attributes for chunking: words and part-of-speech tags nearby, and pairs and triples of them."""

from __future__ import annotations

from collections.abc import Sequence

# (column, offsets): the value of an attribute is what stands in the column at these offsets, joined by "|".
TEMPLATES: tuple[tuple[str, tuple[int, ...]], ...] = (
    *(("word", (offset,)) for offset in (-2, -1, 0, 1, 2)),
    *(("word", pair) for pair in ((-1, 0), (0, 1))),
    *(("pos", (offset,)) for offset in (-2, -1, 0, 1, 2)),
    *(("pos", pair) for pair in ((-2, -1), (-1, 0), (0, 1), (1, 2))),
    *(("pos", triple) for triple in ((-2, -1, 0), (-1, 0, 1), (0, 1, 2))),
)
_KEYS = tuple("|".join(f"{column}[{offset}]" for offset in offsets) for column, offsets in TEMPLATES)


def chunking_features(words: Sequence[str], tags: Sequence[str]) -> list[dict[str, str]]:
    """The 19 attributes of every position, as dicts. One that reaches outside the sentence is absent."""
    length = len(words)
    columns = {"word": words, "pos": tags}
    rows: list[dict[str, str]] = []
    for t in range(length):
        row = {}
        for key, (column, offsets) in zip(_KEYS, TEMPLATES):
            if t + offsets[0] >= 0 and t + offsets[-1] < length:
                row[key] = "|".join([columns[column][t + offset] for offset in offsets])
        rows.append(row)
    return rows
