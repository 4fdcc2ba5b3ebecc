"""What tests of objectives share: chunks in each form of edges, hidden labels, differences along random directions."""

from __future__ import annotations

import numpy as np

from hedgerow.chain.edges import PositionEdges, SharedEdges
from hedgerow.chain.potentials import ChainPotentials

FORMS = ("dense", "arcs", "position")


def in_form(form, node, edges, offsets) -> ChainPotentials:
    """Potentials with the edges as a table, as lists of arcs, or as exponentials of each position without scores."""
    if form == "position":
        whole = PositionEdges.from_scores(edges)
        kept = PositionEdges(whole.exps, whole.shifts)
    else:
        kept = SharedEdges.from_scores(edges, sparse=form == "arcs")
    return ChainPotentials(np.array(node, dtype=float), np.asarray(offsets, dtype=np.int64), kept)


def potentials_of(case, form) -> ChainPotentials:
    return in_form(form, *case.arrays)


def hide(case, rng, share):
    """Labels with some unknown, and sets that hold the truth."""
    labels = np.where(rng.random(len(case.labels)) < share, -1, case.labels)
    allowed = rng.random(case.node.shape) < 0.5
    allowed[np.arange(len(labels)), case.labels] = True
    return labels, allowed


def random_costs(rng, n_labels, *, whole=False):
    costs = rng.integers(1, 4, size=(n_labels, n_labels)) * 1.0 if whole else rng.random((n_labels, n_labels)) + 0.2
    np.fill_diagonal(costs, 0.0)
    return costs


def check_differences(evaluate, case, form, rng, *, directions=3, rtol=1e-6, step=1e-4):
    """The gradient times a direction equals a central difference, by Richardson's rule of the steps h and h / 2.

    evaluate(potentials) gives a LossAndGradient.
    """
    at = evaluate(potentials_of(case, form))
    nodes, pairs = at.node_gradient.copy(), at.edge_gradient.copy()
    assert np.isfinite(nodes).all()
    assert np.isfinite(pairs).all()
    for _ in range(directions):
        along = rng.normal(size=nodes.shape), rng.normal(size=pairs.shape)

        def difference(h, along=along):
            losses = [
                evaluate(in_form(form, case.node + s * along[0], case.edges + s * along[1], case.offsets)).loss
                for s in (h, -h)
            ]
            return (losses[0] - losses[1]) / (2 * h)

        expected = (4 * difference(step / 2) - difference(step)) / 3
        found = (nodes * along[0]).sum() + (pairs * along[1]).sum()
        size = np.abs(nodes * along[0]).sum() + np.abs(pairs * along[1]).sum()
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * size + 1e-9)


def check_gradients(found, expected, *, rtol=1e-8, atol=1e-10):
    """A LossAndGradient equals (loss, node gradient, edge gradient)."""
    np.testing.assert_allclose(found.loss, expected[0], rtol=rtol, atol=atol)
    np.testing.assert_allclose(found.node_gradient, expected[1], rtol=rtol, atol=atol)
    np.testing.assert_allclose(found.edge_gradient, expected[2], rtol=rtol, atol=atol)
