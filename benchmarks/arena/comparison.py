"""From results to comparisons: mean ranks over tasks, and one contender beside all others on every task."""

from __future__ import annotations

from typing import Any

from benchmarks.arena.significance import LEVEL, Ranking, errors_by_sequence, holm, rank
from benchmarks.arena.table import Cells, by_cell, mean_of, status_of
from hedgerow.metrics.significance import permutation_test

PRIMARY = "primary"


def ranked_cells(cells: Cells) -> Cells:
    """What can be ranked: the contenders that ran on every task, on tasks where one of them gave a labelling.

    A run over its limit, and one with an error, is a run; one that was skipped is not.
    """
    ran = {
        task: {name: runs for name, runs in own.items() if status_of(runs) != "skipped"} for task, own in cells.items()
    }
    ran = {task: own for task, own in ran.items() if any(status_of(runs) == "ok" for runs in own.values())}
    everywhere = [name for name in _names(ran) if all(name in own for own in ran.values())]
    return {task: {name: own[name] for name in everywhere} for task, own in ran.items()}


def _names(cells: Cells) -> list[str]:
    return list(dict.fromkeys(name for own in cells.values() for name in own))


def rank_results(results: list[dict[str, Any]], measure: str = PRIMARY) -> Ranking | None:
    """Ranks by each task's own measure, or by one that is smaller the better: "log_loss", "calibration_error".

    A contender without a result comes last, with others like it. None where there are not two to rank.
    """
    scores = {}
    for task, own in ranked_cells(by_cell(results)).items():
        values = {name: _score(runs, measure) for name, runs in own.items()}
        if any(value > float("-inf") for value in values.values()):
            scores[task] = values
    if not scores or len(next(iter(scores.values()))) < 2:
        return None
    return rank(scores)


def _score(runs: list[dict[str, Any]], measure: str) -> float:
    """Greater is better."""
    if status_of(runs) != "ok":
        return float("-inf")
    value = mean_of(runs, runs[0]["primary"] if measure == PRIMARY else measure)
    if value is None:
        return float("-inf")
    return value if measure == PRIMARY else -value


def rank_lines(results: list[dict[str, Any]]) -> list[str]:
    """The mean ranks as a table, and what may be read from them."""
    found = {PRIMARY: rank_results(results), "log_loss": rank_results(results, "log_loss")}
    main = found[PRIMARY]
    if main is None:
        return ["There are no two contenders that ran on every task: no ranks."]
    by_loss = found["log_loss"]
    means = _means_where_all_finished(results)
    lines = ["| contender | mean rank | by log-loss | calibration error % | CPU s |", "| --- | --- | --- | --- | --- |"]
    for name, value in main.ranks.items():
        loss = "" if by_loss is None else f"{by_loss.ranks[name]:.2f}"
        lines.append(f"| `{name}` | {value:.2f} | {loss} | {means.get(name, ' | ')} |")
    left_out = [f"`{name}`" for name in _names(by_cell(results)) if name not in main.ranks]
    if left_out:
        lines += ["", f"Not ranked, for they did not run on every task: {', '.join(left_out)}."]
    return [
        *lines,
        "",
        f"{main.n_tasks} tasks; Friedman p = {main.p_value:.2g}; mean ranks more than {main.critical:.2f} apart"
        f" differ at {LEVEL:.0%} (Nemenyi). Calibration error and seconds are means over the tasks that all finished.",
    ]


def _means_where_all_finished(results: list[dict[str, Any]]) -> dict[str, str]:
    """The calibration error and the CPU seconds of a fit, as cells: means over tasks that all those ranked finished."""
    cells = [
        own
        for own in ranked_cells(by_cell(results)).values()
        if all(status_of(runs) == "ok" and mean_of(runs, "calibration_error") is not None for runs in own.values())
    ]
    found = {}
    for name in cells[0] if cells else ():
        errors, seconds = (
            [mean_of(own[name], of) or 0.0 for own in cells] for of in ("calibration_error", "fit_seconds")
        )
        found[name] = f"{100 * sum(errors) / len(cells):.1f} | {sum(seconds) / len(cells):.1f}"
    return found


# ------------------------------------------------------------------------------------------------ pairs


def compare(results: list[dict[str, Any]], against: str) -> dict[str, dict[str, tuple[float, float]]]:
    """By task and contender: percentage points right above `against`, and the p-value of a permutation test on the
    errors of sequences, corrected by Holm for the contenders of the task."""
    found = {}
    for task, own in by_cell(results).items():
        done = {name: runs for name, runs in own.items() if status_of(runs) == "ok"}
        if against not in done:
            continue
        rows = {name: _pair(runs, done[against]) for name, runs in done.items() if name != against}
        corrected = holm([p for _, p in rows.values()])
        found[task] = {name: (gap, p) for (name, (gap, _)), p in zip(rows.items(), corrected)}
    return found


def _pair(runs: list[dict[str, Any]], others: list[dict[str, Any]]) -> tuple[float, float]:
    seeds = {found["seed"] for found in runs} & {found["seed"] for found in others}
    sides = [[found for found in side if found["seed"] in seeds] for side in (runs, others)]
    if not seeds:
        return float("nan"), 1.0
    first, second = (errors_by_sequence(side) for side in sides)
    shares = [sum(sum(found["wrong"]) / sum(found["positions"]) for found in side) / len(seeds) for side in sides]
    return 100 * (shares[1] - shares[0]), permutation_test([first[key] for key in second], list(second.values()))


def pair_lines(results: list[dict[str, Any]], against: str) -> list[str]:
    """A table of differences; * where a test by sequence finds one at 5 %."""
    found = compare(results, against)
    names = list(dict.fromkeys(name for own in found.values() for name in own))
    if not names:
        return [f"No other contender has a labelling beside one of {against}."]
    lines = ["| task | " + " | ".join(f"`{name}`" for name in names) + " |", "| --- " * (len(names) + 1) + "|"]
    for task, own in found.items():
        cells = [f"{own[name][0]:+.2f}{'*' if own[name][1] < LEVEL else ''}" if name in own else "" for name in names]
        lines.append("| " + " | ".join([task, *cells]) + " |")
    tally = []
    for name in names:
        sure = [own[name][0] for own in found.values() if name in own and own[name][1] < LEVEL]
        tally.append(f"{sum(gap > 0 for gap in sure)} : {sum(gap < 0 for gap in sure)}")
    lines.append("| surely better : worse | " + " | ".join(tally) + " |")
    return lines
