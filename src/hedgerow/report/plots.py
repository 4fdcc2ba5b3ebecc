"""Pictures: one sequence with its labels and their probabilities, why a position has its label, how training went,
whether probabilities hold, where future features fire, and models side by side."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hedgerow.errors import InputError
from hedgerow.estimators.why.explanation import Explanation
from hedgerow.explain.future import require_features
from hedgerow.legend import AnyArray, FloatArray
from hedgerow.metrics.labelings import Label, Labelings
from hedgerow.metrics.probabilities import calibration_error, decisions, reliability
from hedgerow.report import style
from hedgerow.report.compare import LEVEL, Comparison
from hedgerow.report.style import AMBER, GREENS, INK, PALE

if TYPE_CHECKING:
    from hedgerow.training.monitor import Step

MOST_TOKENS = 300  # of a picture of single positions
_SHOWN = 0.02  # a label that never reaches this probability gets no row
_WRITTEN = 0.05  # a probability under this is drawn, but not written as a number
_LETTER = 0.27  # the width of a letter of a token, in units of a row's height
_UNIT = 0.44  # the height of a row in inches
_LETTER_INCHES = 0.12  # the width of a letter over a column of future features


def plot_sequence(
    tokens: Sequence[object],
    probabilities: npt.ArrayLike,
    classes: Sequence[object],
    labels: Sequence[object] | None = None,
    path: str | os.PathLike[str] | None = None,
    ax: Any = None,
) -> Any:
    """Draw one sequence: a column for each token, a row for each label, and the labelling as a path through them.

    Parameters
    ----------
    tokens : (T,) what stands at each position, shown by `str`
    probabilities : (T, K) as `predict_proba` gives them
    classes : (K,) the labels of the columns of `probabilities`
    labels : (T,) the labelling to mark; by default the most probable label of each position
    path : where to save the picture; the ending says in which format
    ax : matplotlib axes to draw into; by default a new figure of a fitting size

    Returns the axes. A label that reaches 2 % nowhere is left out, unless it is marked.
    """
    if len(tokens) > MOST_TOKENS:
        what = f"{len(tokens):,} positions make a picture that is too wide to look at"
        raise InputError(what, hint=f"Draw them with plot_timeline, or at most {MOST_TOKENS} of them.")
    probs, marked = _check_sequence(tokens, probabilities, classes, labels)
    words = [str(token) for token in tokens]
    rows = np.flatnonzero((probs.max(axis=0) >= _SHOWN) | np.isin(np.arange(len(classes)), marked))
    widths = np.array([max(1.25, _LETTER * len(word) + 0.5) for word in words])
    edges = np.concatenate([[0.0], np.cumsum(widths)])
    names = [str(classes[row]) for row in rows.tolist()]
    if ax is None:
        margin = 0.4 + 0.11 * max(len(name) for name in names)
        ax = style.new_axes(edges[-1] * _UNIT + margin, (len(rows) + 0.85) * _UNIT + 0.1)
    place_of = {int(row): place for place, row in enumerate(rows)}
    path_rows = np.array([place_of[int(label)] for label in marked])
    _draw_cells(ax, probs[:, rows], edges, path_rows)
    _draw_frame(ax, words, names, edges, path_rows)
    return style.saved(ax, path)


def plot_history(model: Any, path: str | os.PathLike[str] | None = None) -> Any:
    """Draw the loss against the iterations and, where there is one, the score on held-out sequences below it.

    Parameters
    ----------
    model : a fitted model, or the steps of training as it keeps them in `history_`
    path : where to save the picture; the ending says in which format

    Returns the matplotlib figure. The best score is marked.
    """
    history: Sequence[Step] = getattr(model, "history_", model)
    if not isinstance(history, Sequence):
        raise InputError(f"{type(model).__name__} has no history to draw", hint="Give a fitted model.")
    if len(history) == 0:
        raise InputError("the history has no step to draw", hint="Fit the model first")
    scored = [(step.iteration, step.score) for step in history if step.score is not None]
    figure = style.new_figure(6.4, 4.6 if scored else 2.6)
    panels = figure.subplots(2 if scored else 1, 1, sharex=True, squeeze=False)[:, 0]
    _draw_line(panels[0], [(step.iteration, step.loss) for step in history], "loss", GREENS[3])
    if scored:
        _draw_line(panels[1], scored, "held-out score", AMBER)
        iteration, score = max(scored, key=lambda item: item[1])
        panels[1].plot(iteration, score, "o", color=AMBER, markersize=6)
        place: dict[str, Any] = {"xytext": (0, -16), "textcoords": "offset points", "ha": "center"}
        panels[1].annotate(f"{score:.4g} at {iteration}", (iteration, score), color=AMBER, fontsize=9, **place)
    panels[-1].set_xlabel("iteration", color=INK)
    panels[-1].xaxis.get_major_locator().set_params(integer=True)
    return style.saved(figure, path)


def plot_reliability(
    y_true: Labelings,
    y_prob: Iterable[Any],
    classes: Iterable[Label],
    *,
    pos_label: Label | None = None,
    n_bins: int = 10,
    path: str | os.PathLike[str] | None = None,
    ax: Any = None,
) -> Any:
    """Draw how many labels are right against the probability that they were given. On the dashed line probabilities
    hold; below it a model is too sure.

    Parameters
    ----------
    y_true, y_prob, classes, pos_label, n_bins : as in `hedgerow.metrics.calibration_curve`
    path : where to save the picture; the ending says in which format
    ax : matplotlib axes to draw into; by default a new figure

    Returns the axes. The larger a point, the more positions it stands for.
    """
    probs, right = decisions(y_true, y_prob, classes, pos_label)
    prob_true, prob_pred, counts = reliability(probs, right, n_bins)
    if ax is None:
        ax = style.new_axes(4.2, 4.0)
    ax.plot([0, 1], [0, 1], color=PALE, linewidth=1, linestyle="--")
    ax.plot(prob_pred, prob_true, color=GREENS[3], linewidth=2)
    ax.scatter(prob_pred, prob_true, s=20 + 180 * counts / counts.sum(), color=AMBER, zorder=3)
    what = "the most probable label" if pos_label is None else str(pos_label)
    ax.set_xlabel(f"probability of {what}", color=INK, parse_math=False)
    ax.set_ylabel("share that is right", color=INK)
    error = calibration_error(probs, right, n_bins)
    style.write(ax, 0.03, 0.95, f"calibration error {error:.3f}", 9, AMBER, ha="left")
    style.show_axes(ax, "both")
    return style.saved(ax, path)


def plot_explanation(
    explanation: Explanation, n: int = 12, path: str | os.PathLike[str] | None = None, ax: Any = None
) -> Any:
    """Draw the parts of an explanation as bars: to the right what speaks for the label, to the left what against it.

    Parameters
    ----------
    explanation : what `explain` of a model returned
    n : the most features to show; what the others add is one bar
    path : where to save the picture; the ending says in which format
    ax : matplotlib axes to draw into; by default a new figure of a fitting size
    """
    rows = explanation.rows(n)
    texts, values = [text for text, _ in rows], [value for _, value in rows]
    if ax is None:
        ax = style.new_axes(4.6 + 0.075 * max((len(text) for text in texts), default=0), 0.9 + 0.3 * len(rows))
    ax.barh(range(len(rows)), values, height=0.66, color=[GREENS[3] if value > 0 else AMBER for value in values])
    ax.axvline(0.0, color=PALE, linewidth=0.8)
    style.name_rows(ax, texts)
    ax.invert_yaxis()
    widest = max((abs(value) for value in values), default=0.0) or 1.0
    ax.set_xlim(-1.3 * widest if min(values, default=0.0) < 0 else -0.05 * widest, 1.3 * widest)
    for i, value in enumerate(values):
        side = "left" if value >= 0 else "right"
        style.write(ax, value + (0.02 if value >= 0 else -0.02) * widest, i, f"{value:+.2f}", 9, ha=side, va="center")
    ax.set_title(explanation.title, loc="left", fontsize=10.5, color=INK, parse_math=False)
    return style.saved(ax, path)


def plot_comparison(comparison: Comparison, path: str | os.PathLike[str] | None = None) -> Any:
    """Draw a comparison: label accuracy with each fold as a dot, and seconds of training on a logarithmic axis.

    Parameters
    ----------
    comparison : what `compare` returned
    path : where to save the picture; the ending says in which format

    Returns the matplotlib figure. Amber marks models that the test by sequence tells from the best.
    """
    entries = comparison.entries
    figure = style.new_figure(8.0, 1.1 + 0.42 * len(entries))
    left, right = figure.subplots(1, 2, sharey=True)
    for row, entry in enumerate(entries):
        colour = AMBER if entry.p_sequences is not None and entry.p_sequences < LEVEL else GREENS[3]
        if len(entry.fold_accuracies) > 1:
            rows = [row] * len(entry.fold_accuracies)
            left.plot(entry.fold_accuracies, rows, "o", color=PALE, alpha=0.5, markersize=3)
        left.plot(entry.accuracy, row, "o", color=colour, markersize=7)
        right.plot(max(entry.train_seconds, 1e-3), row, "o", color=colour, markersize=7)
    left.set_yticks(range(len(entries)), [entry.name for entry in entries])
    left.set_ylim(len(entries) - 0.5, -0.5)
    right.set_xscale("log")
    for ax, title in ((left, "labels right"), (right, "seconds of training")):
        ax.set_title(title, color=INK, fontsize=10, loc="left")
        style.show_axes(ax, "x")
        ax.tick_params(labelsize=9)
    return style.saved(figure, path)


def plot_future(
    model: Any,
    sequence: Any,
    tokens: Sequence[object] | None = None,
    path: str | os.PathLike[str] | None = None,
    ax: Any = None,
) -> Any:
    """Draw where the patterns of future features stand in a sequence, and from where they are seen.

    There are two rows for each feature: the probability that a position has its pattern, in amber, and the probability
    that the pattern stands ahead of it, which speaks for the feature's label, in green.

    Parameters
    ----------
    model : a fitted FutureFeatureMEMM
    sequence : one sequence, as the model was fitted to
    tokens : (T,) what to write at each position; by default its number
    path : where to save the picture; the ending says in which format
    ax : matplotlib axes to draw into; by default a new figure of a fitting size

    Returns the axes.
    """
    require_features(model)
    if not model.n_features_:
        raise InputError("the model has found no future feature")
    [patterns], [ahead] = model.predict_patterns([sequence]), model.predict_features([sequence])
    if not len(patterns):
        raise InputError("there is nothing to draw: the sequence is empty")
    words = [str(t) for t in range(len(patterns))] if tokens is None else [str(token) for token in tokens]
    if len(words) != len(patterns):
        raise InputError(f"there are {len(words)} tokens for {len(patterns)} positions")
    side = "before" if model.scorer_.backward else "ahead"
    names = []
    for j, feature in enumerate(model.scorer_.features, 1):
        names += [f"pattern {j}", f"{side}: {model.schema_.labels[feature.label]}"]
    if ax is None:
        column = max(0.5, _LETTER_INCHES * max(map(len, words)) + 0.15)
        ax = style.new_axes(column * len(words) + 0.09 * max(map(len, names)), (len(names) + 1) * _UNIT)
    for row in range(len(names)):
        _draw_probs(ax, row, (patterns if row % 2 == 0 else ahead)[:, row // 2], AMBER if row % 2 == 0 else GREENS[3])
    _frame_future(ax, words, names)
    return style.saved(ax, path)


def _check_sequence(
    tokens: Sequence[object], probabilities: npt.ArrayLike, classes: Sequence[object], labels: Sequence[object] | None
) -> tuple[FloatArray, AnyArray]:
    """The probabilities as (T, K), and the number of the marked label at each position as (T,)."""
    probs = np.asarray(probabilities, dtype=np.float64)
    if len(tokens) == 0:
        raise InputError("there is nothing to draw: the sequence is empty")
    if probs.shape != (len(tokens), len(classes)):
        what = f"{len(tokens)} tokens and {len(classes)} classes ask for ({len(tokens)}, {len(classes)})"
        raise InputError(f"probabilities have the shape {probs.shape} where {what}")
    if not np.all((probs >= 0) & (probs <= 1 + 1e-6)):
        raise InputError("probabilities must lie between 0 and 1")
    if labels is None:
        return probs, probs.argmax(axis=1)
    if len(labels) != len(tokens):
        raise InputError(f"there are {len(labels)} labels for {len(tokens)} tokens")
    number_of = {label: number for number, label in enumerate(classes)}
    for t, label in enumerate(labels):
        if label not in number_of:
            raise InputError(f"{label!r} is not one of the classes", position=t)
    return probs, np.array([number_of[label] for label in labels])


def _draw_cells(ax: Any, probs: FloatArray, edges: FloatArray, path_rows: AnyArray) -> None:
    """A tile for every (position, label), the darker the more probable; the marked tiles have a rim."""
    colours = style.shades()
    middles = (edges[:-1] + edges[1:]) / 2
    ax.plot(middles, path_rows, color=AMBER, linewidth=1.6, alpha=0.7, zorder=2, solid_joinstyle="round")
    for (t, row), p in np.ndenumerate(probs):
        chosen = path_rows[t] == row
        rim = {"edgecolor": AMBER, "linewidth": 1.8, "zorder": 3} if chosen else {"linewidth": 0.0, "zorder": 1}
        width = float(edges[t + 1] - edges[t]) - 0.28
        style.draw_tile(ax, float(edges[t]) + 0.14, row - 0.36, width, 0.72, 0.16, facecolor=colours(float(p)), **rim)
        if chosen or p >= _WRITTEN:
            ink = "white" if p > 0.55 else INK
            style.write(ax, float(middles[t]), row, f"{p:.0%}", 8.5, ink, va="center_baseline", zorder=4)


def _draw_frame(ax: Any, words: list[str], names: list[str], edges: FloatArray, path_rows: AnyArray) -> None:
    """Tokens above their columns, labels beside their rows, and no box around it all."""
    middles = (edges[:-1] + edges[1:]) / 2
    for middle, word in zip(middles, words):
        style.write(ax, middle, -0.62, word, 13, va="bottom", family="monospace")
    ax.set_xlim(edges[0], edges[-1])
    ax.set_ylim(len(names) - 0.5, -1.35)
    used = set(path_rows.tolist())
    for row, text in enumerate(style.name_rows(ax, names)):
        text.set_color(INK if row in used else PALE)


def _draw_line(ax: Any, points: list[tuple[int, float]], name: str, colour: str) -> None:
    ax.plot(*zip(*points), color=colour, linewidth=2, marker="o" if len(points) == 1 else None)
    ax.set_ylabel(name, color=INK)
    style.show_axes(ax, "y")


def _draw_probs(ax: Any, row: int, probs: FloatArray, colour: str) -> None:
    """A tile for each position, the stronger the more probable."""
    from matplotlib.patches import Rectangle

    for t, p in enumerate(probs.tolist()):
        ax.add_patch(Rectangle((t + 0.04, row + 0.06), 0.92, 0.88, facecolor=colour, alpha=min(1.0, p), linewidth=0))
        if p >= _WRITTEN:
            ink = "white" if p > 0.6 else INK
            ax.text(t + 0.5, row + 0.5, f"{100 * p:.0f}", ha="center", va="center", fontsize=8, color=ink)


def _frame_future(ax: Any, words: list[str], names: list[str]) -> None:
    ax.set_xlim(0, len(words))
    ax.set_ylim(len(names), 0)
    ax.set_xticks(np.arange(len(words)) + 0.5, words, color=INK, fontsize=9)
    ax.set_yticks(np.arange(len(names)) + 0.5, names, color=INK, fontsize=9)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    for row in range(2, len(names), 2):
        ax.axhline(row, color=PALE, linewidth=0.6)
    ax.spines[:].set_visible(False)
