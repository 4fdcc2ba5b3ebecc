"""LatticeCRF: a conditional random field on images and other graphs, with linear scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from hedgerow.declarations import documented
from hedgerow.errors import InputError, warn
from hedgerow.lattice.base import LatticeModel, Scores, accuracy, advice
from hedgerow.lattice.corpus import Corpus, check_known
from hedgerow.lattice.forms import Form
from hedgerow.lattice.linear import Design, Layout, Scaling
from hedgerow.lattice.parameters import LatticeParameters
from hedgerow.lattice.training import Trained, train
from hedgerow.legend import FloatArray


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
    converged_ : whether inference came to rest on every training item at the weights kept

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

    def fit(self, X: Any, y: Any, sample_weight: Any = None, X_val: Any = None, y_val: Any = None) -> LatticeCRF:
        """Train on labelled items.

        Parameters
        ----------
        X : list of items: images, graphs made by `hedgerow.lattice.graph` or `grid`, or tuples (node features, edges)
            or (node features, edges, edge features)
        y : list of arrays of labels (whole numbers or strings), each in the shape of its item
        sample_weight : (S,) weights of the items; with objective="pseudo_likelihood" also a list of arrays, each in the
            shape of its item, with a weight for every node: that of its own label, seen beside those of its neighbours
        X_val, y_val : held-out items; training stops when the share of right labels on them no longer rises
        """
        self._check_parameters()
        problem = self._problem(X, y, sample_weight, X_val, y_val)
        check_known(problem.corpus.nodes, problem.corpus)
        layout, scaling = self._lay_out(problem.corpus, problem.labels)
        warm = self._warm_weights(problem.labels, layout)
        if warm is not None:
            scaling = self.scaling_
        validate = None
        if problem.held_out is not None:
            held_out = problem.held_out
            check_known(held_out.nodes, held_out)
            probe = Design(layout, scaling, held_out)

            def validate(weights: FloatArray) -> float:
                return accuracy(held_out, self._decode(held_out, _at(probe, weights), self.decoder, warn=False))

        search_by = "max_product" if self.decoder == "posterior" else self.decoder
        previous = self.history_ if warm is not None else None
        trained = train(self, Design(layout, scaling, problem.corpus), search_by, warm, previous, validate)
        self._store(problem.corpus, problem.labels, layout, scaling, trained)
        return self

    def _lay_out(self, corpus: Corpus, labels: tuple[Any, ...]) -> tuple[Layout, Scaling]:
        n_directions = 1
        if self.directions == "separate" and len(corpus.directions):
            n_directions = int(corpus.directions.max()) + 1
        form = Form.of(self.form, len(labels))
        layout = Layout(form, corpus.nodes.shape[1], corpus.edges.shape[1], n_directions)
        return layout, Scaling.learn(corpus, standardize=self.standardize)

    def _warm_weights(self, labels: tuple[Any, ...], layout: Layout) -> FloatArray | None:
        if not self.warm_start or not hasattr(self, "weights_"):
            return None
        same = tuple(self.classes_.tolist()) == labels and self.layout_.same_as(layout)
        if not same:
            what = "the model that training goes on from has other labels, features, directions or another form"
            raise InputError(what, hint="Set ⟦warm_start=False⟧.")
        return self.weights_.copy()

    def _store(
        self, corpus: Corpus, labels: tuple[Any, ...], layout: Layout, scaling: Scaling, trained: Trained
    ) -> None:
        self.classes_ = np.array(labels)
        n_given = corpus.edges.shape[1] - (corpus.nodes.shape[1] if self.differences else 0)
        self.n_features_ = corpus.nodes.shape[1], n_given
        self.layout_, self.scaling_ = layout, scaling
        self.weights_ = trained.weights
        self.history_, self.n_iter_ = trained.history, trained.n_iter
        self.best_iteration_, self.loss_ = trained.best.iteration, trained.best.loss
        self.outcome_ = trained.outcome
        self.converged_ = trained.unconverged == 0
        if trained.unconverged:
            what = f"inference did not come to rest on {trained.unconverged} of {corpus.n_graphs} training items"
            warn(f"{what}; {advice(self.inference)}", ConvergenceWarning, stacklevel=3)
        if trained.outcome == "interrupted":
            what = f"training was interrupted after {trained.n_iter} iterations; the best weights so far are kept"
            warn(what, ConvergenceWarning, stacklevel=3)
        elif trained.outcome == "diverged":
            what = f"training made the loss larger, to {trained.best.loss:.6g}; give a smaller ⟦gain⟧, or ⟦gain='auto'⟧"
            warn(what, ConvergenceWarning, stacklevel=3)
        elif trained.outcome == "stuck" and not trained.unconverged:
            what = (
                "training is stuck: no step makes the loss smaller, and yet it is steep. Inference jumps there; use"
                " ⟦trainer='annealed_sgd'⟧, ⟦inference='tree_reweighted'⟧, or a larger ⟦l2⟧"
            )
            warn(what, ConvergenceWarning, stacklevel=3)
        elif trained.outcome == "max_iter" and self.trainer == "lbfgs":
            what = "training stopped after ⟦max_iter⟧ iterations before it converged; raise ⟦max_iter⟧ or ⟦tol⟧"
            warn(what, ConvergenceWarning, stacklevel=3)

    def _scores(self, corpus: Corpus) -> Scores:
        check_known(corpus.nodes, corpus)
        n = self.layout_.n_directions
        if n > 1 and len(corpus.directions) and int(corpus.directions.max()) >= n:
            what = f"X has edges of direction {int(corpus.directions.max())}, and training had {n} directions"
            raise InputError(what, hint="Give grids of as many ⟦neighbours⟧, or set ⟦directions='tied'⟧.")
        return _at(Design(self.layout_, self.scaling_, corpus), self.weights_)

    @property
    def node_weights_(self) -> FloatArray:
        """(1 + F, P)."""
        weights: FloatArray = self.layout_.split(self.weights_)[0][0]
        return weights

    @property
    def edge_weights_(self) -> FloatArray:
        """(directions, 1 + E, Q)."""
        return self.layout_.split(self.weights_)[1]


def _at(design: Design, weights: FloatArray) -> Scores:
    return lambda i: design.potentials(i, weights)
