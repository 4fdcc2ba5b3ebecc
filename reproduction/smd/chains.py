"""What figures 1 and 2 of Vishwanathan et al. 2006 share: the contenders, the table, the picture."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

from hedgerow.metrics import mcnemar
from reproduction.comparison import Difference, Spread
from reproduction.drawing import PassesRow, draw_passes
from reproduction.report import Grid, Report, Row
from reproduction.settings import Settings
from reproduction.smd.online import (
    CORRECTIONS,
    GAIN,
    L2,
    NEAR,
    Curve,
    OnlineTask,
    final,
    mean_line,
    train_annealed,
    train_lbfgs,
    train_perceptron,
    train_sgd,
    train_smd,
)

LBFGS, PUBLISHED_LBFGS = "L-BFGS", "L-BFGS as published"
SMD, PUBLISHED_SMD, BOUNDED_SMD = "SMD", "SMD as published", "SMD as published, gains at most doubled"
ANNEALED_SGD, PUBLISHED_SGD, PERCEPTRON = "annealed SGD", "SGD as published", "perceptron"
ONLINE: dict[str, Callable[[OnlineTask, int, Settings, bool], Curve]] = {
    PUBLISHED_SMD: partial(train_smd, gain=GAIN, schedule="plain", max_growth=None),
    BOUNDED_SMD: partial(train_smd, gain=GAIN, schedule="plain"),
    SMD: train_smd,
    PUBLISHED_SGD: train_sgd,
    ANNEALED_SGD: train_annealed,
    PERCEPTRON: train_perceptron,
}
WHOLE = {PUBLISHED_LBFGS: True, LBFGS: False}
PUBLISHED = {PUBLISHED_SMD: "smd", PUBLISHED_SGD: "sgd", PERCEPTRON: "perceptron", PUBLISHED_LBFGS: "lbfgs"}
STOPS = (0.1, 1, 3, 10, 30)
FIFTH = 0.2  # of the passes of L-BFGS: what SMD is given to come near it


def run_figure(name: str, title: str, task: OnlineTask, notes: list[str], settings: Settings) -> Report:
    """Train everybody, and put what they reach beside what the paper prints."""
    curves: dict[str, list[Curve]] = {}
    for method, as_published in WHOLE.items():
        curves[method] = [train_lbfgs(task, settings, as_published=as_published)]
        settings.say(f"{method}: {_said(curves[method][0])}")
    for method, train in ONLINE.items():
        curves[method] = []
        for seed in settings.seeds:
            curves[method].append(train(task, seed, settings, seed == settings.seeds[0]))
            settings.say(f"{method}, seed {seed}: {_said(curves[method][-1])}")
    data = summarise(task, curves)
    rows = [_row(method, data) for method in curves]
    others = [_near_row(method, data) for method in curves]
    names = list(data["scores"])
    header = ("trained by", "passes", *(f"F: {own}" for own in names), "published", "best", "vs L-BFGS", "CPU seconds")
    near = (
        "trained by", *(f"after {stop:g}" for stop in STOPS), f"within {data['fifth']:.0f}",
        f"passes to {NEAR:g} of L-BFGS: first", "for good", "first, share of its passes",
    )  # fmt: skip
    tables = [Grid(title, header, rows), Grid(f"F ({names[0]}) by passes", near, others)]
    return Report(name, tables, [*_notes(task, data, settings), *notes], data)


def summarise(task: OnlineTask, curves: dict[str, list[Curve]]) -> dict[str, Any]:
    """All that the tables and the picture show, of every method."""
    names = list(curves[LBFGS][0].scores[-1])
    first, converged = names[0], curves[LBFGS][0]
    target, whole = converged.scores[-1][first], converged.passes[-1]
    methods: dict[str, Any] = {}
    for method, every in curves.items():
        key = PUBLISHED.get(method)
        found: dict[str, Any] = {"published": None if key is None else getattr(task.published, key), "curves": every}
        own = [curve for curve in every if not curve.diverged]
        found["n_diverged"] = len(every) - len(own)
        if own:
            found["final"] = {name: Spread.of(final(own, name)) for name in names}
            found["best"] = Spread.of([max(scores[first] for scores in curve.scores) for curve in own])
            found["reached"] = [curve.reached(first, target) for curve in own]
            found["settled"] = [curve.settled(first, target) for curve in own]
            found["at_a_fifth"] = [curve.within(first, FIFTH * whole) for curve in own]
            found["against_lbfgs"] = _against(task, own, converged, first)
            found["passes"] = [curve.passes[-1] for curve in own]
            found["seconds"] = [curve.seconds for curve in own]
        methods[method] = found
    return {
        "title": task.title,
        "scores": dict.fromkeys(names),
        "n_weights": task.chain.n_weights,
        "target": target,
        "whole": whole,
        "fifth": FIFTH * whole,
        "published": task.published._asdict(),
        "published_score": task.published_score,
        "other_score": task.other_score,
        "methods": methods,
    }


def _against(task: OnlineTask, own: list[Curve], other: Curve, name: str) -> Difference:
    """F less that of L-BFGS, and McNemar's test on the labels: the median over seeds."""
    reader = task.reader
    truth = reader.lists(reader.dataset.require_labels("scoring"))
    theirs = _lists(task, other)
    each = tuple(mcnemar(truth, _lists(task, curve), theirs).p_value for curve in own)
    gap = statistics.fmean(final(own, name)) - other.scores[-1][name]
    return Difference(gap, statistics.median(each), each)


def _lists(task: OnlineTask, curve: Curve) -> Any:
    assert curve.labels is not None
    return task.reader.lists(curve.labels)


def _row(method: str, data: dict[str, Any]) -> Row:
    own = data["methods"][method]
    published = "–" if own["published"] is None else f"{own['published']:g}"
    if "final" not in own:
        return (method, "diverged", *("–" for _ in data["scores"]), published, "–", "–", "–")
    return (
        method + (f" ({own['n_diverged']} diverged)" if own["n_diverged"] else ""),
        f"{statistics.median(own['passes']):.1f}",
        *(str(score) for score in own["final"].values()),
        published,
        str(own["best"]),
        f"{own['against_lbfgs'].difference:+.2f} ({own['against_lbfgs']})",
        f"{statistics.fmean(own['seconds']):.0f}",
    )


def _near_row(method: str, data: dict[str, Any]) -> Row:
    own = data["methods"][method]
    first = next(iter(data["scores"]))
    if "final" not in own:
        return (method, *("–" for _ in range(len(STOPS) + 4)))
    whole = [curve for curve in own["curves"] if not curve.diverged]
    shares = [None if passes is None else passes / data["whole"] for passes in own["reached"]]
    return (
        method,
        *(_mean([curve.at(first, stop) for curve in whole]) for stop in STOPS),
        _mean(own["at_a_fifth"]),
        _mean(own["reached"]),
        _mean(own["settled"]),
        _mean(shares),
    )


def _mean(values: list[float | None]) -> str:
    """The mean over seeds, where all have a value; else how many do."""
    known = [value for value in values if value is not None]
    if len(known) == len(values):
        return f"{statistics.fmean(known):.2f}"
    return f"{len(known)} of {len(values)}" if known else "–"


def _said(curve: Curve) -> str:
    if curve.diverged:
        return curve.diverged
    name, score = next(iter(curve.scores[-1].items()))
    return f"{name} {score:.2f} after {curve.passes[-1]:.1f} passes, {curve.seconds:.0f} s"


def _notes(task: OnlineTask, data: dict[str, Any], settings: Settings) -> list[str]:
    published = task.published
    known = [score for score in data["methods"][SMD].get("at_a_fifth", []) if score is not None]
    at_a_fifth = (
        f"SMD has {statistics.fmean(known):.2f} (mean of {len(known)} orders)" if known else "SMD was not read off"
    )
    return [
        f"Settings of the paper: σ = 1 (l2 = {L2:g}), b = {task.batch_size}, η₀ = {GAIN:g}, μ = {task.meta_gain:g},"
        f" λ = 1. L-BFGS as published: {CORRECTIONS} corrections, no scaled variables. Perceptron: averaged, b = 1.",
        "Passes count every look at a training sequence: a Hessian-vector product is a look of its own, so that SMD has"
        " two passes where it goes through the data once, and the trials that choose a gain are counted too. The"
        f" paper tuned η₀ = {GAIN:g}; what that took is not known. L-BFGS: every evaluation, line searches included.",
        f"F at the end, mean and range over {len(settings.seeds)} orders of the sequences; labels by Viterbi. vs"
        " L-BFGS: hedgerow's own, difference in F, and McNemar's test on labels (median p).",
        f"Converged L-BFGS has {data['target']:.2f} after {data['whole']:.0f} passes. Within a fifth of them"
        f" {at_a_fifth}.",
        "Not as published are hedgerow's own: L-BFGS in scaled variables; SMD with a gain that it finds itself, and the"
        " average of the weights over the last pass; SGD with a gain that it finds itself and that falls, and averaged"
        " weights. SMD is lazy in both rows: a step moves only the weights that its batch touches.",
        f"{data['n_weights']:,} weights. The paper's line: {published.other:g}, {published.other_name}.",
    ]


def draw_figure(data: dict[str, Any]) -> Any:
    """F by passes, whole and near the end, with the published figures as lines: a row for each score they stand for."""
    methods, other = data["methods"], data["published"]
    rows = []
    for name in dict.fromkeys((data["other_score"], data["published_score"])):
        known = {method: own["published"] for method, own in methods.items() if own["published"] is not None}
        rows.append(
            PassesRow(
                title=f"{data['title']}: {name}",
                lines={method: own["curves"][0].line(name) for method, own in methods.items()},
                means={method: mean_line(own["curves"], name) for method, own in methods.items()},
                published=known if name == data["published_score"] else {},
                other={other["other_name"]: other["other"]} if name == data["other_score"] else {},
            )
        )
    return draw_passes(rows)
