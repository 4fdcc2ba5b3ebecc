"""Figure 5 of Vishwanathan et al. 2006: a photograph, and the man-made structure that each method finds in it."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.legend import AnyArray
from reproduction.lattice.drawing import draw_blocks
from reproduction.lattice.figure_3 import labels_of
from reproduction.lattice.methods import ALONE, TRAINED, TREES, Method
from reproduction.lattice.structure import OTHERS, STRUCTURE, photographs
from reproduction.report import Grid, Report, Row
from reproduction.settings import Settings

TITLE = "Vishwanathan et al. 2006, figure 5: man-made structure in a photograph, and in all of them"
HEADER = ("method", "wrong blocks of this one, %", "of all, %", "man-made blocks found, %", "found that are none, %")
NAMES = ("LBP, L-BFGS", "LBP, SMD", "MF, L-BFGS", "PL, L-BFGS", "PL, SMD")
METHODS: tuple[Method, ...] = (ALONE, *(own for own in TRAINED if own.name in NAMES), TREES[1], OTHERS[2])
SHARE = 0.1  # of the blocks that are man-made, at least: else there is little to see
SHRUNK = 2  # times fewer pixels on a side are kept of the photograph


def run(settings: Settings) -> Report:
    """Train everybody once, and keep the labels of one test image, drawn by the first seed."""
    seed = settings.seeds[0]
    images = STRUCTURE.load(settings, seed)
    eligible = [i for i, mask in enumerate(images.y_test) if mask.mean() >= SHARE] or [0]
    which = eligible[int(np.random.default_rng(seed).integers(len(eligible)))]
    truth = np.concatenate([mask.ravel() for mask in images.y_test])
    rows: list[Row] = []
    masks: dict[str, Any] = {"truth": images.y_test[which].tolist()}
    for method in METHODS:
        labels = labels_of(STRUCTURE, method, images, settings, seed)
        masks[method.name] = labels[which].tolist()
        own = 100.0 * float((labels[which] != images.y_test[which]).mean())
        rows.append((method.name, f"{own:.2f}", *_shares(np.concatenate([part.ravel() for part in labels]), truth)))
        settings.say(f"{method.name}: {rows[-1][2]} % wrong")
    grey = photographs(settings)[2][which][::SHRUNK, ::SHRUNK]
    data = {"photograph": grey.tolist(), "masks": masks, "number": which}
    notes = [
        f"{len(images.X)} photographs to train on, {len(images.X_test)} to test on; this one is test image {which}."
    ]
    return Report("smd-fig-5", [Grid(TITLE, HEADER, rows)], notes, data)


def _shares(labels: AnyArray, truth: AnyArray) -> tuple[str, str, str]:
    """Wrong blocks; of the man-made ones those found; of those found as man-made, those that are not: in %."""
    found, real = labels == 1, truth == 1
    wrong = 100.0 * float((found != real).mean())
    recall = 100.0 * float(found[real].mean()) if real.any() else 0.0
    false = 100.0 * float((~real[found]).mean()) if found.any() else 0.0
    return f"{wrong:.2f}", f"{recall:.1f}", f"{false:.1f}"


def draw(data: dict[str, Any]) -> Any:
    """The photograph with what each finds."""
    return draw_blocks(data["photograph"], data["masks"])
