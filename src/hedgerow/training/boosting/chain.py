"""Gradient tree boosting of a chain (TreeCRF): one tree per label and iteration, fitted to the functional gradient."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hedgerow.chain.edges import SharedEdges
from hedgerow.chain.inference import Workspace
from hedgerow.chain.objectives.log_likelihood import log_likelihood, log_likelihood_messages
from hedgerow.chain.objectives.pseudo_likelihood import pseudo_likelihood
from hedgerow.chain.objectives.result import Objective
from hedgerow.chain.potentials import ChainPotentials, Truth
from hedgerow.data.dataset import Dataset
from hedgerow.errors import NumbersError
from hedgerow.estimators.codec.arrays import scores
from hedgerow.estimators.codec.steps import refuse
from hedgerow.estimators.codec.trees import plain_trees, trees_of
from hedgerow.legend import BoolArray, FloatArray, IndexArray
from hedgerow.parallel import CHUNK_POSITIONS, MAX_LANES, Lanes, plan_chunks
from hedgerow.training import kernels as training_kernels
from hedgerow.training.boosting.arc_steps import ArcSteps, TableSteps
from hedgerow.training.boosting.rows import Gradient, RowWeights, Sampler, Totals, tree_seed
from hedgerow.training.boosting.scores import STEPS, Start, TreeScores
from hedgerow.training.checkpoint import checked, restore, state_of
from hedgerow.training.memory import check_joint_memory
from hedgerow.trees import kernels
from hedgerow.trees.binning import BinnedData
from hedgerow.trees.growing import LEARNED, N_SURROGATES, WEIGHTING, Grower, Tree
from hedgerow.trees.vectors import VectorGrower

MOST_IN_SHARD = 1 << 16  # positions: more of them are more shards, which workers share out
SHAPE = (  # options of a grower
    "l2_regularization", "min_samples_leaf", "max_leaf_nodes", "max_features", "subsets", "missing", "n_surrogates",
)  # fmt: skip
BOUNDED = (log_likelihood, pseudo_likelihood)  # objectives whose gradients are differences of probabilities


@dataclass(frozen=True)
class Options:
    """How trees are grown and added; named as the parameters of TreeCRF are.

    learning_rate : the step that `Booster.step` takes; a search may change it afterwards
    vectors : whether an iteration has one tree for all labels, for shared edges and Newton's leaves
    """

    max_leaf_nodes: int
    l2_regularization: float
    learning_rate: float = 1.0
    edges: str = "joint"
    leaves: str = "mean"
    min_samples_leaf: float = 1.0
    max_features: float = 1.0
    subsets: bool = False
    subsample: float = 1.0
    subsample_by: str = "sequences"
    trim: float = 0.0
    trees_per_step: int = 1
    missing: str = LEARNED
    n_surrogates: int | None = N_SURROGATES
    seed: int = 0
    vectors: bool = False


class Iteration(NamedTuple):
    """What one iteration added: tree r·K + k is the r-th of label k, or one tree is for all labels; table (K, K)
    [from, to] where edges are shared, or (A,), weights of arcs, from order 2 on; none at order 0."""

    trees: list[Tree]
    table: FloatArray | None = None

    def scaled(self, factor: float) -> Iteration:
        trees = [tree.scaled(factor) for tree in self.trees]
        return Iteration(trees, None if self.table is None else factor * self.table)


def plan_shards(offsets: IndexArray) -> IndexArray:
    """Where sequences are cut into shards: by the data only, eight of them, or more where these would be large."""
    return plan_chunks(offsets, max(2 * CHUNK_POSITIONS, min(int(offsets[-1]) // MAX_LANES, MOST_IN_SHARD)))


class Booster:
    """The state of boosting on one corpus. `evaluate`, then `step`, adds an iteration. Use inside `with Lanes(...)`.

    Of a corpus whose parts lie elsewhere there is a booster for each (`pooled.py`), which does as it is told.

    plan : where to cut the sequences into shards, and `totals`, of all parts, where this is one of several
    shards : runs of whole sequences with their scores
    iterations : what was added to them, the first iteration first
    scale : the step of the last one
    overshot : whether a step was taken back; from then on Newton's leaves of shared edges know runs of labels
    """

    grows: ClassVar[tuple[type[Grower], type[Grower]]] = Grower, VectorGrower  # trees of a label, and of all

    def __init__(
        self,
        dataset: Dataset,
        data: BinnedData,
        lanes: Lanes,
        *,
        start: Start | None = None,
        plan: IndexArray | None = None,
        totals: Totals | None = None,
        n_growers: int | None = None,
        **options: Any,
    ) -> None:
        K = dataset.n_labels
        self.dataset = dataset
        self.options = chosen = Options(**options)
        begin = Start.zero(K) if start is None else start
        self.order = begin.order
        self.joint = chosen.edges == "joint" and begin.order > 0
        self.data = begin.seen_by_trees(data, joint=self.joint)
        self.lanes = lanes
        self.iterations: list[Iteration] = []
        table = begin.history_table if self.joint else None
        if self.joint:
            check_joint_memory(dataset.n_positions, K, None if table is None else table.n_histories)
        n_growers = 1 if chosen.vectors else n_growers or min(lanes.n_threads, K)
        plan = plan_shards(dataset.offsets) if plan is None else plan
        totals = Totals.of(dataset) if totals is None else totals
        self.shards = [begin.scores(dataset, int(a), int(b), joint=self.joint, lean=True) for a, b in pairwise(plan)]
        # How shared edges are boosted; at order 0 there are none.
        self._edge_steps = None if self.joint or self.order == 0 else self._make_edge_steps(begin)
        self._sampler = Sampler(dataset, chosen.subsample, chosen.subsample_by, chosen.seed)
        newton = chosen.leaves == "newton"
        self._rows = RowWeights(
            dataset, self.data, begin.space, totals, newton=newton, joint=self.joint, trim=chosen.trim, table=table
        )
        self._growers: list[Any] = [self._make_grower(self.grows) for _ in range(n_growers)]
        self._idle_growers = deque(self._growers)
        self._idle_workspaces = deque(Workspace() for _ in range(lanes.n_threads))
        # Where every row is one that trees are fitted to, growing a tree finds the leaf of each.
        grown_on_all = chosen.subsample >= 1.0 and chosen.trim == 0.0 and chosen.missing != WEIGHTING
        self._leaves_known = grown_on_all or chosen.vectors  # which leave no row out
        self._gradients: list[Gradient] = [(np.empty(0), np.empty(0))] * len(self.shards)
        # The messages go with the exponentials that made them, which the first tree of a label changes.
        one_tree = chosen.trees_per_step == 1 and chosen.subsample >= 1.0
        self._from_messages = self.joint and totals.labelled and self._rows.even and one_tree
        self._table_gradient: FloatArray = np.zeros((K, K) if begin.histories is None else begin.histories.n_arcs)
        self._losses = np.zeros(len(self.shards))
        self._unit, self.overshot = 1.0, False
        self._samples: list[BoolArray | None] = []
        self._direction = Iteration([])
        self.scale = 0.0

    def _make_grower(self, kinds: tuple[type[Grower], type[Grower]], **more: Any) -> Grower:
        return self._rows.grower(kinds[self.options.vectors], **{n: getattr(self.options, n) for n in SHAPE}, **more)

    def _make_edge_steps(self, start: Start) -> TableSteps | ArcSteps:
        newton = self.options.leaves == "newton"
        if start.histories is not None:
            return ArcSteps(self.dataset, start.histories, newton=newton)
        return TableSteps.of(self.dataset, start.space.transitions, newton=newton)

    def resume(self, iterations: list[Iteration]) -> None:
        """Go on from the iterations of an earlier fit, at least one: add them to the scores."""
        for i in range(0, len(iterations), STEPS):  # exponentials stay in bounds, a portion at a time
            self._add(Iteration([tree for one in iterations[i : i + STEPS] for tree in one.trees]), 1.0)
            self._refresh()
        self._add_tables(sum(one.table for one in iterations if one.table is not None))
        self.iterations.extend(iterations)

    def state(self, ended: bool) -> dict[str, Any]:
        """What a checkpoint keeps: the iterations, and until training has ended the scores with all their digits."""
        trees = [tree for one in self.iterations for tree in one.trees]
        tables = [one.table for one in self.iterations if one.table is not None]
        plain = [len(self.iterations), plain_trees(self.dataset.n_labels, trees), np.array(tables) if tables else None]
        taken = {"iterations": plain, "scale": self.scale, "overshot": self.overshot}
        return taken if ended else taken | {"shards": [state_of(shard, shard.KEPT) for shard in self.shards]}

    def restore(self, state: Any, objective: Objective) -> None:
        """Go on from such a state, as if this objective had just been evaluated."""
        shape = self._table_gradient.shape
        n, plain, tables = state["iterations"]
        n_before = self._rows.n_before if self.joint else 0
        trees = trees_of(plain, self.dataset.n_labels, self.data.columns, n_before)
        each = 1 if self.options.vectors else self.dataset.n_labels * self.options.trees_per_step
        if self._edge_steps is not None and n:
            checked(tables, scores("tables", (n, *shape)), "tables")
        if checked(n, int, "iterations") * each != len(trees):
            refuse(f"{len(trees)} trees are not those of {n} iterations")
        parts = [trees[i : i + each] for i in range(0, len(trees), each)]
        self.iterations[:] = [Iteration(one, None if tables is None else tables[i]) for i, one in enumerate(parts)]
        self.scale = checked(state["scale"], float, "scale")
        self.overshot = checked(state["overshot"], bool, "overshot")
        if "shards" in state:
            for shard, saved in zip(self.shards, state["shards"], strict=True):
                restore(shard, shard.KEPT, saved)
            self.evaluate(objective)

    def evaluate(self, objective: Objective = log_likelihood) -> float:
        """The loss, and in each shard its gradient with respect to every score."""
        losses, tables = self._evaluate(objective)
        self._table_gradient[:] = 0.0
        for gradient in tables:  # in order: a sum has one order
            self._table_gradient += gradient
        self._unit = 1.0 if objective in BOUNDED else self._bound_gradients()
        return float(losses.sum())

    def _evaluate(self, objective: Objective) -> tuple[FloatArray, list[FloatArray]]:
        """The loss of each shard, and where edges are shared the gradient of their table."""

        def work(lane: int, s: int) -> None:
            self._evaluate_shard(objective, s)

        runs = self.overshot and objective is log_likelihood and self._edge_steps is not None and self.order == 1
        self._rows.curvatures = [np.empty(0)] * len(self.shards) if runs and self._rows.newton else []
        self.lanes.run(work, len(self.shards))
        if self.joint:
            return self._losses, []
        tables = []
        for s, gradient in enumerate(self._gradients):
            assert gradient is not None
            tables.append(gradient[1])
            self._gradients[s] = gradient[0], self.shards[s].edge_exps
        return self._losses, tables

    def _bound_gradients(self) -> float:
        """Words hold gradients that add up to 2 per position at most, as those of a likelihood do. Divide larger ones
        by what that takes, and return it."""
        sums = np.zeros(self.dataset.n_labels)
        for nodes, edges in filter(None, self._gradients):
            sums += np.abs(nodes).sum(axis=1)
            if self.joint:
                sums += np.abs(edges).sum(axis=(1, 2))
        unit = float(sums.max()) / (2.0 * self._rows.total * self._rows.scale)
        if not np.isfinite(unit):
            raise NumbersError("the gradient is not a number")
        if unit <= 1.0:
            return 1.0
        for nodes, edges in filter(None, self._gradients):
            nodes /= unit
            if self.joint:
                edges /= unit
        return unit

    def _evaluate_shard(self, objective: Objective, s: int) -> None:
        shard, data = self.shards[s], self.dataset
        rows = slice(shard.begin, shard.end)
        assert data.labels is not None
        work = self._idle_workspaces.pop()
        loss = None
        if self._from_messages and objective is log_likelihood:
            loss = log_likelihood_messages(shard.potentials(), data.labels[rows], work)
        if loss is not None:
            shard.keep_messages(work)
            self._losses[s], self._gradients[s] = loss, None
        else:
            truth = Truth(data.labels, data.allowed, data.weight_seq).take(rows, shard.sequences)
            potentials = shard.potentials()
            result = objective(potentials, truth, work)
            # Copies, for the workspace is that of the next shard, too; edges of each position are never in it.
            nodes = np.array(result.node_gradient if self.options.vectors else result.node_gradient.T, order="C")
            edges = result.edge_gradient if self.joint else result.edge_gradient.copy()
            self._losses[s], self._gradients[s] = result.loss, (nodes.T if self.options.vectors else nodes, edges)
            if self._rows.curvatures:
                self._rows.curvatures[s] = self._run_curvature(shard, potentials, result.node_gradient, work)
        self._idle_workspaces.append(work)

    def _run_curvature(
        self, shard: TreeScores, potentials: ChainPotentials, gradient: FloatArray, work: Workspace
    ) -> FloatArray:
        """(n, K): how much the rows of every label count where neighbours move together."""
        assert self.dataset.labels is not None
        edges = potentials.edges
        assert isinstance(edges, SharedEdges)
        stay = np.ascontiguousarray(edges.exps.diagonal())
        curvature, room = np.empty(gradient.shape), np.empty((3, gradient.shape[1]))
        training_kernels.runs.run_curvature(
            gradient, self.dataset.labels[shard.begin : shard.end], self._rows.position_weights(shard),
            work.alpha, work.node_exp, stay, potentials.first, room, curvature,
        )  # fmt: skip
        return curvature

    def step(self, scale: float | None = None) -> list[Tree]:
        """Grow the trees of an iteration to the gradient that `evaluate` left, and add them, times `scale`, to the
        scores; by default times the learning rate."""
        K, R = self.dataset.n_labels, self.options.trees_per_step
        self.scale = self.options.learning_rate if scale is None else scale
        all_positions = self.options.subsample >= 1.0
        self._samples = [None if all_positions else self._sampler.draw(len(self.iterations), r) for r in range(R)]
        n_trees = 1 if self.options.vectors else R * K
        self._direction = Iteration([None] * n_trees, self._table_step())  # type: ignore[list-item]
        self._grow_trees()
        self._add_tables(self._direction.table, self.scale)
        self.iterations.append(self._direction.scaled(self.scale))
        largest = self.scale * R * max(np.abs(tree.values).max() for tree in self._direction.trees)
        self._moved(largest)
        return self.iterations[-1].trees

    def _grow_trees(self) -> None:
        """The trees of all labels, written to the direction and added to the scores; labels go to threads."""
        self.lanes.run(self._grow_label, 1 if self.options.vectors else self.dataset.n_labels)

    def _moved(self, largest: float) -> None:
        for shard in self.shards:
            shard.moved(largest)

    def _refresh(self) -> None:
        for shard in self.shards:
            shard.refresh()

    def rescale(self, scale: float) -> None:
        """Take another step in the direction of the last one, instead of it."""
        self.overshot = self.overshot or scale < self.scale
        self._add(self._direction, scale - self.scale)
        self.scale = scale
        self.iterations[-1] = self._direction.scaled(scale)

    def slope(self) -> float:
        """The derivative of the loss by the size of the last step, where it has none: Σ gradient · direction.

        The rows of a leaf of value v have the gradients −v·(n + λ) in all, by (3.1); rows left out are not in it. Of a
        tree for all labels it is not known: its counts are not those of a label.
        """
        if self.options.vectors:
            return float("nan")
        total = 0.0
        for tree in self._direction.trees:
            squares = tree.values**2 * (tree.counts + self.options.l2_regularization)
            total -= self.options.trees_per_step * float(squares.sum())  # the values are those of an average
        if self._edge_steps is not None and self._direction.table is not None:
            total += self._edge_steps.slope(self._table_gradient, self._direction.table)
        return total

    def _table_step(self) -> FloatArray | None:
        """What the iteration adds to shared edges, times the step."""
        if self._edge_steps is not None:
            return self._edge_steps.step(self._table_gradient, self.options.l2_regularization)
        return None if self.joint else np.zeros(0)

    def _grow_label(self, lane: int, k: int) -> None:
        """The trees of one label, one after the other; or the tree of all."""
        K, R = self.dataset.n_labels, self.options.trees_per_step
        grower = self._idle_growers.pop()
        for r in range(R):
            self._rows.fill(grower, k, self.shards, self._gradients, self._samples[r])
            draws = self.options.max_features < 1.0
            tree, leaves = grower.grow(tree_seed(self.options.seed, len(self.iterations), r, k) if draws else 0)
            tree = tree.rescaled(self._unit, self._rows.scale).scaled(1.0 / R)
            self._direction.trees[r * K + k] = tree
            if self._leaves_known and leaves is not None:
                self._add_leaves(k, leaves.leaf_of, leaves.values * (self._unit / R))
            else:
                for shard in self.shards:
                    shard.add_label(self.data, k, [tree], scale=self.scale)
        self._idle_growers.append(grower)

    def _add_leaves(self, k: int, leaf_of: Any, leaf_values: FloatArray) -> None:
        if self.options.vectors:
            for shard in self.shards:
                which = leaf_of[self.data.window_place[shard.begin : shard.end]]
                of_labels = np.ascontiguousarray(self.scale * leaf_values.T)
                kernels.vector_growing.add_vectors(which, of_labels, shard.start_scores)
            return
        # What is no row has no leaf, and any number may stand there for it: values for all numbers there can be.
        values: FloatArray = np.zeros(self.options.max_leaf_nodes + 1)
        values[: len(leaf_values)] = self.scale * leaf_values
        factors = np.exp(values)
        if self.joint and self.order > 1:
            for shard in self.shards:
                assert shard.edge_scores is not None
                where = self.data.window_place, shard.begin, shard.end
                kernels.boosting.add_leaf_scores(leaf_of, *where, values, shard.edge_scores[k])
            return
        for shard in self.shards:
            kernels.boosting.add_leaves(
                leaf_of, self.data.window_place, self.data.window_first, shard.begin, shard.end, values, factors,
                shard.edge_exps[k], shard.start_scores[k],
            )  # fmt: skip

    def _add(self, iteration: Iteration, scale: float) -> None:
        """Add trees, by walking them, and a table."""

        def work(lane: int, s: int) -> None:
            self.shards[s].add(self.data, iteration.trees, scale=scale)

        self.lanes.run(work, len(self.shards))
        self._add_tables(iteration.table, scale)

    def _add_tables(self, table: Any, scale: float = 1.0) -> None:
        if table is not None and not self.joint:
            for shard in self.shards:
                shard.add_table(scale * table)
