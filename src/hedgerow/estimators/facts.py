"""What a fitted estimator says of itself: its size, its labels, how its training went; as text, in notebooks, and as a
report, which a layer above makes."""

from __future__ import annotations

import html
import importlib
from collections.abc import Iterator
from typing import Any

from hedgerow.errors import plain
from hedgerow.training.monitor import Trained

NAMED = 12  # labels, where there are many


def kept_iteration(model: Any) -> str:
    """Which iteration is kept, where it is not the last one; to be said after something else."""
    if model.best_iteration_ == model.n_iter_ or hasattr(model, "leaderboard_"):
        return ""
    if model.best_iteration_ > model.n_iter_:  # by shorter steps
        return f", then {model.best_iteration_} on all sequences"
    which = "that of iteration" if hasattr(model, "weights_") else "the first"
    return f", kept {which} {model.best_iteration_}"


def model_sizes(model: Any) -> dict[str, int]:
    """How large a model is, in words and numbers."""
    if hasattr(model, "weights_"):
        return {"weights": len(model.weights_)}
    if hasattr(model, "ensemble_"):
        return {"trees": model.ensemble_.n_trees, "leaves": model.ensemble_.n_leaves}
    return {"parameters": model.n_parameters_} if hasattr(model, "n_parameters_") else {}


def facts(model: Any) -> Iterator[tuple[str, str]]:
    """(what, how much) of a fitted model, in a few lines."""
    names = [*map(plain, model.classes_[:NAMED].tolist()), *["…"][: len(model.classes_) > NAMED]]
    yield "labels", f"{len(model.classes_)}: {', '.join(names)}"
    training = getattr(model, "metadata_", {}).get("training", {})
    yield from ((what, f"{training[what]:,}") for what in ("sequences", "positions") if what in training)
    if hasattr(model, "schema_"):
        yield "window", str(model.window_)
    if getattr(model, "order", None) == "auto":
        yield "order", str(model.order_)
    yield from ((what, f"{number:,}") for what, number in model_sizes(model).items())
    if hasattr(model, "leaderboard_"):
        yield "chosen", str(model.chosen_)
    yield "iterations", f"{model.n_iter_} ({model.outcome_}{kept_iteration(model)})"
    yield "loss", f"{model.loss_:.4f}"
    scores = [step.score for step in getattr(model, "history_", ()) if getattr(step, "score", None) is not None]
    if scores:
        yield "best score on held-out sequences", f"{max(scores):.4f}"
    if getattr(model, "temperature_", 1.0) != 1.0:
        yield "temperature", f"{model.temperature_:.3f}"


def html_repr(model: Any) -> str:
    """scikit-learn's representation of an estimator in a notebook, with the facts of a fit below it."""
    from sklearn.utils import estimator_html_repr

    shown: str = estimator_html_repr(model)
    if not hasattr(model, "classes_"):
        return shown
    cell = '<td style="text-align:left;padding:0 .6em">'
    rows = "".join(f"<tr>{cell}{what}</td>{cell}{html.escape(text)}</td></tr>" for what, text in facts(model))
    return f"{shown}<table><caption style='text-align:left'>fitted</caption>{rows}</table>"


def report(self: Any, X: Any, y: Any = None, **options: Any) -> Any:
    """How good the model is on X and its labels y, where it errs and why, whether its confidence holds, and what it has
    learnt: `save("report.html")` writes a page, and a notebook shows it. Options are those of
    `hedgerow.report.make_report`, such as X_train and y_train."""
    from sklearn.utils.validation import check_is_fitted  # the command line asks for sizes without it

    check_is_fitted(self)
    return importlib.import_module("hedgerow.report.page").make_report(self, X, y, **options)


def describe_end(
    trained: Trained[Any], max_iter: int | None = None, kept: str = "the best weights so far are kept"
) -> str:
    """What is to be said of how training ended; nothing where it ended well. max_iter as the user gave it."""
    if trained.outcome == "interrupted":
        return f"training was interrupted after {trained.n_iter} iterations; {kept}"
    if trained.outcome == "diverged":
        return f"training made the loss larger, to {trained.best.loss:.6g}; give a smaller ⟦gain⟧, or ⟦gain='auto'⟧"
    if trained.outcome == "max_iter":
        most = "⟦max_iter⟧" if max_iter is None else f"⟦max_iter={max_iter}⟧"
        return f"training stopped after {most} iterations before it converged; raise ⟦max_iter⟧ or ⟦tol⟧"
    return ""
