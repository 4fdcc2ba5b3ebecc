"""Schemas in files: what is written comes back, and offsets that no window has are refused."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow import LinearCRF, TreeCRF
from hedgerow.data.dataset import OUTSIDE_COLUMN
from hedgerow.data.encoding import learn
from hedgerow.data.rows import Item
from hedgerow.errors import ModelFileError
from hedgerow.estimators.codec.parts import pack, unpack
from hedgerow.estimators.codec.schema import SCHEMA
from hedgerow.estimators.files import pack_model, unpack_model

from .corpora import COLUMNS, rich_corpus

CORPUS = rich_corpus(10, seed=4)

side = st.integers(0, 3)
windows = side | st.tuples(side, side)


@given(st.dictionaries(st.sampled_from(["word", "size", "upper", "*"]), windows) | windows)
def test_every_window_comes_back(window):
    schema = learn(*CORPUS, columns=COLUMNS, window=window).schema
    assert unpack(SCHEMA, *pack(SCHEMA, schema)) == schema


def test_a_feature_of_the_whole_sequence_may_have_any_name():
    X = [Item(["a", "b"], {OUTSIDE_COLUMN: "x"})]
    schema = learn(X, [["A", "B"]]).schema
    assert unpack(SCHEMA, *pack(SCHEMA, schema)) == schema


@pytest.fixture(scope="module")
def packed() -> list[tuple[dict[str, Any], dict[str, np.ndarray]]]:
    """A linear model and one of trees, each with windows of several widths."""
    window = {"word": (2, 1), "size": 1, "*": (0, 2)}
    trees = TreeCRF(columns=COLUMNS, window=window, n_estimators=2, l2_regularization=1.0, early_stopping=False)
    linear = LinearCRF(columns=COLUMNS, window=window)
    return [pack_model(model.fit(*CORPUS)) for model in (trees, linear)]


offsets = st.lists(st.integers(-4, 4), max_size=6) | st.tuples(side, side).map(lambda w: [*range(-w[0], w[1] + 1)])


@given(data=st.data())
def test_offsets_are_a_window_or_refused(packed, data):
    """No change of the offsets gives a schema with a window that has a gap, or that goes back, or one of a feature of
    the whole sequence."""
    header, tensors = data.draw(st.sampled_from(packed))
    header = copy.deepcopy(header)
    entries = [*header["state"]["schema"]["columns"], None]
    entry = entries[data.draw(st.integers(0, len(entries) - 1))]
    changed = data.draw(offsets)
    if entry is None:
        header["state"]["schema"]["attribute_offsets"] = changed
    else:
        entry["offsets"] = changed
    sound = 0 in changed and changed == [*range(min(changed), max(changed) + 1)]
    if entry is not None and entry["constant"]:
        sound = changed == [0]
    elif entry is not None and entry["name"] == OUTSIDE_COLUMN:
        around = sorted({*changed, 0})
        sound = bool(changed) and around == [*range(around[0], around[-1] + 1)] and changed == [o for o in around if o]
    if not sound:
        with pytest.raises(ModelFileError):
            unpack_model(header, tensors)
        return
    prefix = "schema."
    own = {name.removeprefix(prefix): array for name, array in tensors.items() if name.startswith(prefix)}
    schema = unpack(SCHEMA, header["state"]["schema"], own)
    assert list(schema.attribute_offsets if entry is None else schema.columns[entries.index(entry)].offsets) == changed
    try:
        model = unpack_model(header, tensors)
    except ValueError:  # weights and splits of another window
        return
    assert len(model.predict(CORPUS[0])) == len(CORPUS[0])
