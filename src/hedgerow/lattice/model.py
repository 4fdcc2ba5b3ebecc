"""LatticeCRF: a conditional random field on images and other graphs, with linear scores."""

from __future__ import annotations

from typing import Any

from hedgerow.declarations import documented
from hedgerow.errors import InputError
from hedgerow.estimators.facts import describe_end
from hedgerow.lattice.base import LatticeModel, Scores, TrainingGraphs
from hedgerow.lattice.dataset import GraphDataset
from hedgerow.lattice.parameters import LatticeParameters
from hedgerow.lattice.scores import Design, Form, Layout, Scaling
from hedgerow.lattice.training import train
from hedgerow.legend import FloatArray
from hedgerow.trainers import name_of
from hedgerow.training.monitor import Trained


@documented
class LatticeCRF(LatticeParameters, LatticeModel):
    """A conditional random field on graphs whose edges join two nodes each: images, volumes, or anything else.

    The score of a labeling is a sum over nodes (weights times features) and over edges (weights times edge features: 1,
    those given, and |h_i − h_j| of the node features).

    Attributes
    ----------
    classes_ : array of labels, sorted
    node_weights_ : (1 + F, P), of the constant 1 and of each feature, standardised; P labels, or 1 in Ising's form
    edge_weights_ : (directions, 1 + E, Q), likewise; Q pairs of labels, or 1
    n_iter_, loss_, history_, best_iteration_ : as in LinearCRF
    outcome_ : why training ended: "converged", "max_iter", "early_stopping" or "interrupted"; "stuck" where no step
        makes the loss smaller though it is steep, "diverged" where an online trainer made it larger
    converged_ : whether inference converged on every training item at the weights kept

    Examples
    --------
    >>> import numpy as np
    >>> from hedgerow import LatticeCRF
    >>> mask = np.zeros((8, 8), dtype=int)
    >>> mask[2:6, 2:6] = 1
    >>> image = mask + np.random.default_rng(0).normal(scale=0.5, size=mask.shape)
    >>> model = LatticeCRF(form="ising").fit([image], [mask])
    >>> model.predict([image])[0].shape
    (8, 8)
    """

    layout_: Layout
    scaling_: Scaling
    weights_: FloatArray

    def _train(self, data: TrainingGraphs) -> tuple[Trained[FloatArray], int]:
        data.train.require_numbers()
        layout = Layout.of(Form.of(self.form, len(data.labels)), data.train, directions=self.directions)
        warm = self._warm_weights(data.labels, layout) if self.warm_start else None
        scaling = self.scaling_ if warm is not None else Scaling.learn(data.train, standardize=self.standardize)
        validate = None
        if data.held_out is not None:
            held_out = data.held_out
            held_out.require_numbers()
            probe = Design(layout, scaling, held_out)

            def validate(weights: FloatArray) -> float:
                return self._accuracy(held_out, lambda i: probe.potentials(i, weights), warn=False)

        objective = self._objective(data)
        previous = self.history_ if warm is not None else None
        design = Design(layout, scaling, data.train)
        trained, unconverged = train(self, design, objective, warm, previous, validate)
        self.layout_, self.scaling_, self.weights_ = layout, scaling, trained.learnt
        return trained, unconverged

    def _warm_weights(self, labels: tuple[Any, ...], layout: Layout) -> FloatArray | None:
        """The weights of the previous fit, where there is one."""
        if not hasattr(self, "weights_"):
            return None
        same = tuple(self.classes_.tolist()) == labels and self.layout_.same_as(layout)
        if not same:
            what = "the model that training goes on from has other labels, features, directions or another form"
            raise InputError(what, hint="Set ⟦warm_start=False⟧.")
        return self.weights_.copy()

    def _complaint(self, trained: Trained[FloatArray], unconverged: int) -> str:
        if trained.outcome == "stuck" and not unconverged:
            return (
                "training is stuck: no step makes the loss smaller, and yet it is steep. Inference jumps there; use"
                " ⟦trainer='annealed_sgd'⟧, ⟦inference='tree_reweighted'⟧, or a larger ⟦l2⟧"
            )
        online = name_of(self.trainer) != "lbfgs"
        return "" if trained.outcome == "max_iter" and online else describe_end(trained)

    def _scores(self, dataset: GraphDataset) -> Scores:
        dataset.require_numbers()
        n = self.layout_.n_directions
        if n > 1 and len(dataset.directions) and int(dataset.directions.max()) >= n:
            what = f"X has edges of direction {int(dataset.directions.max())}, and training had {n} directions"
            raise InputError(what, hint="Give grids of as many ⟦neighbours⟧, or set ⟦directions='tied'⟧.")
        design, weights = Design(self.layout_, self.scaling_, dataset), self.weights_
        return lambda i: design.potentials(i, weights)

    @property
    def node_weights_(self) -> FloatArray:
        """(1 + F, P)."""
        weights: FloatArray = self.layout_.split(self.weights_)[0][0]
        return weights

    @property
    def edge_weights_(self) -> FloatArray:
        """(directions, 1 + E, Q)."""
        return self.layout_.split(self.weights_)[1]
