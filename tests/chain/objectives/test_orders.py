"""Every objective on chains of higher order: the table of all labelings, differences, Hessians, and laws."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow.chain.edges import HistoryEdges, HistoryTables
from hedgerow.chain.inference import Workspace, entropy
from hedgerow.chain.objectives import CURVATURES, NAMES, labelings, log_likelihood, make_objective, pseudo_likelihood
from hedgerow.chain.potentials import ChainPotentials, Truth
from hedgerow.chain.structure.history_table import HistoryTable
from hedgerow.errors import InputError
from tests.reference import histories as slow_histories
from tests.reference import history_cases
from tests.reference.objectives import Table

from .laws import check_gradients, hide, random_costs
from .test_every_objective import COST_RULES, HAMMING_RULES, PARTIAL, SOFT_RULES, make

FORMS = ("arcs", "tables")


@dataclass(frozen=True)
class Case:
    """A chunk with edges (A,) of histories, or (K, n, H) of tables."""

    node: np.ndarray
    edges: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray
    structure: object

    def potentials(self, node=None, edges=None) -> ChainPotentials:
        nodes, values = (own if given is None else given for own, given in ((self.node, node), (self.edges, edges)))
        if isinstance(self.structure, HistoryTable):
            form = HistoryTables(self.structure, np.ascontiguousarray(values))
        else:
            form = HistoryEdges.from_scores(self.structure, values)
        return ChainPotentials(np.array(nodes), self.offsets.astype(np.int64), form)

    def cells(self, begin, labels):
        """The places in `edges` of the scores of one labeling, from a position on; None where a label has none."""
        if isinstance(self.structure, HistoryTable):
            before = self.structure.before(np.array(labels), np.eye(1, len(labels) + 1, dtype=np.uint8)[0])
            return [(int(k), begin + t, int(h)) for t, (k, h) in enumerate(zip(labels, before))]
        arcs = history_cases.arc_numbers(self.structure)
        past = [slow_histories.START, *map(int, labels)]
        return [slow_histories.used_arc(arcs, tuple(past[: t + 1]), past[t + 1]) for t in range(len(labels))]

    def score(self, begin, labels):
        legal = np.ones(self.edges.shape, dtype=bool) if self.edges.ndim == 3 else self.structure.legal
        total = 0.0
        for t, (k, cell) in enumerate(zip(labels, self.cells(begin, labels))):
            impossible = cell is None or not legal[cell]
            total += self.node[begin + t, k] + (-np.inf if impossible else self.edges[cell])
        return total


def make_case(rng, form, n_labels, order, lengths, *, scale=1.0, forbidden=0.0, unseen="back_off"):
    if form == "arcs":
        own = history_cases.make_case(
            rng, n_labels, order, lengths, scale=scale, forbidden=forbidden, unseen=unseen, unknown=0.2
        )
        return Case(own.node, own.arc_scores, own.offsets, own.labels, own.histories)
    table, offsets = HistoryTable.full(n_labels, order), np.concatenate([[0], np.cumsum(lengths)])
    n, labels = int(offsets[-1]), rng.integers(n_labels, size=int(offsets[-1]))
    first = np.zeros(n + 1, dtype=np.uint8)
    first[offsets] = 1
    edges, node = scale * rng.normal(size=(n_labels, n, table.n_histories)), scale * rng.normal(size=(n, n_labels))
    closed = rng.random(edges.shape) < forbidden
    closed[labels, np.arange(n), table.before(labels, first)] = False
    return Case(node, np.where(closed, -np.inf, edges), offsets, labels, table)


def enumerate_loss(rule, case, truth):
    """The loss and its gradient by the scores, from the table of all labelings of each sequence."""
    K, total = case.node.shape[1], 0.0
    nodes, edges = np.zeros(case.node.shape), np.zeros(case.edges.shape)
    for i, (begin, end) in enumerate(itertools.pairwise(case.offsets)):
        every = np.array(list(itertools.product(range(K), repeat=end - begin)), dtype=np.int32)
        scores = np.array([case.score(begin, y) for y in every])
        known = truth.labels[begin:end, None]
        free = True if truth.allowed is None else truth.allowed[begin:end]
        right = np.where(known < 0, free, np.arange(K) == known)
        loss, slopes = rule(Table(every, scores, right, truth.labels[begin:end]))
        weight = 1.0 if truth.weights is None else truth.weights[i]
        total += weight * loss
        for y, slope in zip(every, weight * slopes):
            for t, cell in enumerate(case.cells(begin, y)):
                nodes[begin + t, y[t]] += slope
                if cell is not None:
                    edges[cell] += slope
    return total, nodes, edges


@st.composite
def problems(draw):
    K = draw(st.integers(2, 3))
    case = make_case(
        np.random.default_rng(draw(st.integers(0, 2**32 - 1))),
        draw(st.sampled_from(FORMS)),
        K,
        draw(st.integers(1, 3)),
        draw(st.lists(st.integers(1, 5 if K == 2 else 4), min_size=1, max_size=2)),
        scale=draw(st.sampled_from([1.0, 3.0])),
        forbidden=draw(st.sampled_from([0.0, 0.3])),
        unseen=draw(st.sampled_from(["back_off", "back_off", "forbidden"])),
    )
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    labels, allowed = hide(case, rng, draw(st.sampled_from([0.0, 0.4])))
    return case, Truth(labels, allowed if draw(st.booleans()) else None, rng.random(len(case.offsets) - 1) + 0.1), rng


@pytest.mark.parametrize("name", PARTIAL)
@settings(max_examples=8)
@given(problem=problems())
def test_loss_and_gradient_equal_the_table(name, problem):
    case, truth, _ = problem
    K = case.node.shape[1]
    expected = enumerate_loss(HAMMING_RULES[name](K), case, truth)
    check_gradients(make(name, K)(case.potentials(), truth), expected)


@pytest.mark.parametrize("name", SOFT_RULES)
@settings(max_examples=8)
@given(problem=problems())
def test_soft_maxima_equal_the_table(name, problem):
    case, truth, _ = problem
    objective = make(name, case.node.shape[1], softness=6.0 if name == "labelwise" else 0.7)
    check_gradients(objective(case.potentials(), truth), enumerate_loss(SOFT_RULES[name](), case, truth))


@pytest.mark.parametrize("name", COST_RULES)
@settings(max_examples=6)
@given(problem=problems())
def test_costs_equal_the_table(name, problem):
    case, truth, rng = problem
    K = case.node.shape[1]
    costs = random_costs(rng, K, whole=name == "slack_margin")
    if name != "slack_margin":
        costs = costs + 1e-3 * rng.random(costs.shape) * (costs > 0)  # no two labelings tie
    found = make(name, K, costs=costs)(case.potentials(), truth)
    check_gradients(found, enumerate_loss(COST_RULES[name](costs), case, truth))


@settings(max_examples=10)
@given(problem=problems())
def test_the_pseudo_likelihood_is_that_of_labels_given_all_others(problem):
    """P(y_t | the others), where each labeling is scored as a whole."""
    case, truth, _ = problem
    loss = 0.0
    for i, (begin, end) in enumerate(itertools.pairwise(case.offsets)):
        y = case.labels[begin:end]
        for t in range(end - begin):
            changed = [case.score(begin, [*y[:t], k, *y[t + 1 :]]) for k in range(case.node.shape[1])]
            loss += truth.weights[i] * (np.logaddexp.reduce(changed) - changed[y[t]])
    found = pseudo_likelihood(case.potentials(), Truth(case.labels, weights=truth.weights))
    np.testing.assert_allclose(found.loss, loss, rtol=1e-9, atol=1e-10)


def directions(case, rng):
    nodes, edges = rng.normal(size=case.node.shape), rng.normal(size=case.edges.shape)
    return nodes, edges


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_gradient_equals_differences(rng, name, order, form):
    case = make_case(rng, form, 3, order, [5, 1, 7], scale=1.5, forbidden=0.2)
    labels, allowed = hide(case, rng, 0.0 if name == "pseudo_likelihood" else 0.4)
    truth = Truth(labels, allowed, np.array([1.0, 0.5, 2.0]))
    objective = make_objective(name, n_labels=3, sharpness=1.5)
    found = objective(case.potentials(), truth)
    for _ in range(2):
        nodes, edges = directions(case, rng)

        def difference(h, nodes=nodes, edges=edges):
            at = [objective(case.potentials(case.node + s * nodes, case.edges + s * edges), truth) for s in (h, -h)]
            return (at[0].loss - at[1].loss) / (2 * h)

        slope = (found.node_gradient * nodes).sum() + (found.edge_gradient * edges).sum()
        assert slope == pytest.approx((4 * difference(5e-5) - difference(1e-4)) / 3, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("objective", [log_likelihood, pseudo_likelihood])
def test_hessians_equal_differences_of_gradients(rng, objective, order, form):
    case = make_case(rng, form, 3, order, [5, 1, 7], scale=1.5, forbidden=0.2)
    labels, allowed = hide(case, rng, 0.4 if objective is log_likelihood else 0.0)
    truth, along = Truth(labels, allowed, np.array([1.0, 0.5, 2.0])), directions(case, rng)
    found = CURVATURES[objective](case.potentials(), truth, along, workspace=Workspace())

    def gradients(step):
        at = objective(case.potentials(case.node + step * along[0], case.edges + step * along[1]), truth)
        return np.concatenate([at.node_gradient.ravel(), at.edge_gradient.ravel()])

    products = np.concatenate([found.node_product.ravel(), found.edge_product.ravel()])
    halves = [(gradients(h) - gradients(-h)) / (2 * h) for h in (5e-4, 1e-3)]
    np.testing.assert_allclose(products, (4 * halves[0] - halves[1]) / 3, rtol=1e-6, atol=1e-8)
    plain = objective(case.potentials(), truth)
    check_gradients(found, (plain.loss, plain.node_gradient, plain.edge_gradient))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scale", [1.0, 1000.0])
def test_a_chunk_is_its_sequences(rng, name, form, scale):
    """Also where messages underflow: the loss is a sum, and gradients of each position add up to 0."""
    case = make_case(rng, form, 3, 2, [6, 1, 4], scale=scale, forbidden=0.2)
    labels, allowed = hide(case, rng, 0.0 if name == "pseudo_likelihood" else 0.3)
    objective, potentials = make(name, 3), case.potentials()
    together = objective(potentials, Truth(labels, allowed), workspace=Workspace())
    np.testing.assert_allclose(together.node_gradient.sum(axis=1), 0.0, atol=1e-9)
    losses = []
    for i in range(3):
        rows = potentials.rows(i)
        alone = objective(potentials.sequence(i), Truth(labels[rows], allowed[rows]))
        losses.append(alone.loss)
        np.testing.assert_allclose(alone.node_gradient, together.node_gradient[rows], rtol=1e-8, atol=1e-10)
    assert together.loss == pytest.approx(sum(losses), rel=1e-9, abs=1e-9)
    if np.isfinite(case.edges).all() or form == "tables":
        assert (together.edge_gradient[np.isneginf(case.edges)] == 0.0).all() or name == "pseudo_likelihood"


@pytest.mark.parametrize("name", NAMES)
def test_two_labels_back_that_do_not_matter_are_order_one(rng, name):
    """Tables of histories in which only the last label counts give the loss of a table of transitions."""
    from tests.reference.cases import make_case as make_pairs

    pairs = make_pairs(rng, 3, [5, 1, 4])
    table = HistoryTable.full(3, 2)
    last = table.labels[:, -1]
    scores = np.where(last < 0, 0.0, pairs.edges.T[:, last])[:, None].repeat(10, axis=1)
    wide = Case(pairs.node, scores, pairs.offsets, pairs.labels, table)
    expected = make(name, 3)(pairs.potentials(), Truth(pairs.labels))
    found = make(name, 3)(wide.potentials(), Truth(pairs.labels))
    assert found.loss == pytest.approx(expected.loss, rel=1e-10)
    np.testing.assert_allclose(found.node_gradient, expected.node_gradient, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ["pointwise", "expected_accuracy", "labelwise"])
def test_pieces_do_not_change_the_result(rng, name, monkeypatch):
    case = make_case(rng, "tables", 3, 2, [4, 1, 3, 5])
    truth = Truth(case.labels, weights=rng.random(4))
    whole = make(name, 3)(case.potentials(), truth)
    monkeypatch.setattr(labelings, "_PIECE", 5 * 13**2)
    check_gradients(
        make(name, 3)(case.potentials(), truth), (whole.loss, whole.node_gradient, whole.edge_gradient), rtol=1e-12
    )


def test_the_entropy_of_histories_by_enumeration(rng):
    case = make_case(rng, "arcs", 3, 2, [4])
    scores = np.array([case.score(0, y) for y in itertools.product(range(3), repeat=4)])
    logs = scores - np.logaddexp.reduce(scores)
    assert entropy(case.potentials())[0] == pytest.approx(-(np.exp(logs) * logs).sum(), rel=1e-10)


def test_too_many_histories_are_refused(rng, monkeypatch):
    from hedgerow.chain.edges import histories

    case = make_case(rng, "arcs", 3, 2, [4])
    monkeypatch.setattr(histories, "MAX_UNFOLDED", 2)
    with pytest.raises(InputError, match="histories of order=2 are too many for this objective or trainer"):
        make("labelwise", 3)(case.potentials(), Truth(case.labels))
    assert np.isfinite(log_likelihood(case.potentials(), Truth(case.labels)).loss)
