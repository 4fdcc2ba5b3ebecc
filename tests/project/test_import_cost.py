"""`import hedgerow` and `hedgerow --help` load nothing that is slow to load."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("matplotlib", "narwhals", "numba", "pandas", "polars", "pyarrow", "scipy", "sklearn")


def loaded_by(code: str) -> set[str]:
    """Which heavy packages a fresh interpreter has loaded after this code."""
    report = f"import sys; print('LOADED', *(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split()[1:])


def test_importing_the_package():
    assert loaded_by("import hedgerow") == set()


@pytest.mark.parametrize(
    "module", ["data.sequences", "persistence", "chain.kernels", "datasets", "explain", "report", "errors"]
)
def test_importing_modules_that_need_nothing_heavy(module):
    assert loaded_by(f"import hedgerow.{module}") == set()


def test_the_help_of_the_command():
    code = (
        "import sys\n"
        "from hedgerow.cli.main import main\n"
        "sys.argv = ['hedgerow', '--help']\n"
        "try:\n"
        "    main()\n"
        "except SystemExit as end:\n"
        "    assert not end.code\n"
        "else:\n"
        "    raise AssertionError('--help should end the program')\n"
    )
    assert loaded_by(code) == set()


def test_the_check_can_fail():
    assert loaded_by("import scipy") == {"scipy"}
