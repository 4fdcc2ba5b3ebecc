"""Corpora for the tests of the data folder, and a Dataset read back as python-crfsuite would name its features."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from hedgerow.data.dataset import OUTSIDE_COLUMN, Dataset
from hedgerow.legend import FIRST_VALUE, MISSING, OUTSIDE

WORDS = [["the", "cat", "sat"], ["a", "dog"], ["the", "end", "of", "it"]]
TAGS = [["DT", "NN", "VB"], ["DT", "NN"], ["DT", "NN", "IN", "PR"]]

texts = st.text(alphabet="abcxyzäß ", max_size=3)
numbers = st.floats(-8, 8, allow_nan=False).map(lambda x: round(x, 2))
names = st.lists(texts, max_size=3, unique=True)

# A position in CRFsuite's shape. The keys "k…" hardly repeat: rows of them are not turned over by their keys.
positions = st.fixed_dictionaries(
    {},
    optional={
        "word": texts | st.none(),
        "weight": numbers,
        "flag": st.booleans(),
        "names": names,
        "more": names.map(set),
        "inner": st.fixed_dictionaries({}, optional={"text": texts, "number": numbers, "list": names}),
    },
).flatmap(
    lambda row: st.dictionaries(st.integers(0, 400).map("k{}".format), numbers, max_size=2).map(lambda more: row | more)
)
corpora = st.lists(st.lists(positions, min_size=1, max_size=5), min_size=1, max_size=8)


def features(dataset: Dataset, i: int, t: int) -> dict[str, float]:
    """The features of one position by python-crfsuite's names, read back from the arrays; zeros are left out."""
    place = int(dataset.start[i]) + t
    found: dict[str, float] = {}
    for column, row in zip(dataset.schema.of("categorical", "boolean"), dataset.codes):
        code = int(row[place])
        if code == MISSING or column.name == OUTSIDE_COLUMN:
            continue
        assert code != OUTSIDE
        if column.vocabulary is None:
            found[column.name] = float(code - FIRST_VALUE)
        else:
            found[f"{column.name}:{column.vocabulary.names()[code - FIRST_VALUE]}"] = 1.0
    for column, row in zip(dataset.schema.of("numeric"), dataset.numeric):
        absent = np.isnan(row[place]) and not np.isnan(column.fill)
        found[column.name] = column.fill if absent else float(row[place])
    attributes = dataset.schema.attributes.names()
    for q in range(dataset.attr_ptr[place], dataset.attr_ptr[place + 1]):
        weight = 1.0 if dataset.attr_val is None else float(dataset.attr_val[q])
        name = attributes[dataset.attr_id[q]]
        found[name] = found.get(name, 0.0) + weight
    return {name: value for name, value in found.items() if value != 0}


def value(dataset: Dataset, name: str, i: int, t: int) -> Any:
    """The value of one column as the arrays hold it: "missing", "outside", a text, a bool or a number."""
    place = int(dataset.start[i]) + t
    for column, row in zip(dataset.schema.of("categorical", "boolean"), dataset.codes):
        if column.name == name:
            special = {MISSING: "missing", OUTSIDE: "outside"}
            code = int(row[place])
            if code in special:
                return special[code]
            return bool(code - FIRST_VALUE) if column.vocabulary is None else column.vocabulary.names()[code - 2]
    for column, row in zip(dataset.schema.of("numeric"), dataset.numeric):
        if column.name == name:
            return float(row[place])
    raise KeyError(name)
