"""CPU time of an iteration of boosting: of the passes over the chain, and of growing the trees."""

from __future__ import annotations

import statistics
import time
from typing import Any, NamedTuple

from hedgerow.data.dataset import Window
from hedgerow.data.encoding import learn
from hedgerow.parallel import Lanes
from hedgerow.training.boosting.chain import Booster
from hedgerow.trees.binning import bin_dataset, learn_binning

WARM_UP = 2  # iterations that are not counted: the first trees are small, and kernels may have to be loaded


class Cost(NamedTuple):
    """Median CPU seconds an iteration."""

    passes: float
    induction: float


def iteration_cost(
    X: Any, y: Any, *, window: Window, n_iterations: int, max_leaf_nodes: int = 100, l2_regularization: float = 20.0
) -> Cost:
    """Boost a few iterations in one thread. `passes` has forward-backward and the gradient; `induction` the trees, and
    adding them to the scores."""
    dataset = learn(X, y, window=window)
    binning = learn_binning(dataset)
    data = bin_dataset(binning, dataset, postings=True)
    passes, induction = [], []
    with Lanes(1, 1) as lanes:
        booster = Booster(dataset, data, lanes, max_leaf_nodes=max_leaf_nodes, l2_regularization=l2_regularization)
        for _ in range(WARM_UP + n_iterations):
            began = time.process_time()
            booster.evaluate()
            between = time.process_time()
            booster.step()
            passes.append(between - began)
            induction.append(time.process_time() - between)
    return Cost(statistics.median(passes[WARM_UP:]), statistics.median(induction[WARM_UP:]))
