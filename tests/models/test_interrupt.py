"""Ctrl-C while a model trains."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hedgerow import LinearCRF
from hedgerow.datasets import make_sequences
from hedgerow.metrics import label_accuracy

DATA = make_sequences(60, n_tokens=40, concentration=1.5, random_state=1)


def interrupting(times: dict[int, int]):
    """A metric that presses Ctrl-C so many times at the given iterations."""
    calls = iter(range(1, 10_000))

    def metric(true, predicted):
        for _ in range(times.get(next(calls), 0)):
            os.kill(os.getpid(), signal.SIGINT)
        return label_accuracy(true, predicted)

    return metric


def test_the_best_so_far_is_kept():
    # The metric is tried once before training, so its fifth call is in iteration 4.
    before = signal.getsignal(signal.SIGINT)
    X, y = DATA
    model = LinearCRF(l2=0.001, scoring=interrupting({5: 1}), n_iter_no_change=100)
    with pytest.warns(ConvergenceWarning, match="interrupted after 4 iterations"):
        model.fit(X[:30], y[:30], X_val=X[30:], y_val=y[30:])
    assert (model.outcome_, model.n_iter_) == ("interrupted", 4)
    scores = [step.score for step in model.history_]
    assert model.best_iteration_ == max(i for i, score in enumerate(scores, 1) if score == max(scores))
    assert model.score(X[30:], y[30:]) == max(scores)
    assert signal.getsignal(signal.SIGINT) is before


def test_twice_gives_up():
    before = signal.getsignal(signal.SIGINT)
    X, y = DATA
    model = LinearCRF(l2=0.001, scoring=interrupting({3: 2}), n_jobs=2)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:30], y[:30], X_val=X[30:], y_val=y[30:])
    assert not hasattr(model, "weights_")
    assert signal.getsignal(signal.SIGINT) is before
    assert threading.active_count() == 1 or all("hedgerow" not in thread.name for thread in threading.enumerate())


def test_a_worker_thread_can_fit():
    models = []
    thread = threading.Thread(target=lambda: models.append(LinearCRF().fit(*DATA)))
    thread.start()
    thread.join()
    np.testing.assert_array_equal(models[0].weights_, LinearCRF().fit(*DATA).weights_)


SCRIPT = """
import logging, sys, warnings
from hedgerow import LinearCRF
from hedgerow.datasets import make_sequences
warnings.simplefilter("ignore")

class Announce(logging.Handler):
    def emit(self, record):
        print(record.getMessage(), file=sys.stderr, flush=True)

logging.getLogger("hedgerow").addHandler(Announce())
logging.getLogger("hedgerow").setLevel(logging.INFO)
X, y = make_sequences(3000, 12, n_tokens=200, concentration=3.0)
model = LinearCRF(l2=1e-6, tol=0.0, max_iter=100_000, verbose=1, n_jobs=2).fit(X, y)
print(model.outcome_, model.n_iter_ >= 2, len(model.predict(X[:1])[0]) == len(X[0]))
"""


@pytest.mark.parametrize("times", [1, 2])
def test_from_outside(times):
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )  # fmt: skip
    try:
        assert process.stderr is not None
        assert process.stdout is not None
        for line in process.stderr:
            if line.startswith("iteration 2 "):
                break
        for _ in range(times):
            process.send_signal(signal.SIGINT)
            next(line for line in process.stderr if "stopping after" in line or "KeyboardInterrupt" in line)
        out = process.stdout.read()
        process.wait(timeout=60)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()
    if times == 1:
        assert (out, process.returncode) == ("interrupted True True\n", 0)
    else:
        assert out == ""
        assert process.returncode != 0
