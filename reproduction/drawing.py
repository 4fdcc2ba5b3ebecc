"""The pictures of the experiments. Figures are made without pyplot, so that drawing needs no display."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hedgerow.errors import MissingExtraError
from reproduction.comparison import Spread
from reproduction.intervals import Interval

_INK = "#1b2a22"
_PALE = "#8a978f"
_GREEN, _LIGHT_GREEN, _AMBER, _LIGHT_AMBER = "#14532d", "#8fc08a", "#c2410c", "#f0b592"
_COLOURS = (_GREEN, _LIGHT_GREEN, _AMBER, _LIGHT_AMBER)
_MANY_COLOURS = (_LIGHT_AMBER, _AMBER, _LIGHT_GREEN, _GREEN, "#b9a3e3", "#6d28d9", "#0f766e", _INK)


def draw_accuracies(panels: Mapping[str, Mapping[str, Spread | float | None]]) -> Any:
    """A panel for each data set: means with their ranges as filled dots, published figures as hollow ones."""
    figure = _new_figure(7.0, 1.6 * len(panels))
    for ax, (title, entries) in zip(figure.subplots(len(panels), 1, squeeze=False)[:, 0], panels.items()):
        shown = {name: value for name, value in entries.items() if value is not None}
        for row, value in enumerate(shown.values()):
            if isinstance(value, Spread):
                ax.plot([value.low, value.high], [row, row], color=_LIGHT_GREEN, linewidth=4, solid_capstyle="round")
                ax.plot(value.mean, row, "o", color=_GREEN)
            else:
                ax.plot(value, row, "o", markerfacecolor="white", color=_AMBER)
        ax.set_yticks(range(len(shown)), list(shown))
        ax.invert_yaxis()
        ax.set_ylim(len(shown) - 0.5, -0.5)
        _finish(ax, title=title)
        ax.grid(axis="x", color=_PALE, alpha=0.25, linewidth=0.8)
    return figure


def draw_costs(groups: Mapping[str, Mapping[str, tuple[float | None, float | None]]]) -> Any:
    """Bars of milliseconds on a logarithmic scale: passes in one panel, trees in the other."""
    figure = _new_figure(8.0, 3.4)
    for which, (ax, title) in enumerate(zip(figure.subplots(1, 2), ("forward-backward", "trees, features"))):
        systems = list(next(iter(groups.values())))
        for s, (system, colour) in enumerate(zip(systems, (_GREEN, _AMBER, _PALE))):
            found = [(g, own[system][which]) for g, own in enumerate(groups.values())]
            bars = [(g + 0.27 * (s - 1), 1000 * value) for g, value in found if value is not None]
            ax.bar([x for x, _ in bars], [height for _, height in bars], width=0.25, color=colour, label=system)
        ax.set_yscale("log")
        ax.set_xticks(range(len(groups)), list(groups), fontsize=8)
        _finish(ax, title=title, y="ms an iteration")
    ax.legend(frameon=False, fontsize=8)
    return figure


def draw_growth(panels: Sequence[tuple[str, str, Sequence[tuple[float, float]]]]) -> Any:
    """A panel for each (what varies, what is measured, points), both axes logarithmic, with a straight line beside."""
    figure = _new_figure(7.0, 3.2)
    for ax, (varied, measured, points) in zip(figure.subplots(1, len(panels)), panels):
        xs, ys = zip(*points)
        ax.plot(xs, ys, "o-", color=_GREEN, label="hedgerow")
        ax.plot(xs, [ys[0] * x / xs[0] for x in xs], "--", color=_PALE, linewidth=1, label="linear")
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xticks(xs, [f"{x:g}" for x in xs])
        ax.minorticks_off()
        _finish(ax, title=measured, x=varied, y="ms an iteration")
        ax.legend(frameon=False, fontsize=8)
    return figure


def draw_curves(problems: Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]]) -> Any:
    """Accuracies above and seconds below by iteration, a column for each data set."""
    figure = _new_figure(3.4 * len(problems), 5.2)
    panels = figure.subplots(2, len(problems), squeeze=False)
    for column, (title, curves) in enumerate(problems.items()):
        for (name, curve), colour in zip(curves.items(), _COLOURS):
            for ax, key in zip(panels[:, column], ("accuracies", "seconds")):
                values = curve[key]
                ax.plot(range(1, len(values) + 1), values, color=colour, linewidth=1.4, label=name)
        # The first iterations are far below: the picture is of where the curves end.
        ends = [curve["accuracies"][-1] for curve in curves.values()]
        panels[0, column].set_ylim(min(ends) - 6, max(ends) + 2)
        _finish(panels[0, column], title=title, y="test accuracy, %" if column == 0 else "")
        _finish(panels[1, column], x="iteration", y="seconds" if column == 0 else "")
    panels[0, 0].legend(frameon=False, fontsize=7, loc="lower right")
    return figure


def draw_widths(entries: Sequence[Mapping[str, Any]]) -> Any:
    """Seconds of an iteration (logarithmic) and accuracy by the width of the window."""
    figure = _new_figure(7.0, 3.2)
    left, right = figure.subplots(1, 2)
    widths = [entry["width"] for entry in entries]
    for system, name, colour in (("linear", "LinearCRF", _AMBER), ("tree", "TreeCRF", _GREEN)):
        left.plot(widths, [entry[system]["seconds"] for entry in entries], "o-", color=colour, label=name)
        published = [entry["published"][system] for entry in entries]
        left.plot(widths, published, "o--", color=colour, markerfacecolor="white", label=f"{name}, published")
        right.plot(widths, [entry[system]["accuracy"] for entry in entries], "o-", color=colour, label=name)
    left.set_yscale("log")
    for ax, y in ((left, "seconds an iteration"), (right, "accuracy, %")):
        ax.set_xticks(widths)
        _finish(ax, x="width of the window", y=y)
        ax.legend(frameon=False, fontsize=8)
    return figure


def draw_intervals(xs: Sequence[float], lines: Mapping[tuple[str, str], Sequence[Interval]]) -> Any:
    """Accuracies with their confidence intervals, a panel for each decoder: lines are by (method, decoder)."""
    decoders = list(dict.fromkeys(decoder for _, decoder in lines))
    figure = _new_figure(3.8 * len(decoders), 3.4)
    panels = figure.subplots(1, len(decoders), sharey=True, squeeze=False)[0]
    for ax, decoder in zip(panels, decoders):
        own = {method: values for (method, which), values in lines.items() if which == decoder}
        for (method, values), colour in zip(own.items(), _COLOURS):
            halves = [0.0 if value.half != value.half else value.half for value in values]
            means = [value.mean for value in values]
            ax.errorbar(xs, means, yerr=halves, color=colour, marker="o", markersize=3, capsize=2, label=method)
        ax.set_xticks(xs, [f"{x:g}" for x in xs])
        _finish(ax, title=decoder, x="share of flipped runs", y="labels right, %" if ax is panels[0] else "")
    panels[0].legend(frameon=False, fontsize=8, loc="lower left")
    return figure


def draw_learning(panels: Mapping[str, Mapping[str, Sequence[float]]]) -> Any:
    """A panel for each training: accuracies ("train", "test") by iteration, and "losses" on an axis of their own."""
    figure = _new_figure(2.7 * len(panels), 3.0)
    axes = figure.subplots(1, len(panels), squeeze=False, sharey=True)[0]
    shown: dict[str, Any] = {}
    for i, (ax, (title, curves)) in enumerate(zip(axes, panels.items())):
        for part, colour in (("train", _LIGHT_GREEN), ("test", _GREEN)):
            if part in curves:
                ax.plot(curves[part], color=colour, linewidth=1.6, label=f"{part} accuracy")
        other = ax.twinx()
        other.plot(curves["losses"], "--", color=_AMBER, linewidth=1.2, label="loss")
        other.set_yticks([])
        other.spines[["top", "right"]].set_visible(False)
        _finish(ax, title=title, x="iteration", y="labels right, %" if i == 0 else "")
        shown |= {line.get_label(): line for line in (*ax.get_lines(), *other.get_lines())}
    _legend_below(figure, shown)
    return figure


class PassesRow(NamedTuple):
    """F by passes: of each method in one order and as a mean over orders; what was published of it, and by others."""

    title: str
    lines: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    means: Mapping[str, tuple[Sequence[float], Sequence[float]]]
    published: Mapping[str, float]
    other: Mapping[str, float]


def draw_passes(rows: Sequence[PassesRow]) -> Any:
    """F by passes on a logarithmic axis; and from the first pass on, where the curves end, as means over orders.
    Dashed: what was published, of a method in its colour, and of others in grey."""
    figure = _new_figure(9.0, 3.6 * len(rows) + 0.7)
    for panels, row in zip(figure.subplots(len(rows), 2, squeeze=False), rows):
        ends = [ys[-1] for _, ys in row.means.values() if ys]
        marks = [*row.published.values(), *row.other.values()]
        colours = dict(zip(row.lines, _MANY_COLOURS))
        for ax, lines, low in zip(panels, (row.lines, row.means), (0.0, min([*ends, *marks]) - 1.0)):
            for method, (xs, ys) in lines.items():
                ax.plot(xs, ys, color=colours[method], linewidth=1.2, label=method)
            for method, value in row.published.items():
                ax.axhline(value, color=colours[method], linewidth=0.8, linestyle="--")
            for value in row.other.values():
                ax.axhline(value, color=_PALE, linewidth=0.8, linestyle="--")
            ax.set_xscale("log")
            ax.set_ylim(low, 100 if low == 0.0 else max([*ends, *marks]) + 0.5)
            _finish(ax, x="passes", y="F, %" if low == 0.0 else "")
        panels[0].set_title(row.title, color=_INK, fontsize=10, loc="left")
        panels[1].set_title("after each pass: mean over orders", color=_INK, fontsize=10, loc="left")
    handles, labels = panels[0].get_legend_handles_labels()
    shown = dict(zip(labels, handles))
    for name in dict.fromkeys(name for row in rows for name in row.other):
        shown[f"{name}, published"] = panels[0].plot([], [], color=_PALE, linewidth=0.8, linestyle="--")[0]
    _legend_below(figure, shown)
    return figure


def draw_rates(panels: Mapping[str, tuple[float, Sequence[float], Mapping[str, Sequence[float]]]]) -> Any:
    """A panel for each data set: accuracies by the share of values that are missing, a line for each way. Dashed: the
    accuracy where nothing is."""
    figure = _new_figure(7.6, 3.0 * ((len(panels) + 1) // 2))
    axes = figure.subplots((len(panels) + 1) // 2, 2, squeeze=False).ravel()
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    for ax, (title, (whole, rates, lines)) in zip(axes, panels.items()):
        for (name, values), colour in zip(lines.items(), (_GREEN, _LIGHT_GREEN, _AMBER, _LIGHT_AMBER)):
            ax.plot([100 * rate for rate in rates], values, "o-", color=colour, markersize=4, linewidth=1.4, label=name)
        ax.axhline(whole, color=_PALE, linewidth=0.8, linestyle="--", label="nothing missing")
        ax.set_xticks([100 * rate for rate in rates])
        _finish(ax, title=title, x="values missing, %", y="labels right, %")
    handles, labels = axes[0].get_legend_handles_labels()
    _legend_below(figure, dict(zip(labels, handles)))
    return figure


def draw_lines(xs: Sequence[float], lines: Mapping[str, Sequence[float]], *, x: str, y: str) -> Any:
    """A line for each name."""
    figure = _new_figure(7.0, 3.6)
    ax = figure.subplots()
    for (name, values), colour in zip(lines.items(), _MANY_COLOURS):
        ax.plot(xs, values, "o-", color=colour, markersize=3, linewidth=1.4, label=name)
    ax.set_xticks(xs, [f"{at:g}" for at in xs])
    _finish(ax, x=x, y=y)
    handles, labels = ax.get_legend_handles_labels()
    _legend_below(figure, dict(zip(labels, handles)))
    return figure


def draw_shares(shares: Mapping[str, float], *, x: str) -> Any:
    """A bar for each share, in percent."""
    figure = _new_figure(7.0, 0.19 * len(shares) + 0.9)
    ax = figure.subplots()
    ax.barh(range(len(shares)), [100 * share for share in shares.values()], color=_GREEN, height=0.7)
    ax.set_yticks(range(len(shares)), list(shares))
    ax.set_ylim(len(shares) - 0.5, -0.5)
    _finish(ax, x=x)
    return figure


def draw_answers(
    panels: Mapping[str, Mapping[str, Interval]], seconds: Mapping[str, Interval], *, yes: float, no: float
) -> Any:
    """A panel for each question: what each method gets of the gain, every seed a dot; and seconds of training. Dashed:
    what counts as YES and as NO."""
    figure = _new_figure(2.5 * (len(panels) + 1), 3.0)
    axes = figure.subplots(1, len(panels) + 1, sharey=True)
    for ax, (title, own) in zip(axes, [*panels.items(), ("seconds of training", seconds)]):
        for row, interval in enumerate(own.values()):
            ax.plot(interval.each, [row] * len(interval.each), "o", color=_LIGHT_GREEN, markersize=4)
            ax.plot(interval.mean, row, "o", color=_GREEN, markersize=6)
        if own is not seconds:
            for bound in (yes, no):
                ax.axvline(bound, color=_PALE, linewidth=0.8, linestyle="--")
        _finish(ax, title=title, x="" if own is seconds else "% of the gain")
    axes[-1].set_xscale("log")
    axes[0].set_yticks(range(len(seconds)), list(seconds))
    axes[0].set_ylim(len(seconds) - 0.5, -0.5)
    return figure


def _new_figure(width: float, height: float) -> Any:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "experiments", "Drawing") from error
    return Figure(figsize=(width, height), layout="constrained")


def _legend_below(figure: Any, lines: Mapping[str, Any]) -> None:
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=4, frameon=False, fontsize=8)


def _finish(ax: Any, *, title: str = "", x: str = "", y: str = "") -> None:
    ax.set_title(title, color=_INK, fontsize=10, loc="left")
    ax.set_xlabel(x, color=_INK)
    ax.set_ylabel(y, color=_INK)
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(_PALE)
    ax.tick_params(colors=_INK, length=3, labelsize=8)
