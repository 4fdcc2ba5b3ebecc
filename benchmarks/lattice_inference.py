"""Which inference training should go by: weights and trees on made images, by loopy and by tree-reweighted messages.

    python benchmarks/lattice_inference.py [--force]

Rectangles in noise, shapes in noise of three strengths, squares of four labels, and a chequered board whose neighbours
differ; 4 or 8 neighbours; everything else by its defaults. For each: how training ended, the share of pixels right on
images that it did not see, and seconds of the processor. "stuck": no step makes the loss smaller, and yet it is steep.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.machine import require_quiet

BOTH = ("loopy", "tree_reweighted")
TREES = ("rectangles", "shapes, noise 0.7", "shapes, noise 1.0, 8 neighbours", "squares, 4 labels", "chequered")


class Task(NamedTuple):
    """Images and masks; the first half is to train on. options: of the estimator."""

    name: str
    images: list[Any]
    masks: list[Any]
    options: dict[str, Any]


def tasks() -> Iterator[Task]:
    from hedgerow.datasets import make_shapes

    rng = np.random.default_rng(0)
    masks = [np.pad(np.ones((14, 10), dtype=int), ((4, 6), (5 + i % 4, 9 - i % 4))) for i in range(8)]
    images = [np.clip(90 + 60 * mask + 40 * rng.normal(size=mask.shape), 0, 255) for mask in masks]
    yield Task("rectangles", images, masks, {})
    yield Task("rectangles, Ising", images, masks, {"form": "ising"})
    yield Task("rectangles, 8 neighbours", images, masks, {"neighbours": 8})
    for noise in (0.7, 1.0, 1.5):
        images, masks = make_shapes(20, size=32, noise=noise, random_state=0)
        yield Task(f"shapes, noise {noise}", images, masks, {})
        yield Task(f"shapes, noise {noise}, 8 neighbours", images, masks, {"neighbours": 8})
    rng = np.random.default_rng(1)
    masks = [np.zeros((24, 24), dtype=int) for _ in range(12)]
    images = []
    for mask in masks:
        for label in range(1, 4):
            top, left = rng.integers(0, 14, size=2)
            mask[top : top + 10, left : left + 10] = label
        images.append(mask + 0.8 * rng.normal(size=mask.shape))
    yield Task("squares, 4 labels", images, masks, {})
    board = np.indices((20, 20)).sum(axis=0) % 2
    masks = [np.where(rng.random(board.shape) < 0.05, 1 - board, board) for _ in range(8)]
    yield Task("chequered", [mask + rng.normal(size=mask.shape) for mask in masks], masks, {})


def measure(model: Any, task: Task) -> str:
    half = len(task.images) // 2
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(task.images[:half], task.masks[:half])
        seconds = time.process_time() - began
        right = model.score(task.images[half:], task.masks[half:])
    return f"{model.outcome_:<10} {100 * right:6.2f} % {seconds:6.1f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--force", action="store_true", help="run although the machine is busy")
    require_quiet(parser.parse_args().force)
    from hedgerow import LatticeCRF, TreeLatticeCRF

    measure(LatticeCRF(), next(tasks()))  # compile
    for task in tasks():
        for inference in BOTH:
            model: Any = LatticeCRF(inference=inference, **task.options)
            print(f"weights  {task.name:<32} {inference:<16} {measure(model, task)}", flush=True)
        for inference in BOTH if task.name in TREES else ():
            model = TreeLatticeCRF(inference=inference, n_estimators=60, **task.options)
            print(f"trees    {task.name:<32} {inference:<16} {measure(model, task)}", flush=True)


if __name__ == "__main__":
    main()
