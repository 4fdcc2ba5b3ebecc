"""New: trees of their own for nodes and for edges, as section 3 of Dietterich, Ashenfelter and Bulatov 2004 would have
them "in principle", beside those of the paper, where one tree of a label scores both."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from hedgerow.chain.decoding import DECODERS as DECODE
from hedgerow.chain.edges import chain_from_scores
from hedgerow.chain.inference import Workspace
from hedgerow.chain.objectives.log_likelihood import log_likelihood
from hedgerow.chain.potentials import ChainPotentials, Truth
from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.dataset import Dataset
from hedgerow.data.encoding import learn
from hedgerow.legend import FloatArray
from hedgerow.metrics import mcnemar
from hedgerow.training.boosting.rows import RowWeights, Totals
from hedgerow.training.boosting.scores import Start, all_first
from hedgerow.trees.binning import BinnedData, bin_dataset, learn_binning
from hedgerow.trees.ensemble import add_trees
from hedgerow.trees.growing import Grower, Tree
from reproduction.comparison import Difference
from reproduction.contenders import PAPER_LEAVES, paper_model
from reproduction.curves import known_labels, right_by_iteration
from reproduction.drawing import draw_curves
from reproduction.problems import Problem, load_problem, take
from reproduction.report import Grid, Report, Row
from reproduction.settings import DECODERS, Settings

TITLE = "Trees of their own for nodes and edges, and trees for both: test accuracy (%) by iteration"
STOPS = (10, 25, 50, 100)
HEADER = (
    "data", "trees", "decoder", *(f"after {stop}" for stop in STOPS), "trees an iteration", "CPU seconds", "test",
)  # fmt: skip
SHRINKAGE, MOST_ITERATIONS = 20.0, 100
SEPARATE, TOGETHER = "separate", "together"


class SeparateTrees:
    """Boosting of Ψ(y, X) and of Ψ(y′, y, X): in each iteration a tree for every label and one for every pair of
    labels, which see the window alone, each fitted to the gradient of its own scores.

    nodes : (K, n), edges : (K, n, K) [to, position, from], the scores so far
    """

    def __init__(
        self, dataset: Dataset, data: BinnedData, *, max_leaf_nodes: int, l2_regularization: float, step: float = 1.0
    ) -> None:
        n, K = dataset.n_positions, dataset.n_labels
        self.dataset, self.data, self._step = dataset, all_first(data), step
        self.nodes, self.edges = np.zeros((K, n)), np.zeros((K, n, K))
        totals, space = Totals.of(dataset), StateSpace.full(K)
        self._rows = RowWeights(dataset, self.data, space, totals, newton=False, joint=False, trim=0.0)
        shape = {"max_leaf_nodes": max_leaf_nodes, "l2_regularization": l2_regularization, "min_samples_leaf": 1.0}
        self._grower = self._rows.grower(Grower, **shape)
        self._shards = [Start.zero(K).scores(dataset, 0, dataset.n_sequences, joint=False)]
        self._inner = np.ones(n, dtype=bool)  # where there is a label before
        self._inner[dataset.offsets[:-1]] = False

    def iterate(self) -> tuple[float, list[Tree]]:
        """The loss before an iteration, and its trees: of label k the k-th, of the pair (j, k) number K + K·j + k."""
        labels, K = self.dataset.labels, self.dataset.n_labels
        assert labels is not None
        potentials = chain_from_scores(self.nodes.T, self.edges, self.dataset.offsets)
        found = log_likelihood(potentials, Truth(labels), Workspace())
        by_pair = found.edge_gradient.transpose(2, 0, 1).reshape(K * K, -1)
        gradients = np.ascontiguousarray(np.vstack([found.node_gradient.T, by_pair]))
        trees = []
        for m in range(len(gradients)):
            sample = None if m < K else self._inner
            self._rows.fill(self._grower, m, self._shards, [(gradients, gradients)], sample)
            trees.append(self._grower.grow()[0].scaled(self._step))
        add_separate(self.data, trees, self.nodes, self.edges)
        return float(found.loss), trees


def add_separate(data: BinnedData, trees: list[Tree], nodes: FloatArray, edges: FloatArray) -> None:
    """Add the trees of an iteration to scores (K, n) and (K, n, K)."""
    K, unused = len(nodes), np.zeros((1, nodes.shape[1], 1))
    for m, tree in enumerate(trees):
        added = np.zeros((1, nodes.shape[1]))
        add_trees(data, data.place, [tree], unused, added)
        if m < K:
            nodes[m] += added[0]
        else:
            before, label = divmod(m - K, K)
            edges[label, :, before] += added[0]


def run(settings: Settings) -> Report:
    """Proteins, stress and hyphenation, the first part of each."""
    data: dict[str, Any] = {}
    for name in ("protein", "nettalk", "hyphen"):
        problem = load_problem(name, settings)
        data[name] = trace(problem, settings)
        settings.say(f"{problem.title}: done")
    rows = [_row(found, name, decoder) for found in data.values() for name in found["right"] for decoder in DECODERS]
    notes = [
        f"Both with λ = {SHRINKAGE:g}, at most {PAPER_LEAVES} leaves, steps of 1 and nothing tuned; together is the"
        " algorithm of the thesis. Separate: K trees for labels and K² for pairs of labels, which see the window.",
        "The test part is read after each iteration; nothing is chosen by it. Test: separate against together after the"
        " last iteration, McNemar's by label.",
    ]
    return Report("separate-trees", [Grid(TITLE, HEADER, rows)], notes, data)


def trace(problem: Problem, settings: Settings) -> dict[str, Any]:
    """Accuracies by iteration of both, CPU seconds, and McNemar's test at the end."""
    n_iterations = min(settings.max_iterations, MOST_ITERATIONS)
    part = problem.parts(settings.seeds[0])[0]
    X, y = take(problem.X, part.train), take(problem.y, part.train)
    X_test, y_test = take(problem.X, part.test), take(problem.y, part.test)
    parameters = {"l2_regularization": SHRINKAGE, "max_leaf_nodes": PAPER_LEAVES}
    began = time.process_time()
    model = paper_model(problem.window, n_iterations, parameters).fit(X, y)
    seconds = {TOGETHER: time.process_time() - began}
    dataset = learn(X, y, window=problem.window)
    binning = learn_binning(dataset)
    test = model.encode(X_test, known_labels(model.classes_, y_test)[0])
    seen, K = all_first(bin_dataset(binning, test, postings=False)), dataset.n_labels
    booster = SeparateTrees(dataset, bin_dataset(binning, dataset, postings=True), **parameters)  # type: ignore[arg-type]
    nodes, edges = np.zeros((K, test.n_positions)), np.zeros((K, test.n_positions, K))
    right, spent = np.zeros((len(DECODERS), n_iterations)), 0.0
    for i in range(n_iterations):
        began = time.process_time()
        trees = booster.iterate()[1]
        spent += time.process_time() - began
        add_separate(seen, trees, nodes, edges)
        potentials = chain_from_scores(nodes.T, edges, test.offsets)
        right[:, i] = [np.count_nonzero(_decoded(potentials, name) == test.labels) for name in DECODERS]
    seconds[SEPARATE] = spent
    both = {TOGETHER: right_by_iteration(model, X_test, y_test, DECODERS), SEPARATE: right}
    cuts = test.offsets[1:-1]
    tests = {}
    for name, ours in zip(DECODERS, right):
        own = [part.tolist() for part in np.split(model.classes_[_decoded(potentials, name)], cuts)]
        other = model.predict(X_test, decoder=name)
        gap = 100 * (ours[-1] - both[TOGETHER][DECODERS.index(name), -1]) / test.n_positions
        tests[name] = Difference(gap, mcnemar(y_test, own, other).p_value)
    shares = {name: (100 * counts / test.n_positions).tolist() for name, counts in both.items()}
    n_trees = {TOGETHER: K, SEPARATE: K + K * K}
    return {"title": problem.title, "right": shares, "seconds": seconds, "n_trees": n_trees, "tests": tests}


def _decoded(potentials: ChainPotentials, decoder: str) -> Any:
    return DECODE[decoder](potentials, None)


def _row(found: dict[str, Any], name: str, decoder: str) -> Row:
    accuracies, test = found["right"][name][DECODERS.index(decoder)], found["tests"][decoder]
    stops = [f"{accuracies[stop - 1]:.2f}" if stop <= len(accuracies) else "–" for stop in STOPS]
    against = f"{test.difference:+.2f} {test}" if name == SEPARATE else ""
    cost = f"{found['n_trees'][name]}", f"{found['seconds'][name]:.1f}"
    return (found["title"], name, decoder, *stops, *cost, against)


def draw(data: dict[str, Any]) -> Any:
    """Accuracies and the trees that were grown, by iteration."""
    return draw_curves(
        {
            found["title"]: {
                f"{name}, {decoder}": {
                    "accuracies": own,
                    "seconds": [found["seconds"][name] * (i + 1) / len(own) for i in range(len(own))],
                }
                for name, curves in found["right"].items()
                for decoder, own in zip(DECODERS, curves)
            }
            for found in data.values()
        }
    )
