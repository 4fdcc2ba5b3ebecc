"""The best labeling against enumeration."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.errors import InputError, MissingExtraError
from hedgerow.lattice.inference.infer import Inference
from hedgerow.lattice.inference.labelings import improve
from hedgerow.lattice.inference.search import graph_cut, is_submodular, search
from hedgerow.lattice.scores import Potentials
from tests.reference import lattice as reference

from .made import drawn_potentials, grid_potentials, parts, random_potentials

PLAIN = Inference(tol=1e-12, max_updates=500)


@given(drawn_potentials(acyclic=True, scales=(1.0, 5.0, 200.0)))
@settings(max_examples=60)
def test_max_product_is_exact_without_a_circle(potentials):
    exact = reference.enumerate_labelings(*parts(potentials))
    found = search(potentials, "max_product", PLAIN)
    assert found.converged
    assert found.score == pytest.approx(exact.best_score, abs=1e-9)
    assert found.score == pytest.approx(reference.score(*parts(potentials), found.labels), abs=1e-9)


@given(drawn_potentials(acyclic=False, max_nodes=6), st.sampled_from(["icm", "max_product"]))
@settings(max_examples=60)
def test_no_change_of_one_label_improves_what_is_found(potentials, method):
    found = search(potentials, method, Inference(damping=0.3))
    exact = reference.enumerate_labelings(*parts(potentials))
    assert found.score <= exact.best_score + 1e-9
    for i in range(potentials.topology.n_nodes):
        for k in range(potentials.n_labels):
            other = found.labels.copy()
            other[i] = k
            assert potentials.score(other) <= found.score + 1e-9


@pytest.mark.parametrize(
    "inference",
    [Inference(damping=0.2), Inference(schedule="residual", damping=0.2), Inference("tree_reweighted")],
    ids=["sequential", "residual", "tree_reweighted"],
)
def test_weak_edges_and_clear_nodes_are_solved(rng, inference):
    potentials = random_potentials(rng, 7, 3, scale=1.0)
    easy = Potentials(potentials.topology, 4.0 * potentials.node_scores, 0.3 * potentials.edge_scores)
    exact = reference.enumerate_labelings(*parts(easy))
    assert search(easy, "max_product", inference).score == pytest.approx(exact.best_score)


def submodular(rng, shape):
    potentials = grid_potentials(rng, shape, 2)
    table = potentials.edge_scores.copy()
    lack = table[:, 0, 1] + table[:, 1, 0] - table[:, 0, 0] - table[:, 1, 1]
    table[:, 0, 0] += np.maximum(lack, 0.0)
    return Potentials(potentials.topology, potentials.node_scores, table)


def test_a_graph_cut_is_exact(rng):
    pytest.importorskip("maxflow", reason="PyMaxflow is not installed")
    for _ in range(6):
        potentials = submodular(rng, (3, 3))
        exact = reference.enumerate_labelings(*parts(potentials))
        assert is_submodular(potentials)
        assert graph_cut(potentials).score == pytest.approx(exact.best_score, abs=1e-9)
        known = np.full(9, -1)
        known[5] = 1 - exact.best[5]
        forced = search(potentials.restrict(known), "graph_cut", PLAIN)
        assert forced.labels[5] == known[5]
        limited = reference.enumerate_labelings(*parts(potentials.restrict(known)))
        assert forced.score == pytest.approx(limited.best_score, abs=1e-9)


def test_a_graph_cut_refuses_what_it_cannot_solve(rng, monkeypatch):
    pytest.importorskip("maxflow", reason="PyMaxflow is not installed")
    with pytest.raises(InputError, match="favour different labels"):
        graph_cut(random_potentials(rng, 4, 3))
    monkeypatch.setitem(sys.modules, "maxflow", None)
    with pytest.raises(MissingExtraError, match="PyMaxflow"):
        graph_cut(submodular(rng, (2, 2)))


def test_improving_leaves_forbidden_labels(rng):
    potentials = random_potentials(rng, 5, 3)
    known = np.array([2, -1, 0, -1, 1])
    found = improve(potentials.restrict(known), np.zeros(5, dtype=np.int32))
    assert found.labels[[0, 2, 4]].tolist() == [2, 0, 1]
