"""What every estimator on graphs can do once it makes scores: label, probabilities, files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from hedgerow.chain.decoding import tilted
from hedgerow.chain.objectives import tilt_of
from hedgerow.data.dataset import Label
from hedgerow.data.labels import counted
from hedgerow.data.readers.columns import objects
from hedgerow.declarations import check_choice
from hedgerow.errors import InputError, NumbersError, warn
from hedgerow.estimators.base import FittedModel
from hedgerow.estimators.kept import Kept, keeping, same_graphs
from hedgerow.estimators.values import random_generator, weights_of_labels
from hedgerow.estimators.why.explanation import Explanation
from hedgerow.lattice.dataset import (
    GraphDataset,
    encode_masks,
    labels_of_items,
    learn_labels,
    make_dataset,
    read_masks,
    read_weights,
    weights_of,
    with_labels,
)
from hedgerow.lattice.graphs import Graph, read_graphs
from hedgerow.lattice.inference.infer import Beliefs
from hedgerow.lattice.inference.search import search
from hedgerow.lattice.objectives import GraphObjective
from hedgerow.lattice.parameters import DECODERS, check_graph_parameters, inference_of
from hedgerow.lattice.scores import Potentials
from hedgerow.legend import CODE, AnyArray, CodeArray, FloatArray
from hedgerow.metrics.tokens import code_accuracy
from hedgerow.parallel import over_items
from hedgerow.training.memory import check_lattice_memory
from hedgerow.training.monitor import Trained

Result = TypeVar("Result")
Scores = Callable[[int], Potentials]  # the number of a graph of a dataset → its scores

LARGEST = 1e300  # score: a few of them add up to a number


class TrainingGraphs(NamedTuple):
    """The items of `fit`: those to train on, those held out, if any, and what labels count (K,), if it is not 1."""

    train: GraphDataset
    labels: tuple[Any, ...]
    held_out: GraphDataset | None
    label_weights: FloatArray | None


class LatticeModel(FittedModel):
    """The common part of the estimators on graphs. A subclass gives `_train`, `_scores` and the parameters below.

    tilt_ : (K,), logarithms of what the probabilities of labels are multiplied by (`class_weight`), or None
    """

    tilt_: FloatArray | None = None
    n_features_: tuple[int, int]  # of nodes, and of edges before differences

    def _check_parameters(self) -> None:
        check_graph_parameters(self)

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        *,
        checkpoint: Kept = None,
        callbacks: Any = None,
    ) -> Self:
        """Train on labelled items.

        Parameters
        ----------
        X : list of items: images, graphs made by `hedgerow.lattice.graph` or `grid`, or tuples (node features, edges)
            or (node features, edges, edge features)
        y : list of arrays of labels (whole numbers or strings), each in the shape of its item
        sample_weight : (S,) weights of the items; with objective="pseudo_likelihood" also a list of arrays, each in the
            shape of its item, with a weight for every node: that of its own label, seen beside those of its neighbours
        X_val, y_val : held-out items; training stops when the share of right labels on them no longer rises
        checkpoint : a file, or a `hedgerow.Checkpoint`, from which training goes on when it was killed, to the same
            bits; the data and the parameters must be the same
        callbacks : as in `LinearCRF.fit`
        """
        self._check_parameters()
        with keeping(self, checkpoint, callbacks):
            data = self._training_graphs(X, y, sample_weight, X_val, y_val)
            self.tilt_ = tilt_of(self.objective, data.label_weights)
            trained, unconverged = self._train(data)
            self._keep(data, trained, unconverged)
        if what := self._complaint(trained, unconverged):
            warn(what, ConvergenceWarning, stacklevel=2)
        return self

    def _train(self, data: TrainingGraphs) -> tuple[Trained[Any], int]:
        """Train, and keep what was learnt; and on how many graphs inference did not converge at the end."""
        raise NotImplementedError

    def _complaint(self, trained: Trained[Any], unconverged: int) -> str:
        """The warning to give where training did not end well; "" where it did."""
        raise NotImplementedError

    def _scores(self, dataset: GraphDataset) -> Scores:
        """How to score the graphs of a dataset; threads may ask for several at once."""
        raise NotImplementedError

    def predict(self, X: Any, *, decoder: str | None = None) -> AnyArray:
        """The labels of each item: an array of S arrays, dtype object, each in the shape of its image.

        decoder : as the parameter of the estimator, which it stands in for
        """
        dataset = make_dataset(self._read(X), differences=self.differences)
        name = self.decoder if decoder is None else decoder
        check_choice("decoder", name, DECODERS)
        labels = self._decode(len(dataset.topologies), self._scores(dataset), name)
        return objects(dataset.cut(self.classes_[labels]))

    def predict_proba(self, X: Any) -> list[FloatArray]:
        """The probability of each label at each node: a list of arrays (…, K), columns as in `classes_`."""
        dataset = make_dataset(self._read(X), differences=self.differences)
        beliefs = self._infer(len(dataset.topologies), self._scores(dataset))
        return [each.node_probs.reshape(*shape, -1) for each, shape in zip(beliefs, dataset.shapes)]

    def infer(self, X: Any) -> list[Beliefs]:
        """What inference gives for each item: probabilities of nodes (n, K) and edges (M, K, K), the approximation of
        log Z, and whether and how fast it converged."""
        dataset = make_dataset(self._read(X), differences=self.differences)
        return self._infer(len(dataset.topologies), self._scores(dataset), warn=False)

    def explain(
        self, X: Any, position: Any, label: Label | None = None, *, against: Label | None = None
    ) -> Explanation:
        """Why a node has its label: the log-odds of the label against another one, as a sum of parts.

        X : one item; position : its place in the image, such as (row, column), or the number of a node of a graph
        label, against : the label to explain, and what it is compared with; by default the two most probable ones
        """
        from hedgerow.lattice.explaining import explain_node

        dataset = make_dataset(self._read([X]), differences=self.differences)
        return explain_node(self, dataset, position, label, against)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of nodes whose label is right, of those that have one in y; weights as in `fit`, or of nodes."""
        graphs = self._read(X)
        codes = encode_masks(read_masks(y, graphs), tuple(self.classes_.tolist()), unlabelled=self.unlabelled)
        dataset = make_dataset(graphs, differences=self.differences)
        dataset = with_labels(dataset, codes, read_weights(sample_weight, graphs))
        return self._accuracy(dataset, self._scores(dataset))

    def _read(self, X: Any) -> list[Graph]:
        """The items of X, with the features that the model was trained on."""
        check_is_fitted(self)
        graphs = self._graphs(X)
        counts = graphs[0].node_features.shape[1], graphs[0].edge_features.shape[1]
        for count, trained, word in zip(counts, self.n_features_, ("node", "edge")):
            if count != trained:
                raise InputError(f"X has {count} features per {word}, and training had {trained}")
        return graphs

    def _graphs(self, X: Any) -> list[Graph]:
        graphs = read_graphs(X, neighbours=self.neighbours, ndim=self.ndim)
        if not graphs:
            raise InputError("X has no items", hint="Give at least one image or graph.")
        return graphs

    def _training_graphs(self, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any) -> TrainingGraphs:
        """The training items as arrays, and those held out."""
        _, (sample_weight, X, y) = counted(sample_weight, X, y)
        graphs = self._graphs(X)
        masks, weights = read_masks(y, graphs), read_weights(sample_weight, graphs)
        if isinstance(weights, list) and self.objective != "pseudo_likelihood":
            what = f"⟦sample_weight⟧ has a weight for each node, and the ⟦objective⟧ is {self.objective!r}"
            raise InputError(what, hint="Its loss is one number per item: weigh items, or use 'pseudo_likelihood'.")
        labels = learn_labels(masks, unlabelled=self.unlabelled)
        if (X_val is None) != (y_val is None):
            raise InputError("⟦X_val and y_val⟧ go together", hint="Give both, or neither.")
        held_graphs, held_masks = [], []
        if X_val is not None:
            held_graphs = read_graphs(X_val, neighbours=self.neighbours, ndim=self.ndim)
            read_graphs([graphs[0], *held_graphs[:1]], neighbours=self.neighbours, ndim=self.ndim)  # as many features
            held_masks = read_masks(y_val, held_graphs, name="y_val")
        elif self.early_stopping:
            train, held = self._hold_out(masks)
            held_graphs, held_masks = [graphs[i] for i in held], [masks[i] for i in held]
            graphs, masks, weights = [graphs[i] for i in train], [masks[i] for i in train], weights_of(weights, train)
        check_lattice_memory(self.form, len(labels), max(graph.topology.n_edges for graph in graphs))
        codes = encode_masks(masks, labels, unlabelled=self.unlabelled)
        dataset = with_labels(make_dataset(graphs, differences=self.differences), codes, weights)
        held_out = None
        if held_graphs:
            codes = encode_masks(held_masks, labels, unlabelled=self.unlabelled, name="y_val")
            held_out = with_labels(make_dataset(held_graphs, differences=self.differences), codes)
        spread = (dataset.spread_weights() or (None,))[0]
        label_weights = weights_of_labels(self.class_weight, labels, dataset.labels, spread)
        same_graphs(labels=labels, training=dataset, held_out=held_out)
        return TrainingGraphs(dataset, labels, held_out, label_weights)

    def _objective(self, data: TrainingGraphs) -> GraphObjective:
        by = "max_product" if self.decoder == "posterior" else self.decoder
        return GraphObjective(self.objective, inference_of(self), by, data.label_weights)

    def _hold_out(self, masks: list[AnyArray]) -> tuple[list[int], list[int]]:
        """The items that train, and those held out. An item with a label that no other has stays in training."""
        n = len(masks)
        order = random_generator(self.random_state).permutation(n).tolist()
        labels = labels_of_items(masks, unlabelled=self.unlabelled)
        n_held = int(np.ceil(self.validation_fraction * n))
        train = order[n_held:]
        seen: set[Any] = set().union(*(labels[i] for i in train))
        held = [i for i in order[:n_held] if labels[i] <= seen]
        if not held or len(held) == n:
            hint = "Set ⟦early_stopping=False⟧, or give ⟦X_val and y_val⟧."
            raise InputError(f"of {n} items none can be held out", hint=hint)
        return sorted(set(range(n)) - set(held)), sorted(held)

    def _infer(self, n_graphs: int, scores: Scores, *, warn: bool = True) -> list[Beliefs]:
        inference = inference_of(self)
        found = over_items(lambda i: inference(_finite(scores(i), i)), range(n_graphs), self.n_jobs)
        beliefs = [each._replace(node_probs=tilted(each.node_probs, self.tilt_)) for each in found]
        if warn:
            self._warn_of_unconverged([each.converged for each in beliefs].count(False), n_graphs)
        return beliefs

    def _decode(self, n_graphs: int, scores: Scores, name: str, *, warn: bool = True) -> CodeArray:
        """(N,): the label codes of all nodes of all graphs."""
        if name == "posterior":
            beliefs = self._infer(n_graphs, scores, warn=warn)
            return np.concatenate([each.node_probs.argmax(axis=1) for each in beliefs]).astype(CODE)
        inference = inference_of(self)
        if inference.method == "mean_field":  # it has no messages to maximise
            inference = type(inference)(max_updates=inference.max_updates, tol=inference.tol)
        best = over_items(lambda i: search(_finite(scores(i), i), name, inference), range(n_graphs), self.n_jobs)
        if warn:
            self._warn_of_unconverged([each.converged for each in best].count(False), n_graphs)
        return np.concatenate([each.labels for each in best])

    def _accuracy(self, dataset: GraphDataset, scores: Scores, *, warn: bool = True) -> float:
        """The share of labelled nodes that the decoder gets right, as the dataset weighs them."""
        assert dataset.labels is not None
        weights = dataset.spread_weights() or (None, None)
        labels = self._decode(len(dataset.topologies), scores, self.decoder, warn=warn)
        return code_accuracy(dataset.labels, labels, weights[0])

    def _count_features(self, dataset: GraphDataset) -> tuple[int, int]:
        """The number of features of a node, and of an edge before differences are added."""
        F = dataset.nodes.shape[1]
        return F, dataset.edges.shape[1] - (F if self.differences else 0)

    def _keep(self, data: TrainingGraphs, trained: Trained[Any], unconverged: int) -> None:
        """Keep how training went, and say where inference did not converge."""
        self.classes_ = np.array(data.labels)
        self.n_features_ = self._count_features(data.train)
        self._keep_training(trained)
        self.converged_ = unconverged == 0
        self._warn_of_unconverged(unconverged, len(data.train.topologies), "training items")

    def _warn_of_unconverged(self, n_unconverged: int, n_graphs: int, items: str = "items") -> None:
        if n_unconverged:
            advice = "raise ⟦max_updates⟧ or ⟦inference_tol⟧"
            if self.inference == "loopy":
                advice = "raise ⟦max_updates⟧, or use ⟦inference='tree_reweighted'⟧ or 'mean_field'"
            what = f"inference did not converge on {n_unconverged} of {n_graphs} {items}; {advice}"
            warn(what, ConvergenceWarning, stacklevel=4)


def _finite(potentials: Potentials, i: int) -> Potentials:
    """The scores of item i, which must be numbers that add up to some."""
    largest = max(np.abs(scores).max(initial=0.0) for scores in (potentials.node_scores, potentials.edge_scores))
    if not largest < LARGEST:
        raise NumbersError(f"item {i}: the scores are not numbers, or too large to add")
    return potentials
