"""Sentences that come as rows of tokens: Hugging Face's datasets, dicts of lists, frames with lists, and spaCy's Docs.

None of the packages is imported: what is given says where it is from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from hedgerow.data.readers.columns import BadValue, objects, plain_labels
from hedgerow.errors import InputError, shown
from hedgerow.legend import AnyArray

UNKNOWN = -1  # a label that a test part does not tell, where labels are numbers of names
IGNORED = -100  # what Hugging Face's labels have where a token has none
TOKENS = "tokens"
ENTITIES = "ents"  # of a Doc; other labels are the names of attributes of its tokens


class TokenRows(NamedTuple):
    """Lists of tokens, and lists of labels where there are any."""

    X: list[list[str]]
    y: AnyArray | None


def has_rows(X: Any) -> bool:
    """Whether X is a dataset, a dict of lists, or a Doc or several."""
    return isinstance(X, Mapping) or _is_dataset(X) or _docs(X) is not None


def _is_dataset(X: Any) -> bool:
    return type(X).__module__.partition(".")[0] == "datasets" and hasattr(X, "column_names")


def _docs(X: Any) -> list[Any] | None:
    """The Docs that X is."""
    first = X[0] if isinstance(X, (list, tuple)) and len(X) else X
    if type(first).__module__.partition(".")[0] != "spacy" or not hasattr(first, "ents"):
        return None
    return list(X) if isinstance(X, (list, tuple)) else [X]


def token_rows(X: Any, tokens: str | None, label: str | None, *, labelled: bool) -> TokenRows:
    """The tokens of X, which `has_rows` or is a frame, and with `labelled` their labels."""
    docs = _docs(X)
    if docs is not None:
        y = objects([_doc_labels(doc, label or ENTITIES) for doc in docs]) if labelled else None
        return TokenRows([[token.text for token in doc] for doc in docs], y)
    if isinstance(getattr(X, "column_names", None), Mapping) or (isinstance(X, Mapping) and _is_dataset(X)):
        raise InputError("X is several datasets", hint=f"Give one of them: X[{next(iter(X))!r}].")
    found = [list(row) for row in _column(X, tokens or TOKENS)]
    if not labelled:
        return TokenRows(found, None)
    if label is None:
        raise InputError("y is missing", hint="Name the column of labels: ⟦label='ner_tags'⟧.")
    names = _class_names(X, label)
    return TokenRows(found, objects([_labels(row, names, i) for i, row in enumerate(_column(X, label))]))


def _column(X: Any, name: str) -> Iterable[Any]:
    names = list(X) if isinstance(X, Mapping) else list(getattr(X, "column_names", None) or X.columns)
    if name not in names:
        hint = f"Name another with ⟦tokens⟧ or ⟦label⟧. Columns are {shown(names, 20)}."
        raise InputError(f"there is no column {name!r}", hint=hint)
    column = X[name]
    return column.to_pylist() if hasattr(column, "to_pylist") else list(column)


def _class_names(X: Any, label: str) -> list[str] | None:
    """The names of the labels, where a dataset has them: it stores their numbers."""
    feature = getattr(X, "features", {}).get(label) if _is_dataset(X) else None
    names = getattr(getattr(feature, "feature", None), "names", None)
    return None if names is None else list(names)


def _labels(row: Any, names: list[str] | None, i: int) -> list[Any]:
    try:
        labels = [None if label == IGNORED else label for label in plain_labels(row)]
    except BadValue as bad:
        raise InputError(bad.what, hint=bad.hint, sequence=i, position=bad.row) from None
    if names is None:
        return labels
    for t, label in enumerate(labels):
        if isinstance(label, int) and not UNKNOWN <= label < len(names):
            what = f"the label {label} is not one of 0 … {len(names) - 1}, the numbers of the names"
            raise InputError(what, hint=f"{UNKNOWN} and {IGNORED} stand for no label.", sequence=i, position=t)
    return [(None if label == UNKNOWN else names[label]) if isinstance(label, int) else label for label in labels]


def _doc_labels(doc: Any, label: str) -> list[Any]:
    """The entities as B-, I- and O, None where nobody looked; or an attribute of the tokens."""
    if label == ENTITIES:
        kinds = {"B": "B-", "I": "I-", "O": "O"}
        return [kinds[t.ent_iob_] + t.ent_type_ if t.ent_iob_ in kinds else None for t in doc]
    name = label if label.endswith("_") else f"{label}_"
    if len(doc) and not isinstance(getattr(doc[0], name, None), str):
        what = f"tokens of spaCy have no text {name!r}"
        raise InputError(what, hint="⟦label⟧ is 'ents', 'tag', 'pos', 'dep' or 'lemma'.")
    return [getattr(token, name) or None for token in doc]
