"""`hedgerow warm-up`: compile the kernels that models need, before the first of them is trained."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Annotated, Any

from hedgerow.cli import train_options as options
from hedgerow.cli.models import find_model, make_model
from hedgerow.cli.train_options import option


def command(
    models: Annotated[list[str] | None, option("NAME", "Of this model: linear, tree, hmm, …", "--model", "-m")] = None,
    quiet: options.Quiet = False,
) -> None:
    """Compile kernels now, and keep them: a first training is then as fast as any.

    By default those of linear and tree. The environment variable NUMBA_CACHE_DIR says where they are kept.
    """
    compiled = warm_up(models or ("linear", "tree"), quiet=quiet)
    if not quiet:
        print(f"{len(compiled)} kernels compiled" if compiled else "nothing to compile: all is there")


def warm_up(models: Sequence[str] = ("linear", "tree"), *, quiet: bool = False) -> list[str]:
    """Train and use models of default parameters on small corpora: numbers with few and with many labels, and words.
    The names of the kernels that were compiled for that."""
    for name in models:
        find_model(name)
    from hedgerow.jit import before_compiling

    compiled: list[str] = []
    work = [(name, X, y) for X, y in _corpora() for name in models]
    with nullcontext() if quiet or not sys.stderr.isatty() else _bar(len(work)) as bar:

        def tell(kernel: str) -> None:
            compiled.extend([kernel] if kernel else ())
            if bar is not None:
                bar.update(bar.task_ids[0], description=kernel)

        with before_compiling(tell), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of corpora like these, models say much
            for name, X, y in work:
                model = make_model(name, {"time_budget": 5.0} if name == "auto" else {})
                model.fit(X, y).predict(X)
                if hasattr(model, "predict_proba"):
                    model.predict_proba(X)
                if bar is not None:
                    bar.advance(bar.task_ids[0])
    return compiled


def _corpora() -> list[tuple[Any, Any]]:
    import numpy as np

    from hedgerow.datasets import make_sequences

    rng = np.random.default_rng(0)
    corpora: list[tuple[Any, Any]] = [make_sequences(30, mean_length=6)]
    for n_labels in (3, 20):
        y = [(rng.random(20) < 0.5).cumsum() % n_labels for _ in range(30)]
        X = [rng.normal(np.column_stack((labels % 4, labels // 4)), 0.5) for labels in y]
        corpora.append((X, [list(map(str, labels)) for labels in y]))
    return corpora


def _bar(total: int) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("compiling"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}")
    bar = Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True), transient=True)
    bar.add_task("", total=total)
    return bar
