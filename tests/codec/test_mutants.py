"""Forged files are refused or give sane labels. HEDGEROW_MUTANTS=10000 tries so many of every kind, as `make fuzz`."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.project.sources import ROOT

from . import mutants

EACH = int(os.environ.get("HEDGEROW_MUTANTS", "16"))  # of 13 kinds: 208 in all
SEED = os.environ.get("HEDGEROW_SEED", "0")


def run(*arguments: str) -> tuple[int, str]:
    """Run mutants with kernels as plain Python, in which an index beyond an array is an error."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-m", "tests.codec.mutants", "--seed", SEED, *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_mutants_are_refused_or_used():
    code, output = run("--each", str(EACH))
    assert code == 0, output
    counts = {name: int(n) for name, n in re.findall(r"'(\w+)': (\d+)", output.splitlines()[-1])}
    assert sum(counts.values()) >= 200
    assert counts["refused"] > 50  # both happen, or the mutants are too tame or too wild
    assert counts["used"] > 20


@pytest.mark.parametrize(
    ("check", "change", "kind"),
    [
        ("rises", "change_pointers", "TreeCRF"),
        ("check_children", "share_children", "TreeCRF"),
        ("check_columns", "change_words", "RecurrentSlidingWindow"),
    ],
)
def test_mutants_find_what_a_check_guards(check, change, kind):
    code, output = run("--each", "40", "--only", change, "--without", check, kind)
    assert code == 1 or code < 0, output  # an error, or a process that died of it


def test_every_change_changes_something(rng):
    header, tensors = mutants.persistence.read(mutants.paths("forest")[0])
    whole = mutants.seal(header, tensors)
    for change in mutants.CHANGES:
        tries = []
        for _ in range(40):
            own, arrays = mutants.copy.deepcopy(header), dict(tensors)
            change(rng, own, arrays)
            tries.append(mutants.seal(own, arrays) != whole)
        assert sum(tries) > 20, change.__name__
