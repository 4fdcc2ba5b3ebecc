"""Man-made structure in photographs, as in section 5.2 of Vishwanathan et al. 2006: what is labelled.

A node is a block of 16×16 pixels. It has a histogram of five edge orientations and their products, 21 features with the
constant; an edge has the constant and |m_i − m_j| of 14 numbers from three scales. See `datasets.orientation_features`.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from hedgerow.lattice.graphs import Graph, grid
from hedgerow.legend import AnyArray, FloatArray
from reproduction.datasets.manmade import load_manmade
from reproduction.datasets.orientations import orientation_features, quadratic_features
from reproduction.lattice.methods import Images, Method, Task
from reproduction.settings import Settings

QUICK = 3  # images of each part
ALL = "all"  # the view of methods whose nodes see all 19 numbers
OTHERS = (
    Method("LBP, L-BFGS, 19 features", view=ALL),
    Method("trees alone, 19 features", trees=True, edges=False, view=ALL),
    Method("trees, LBP, 19 features", trees=True, view=ALL),
    Method("TRW, L-BFGS, 19 features", "TRW", view=ALL),
)


def load_structure(settings: Settings, seed: int) -> Images:
    """The photographs. The split is that of the data, whatever the seed."""
    X, y, X_test, y_test = photographs(settings)
    train, test = ([orientation_features(image) for image in part] for part in (X, X_test))
    views = {
        name: ([_grid(own, name) for own in train], [_grid(own, name) for own in test]) for name in ("", "trees", ALL)
    }
    own, own_test = views[""]
    return Images(own, y, own_test, y_test, views)


def photographs(settings: Settings) -> tuple[list[AnyArray], list[AnyArray], list[AnyArray], list[AnyArray]]:
    """Brightness and labels, to train on and to test on."""
    place = None if settings.folder is None else Path(settings.folder) / "manmade"
    return load_manmade(place, n_images=QUICK if settings.quick else None)


def _grid(features: tuple[FloatArray, FloatArray], view: str) -> Graph:
    """A grid whose nodes have what the view shows. Trees multiply features by themselves."""
    bins, scales = features
    nodes = {"": quadratic_features(bins), "trees": bins, ALL: np.concatenate(features, axis=-1)}[view]
    ends = grid(bins).topology.ends
    flat = scales.reshape(-1, scales.shape[-1])
    return grid(nodes, edge_features=np.abs(flat[ends[:, 0]] - flat[ends[:, 1]]))


# Features as they are: 0.5 on standardised ones would be edges of three times the strength of the paper's at the start.
RAW = {"differences": False, "standardize": False}
STRUCTURE = Task("photographs", load_structure, 40, 3, RAW, {"differences": False}, OTHERS)
