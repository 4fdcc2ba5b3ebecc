"""What python-crfsuite's Tagger tells of a model: `info()` and `dump()`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hedgerow.compat.model_files import CRFsuiteModel, read_header, write_model
from hedgerow.data.dataset import Label


@dataclass(frozen=True)
class ParsedDump:
    """What a model holds.

    header : name to value, all text, of the file's header
    labels, attributes : name to number, as text
    transitions : (from, to) to weight; state_features : (attribute, label) to weight
    """

    header: dict[str, str]
    labels: dict[Label, str]
    attributes: dict[str, str]
    transitions: dict[tuple[Label, Label], float]
    state_features: dict[tuple[str, Label], float]


def describe(source: CRFsuiteModel) -> ParsedDump:
    """A model as `Tagger.info` gives it. Weights are not rounded, as python-crfsuite's are."""
    labels, attributes = source.labels, source.attributes
    header = {name: str(value) for name, value in read_header(write_model(source)).items()}
    for name in header:
        if name.startswith("off_"):
            header[name] = f"0x{int(header[name]):X}"
    moves = zip(source.move_from.tolist(), source.move_to.tolist(), source.move.tolist())
    states = zip(source.state_from.tolist(), source.state_to.tolist(), source.state.tolist())
    return ParsedDump(
        header,
        {name: str(number) for number, name in enumerate(labels)},
        {name: str(number) for number, name in enumerate(attributes)},
        {(labels[u], labels[v]): weight for u, v, weight in moves},
        {(attributes[a], labels[v]): weight for a, v, weight in states},
    )


def dumped(source: CRFsuiteModel) -> str:
    """A model as `crfsuite dump` writes it."""
    return "".join(f"{line}\n" for line in _lines(describe(source)))


def _lines(info: ParsedDump) -> Iterator[str]:
    yield from _block("FILEHEADER", (f"{name}: {value}" for name, value in info.header.items()))
    yield from _block("LABELS", (f"{number:>5}: {name}" for name, number in info.labels.items()))
    yield from _block("ATTRIBUTES", (f"{number:>5}: {name}" for name, number in info.attributes.items()))
    for title, kind, weights in (("TRANSITIONS", 1, info.transitions), ("STATE_FEATURES", 0, info.state_features)):
        yield from _block(title, (f"({kind}) {u} --> {v}: {weight:f}" for (u, v), weight in weights.items()))


def _block(title: str, lines: Iterator[str]) -> Iterator[str]:
    yield f"{title} = {{"
    yield from (f"  {line}" for line in lines)
    yield from ("}", "")
