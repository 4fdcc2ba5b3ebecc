"""The check that the tests of the kernels call each of them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests import kernel_calls

from .sources import ROOT


def run(*arguments: str, **settings: str) -> tuple[int, str]:
    """The exit status and the output of pytest with the plugin, in another process."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.kernel_calls", *arguments]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "PYTEST_"))}
    done = subprocess.run(command, cwd=ROOT, env=environment | settings, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("workers", ["0", "1"])
def test_what_is_not_called_is_named(workers):
    status, said = run("-n", workers, "tests/kernels/test_vectors.py", NUMBA_DISABLE_JIT="1")
    assert status == 1
    missed = {line.removeprefix("never called: ") for line in said.splitlines() if line.startswith("never called: ")}
    called = {name for name in kernel_calls.kernels() if ".vectors." in name}
    assert missed == kernel_calls.kernels() - called
    assert " passed" in said
    assert " failed" not in said


def test_compiled_kernels_cannot_be_watched():
    status, said = run("-n", "0", "tests/kernels/test_vectors.py")
    assert status not in (0, 1)
    assert "needs NUMBA_DISABLE_JIT=1" in said


def test_kernels_are_found():
    names = kernel_calls.kernels()
    assert len(names) > 300
    assert {"hedgerow.lattice.kernels.messages.propagate", "hedgerow.lattice.kernels.messages.tell"} <= names
