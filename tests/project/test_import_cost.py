"""`import hedgerow`, `hedgerow --help` and a command without its file load nothing that is slow to load."""

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


def loaded_by_command(arguments: str, code: int, *said: str) -> set[str]:
    """Which heavy packages a command has loaded that ends with this code, and says this on standard error."""
    script = (
        "import contextlib, io, sys\n"
        "from hedgerow.cli.main import main\n"
        f"sys.argv = ['hedgerow', *{arguments.split()!r}]\n"
        "with contextlib.redirect_stderr(io.StringIO()) as errors:\n"
        "    try:\n"
        "        main()\n"
        "    except SystemExit as end:\n"
        f"        assert (end.code or 0) == {code}, end.code\n"
        "    else:\n"
        "        raise AssertionError('the program should have ended')\n"
        f"assert all(words in errors.getvalue() for words in {said!r}), errors.getvalue()\n"
    )
    return loaded_by(script)


@pytest.mark.parametrize("arguments", ["--help", "--version", "train --help"])
def test_the_help_of_the_command(arguments):
    assert loaded_by_command(arguments, 0) == set()


@pytest.mark.parametrize(
    "arguments",
    [
        "train gone.csv --by day --label activity -o model.hedgerow",
        "tag gone.hedgerow new.csv",
        "eval gone.hedgerow new.csv",
        "report gone.hedgerow new.csv -o report.html",
        "compare gone.csv --models hmm,crf",
        "info gone.hedgerow",
        "explain gone.hedgerow",
        "lattice segment gone.hedgerow images -o masks",
    ],
)
def test_that_a_file_is_missing_is_said_at_once(arguments):
    assert loaded_by_command(arguments, 2, "hedgerow: gone.", "No such file or directory") == set()


def test_the_check_can_fail():
    assert loaded_by("import scipy") == {"scipy"}
