"""When a checkpoint is written, and what becomes of it when training is interrupted."""

from __future__ import annotations

import os
import signal
import time
import warnings

import pytest

from hedgerow import Checkpoint, LinearCRF
from hedgerow.datasets import make_sequences
from hedgerow.metrics import label_accuracy
from tests.models.checkpoints import bits

X, Y = make_sequences(24, n_tokens=20, mean_length=6, random_state=0)


class Counted(Checkpoint):
    """Counts its writes, each of which takes a while."""

    def __init__(self, path, every, cost=0.0):
        super().__init__(path, every=every)
        self.writes, self.cost = 0, cost

    def _write(self):
        super()._write()
        self.writes += 1
        self._cost = self.cost or self._cost


@pytest.mark.parametrize(("every", "cost", "writes"), [(30.0, 0.0, 0), (0.0, 100.0, None), (1e-6, 100.0, 1)])
def test_it_is_written_now_and_then_and_takes_a_hundredth_of_the_time(tmp_path, every, cost, writes):
    kept = Counted(tmp_path / "kept", every, cost)
    fit(LinearCRF(window=0, max_iter=10, tol=0), checkpoint=kept)
    assert kept.writes == writes if writes is not None else kept.writes > 10


def pressing(number: int, at: int):
    """A metric in whose call `at` a signal comes."""
    presses = iter([n == at for n in range(1, 10_000)])  # no setting that a checkpoint would compare

    def metric(true, predicted):
        if next(presses):
            os.kill(os.getpid(), number)
            time.sleep(0.01)
        return label_accuracy(true, predicted)

    return metric


def fit(model, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X[:16], Y[:16], X_val=X[16:], y_val=Y[16:], **more)


@pytest.mark.parametrize("trainer", ["lbfgs", "adagrad"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_is_interrupted_goes_on(tmp_path, number, trainer):
    def model(metric):
        return LinearCRF(window=0, l2=0.001, trainer=trainer, random_state=0, max_iter=12, scoring=metric)

    path, quiet = tmp_path / "kept", pressing(number, -1)
    expected = bits(fit(model(quiet)))
    handlers = [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    half = fit(model(pressing(number, 5)), checkpoint=Checkpoint(path, every=600.0))
    assert [signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == handlers
    assert (half.outcome_, half.n_iter_) == ("interrupted", 4)
    assert path.exists(), "an interrupted training may go on"
    # The metric is called once before training, and not again for the iterations that are kept.
    again = fit(model(quiet), checkpoint=path)
    assert bits(again)[1:] == expected[1:]
    assert not path.exists()
