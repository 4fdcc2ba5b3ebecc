"""CPU time of an iteration: of boosting, the passes over the chain and the trees; of feature induction, the passes and
the rounds that find features."""

from __future__ import annotations

import statistics
import time
import warnings
from typing import Any, NamedTuple

from hedgerow.data.dataset import Window
from hedgerow.data.encoding import learn
from hedgerow.estimators.prepare import Prepared, prepare
from hedgerow.models.crf.induction import Rounds
from hedgerow.models.crf.linear import LinearCRF
from hedgerow.parallel import Lanes
from hedgerow.trainers import FeatureInduction
from hedgerow.training.boosting.chain import Booster
from hedgerow.trees.binning import bin_dataset, learn_binning

EVERY = 8  # iterations between two rounds of feature induction
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


class TimedRounds(Rounds):
    """Rounds that note the CPU seconds of their parts: of iterations, and of rounds."""

    def __init__(self, model: LinearCRF, ready: Prepared) -> None:
        self.spent: dict[str, list[float]] = {"iterations": [], "rounds": []}
        super().__init__(model, ready)

    def _train_some(self) -> str | None:
        began = time.process_time()
        outcome = super()._train_some()
        self.spent["iterations"].append(time.process_time() - began)
        return outcome

    def _add_features(self) -> None:
        began = time.process_time()
        super()._add_features()
        self.spent["rounds"].append(time.process_time() - began)


def run_rounds(X: Any, y: Any, *, window: Window, n_rounds: int, on: str = "pairs") -> TimedRounds:
    """So many rounds of feature induction, each after 8 iterations, in one thread; and one before that is not kept, for
    kernels may have to be loaded."""
    warnings.simplefilter("ignore")
    for n in (1, n_rounds):
        induction = FeatureInduction(every=EVERY, max_rounds=n, on=on)  # type: ignore[arg-type]
        model = LinearCRF(window=window, max_iter=EVERY * (n + 1), induction=induction, l2=0.05)
        rounds = TimedRounds(model, prepare(model._preparation(), X, y))
        rounds.run()
    return rounds


def induction_cost(X: Any, y: Any, *, window: Window, n_rounds: int) -> Cost:
    """The same by iteration, as the thesis has it: means over all iterations, of which one in eight is a round's."""
    spent = run_rounds(X, y, window=window, n_rounds=n_rounds).spent
    return Cost(*(statistics.fmean(spent[name][:n_rounds]) / EVERY for name in ("iterations", "rounds")))
