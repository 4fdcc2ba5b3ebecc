"""What online trainers keep between calls: a pass that is cut into calls is the same pass."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.chain.objectives import log_likelihood, perceptron
from hedgerow.trainers import make_trainer
from hedgerow.training.monitor import Monitor
from hedgerow.training.online import passes as online
from hedgerow.training.online.batches import Batches
from hedgerow.training.online.state import TrainerState
from hedgerow.training.online.trainers import train_online
from tests.models.corpora import COLUMNS, Loss, rich_corpus

MISTAKES = ("averaged_perceptron", "passive_aggressive", "arow")  # without a gain
TRAINERS = ("sgd", "annealed_sgd", "adagrad", "adam", "smd", *MISTAKES)
SIZE = 3  # sequences a batch


class InOrder(Batches):
    """Batches of the sequences in the order of the corpus."""

    def order(self, number, sequences=None):
        return iter(np.split(np.arange(self.n_sequences), range(SIZE, self.n_sequences, SIZE)))


@pytest.fixture(scope="module", params=[{}, {"transition_columns": ["word"]}], ids=["plain", "label pairs"])
def loss(request):
    return Loss(*rich_corpus(24, seed=1), columns=COLUMNS, window=1, **request.param)


def call(loss, trainer, part, start, state, n_before, gain=0.05):
    """One pass over some sequences."""
    objective = perceptron if trainer in MISTAKES else log_likelihood
    batches = InOrder(loss.layout, loss.dataset.take(np.array(part)), objective, batch_size=SIZE, n_before=n_before)
    settings = {} if trainer in MISTAKES else {"gain": gain}
    settings |= {"gain_decay": 0.9} if trainer == "smd" else {}
    given = {"l2": 0.5, "square": loss.statistics.square}
    with Monitor(max_iter=1, tol=0.0) as monitor:
        return train_online(make_trainer(trainer, settings), batches, start, monitor, **given, state=state)


@pytest.mark.parametrize("trainer", TRAINERS)
def test_a_pass_in_three_calls(loss, trainer):
    zero = np.zeros(loss.n_weights)
    whole = call(loss, trainer, range(24), zero, None, 0)
    weights, state = zero, TrainerState()
    for first, last in ((0, 6), (6, 15), (15, 24)):
        weights = call(loss, trainer, range(first, last), weights, state, n_before=24 - (last - first))
    np.testing.assert_allclose(weights, whole, rtol=0, atol=1e-11)
    assert not np.allclose(weights, zero)


@pytest.mark.parametrize("trainer", sorted({*TRAINERS} - {"sgd"}))
def test_without_what_is_kept_it_is_another_pass(loss, trainer):
    whole = call(loss, trainer, range(24), np.zeros(loss.n_weights), None, 0)
    half = call(loss, trainer, range(12), np.zeros(loss.n_weights), None, 12)
    assert not np.allclose(call(loss, trainer, range(12, 24), half, TrainerState(), 12), whole, rtol=0, atol=1e-4)


@pytest.mark.parametrize("trainer", TRAINERS)
def test_a_state_moves_with_the_weights(loss, trainer):
    """Weights between the old ones do not disturb them, and a state that has moved there and back is the same."""
    state = TrainerState()
    call(loss, trainer, range(12), np.zeros(loss.n_weights), state, 12)
    places = np.arange(0, loss.n_weights, 3)
    wide = state.moved(lambda vector, fill: np.insert(vector, places, fill))
    kept = np.delete(np.arange(loss.n_weights + len(places)), places + np.arange(len(places)))
    for name, vector in wide.vectors.items():
        np.testing.assert_array_equal(vector[kept], state.vectors[name])
        assert {*np.delete(vector, kept)} == {state.fills[name]}
    assert (wide.gain, wide.numbers) == (state.gain, state.numbers)
    assert wide.numbers is not state.numbers


def test_the_gain_is_found_once(loss, monkeypatch):
    state, start = TrainerState(), np.zeros(loss.n_weights)
    searches = []
    monkeypatch.setattr(online, "find_gain", lambda *args, **options: searches.append(1) or 0.125)
    weights = call(loss, "adagrad", range(12), start, state, 0, gain="auto")
    assert state.gain == 0.125
    call(loss, "adagrad", range(12, 24), weights, state, 12, gain="auto")
    assert len(searches) == 1
    call(loss, "adagrad", range(12, 24), weights, state, 12, gain=0.5)
    assert state.gain == 0.5
    call(loss, "adagrad", range(12), start, TrainerState(gain=0.25), 0, gain="auto")  # one that was told
    assert len(searches) == 1


@pytest.mark.parametrize("trainer", ["sgd", "adagrad", "adam"])  # the others give averages, which go on to move
def test_another_gain_goes_on_from_the_same_weights(loss, trainer):
    """With a gain near 0 the next call hardly moves the weights, whatever the gain before was."""
    state = TrainerState()
    weights = call(loss, trainer, range(12), np.zeros(loss.n_weights), state, 12)
    after = call(loss, trainer, range(12, 24), weights, state, 12, gain=1e-9)
    np.testing.assert_allclose(after, weights, rtol=0, atol=1e-6)
