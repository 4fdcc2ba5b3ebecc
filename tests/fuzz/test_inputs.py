"""A share of `make fuzz` in every run, and what it has found before. HEDGEROW_SEED draws other inputs."""

from __future__ import annotations

import os

import pytest

from hedgerow import InputError

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


def test_what_is_found_is_told(monkeypatch):
    def fail(rng):
        raise KeyError("x")

    monkeypatch.setitem(inputs.KINDS, "readers", fail)
    outcomes, failures = inputs.run("readers", 2, 5)
    assert outcomes == {"failed": 2}
    assert failures[1].startswith("readers, seed 5, input 1: KeyError('x')")
