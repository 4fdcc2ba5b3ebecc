"""A share of `make fuzz` in every run, and what it has found before. HEDGEROW_SEED draws other inputs."""

from __future__ import annotations

import os

import numpy as np
import pytest

from hedgerow import MEMM, InputError, LinearCRF, TreeCRF

from . import inputs

SEED = int(os.environ.get("HEDGEROW_SEED", "0"))

# Inputs that once ended in something else than sequences or an InputError.
PAST = [
    ("jsonl tokens", b'{"tokens": ["a"], "labels": ["x"], "z": ' + b"[" * 900 + b"]" * 900 + b"}\n"),
    ("jsonl features", b'{"features": [' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"]}\n"),
    ("template", b'U:%t[0,0,"' + b"a*" * 30 + b'b"]\n'),
]


@pytest.mark.parametrize(("kind", "n"), [("readers", 3000), ("api", 60)])
def test_hostile_inputs_are_used_or_refused(kind, n):
    outcomes, failures = inputs.run(kind, n, SEED)
    assert not failures
    assert min(outcomes["used"], outcomes["refused"]) > n // 40  # both happen, or inputs are too tame or too wild


@pytest.mark.parametrize(("format", "data"), PAST)
def test_what_failed_before(format, data):
    try:
        inputs.read(format, data)
    except InputError:
        return
    assert format == "template"


@pytest.mark.filterwarnings("ignore:the largest sample_weight is 1e")
def test_corpora_that_failed_before():
    rows = [[float("nan"), [1.0, 2.0]], [[0.0, 1.0]]]
    for X in (rows, [[float("nan"), np.array([1.0, 2.0])], [np.array([0.0, 1.0])]]):
        with pytest.raises(InputError, match="sequence 0, position 0"):
            LinearCRF().fit(X, [["p", "q"], ["q"]])
    for model in (LinearCRF(constraints=np.ma.masked), MEMM(conjoin=np.ma.masked)):
        with pytest.raises(InputError, match=r"(constraints|conjoin) is masked"):
            model.fit([["a"]], [["p"]])
    X, y, said = [np.ones((2, 1))] * 8, [["p", "q"]] * 8, []
    for seed in range(8):  # all that has a weight to speak of may be held out
        model = TreeCRF(window=0, n_estimators=1, leaves="mean", validation_folds=1, random_state=seed)
        try:
            model.fit(X, y, [1.0] + [1e-320] * 7)
        except InputError as error:
            said.append(str(error))
    assert said
    assert all(one.startswith("the largest sample_weight is") for one in said)


def test_what_is_found_is_told(monkeypatch):
    def fail(rng):
        raise KeyError("x")

    monkeypatch.setitem(inputs.KINDS, "readers", fail)
    outcomes, failures = inputs.run("readers", 2, 5)
    assert outcomes == {"failed": 2}
    assert failures[1].startswith("readers, seed 5, input 1: KeyError('x')")
