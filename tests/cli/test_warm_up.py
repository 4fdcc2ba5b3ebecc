"""`hedgerow warm-up`."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from hedgerow.cli import warm_up
from hedgerow.cli.models import MODELS, make_model


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_what_a_model_needs_is_compiled_once(tmp_path):
    command = [sys.executable, "-m", "hedgerow", "warm-up", "--model", "hmm"]
    said = []
    for _ in range(2):
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stderr == ""  # which is no terminal
        said.append(done.stdout)
    n, _, rest = said[0].partition(" ")
    assert int(n) > 3
    assert (rest, said[1]) == ("kernels compiled\n", "nothing to compile: all is there\n")


def test_a_bar_on_a_terminal(monkeypatch, capsys):
    bars = []

    def bar(what, total, inner=warm_up.progress_bar):
        bars.append(inner(what, total))
        return bars[0]

    monkeypatch.setattr(warm_up, "progress_bar", bar)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    warm_up.warm_up(["hmm"])
    assert [(task.completed, task.total) for task in bars[0].tasks] == [(3, 3)]
    warm_up.warm_up(["hmm"], quiet=True)
    assert len(bars) == 1


def test_all_is_every_model_and_lattices():
    work = warm_up._work(["all"])
    assert {type(model).__name__ for model, _, _ in work} == {
        *(type(make_model(name, {})).__name__ for name in MODELS),
        "LatticeCRF",
        "TreeLatticeCRF",
    }
    n_variants = sum(map(len, warm_up.VARIANTS.values()))
    assert len(work) == 2 * (len(MODELS) + n_variants) + 4
    assert len({repr(model) for model, _, _ in work}) == len(MODELS) + n_variants + 2  # no variant is the default
    assert len(warm_up._work(["all", "hmm"])) == len(work)


def test_a_model_that_there_is_not(hedgerow):
    done = hedgerow("warm-up", "--model", "forest")
    assert (done.code, done.out) == (2, "")
    assert "--model is 'forest'" in done.err
