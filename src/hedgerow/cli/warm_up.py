"""`hedgerow warm-up`: compile the kernels that models need, before the first of them is trained."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from typing import Annotated, Any

from hedgerow.cli import train_options as options
from hedgerow.cli.models import MODELS, find_model, make_model
from hedgerow.cli.train_options import option
from hedgerow.errors import InputError
from hedgerow.training.monitor import progress_bar

ALL = "all"
SHORT = {"auto": {"n_trials": 3}, "veb": {"n_estimators": 5}}  # what would train for long
# What is set for "all", beside default parameters, for corpora of few labels: it needs kernels of its own.
VARIANTS: dict[str, list[dict[str, Any]]] = {
    "linear": [
        {"order": 2, "window": 1},
        {"trainer": "sgd", "max_iter": 3},
        {"trainer": "adagrad", "max_iter": 3},
        {"trainer": "averaged_perceptron", "max_iter": 3},
        {"transitions": "forbid_unseen"},
        {"transitions": "observed"},
        {"features": "auto"},
        {"objective": "pseudo_likelihood"},
    ],
    "tree": [
        {"edges": "shared", "n_estimators": 5},
        {"edges": "joint", "n_estimators": 5},
        {"order": 2, "window": 1, "n_estimators": 5},
        {"missing": "weighting", "n_estimators": 5},
        {"transitions": "forbid_unseen", "n_estimators": 5},
        {"features": "auto", "n_estimators": 5},
        {"multi_strategy": "multi_output_tree", "edges": "shared", "n_estimators": 5},
    ],
}


def command(
    models: Annotated[
        list[str] | None, option("NAME", "Of this model: linear, tree, hmm, …, or all.", "--model", "-m")
    ] = None,
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
    "all" stands for every model, lattices among them, and for other parameters that are often set. The names of the
    kernels that were compiled for that."""
    for name in models:
        if name != ALL:
            find_model(name)
    from hedgerow.jit import before_compiling

    compiled: list[str] = []
    work = _work(models)
    with nullcontext() if quiet or not sys.stderr.isatty() else progress_bar("compiling", len(work)) as bar:

        def tell(kernel: str) -> None:
            compiled.extend([kernel] if kernel else ())
            if bar is not None:
                bar.update(bar.task_ids[0], description=kernel)

        with before_compiling(tell), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of corpora like these, models say much
            for model, X, y in work:
                _use(model.fit(X, y), X)
                if ALL in models:
                    _ask(model, X[:3], y[:3])
                if bar is not None:
                    bar.advance(bar.task_ids[0])
    return compiled


def _use(model: Any, X: Any) -> None:
    """Label a corpus, and one short sequence, which goes another way; and a stream, where a model has one."""
    for part in (X, X[:1]):
        model.predict(part)
        if hasattr(model, "predict_proba"):
            model.predict_proba(part)
    if hasattr(model, "stream"):
        with suppress(InputError):
            model.stream().extend(X[0])


def _ask(model: Any, X: Any, y: Any) -> None:
    """Call the other methods of a model of chains that predict, as far as it has them."""
    questions: list[tuple[str, dict[str, Any]]] = [("predict", {"decoder": name}) for name in ("viterbi", "posterior")]
    questions += [("predict_k_best", {"k": 2}), ("sample", {"random_state": 0}), ("entropy", {})]
    for method, given in [*questions, ("log_probability", {"y": y})]:
        if hasattr(model, method):
            with suppress(InputError):
                getattr(model, method)(X, **given)


def _work(models: Sequence[str]) -> list[tuple[Any, Any, Any]]:
    """Models, each with what it is trained on."""
    corpora = _corpora()
    if ALL not in models:
        return [(make_model(name, SHORT.get(name, {})), *corpus) for corpus in corpora for name in models]
    from hedgerow.datasets import make_shapes
    from hedgerow.lattice.model import LatticeCRF
    from hedgerow.lattice.tree_model import TreeLatticeCRF

    few, many = corpora[:-1], corpora[-1]
    named = [(name, parameters) for name, variants in VARIANTS.items() for parameters in variants]
    named = [*((name, SHORT.get(name, {})) for name in MODELS), *named]
    work = [(make_model(name, parameters), *corpus) for name, parameters in named for corpus in few]
    work += [(make_model(name, {}), *many) for name in ("linear", "tree")]
    images = make_shapes(6, size=12)
    return [*work, (LatticeCRF(), *images), (TreeLatticeCRF(n_estimators=5), *images)]


def _corpora() -> list[tuple[Any, Any]]:
    import numpy as np

    from hedgerow.datasets import make_sequences

    rng = np.random.default_rng(0)
    corpora: list[tuple[Any, Any]] = [make_sequences(30, mean_length=6)]
    for n_labels in (3, 20):
        y = [(rng.random(20) < 0.5).cumsum() % n_labels for _ in range(60)]  # equal windows are sought from 1,000 on
        X = [rng.normal(np.column_stack((labels % 4, labels // 4)), 0.5) for labels in y]
        corpora.append((X, [list(map(str, labels)) for labels in y]))
    return corpora
