"""Made-up data: drawn from the model it says, the same for the same seed, of the shape it promises."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest

from hedgerow.datasets import MadeChain, make_chunking_like, make_sequences
from hedgerow.datasets.made import walk
from hedgerow.errors import InputError


def test_the_shape_is_as_asked():
    X, y = make_sequences(50, 4, n_tokens=7, mean_length=6.0)
    assert len(X) == len(y) == 50
    assert [len(x) for x in X] == [len(labels) for labels in y]
    assert {label for labels in y for label in labels} <= {"L0", "L1", "L2", "L3"}
    assert {token for x in X for token in x} <= {f"w{i}" for i in range(7)}
    assert 4.5 < np.mean([len(x) for x in X]) < 7.5
    assert min(len(x) for x in X) >= 1


def test_the_seed_decides():
    assert make_sequences(random_state=1) == make_sequences(random_state=1)
    assert make_sequences(random_state=1) != make_sequences(random_state=2)
    assert make_chunking_like(3, random_state=1) == make_chunking_like(3, random_state=1)
    assert make_chunking_like(3, random_state=1) != make_chunking_like(3, random_state=2)


def test_frequencies_are_those_of_the_chain(rng):
    chain = MadeChain.draw(3, 5, 1.0, rng)
    lengths = np.full(20_000, 6)
    tokens, labels = chain.sample(lengths, rng)
    table = labels.reshape(-1, 6)
    starts = np.bincount(table[:, 0], minlength=3) / len(table)
    np.testing.assert_allclose(starts, chain.start, atol=0.015)
    for label in range(3):
        follows = table[:, 1:][table[:, :-1] == label]
        np.testing.assert_allclose(
            np.bincount(follows, minlength=3) / len(follows), chain.transitions[label], atol=0.02
        )
        emitted = tokens[labels == label]
        np.testing.assert_allclose(np.bincount(emitted, minlength=5) / len(emitted), chain.emissions[label], atol=0.02)


def test_a_chain_does_not_run_from_one_sequence_into_the_next(rng):
    """Every state leads only to the next one, and every sequence starts in state 0."""
    forward = np.roll(np.eye(5), 1, axis=1)
    lengths = np.array([3, 1, 5, 2])
    states = walk(np.eye(5)[0], forward, lengths, rng)
    assert states.tolist() == [0, 1, 2, 0, 0, 1, 2, 3, 4, 0, 1]


@pytest.mark.parametrize(
    "wrong", [{"n_sequences": 0}, {"n_labels": 0}, {"n_tokens": 0}, {"mean_length": 0.5}, {"concentration": 0.0}]
)
def test_sizes_that_make_no_sense(wrong):
    with pytest.raises(InputError):
        make_sequences(**wrong)
    with pytest.raises(InputError):
        make_chunking_like(0)


def test_chunking_like_data_has_the_size_of_conll2000():
    X, y = make_chunking_like()
    assert len(X) == 8936
    assert 205_000 < sum(len(x) for x in X) < 218_000
    attributes = {pair for sentence in X for row in sentence for pair in row.items()}
    assert 325_000 < len(attributes) < 345_000
    labels = Counter(label for sentence in y for label in sentence)
    assert len(labels) == 22
    assert {row["pos[0]"] for sentence in X for row in sentence} == {f"T{i}" for i in range(44)}
    for sentence in y:
        for before, label in itertools.pairwise(["O", *sentence]):
            assert not label.startswith("I-") or before[2:] == label[2:]
