"""Some sequences of an encoded corpus, as if no others had been read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hedgerow.data.dataset import Dataset
from hedgerow.data.encoding import encode, learn, learn_corpus
from hedgerow.data.sequences import Item
from hedgerow.data.settling import narrow

from .corpora import corpora

WINDOWS = st.sampled_from([0, 1, (0, 2), {"*": 1}])


def both_ways(X, kept, held, window=0, columns=None) -> tuple[tuple[Dataset, Dataset], tuple[Dataset, Dataset]]:
    """Two parts of a corpus by narrow(), and by learn() and encode()."""
    y = [["a" if t % 2 else "b" for t in range(len(x))] for x in X]
    whole = learn_corpus(X, y, columns=columns, window=window)
    alone = learn([X[i] for i in kept], [y[i] for i in kept], columns=columns, window=window)
    names = tuple(sorted({*alone.schema.labels, *whole.dataset.schema.labels}))
    schema = replace(alone.schema, labels=names)
    alone = encode(schema, [X[i] for i in kept], [y[i] for i in kept])
    rest = encode(schema, [X[i] for i in held], [y[i] for i in held], may_be_empty=True)
    parts = (whole.dataset.take(np.array(some, dtype=np.int64)) for some in (kept, held))
    return narrow(whole, np.array(kept), *parts), (alone, rest)


def shapes(dataset: Dataset) -> tuple[object, ...]:
    schema = dataset.schema
    return [(c.name, c.kind, c.constant, c.offsets) for c in schema.columns], schema.attribute_offsets


@given(corpora, WINDOWS, st.data())
@pytest.mark.filterwarnings("ignore:nothing that the model reads")
def test_a_part_is_learnt_as_if_it_were_all(X, window, data):
    kept = sorted(data.draw(st.sets(st.integers(0, len(X) - 1), min_size=1)))
    narrowed, alone = both_ways(X, kept, [i for i in range(len(X)) if i not in kept], window)
    assume(shapes(narrowed[0]) == shapes(alone[0]))  # a key may be rare in the whole, and frequent in a part
    for one, other in zip(narrowed, alone):
        assert one.equals(other)


def test_columns_of_every_kind():
    rng = np.random.default_rng(0)
    X = [
        Item(
            [
                {
                    "word": f"w{rng.integers(9)}",
                    "size": float(rng.normal()),
                    "flag": bool(t % 2),
                    f"k{rng.integers(500)}": 2.0,
                }
                for t in range(4)
            ],
            {"topic": f"t{i % 5}", "length": float(i)},
        )
        for i in range(20)
    ]
    columns = {"size": "numeric", "length": "numeric"}
    (part, rest), alone = both_ways(X, list(range(1, 20, 2)), list(range(0, 20, 2)), 1, columns)
    assert part.equals(alone[0])
    assert rest.equals(alone[1])
    whole = learn(X, columns=columns, window=1).schema
    assert len(part.schema.attributes) < len(whole.attributes)
    assert [c.center for c in part.schema.columns if c.name in columns] != [
        c.center for c in whole.columns if c.name in columns
    ]
    assert len(rest.attr_id) < 2 * 4 * 10  # what training does not show is left out


def test_values_that_only_the_others_have_are_missing():
    X = [["a", "b"], ["c", "a"], ["b", "d"]]
    (part, rest), _ = both_ways(X, [0, 2], [1])
    assert part.schema.columns[0].vocabulary.names() == ["a", "b", "d"]
    assert rest.codes[0].tolist() == [0, 2]  # MISSING, and the first value
