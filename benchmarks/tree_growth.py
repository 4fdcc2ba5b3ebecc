"""How the cost of an iteration of boosted trees grows: with positions, with the window, and with iterations.

    python benchmarks/tree_growth.py [--quick] [--force] [--images docs/images]
    python benchmarks/tree_growth.py --fits

Made data of three labels and 24 symbols; 100 leaves, λ = 20, two threads, everything encoded outside the clock.
Measured, medians of whole iterations 3 … 12: positions 10,000 … 320,000 at width 5, where the cost should be linear:
the exponent b of N^b, fitted from 40,000 positions on, where the fixed cost of an iteration no longer hides growth.
Widths 1 … 41 at 20,000 positions: width 41 should cost at most 12 times width 1. And 500 iterations at width 5 and
20,000 positions, three times over: the last should cost what the tenth does. One picture of each goes to the folder of
images.

With --fits whole fits of five iterations, from arrays of 8 numbers and 4 labels, without a window: CPU seconds of one
thread, 125,000 … 2,000,000 positions, and the exponent b of N^b. The two kinds of edges take turns.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import Watch, describe, require_quiet
from benchmarks.tree_tables import Setup, make
from benchmarks.tree_vs_lightgbm import open_setup, train

Points = dict[int, dict[str, float]]
POSITIONS = (10_000, 20_000, 40_000, 80_000, 160_000, 320_000)
WIDTHS = (1, 3, 5, 11, 21, 41)
N_LABELS, N_SYMBOLS = 3, 24
USUAL_POSITIONS, USUAL_WIDTH = 20_000, 5
WARM, COUNTED = 2, 10  # iterations that do not count, and that do
EARLY, LATE, SPAN = 10, 500, 11  # the tenth and the last iteration, each a median over so many
RUNS = 3  # of all the iterations
GROWING = 40_000  # positions from which on the cost is fitted
DISTURBED = 0.1  # of the cores: with so much other work there is no verdict
TARGETS = {"positions": 1.1, "width": 12.0, "iterations": 1.1}
FITS = (125_000, 250_000, 500_000, 1_000_000, 2_000_000)
FIT_COLUMNS, FIT_LABELS, FIT_LENGTH, FIT_ITERATIONS, FIT_TARGET = 8, 4, 100, 5, 1.05


def steps(n_positions: int, width: int, iterations: int, setup: Setup) -> list[dict[str, float]]:
    """The seconds of each iteration on a corpus of this size."""
    corpus = make(n_positions, N_LABELS, width, N_SYMBOLS)
    return train("hedgerow", corpus, width, iterations, setup)[1]


def median_step(n_positions: int, width: int, setup: Setup) -> dict[str, float]:
    found = steps(n_positions, width, WARM + COUNTED, setup)[WARM:]
    return {
        part: statistics.median(step[part] for step in found) for part in ("trees", "forward_backward", "iteration")
    }


def measure(quick: bool, setup: Setup) -> dict[str, Any]:
    """Seconds by positions, by width and by iteration."""
    median_step(2_000, USUAL_WIDTH, setup)  # compile before the clock runs
    by_positions: Points = {}
    for n in POSITIONS[:4] if quick else POSITIONS:
        by_positions[n] = median_step(n, USUAL_WIDTH, setup)
        print(f"{n:8d} positions  {1e3 * by_positions[n]['iteration']:8.2f} ms", flush=True)
    by_width: Points = {}
    for width in WIDTHS:
        by_width[width] = median_step(USUAL_POSITIONS, width, setup)
        print(f"   width {width:3d}       {1e3 * by_width[width]['iteration']:8.2f} ms", flush=True)
    runs = [steps(USUAL_POSITIONS, USUAL_WIDTH, 100 if quick else LATE, setup) for _ in range(RUNS)]
    every = [statistics.median(step["iteration"] for step in same) for same in zip(*runs)]
    return {"positions": by_positions, "width": by_width, "iterations": every}


def ratios(found: dict[str, Any]) -> dict[str, float]:
    """The exponent of the growth with positions; the widest window against the narrowest; the last against the 10th."""
    by_positions, by_width, every = found["positions"], found["width"], found["iterations"]
    large = [n for n in by_positions if n >= GROWING]
    seconds = [by_positions[n]["iteration"] for n in large]
    early = every[EARLY - 1 - SPAN // 2 : EARLY + SPAN // 2]
    return {
        "positions": float(np.polyfit(np.log(large), np.log(seconds), 1)[0]),
        "width": by_width[max(by_width)]["iteration"] / by_width[min(by_width)]["iteration"],
        "iterations": statistics.median(every[-SPAN:]) / statistics.median(early),
    }


def fit_seconds(n_positions: int, edges: str) -> float:
    """CPU seconds of a whole fit of some iterations, on one thread."""
    from hedgerow import TreeCRF

    rng, n = np.random.default_rng(0), n_positions // FIT_LENGTH
    y = ((rng.random((n, FIT_LENGTH)) < 0.1).cumsum(axis=1) % FIT_LABELS).ravel()
    X = rng.normal(size=(len(y), FIT_COLUMNS))
    X[:, ::3] += 0.5 * y[:, None]
    options = {"n_estimators": FIT_ITERATIONS, "early_stopping": False, "random_state": 0, "n_jobs": 1}
    began = time.process_time()
    TreeCRF(edges=edges, window=0, **options).fit(X, y, lengths=[FIT_LENGTH] * n)
    return time.process_time() - began


def measure_fits() -> None:
    kinds = ("shared", "joint")
    for edges in kinds:
        fit_seconds(4_000, edges)  # compile before the clock runs
    found = []
    for n in FITS:
        found.append([fit_seconds(n, edges) for edges in kinds])
        print(f"{n:8d} positions  " + "  ".join(f"{k} {s:7.2f} s" for k, s in zip(kinds, found[-1])), flush=True)
    for edges, seconds in zip(kinds, zip(*found)):
        b = float(np.polyfit(np.log(FITS), np.log(seconds), 1)[0])
        verdict = "reached" if b <= FIT_TARGET else "MISSED"
        print(f"{edges:8s} N^{b:.3f}, target at most {FIT_TARGET}  {verdict}")


# --- pictures ------------------------------------------------------------------------------------------------------


def draw(found: dict[str, Any], folder: Path) -> None:
    """tree-cost-positions.png, tree-cost-width.png and tree-cost-iterations.png."""
    folder.mkdir(parents=True, exist_ok=True)
    for key, name in (("positions", "positions"), ("width", "width of the window")):
        figure, axes = _axes(name)
        for part, label, place in _PARTS:
            x, y = zip(*((size, 1e3 * seconds[part]) for size, seconds in found[key].items()))
            axes.plot(x, y, marker="o", markersize=4, linewidth=2, color=_colour(place), label=label)
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False)
        _save(figure, folder / f"tree-cost-{key}.png")
    figure, axes = _axes("iteration")
    milliseconds = 1e3 * np.array(found["iterations"])
    axes.plot(np.arange(1, len(milliseconds) + 1), milliseconds, ".", markersize=3, color=_colour(2))
    half = SPAN // 2
    smooth = [float(np.median(milliseconds[max(0, i - half) : i + half + 1])) for i in range(len(milliseconds))]
    axes.plot(np.arange(1, len(smooth) + 1), smooth, linewidth=2, color=_colour(3))
    axes.set_ylim(0, 2 * float(np.median(milliseconds)))
    _save(figure, folder / "tree-cost-iterations.png")


_PARTS = (("iteration", "iteration", 4), ("trees", "trees", 3), ("forward_backward", "forward-backward", 2))


def _colour(place: int) -> str:
    from hedgerow.report.style import GREENS

    return GREENS[place]


def _axes(name: str) -> tuple[Any, Any]:
    from hedgerow.report.style import INK, PALE, new_axes

    axes = new_axes(5.2, 3.2)
    axes.set_xlabel(name, color=INK)
    axes.set_ylabel("ms an iteration", color=INK)
    axes.grid(axis="y", color=PALE, alpha=0.25, linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(PALE)
    axes.tick_params(colors=INK, length=3)
    return axes.figure, axes


def _save(figure: Any, path: Path) -> None:
    from hedgerow.report.style import save_figure

    save_figure(figure, path)
    print(f"drawn: {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--threads", type=int, default=2, help="1 measures time of the processor")
    parser.add_argument("--quick", action="store_true", help="up to 80,000 positions and 100 iterations")
    parser.add_argument("--force", action="store_true", help="measure on a busy machine too")
    parser.add_argument("--images", default="docs/images", help="the folder for the pictures")
    parser.add_argument("--output", default="benchmarks/results/tree_growth.json")
    parser.add_argument("--fits", action="store_true", help="whole fits up to two million positions, and nothing else")
    arguments = parser.parse_args()
    if arguments.fits:
        measure_fits()
        return
    load_before = require_quiet(arguments.force)
    machine = describe(("hedgerow", "numpy", "numba"))
    watch = Watch()
    with open_setup(arguments.threads) as setup:
        found = measure(arguments.quick, setup)
    others = watch.others()
    shares = ratios(found)
    for key, value in shares.items():
        verdict = "reached" if value <= TARGETS[key] else "MISSED"
        if others > DISTURBED and arguments.threads > 1:
            verdict = f"no verdict: other work took {others:.0%} of the cores"
        print(f"{key:12s} {value:6.3f}, target at most {TARGETS[key]:.1f}  {verdict}")
    draw(found, Path(arguments.images))
    results = {"machine": machine, "other_load": [load_before, others], "ratios": shares} | found
    Path(arguments.output).parent.mkdir(parents=True, exist_ok=True)
    Path(arguments.output).write_text(json.dumps(results, indent=1))
    print(f"written to {arguments.output}")


if __name__ == "__main__":
    main()
