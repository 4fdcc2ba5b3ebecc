"""Figure 3.3 of Hao 2009: how the cost of an iteration grows with the length of sequences and the window's width."""

from __future__ import annotations

import math
from typing import Any

from reproduction.datasets import make_hmm
from reproduction.drawing import draw_growth
from reproduction.report import Grid, Report, Row
from reproduction.settings import Settings
from reproduction.timing import induction_cost, iteration_cost

TITLE = "Hao 2009, figure 3.3: CPU milliseconds an iteration on sequences of a hidden Markov model"
HEADER = ("varied", "length", "width", "features", "passes", "trees", "passes of MALLET", "its induction")
LENGTHS = (10, 20, 40, 80, 160, 320)
WIDTHS = (3, 5, 7, 9, 11)
N_SEQUENCES, LENGTH, WIDTH = 100, 100, 3
MAX_LEAVES, SHRINKAGE = 100, 40.0
N_FEATURES = 25  # of one place of the window: 24 symbols and "outside"
N_ITERATIONS, N_ROUNDS = 50, 4
_GROWTH = (
    ("length", "passes"), ("width", "induction"), ("length", "mallet_passes"), ("width", "mallet_induction"),
)  # fmt: skip


def run(settings: Settings) -> Report:
    """(a) lengths 10–320 at width 3; (b) widths 3–11 at length 100. 100 sequences each."""
    lengths, widths = (LENGTHS[:3], WIDTHS[:2]) if settings.quick else (LENGTHS, WIDTHS)
    points = [("length", length, WIDTH) for length in lengths] + [("width", LENGTH, width) for width in widths]
    found: list[dict[str, Any]] = []
    for varied, length, width in points:
        X, y = make_hmm(N_SEQUENCES, length, random_state=settings.seeds[0])
        cost = iteration_cost(
            X,
            y,
            window=width // 2,
            max_leaf_nodes=MAX_LEAVES,
            l2_regularization=SHRINKAGE,
            n_iterations=_n_iterations(settings),
        )
        rounds = induction_cost(X, y, window=width // 2, n_rounds=1 if settings.quick else N_ROUNDS)
        point = {"varied": varied, "length": length, "width": width, **cost._asdict()}
        found.append({**point, "mallet_passes": rounds.passes, "mallet_induction": rounds.induction})
        settings.say(f"length {length}, width {width}: done")
    data: dict[str, Any] = {"points": found, "slopes": slopes(found)}
    rows: list[Row] = [
        (
            point["varied"], str(point["length"]), str(point["width"]), str(N_FEATURES * point["width"]),
            *(f"{1000 * point[name]:.3f}" for name in ("passes", "induction", "mallet_passes", "mallet_induction")),
        )
        for point in found
    ]  # fmt: skip
    slope = data["slopes"]
    notes = [
        f"{N_SEQUENCES} sequences, 3 labels, 24 symbols; L = {MAX_LEAVES}, λ = {SHRINKAGE:.0f}; medians over"
        f" {_n_iterations(settings)} iterations, one thread.",
        f"Exponents (1 is linear): passes by length {slope['passes_by_length']:.2f}, trees by width"
        f" {slope['induction_by_width']:.2f}; of feature induction {slope['mallet_passes_by_length']:.2f} and"
        f" {slope['mallet_induction_by_width']:.2f} ({N_ROUNDS} rounds after 8 iterations each, on pairs of labels).",
        "The figure's numbers are not in the text of the thesis.",
    ]
    return Report("thesis-fig-3.3", [Grid(TITLE, HEADER, rows)], notes, data)


def slopes(points: list[dict[str, Any]]) -> dict[str, float]:
    """From the first to the last point, the exponent of the growth: log(cost ratio) / log(size ratio)."""
    found = {}
    for varied, cost in _GROWTH:
        own = [point for point in points if point["varied"] == varied]
        first, last = own[0], own[-1]
        found[f"{cost}_by_{varied}"] = math.log(last[cost] / first[cost]) / math.log(last[varied] / first[varied])
    return found


def _n_iterations(settings: Settings) -> int:
    return settings.max_iterations if settings.quick else N_ITERATIONS


def draw(data: dict[str, Any]) -> Any:
    """A panel for each cost: passes by length, trees by width, and the same of feature induction."""
    panels = []
    for (varied, cost), label in zip(_GROWTH, ("forward-backward", "trees", "passes of MALLET", "its induction")):
        own = [point for point in data["points"] if point["varied"] == varied]
        panels.append((varied, label, [(point[varied], 1000 * point[cost]) for point in own]))
    return draw_growth(panels)
