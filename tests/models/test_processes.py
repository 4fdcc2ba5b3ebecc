"""Models in other processes, in many threads, in an install that cannot be written to; and what an import loads."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path

import joblib
import numpy as np
import pytest

import hedgerow
from hedgerow import LinearCRF
from hedgerow.datasets import make_sequences

X, Y = make_sequences(60, random_state=1)


def fit_and_predict(n_jobs: int | None) -> tuple[list[float], list[list[str]]]:
    model = LinearCRF(n_jobs=n_jobs).fit(X, Y)
    return model.weights_.tolist(), model.predict(X).tolist()


def predict(model: LinearCRF, rows: list[list[str]]) -> list[list[str]]:
    return model.predict(rows).tolist()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_give_the_same_bits(method):
    expected = fit_and_predict(2)  # a pool of threads has lived in this process before it forks
    with multiprocessing.get_context(method).Pool(1) as pool:
        assert pool.apply_async(fit_and_predict, (2,)).get(timeout=120) == expected


@pytest.mark.parametrize("mmap_mode", [None, "r"])
def test_loky(mmap_mode):
    model = LinearCRF(window=2).fit(X, Y)
    run = joblib.Parallel(n_jobs=2, backend="loky", max_nbytes=10 if mmap_mode else None, mmap_mode=mmap_mode or "r")
    parts = run(joblib.delayed(predict)(model, part) for part in (X[:30], X[30:]))
    assert parts[0] + parts[1] == model.predict(X).tolist()


def test_eight_threads_at_once():
    """On one model that has answered nothing yet: what it builds at its first answer is built by all of them."""
    rows = X * 5
    expected = LinearCRF(window=1).fit(X, Y).predict(rows).tolist()
    model = LinearCRF(window=1, n_jobs=2).fit(X, Y)
    barrier, found, errors = threading.Barrier(8), [], []

    def work() -> None:
        try:
            barrier.wait()
            for _ in range(3):
                found.append(model.predict(rows).tolist())
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(found) == 24
    assert all(one == expected for one in found)


def run_python(code: str, **environment: str) -> str:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "PYTHON", "XDG", "HOME"))}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=inherited | environment, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_read_only_install(tmp_path):
    """No cache beside the package, none in the home folder: everything is compiled anew, and works.

    File modes do not hold an administrator back, so the caches are made impossible: plain files stand where their
    folders would be.
    """
    place = tmp_path / "site"
    shutil.copytree(
        Path(hedgerow.__file__).parent, place / "hedgerow", ignore=shutil.ignore_patterns("__pycache__", "*.nb*")
    )
    for folder in [place / "hedgerow", *(p for p in (place / "hedgerow").rglob("*") if p.is_dir())]:
        (folder / "__pycache__").write_text("in the way")
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
    home = tmp_path / "home"
    home.write_text("not a folder")
    code = (
        "import hedgerow, sys\n"
        "from hedgerow import HMM\n"  # the model with the fewest kernels
        "model = HMM().fit([['the', 'cat'], ['a', 'dog']], [['D', 'N'], ['D', 'N']])\n"
        "print(hedgerow.__file__, model.predict([['the', 'dog']]).tolist())\n"
    )
    try:
        found = run_python(code, HOME=str(home), PYTHONPATH=str(place), PYTHONDONTWRITEBYTECODE="1")
        assert found == f"{place / 'hedgerow' / '__init__.py'} [['D', 'N']]"
        assert not list(place.rglob("*.nbc"))
    finally:
        for folder in [place / "hedgerow", *(p for p in (place / "hedgerow").rglob("*") if p.is_dir())]:
            folder.chmod(stat.S_IRWXU)


def loaded(code: str) -> set[str]:
    return set(run_python(f"import sys\n{code}\nprint(*sys.modules)").split())


def test_importing_the_estimator_loads_little_beyond_its_base():
    base = loaded("import sklearn.base, sklearn.exceptions, sklearn.utils.validation, numpy, json")
    more = loaded("from hedgerow import LinearCRF") - base
    roots = {name.partition(".")[0] for name in more}
    assert "hedgerow" in roots
    heavy = {
        "numba",
        "llvmlite",
        "pandas",
        "polars",
        "matplotlib",
        "narwhals",
        "rich",
        "typer",
        "pyarrow",
        "safetensors",
    }
    assert not roots & heavy
    assert not {name for name in more if name.startswith(("scipy.", "sklearn."))}


def test_read_only_weights_predict_the_same():
    model = LinearCRF().fit(X, Y)
    expected = model.predict(X).tolist()
    model.weights_ = model.weights_.copy()
    model.weights_.flags.writeable = False
    assert model.predict(X).tolist() == expected
    assert np.isfinite(model.entropy(X)).all()
