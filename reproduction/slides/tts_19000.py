"""The text-to-speech table with nearly all words of NETtalk for training: 19,000, and the same 1,000 test words."""

from __future__ import annotations

from typing import Any

from reproduction.problems import N_WORDS
from reproduction.report import Report
from reproduction.settings import Settings
from reproduction.slides import tts as slides_tts
from reproduction.slides.tts import TREES, choose_runs, draw_corpus, measure_linear, measure_trees

N_TRAIN, WIDTH, ORDERS = 19_000, 7, (1, 2)
# An iteration takes some two CPU seconds: longer steps, on a linear model where there may be one, and one training.
LONG_STEPS = TREES | {"init": "auto", "learning_rate": 0.3, "refit": False}


def run(settings: Settings) -> Report:
    """Linear chains and trees with shared edges, order 1 and 2, a window of 7 letters."""
    corpus = draw_corpus(settings, 65 if settings.quick else N_TRAIN)
    few = draw_corpus(settings)
    chosen = choose_runs(few.X, few.y, WIDTH, settings)
    found = [measure_linear(corpus, WIDTH, order, chosen, settings) for order in ORDERS]
    found += [measure_trees(corpus, WIDTH, order, LONG_STEPS, settings) for order in ORDERS]
    notes = [
        f"{len(corpus.X):,} training words with {corpus.n_labels} pairs of phoneme and stress, and the"
        f" {len(corpus.X_test):,} test words of slides-tts, drawn with seed {settings.seeds[0]}.",
        f"LinearCRF: runs of letters and the penalty l2 as chosen with {N_WORDS:,} words.",
        slides_tts.tree_note("at order 1 on a LinearCRF", LONG_STEPS),
        slides_tts.TIME_NOTE,
    ]
    return Report("slides-tts-19000", [slides_tts.table(found)], notes, {"found": found})


def draw(data: dict[str, Any]) -> Any:
    """Letters right by posterior."""
    return slides_tts.draw(data)
