"""Figure 3 of Vishwanathan et al. 2006: a noisy image, and what each method makes of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.legend import AnyArray
from reproduction.lattice.denoising import DRAWINGS, SHAPES
from reproduction.lattice.drawing import draw_images
from reproduction.lattice.methods import ALONE, TRAINED, TREES, Images, Method, Task, label, train
from reproduction.report import Grid, Report, Row
from reproduction.settings import Settings

TITLE = "Vishwanathan et al. 2006, figure 3: a noisy image, and what each method makes of it; wrong pixels, %"
NAMES = ("LBP, L-BFGS", "LBP, SMD", "MF, L-BFGS", "PL, L-BFGS")
METHODS: tuple[Method, ...] = (ALONE, *(method for method in TRAINED if method.name in NAMES), TREES[1])


def run(settings: Settings) -> Report:
    """Train on the images of the first seed, and keep the labels of one test image of each kind."""
    seed = settings.seeds[0]
    rows: dict[str, list[str]] = {method.name: [] for method in METHODS}
    pictures = []
    for task in (SHAPES, DRAWINGS):
        images = task.load(settings, seed)
        found = {}
        for method in METHODS:
            own = labels_of(task, method, images, settings, seed)
            found[method.name] = own[0]
            first, all_of_them = _wrong(own[:1], images.y_test), _wrong(own, images.y_test)
            rows[method.name] += [f"{first:.2f}", f"{all_of_them:.2f}"]
            settings.say(f"{task.name}, {method.name}: {all_of_them:.2f} % wrong")
        shape = images.y_test[0].shape
        noisy = images.X_test[0].node_features.reshape(shape)
        shown: dict[str, Any] = {"noisy": noisy, "truth": images.y_test[0], **found}
        pictures.append({name: np.asarray(picture).round(3).tolist() for name, picture in shown.items()})
    header = ("method", *(f"{task.name}, {what}" for task in (SHAPES, DRAWINGS) for what in ("this one", "all ten")))
    table: list[Row] = [(name, *own) for name, own in rows.items()]
    return Report("smd-fig-3", [Grid(TITLE, header, table)], [], {"pictures": pictures})


def labels_of(task: Task, method: Method, images: Images, settings: Settings, seed: int) -> list[AnyArray]:
    """The labels that a method gives to the test images."""
    model, _, _ = train(task, method, images, settings, seed)
    return label(method, model, images)


def _wrong(labels: list[AnyArray], masks: list[AnyArray]) -> float:
    return 100.0 * float(np.mean([own != mask for own, mask in zip(labels, masks)]))


def draw(data: dict[str, Any]) -> Any:
    """The pictures side by side."""
    return draw_images(data["pictures"])
