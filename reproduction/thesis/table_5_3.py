"""Table 5.3 of Hao 2009: future features found in made sequences, from different scores to start with."""

from __future__ import annotations

import time
from typing import Any

import joblib
import numpy as np

from hedgerow.datasets.future import KINDS, any_ahead, make_future, pattern_of_future
from hedgerow.models.future.estimator import FutureFeatureMEMM
from reproduction.comparison import Spread
from reproduction.drawing import draw_accuracies
from reproduction.published import TABLE_5_3
from reproduction.report import Grid, Report, Row
from reproduction.settings import Settings

TITLE = "Hao 2009, table 5.3: sequences whose labels depend on what is ahead (test accuracy, %)"
HEADER = (
    "data", "G₀", "ours", "published", "pattern, ours", "published", "ahead, ours", "published",
    "features", "published", "iterations", "seconds",
)  # fmt: skip
SIZES = (400, 200, 100)  # sequences to train on, to stop by, and to test on
QUICK_SIZES = (20, 10, 10)
MEASURES = ("accuracy", "pattern", "ahead")


def run(settings: Settings) -> Report:
    """Every kind of sequences from every start, on the sequences of every seed."""
    tasks = [(kind, start, seed) for kind in KINDS for start in TABLE_5_3[kind] for seed in settings.seeds]
    results = joblib.Parallel(n_jobs=settings.n_jobs, return_as="generator")(
        joblib.delayed(find)(kind, start, seed, settings.alone()) for kind, start, seed in tasks
    )
    data: dict[str, Any] = {kind: {} for kind in KINDS}
    for (kind, start, seed), found in zip(tasks, results):
        data[kind].setdefault(f"{start:g}", []).append(found)
        settings.say(f"{kind}, G₀ = {start:g}, seed {seed}: {found['accuracy']:.2f} %")
    summary = {
        kind: {start: _summed(TABLE_5_3[kind][float(start)], own) for start, own in starts.items()}
        for kind, starts in data.items()
    }
    rows = [_row(kind, start, own) for kind, starts in summary.items() for start, own in starts.items()]
    return Report("thesis-5.3", [Grid(TITLE, HEADER, rows)], _notes(settings), summary)


def cut(kind: str, seed: int, settings: Settings) -> list[tuple[Any, Any]]:
    """Sequences to train on, to stop by, and to test on."""
    sizes = QUICK_SIZES if settings.quick else SIZES
    X, y = make_future(kind, sum(sizes), random_state=seed)
    ends = np.cumsum([0, *sizes])
    return [(X[a:b], y[a:b]) for a, b in zip(ends[:-1].tolist(), ends[1:].tolist())]


def find(kind: str, start: float, seed: int, settings: Settings) -> dict[str, float]:
    """Train on the sequences of one seed, and compare what was found with what there is."""
    train, stop, test = cut(kind, seed, settings)
    model = FutureFeatureMEMM(order=0, window=0, initial_score=start)
    if settings.quick:
        model.set_params(n_estimators=settings.max_iterations, max_future_features=1)
    began = time.process_time()
    model.fit(*train, X_val=stop[0], y_val=stop[1])
    seconds = time.process_time() - began
    pattern = pattern_of_future(test[0])
    ahead = any_ahead(pattern, test[0].offsets)
    own = any_feature(model.predict_patterns(test[0])), any_feature(model.predict_features(test[0]))
    return {
        "accuracy": 100.0 * model.score(*test),
        "pattern": 100.0 * float((own[0] == pattern).mean()),
        "ahead": 100.0 * float((own[1] == ahead).mean()),
        "features": model.n_features_,
        "iterations": model.best_iteration_,
        "seconds": seconds,
    }


def any_feature(probs: list[Any]) -> Any:
    """(N,): where one feature or another says yes, as the thesis counts it."""
    flat = np.concatenate(probs)
    return flat.max(axis=1, initial=0.0) > 0.5


def _summed(published: Any, found: list[dict[str, float]]) -> dict[str, Any]:
    own: dict[str, Any] = {name: Spread.of([one[name] for one in found]) for name in MEASURES}
    own |= {name: [one[name] for one in found] for name in ("features", "iterations", "seconds")}
    return own | {"published": published._asdict()}


def _row(kind: str, start: str, own: dict[str, Any]) -> Row:
    published = own["published"]

    def theirs(name: str) -> str:
        return "–" if published[name] is None else f"{published[name]:.2f}"

    return (
        kind.upper(),
        start,
        *(text for name in MEASURES for text in (str(own[name]), theirs(name))),
        " ".join(map(str, own["features"])),
        published["features"],
        f"{np.mean(own['iterations']):.0f}",
        f"{np.mean(own['seconds']):.1f}",
    )


def _notes(settings: Settings) -> list[str]:
    return [
        "FutureFeatureMEMM of order 0 with its defaults but G₀, which is -5 by default. The thesis chose the upper ends"
        " of step sizes for each G₀ on the sequences that training is stopped by; ours are always the same.",
        f"Mean and range over {len(settings.seeds)} seeds, each with sequences of its own.",
        "Pattern: the share of positions rightly said to have it, or not; ahead: of bags. A position has it where one"
        " feature or another says so.",
        "Features of each seed; the thesis marks more than two by >2. Seconds of CPU time of one training.",
    ]


def draw(data: dict[str, Any]) -> Any:
    """A panel for each kind: ours from every start with its range, and the published figure."""
    return draw_accuracies(
        {
            kind.upper(): {
                name: value
                for start, own in starts.items()
                for name, value in (
                    (f"G₀ = {start}, ours", own["accuracy"]),
                    (f"G₀ = {start}, published", own["published"]["accuracy"]),
                )
            }
            for kind, starts in data.items()
        }
    )
