"""The literal TreeCRF against differences and exact arithmetic, and the engine against the literal TreeCRF.

How trees are compared. Two ways of computing one gradient differ in the last bit, and where a rounding to fixed point
lies between the two, a tie may fall the other way: then both trees are right and they are not equal. So in the tests by
Hypothesis both sides grow their trees from the same numbers, the engine's gradient of that iteration, which is first
compared with the reference's own to 1e-10. All else is each side's own: windows, bins, examples, splits, leaf values,
potentials. Where nothing is shared (`compare_with_engine`, the estimator's paper modes) the seeds are fixed.
"""

from __future__ import annotations

import dataclasses
import sys
import types
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.chain.objectives.log_likelihood import log_likelihood
from hedgerow.chain.objectives.pseudo_likelihood import pseudo_likelihood
from tests.reference import chain, growing, tree_crf
from tests.reference.growing import CODES, LEAF, Node, Row

from .tree_engine import (
    SIZE,
    TONES,
    WORDS,
    Engine,
    Raw,
    fit_estimator,
    make_raw,
    random_corpus,
    random_potentials,
    raws,
    to_corpus,
)


def assert_same_trees(trees: list[Node], found: list[Any], l2_regularization: float, one: float) -> None:
    assert len(trees) == len(found)
    for tree, other in zip(trees, found):
        assert_same_tree(tree, other, 0, l2_regularization, one)


def assert_same_tree(node: Node, tree, i: int, l2_regularization: float, one: float) -> None:
    """Split by split and leaf by leaf."""
    nodes, values = tree
    if node.split is None:
        assert nodes[i, 0] == LEAF
        assert values[i] == pytest.approx(tree_crf.output(node, l2_regularization, one), rel=0, abs=1e-9)
        return
    assert tuple(nodes[i, :3]) == node.split
    assert node.true is not None
    assert node.false is not None
    assert_same_tree(node.true, tree, int(nodes[i, 3]), l2_regularization, one)
    assert_same_tree(node.false, tree, int(nodes[i, 4]), l2_regularization, one)


OBJECTIVES = {
    "likelihood": (log_likelihood, tree_crf.log_likelihood, tree_crf.likelihood_targets),
    "pseudo": (pseudo_likelihood, tree_crf.pseudo_log_likelihood, tree_crf.pseudo_likelihood_targets),
}


def compare_by_iteration(raw: Raw, engine: Engine, *, steps, max_leaf_nodes, l2_regularization, learning_rate) -> None:
    """Iterations in which both sides grow trees from the engine's gradient; `steps` names the objective of each."""
    corpus = to_corpus(raw)
    options = {"l2_regularization": l2_regularization, "one": engine.one}
    potentials = np.zeros((corpus.n_labels, len(corpus.windows), corpus.n_labels + 1))
    for name in steps:
        objective, value_of, targets_of = OBJECTIVES[name]
        value, targets = engine.evaluate(objective)
        assert value == pytest.approx(value_of(potentials, corpus), rel=1e-10)
        np.testing.assert_allclose(targets, targets_of(potentials, corpus), rtol=0, atol=1e-10)
        trees = tree_crf.fit_trees(corpus, targets, max_leaf_nodes=max_leaf_nodes, **options)
        assert_same_trees(trees, engine.step(), l2_regularization, engine.one)
        potentials = tree_crf.add_trees(potentials, corpus, trees, learning_rate=learning_rate, **options)
        np.testing.assert_allclose(engine.potentials(), potentials, rtol=0, atol=1e-9)


@given(
    raw=raws(),
    max_leaf_nodes=st.sampled_from([2, 5, 9]),
    l2_regularization=st.sampled_from([0.0, 0.5, 20.0]),
    learning_rate=st.sampled_from([1.0, 0.3]),
    steps=st.sampled_from([("likelihood",) * 3, ("pseudo", "pseudo", "likelihood")]),
)
def test_engine_grows_the_trees_of_the_paper(raw, max_leaf_nodes, l2_regularization, learning_rate, steps):
    options = {"max_leaf_nodes": max_leaf_nodes, "l2_regularization": l2_regularization, "learning_rate": learning_rate}
    compare_by_iteration(raw, Engine(raw, **options), steps=steps, **options)


@pytest.mark.parametrize("names", [(WORDS,), (SIZE,), (TONES, SIZE)])
@pytest.mark.parametrize("n_labels", [2, 3, 4])
def test_positions_with_equal_windows_count_as_often_as_they_are(monkeypatch, rng, n_labels, names):
    """Large corpora keep one place for all positions with the same window; here a small one does."""
    monkeypatch.setattr("hedgerow.trees.binning._GROUP_FROM", 0)
    raw = make_raw(rng, n_labels, [6, 1, 8, 5, 1, 9, 4], (0, 0), names)
    options = {"max_leaf_nodes": 6, "l2_regularization": 0.5, "learning_rate": 1.0}
    engine = Engine(raw, **options)
    assert engine.grouped
    compare_by_iteration(raw, engine, steps=["likelihood"] * 3, **options)


def compare_with_engine(twin, raw: Raw, n_iterations: int) -> None:
    """Each side by itself, gradients too."""
    engine = Engine(raw, max_leaf_nodes=6, l2_regularization=1.0, learning_rate=0.5)
    options = {"max_leaf_nodes": 6, "l2_regularization": 1.0, "learning_rate": 0.5, "one": engine.one}
    for iteration in twin.tree_boost(to_corpus(raw, twin), n_iterations, **options):
        engine.evaluate()
        assert_same_trees(iteration.trees, engine.step(), 1.0, engine.one)
        np.testing.assert_allclose(engine.potentials(), iteration.potentials, rtol=0, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_whole_runs_agree(seed):
    rng = np.random.default_rng(seed)
    lengths = [1, *rng.integers(1, 9, size=8).tolist()]
    raw = make_raw(rng, 2 + seed % 3, lengths, (1, 1), (WORDS, SIZE))
    compare_with_engine(tree_crf, raw, 5)


@pytest.mark.parametrize(
    ("version", "options"),
    [
        ("2004", {"max_leaf_nodes": 5, "l2_regularization": 0.0, "pseudo_likelihood_steps": 3}),
        ("2009", {"max_leaf_nodes": 100, "l2_regularization": 20.0, "pseudo_likelihood_steps": 0}),
    ],
)
def test_paper_modes_of_the_estimator_run_the_paper(version, options):
    raw = make_raw(np.random.default_rng(11), 3, [1, 7, 4, 1, 6, 8, 3], (1, 1), (WORDS, SIZE))
    corpus = to_corpus(raw)
    given = {"max_leaf_nodes": 5} if version == "2004" else {}
    model = fit_estimator(raw, version, n_estimators=5, **given)
    iterations = tree_crf.tree_boost(corpus, 5, **options)
    found = [model.ensemble_.tree(j) for j in range(model.ensemble_.n_trees)]
    trees = [tree for iteration in iterations for tree in iteration.trees]
    assert_same_trees(trees, [(tree.nodes, tree.values) for tree in found], options["l2_regularization"], tree_crf.ONE)
    value = tree_crf.log_likelihood(iterations[-1].potentials, corpus)
    assert -model.loss_ == pytest.approx(value, rel=1e-9)


# ------------------------------------------------------------------------------------------------- the targets


def enumerated_log_likelihood(potentials, corpus: tree_crf.Corpus) -> float:
    """Σ log P(Y | X) with F^{y_t}(y_{t−1}, w_t) added up along each of the K^T labelings."""
    total = 0.0
    for begin, end in chain.sequences(corpus.offsets):
        scores = {}
        for y in map(tuple, chain.labelings(corpus.n_labels, end - begin)):
            before = (corpus.n_labels, *y[:-1])
            scores[y] = sum(potentials[y[i], begin + i, before[i]] for i in range(end - begin))
        truth = tuple(corpus.labels[begin:end])
        total += scores[truth] - np.log(np.sum(np.exp(list(scores.values()))))
    return float(total)


def differences(value, potentials, corpus: tree_crf.Corpus):
    """Central differences with respect to every potential that an example stands for."""
    found, step = np.zeros_like(potentials), 1e-5
    for t, previous in corpus.pairs():
        for k in range(corpus.n_labels):
            ends = []
            for sign in (1, -1):
                moved = potentials.copy()
                moved[k, t, previous] += sign * step
                ends.append(value(moved, corpus))
            found[k, t, previous] = (ends[0] - ends[1]) / (2 * step)
    return found


SHAPES = [(2, [4, 1, 2]), (3, [1, 3]), (4, [3, 1])]


def compare_with_differences(twin, raw: Raw) -> None:
    """Both kinds of targets are the derivative of what they should raise."""
    corpus, own = to_corpus(raw), to_corpus(raw, twin)
    potentials = random_potentials(np.random.default_rng(0), corpus)
    likelihood = differences(enumerated_log_likelihood, potentials, corpus)
    np.testing.assert_allclose(twin.likelihood_targets(potentials, own), likelihood, rtol=0, atol=1e-8)
    pseudo = differences(tree_crf.pseudo_log_likelihood, potentials, corpus)
    np.testing.assert_allclose(twin.pseudo_likelihood_targets(potentials, own), pseudo, rtol=0, atol=1e-8)


@pytest.mark.parametrize(("n_labels", "lengths"), SHAPES)
def test_targets_are_derivatives(rng, n_labels, lengths):
    compare_with_differences(tree_crf, make_raw(rng, n_labels, lengths, (1, 1), (WORDS, SIZE)))


@pytest.mark.parametrize(("n_labels", "lengths"), SHAPES)
def test_log_likelihood_is_that_of_all_labelings(rng, n_labels, lengths):
    corpus = random_corpus(rng, n_labels, lengths)
    potentials = random_potentials(rng, corpus)
    value = enumerated_log_likelihood(potentials, corpus)
    assert tree_crf.log_likelihood(potentials, corpus) == pytest.approx(value, rel=1e-12)


def test_pseudo_likelihood_reads_conditionals_off_the_joint(rng):
    """P(y_t | all other labels), from the probabilities of whole labelings, is what the paper's formula gives."""
    corpus = random_corpus(rng, 3, [4])
    potentials = random_potentials(rng, corpus)
    for t in range(4):
        joint = []
        for v in range(3):
            labels = corpus.labels.copy()
            labels[t] = v
            joint.append(np.exp(enumerated_log_likelihood(potentials, dataclasses.replace(corpus, labels=labels))))
        expected = np.array(joint) / np.sum(joint)
        np.testing.assert_allclose(tree_crf.local_probs(potentials, corpus, t), expected, rtol=1e-10)


# ------------------------------------------------------------------------------------------------- the algorithm


def test_examples_are_those_of_the_table():
    """Two sequences, K = 2, from zero: ⊥ and 1/K at first positions, every k' and 1/K² elsewhere."""
    corpus = tree_crf.Corpus([[3], [4], [3]], np.array([0, 1, 1], np.int32), np.array([0, 2, 3]), 2, [CODES], [5])
    targets = tree_crf.likelihood_targets(np.zeros((2, 3, 3)), corpus)
    assert tree_crf.generate_examples(1, corpus, targets, one=4.0) == [
        Row(0, [3], 2, -2),
        Row(1, [4], 0, 3),
        Row(1, [4], 1, -1),
        Row(2, [3], 2, 2),
    ]


def test_windows_stop_at_the_ends_of_a_sequence():
    windows = tree_crf.write_windows([[5, 6, 7]], [1], [(0, -1), (0, 0), (0, 1)], np.array([0, 2, 3]))
    assert windows == [[1, 5, 6], [5, 6, 1], [1, 7, 1]]


def penalised_error(rows: list[Row], l2_regularization: Fraction) -> Fraction:
    """The least Σ (Δ − δ)² + λδ² over δ, the thesis' SQUAREDERROR, in exact arithmetic."""
    delta = Fraction(sum(row.target for row in rows)) / (l2_regularization + len(rows))
    return sum((row.target - delta) ** 2 for row in rows) + l2_regularization * delta**2


def fit_exactly(rows: list[Row], corpus: tree_crf.Corpus, max_leaf_nodes: int, l2_regularization: Fraction) -> Any:
    """Table 3.1 as printed, in exact arithmetic: a tree as (split, true, false), a leaf as its rows."""
    rules = growing.Rules(corpus.kinds, corpus.n_bins, corpus.n_labels, max_leaf_nodes, float(l2_regularization))
    splits = growing.candidates(rows, 0, rules)
    queue: list[tuple[Fraction, dict[str, Any]]] = []

    def find_best_split_attribute(data: list[Row]) -> dict[str, Any]:
        node: dict[str, Any] = {"rows": data}
        score = Fraction(0)
        for split in splits:
            true = [row for row in data if growing.goes_true(row, split, corpus.n_bins)]
            false = [row for row in data if not growing.goes_true(row, split, corpus.n_bins)]
            if true and false:
                errors = [penalised_error(part, l2_regularization) for part in (true, false, data)]
                gain = errors[0] + errors[1] - errors[2]
                if gain < score:
                    score = gain
                    node |= {"best": split, "sides": (true, false)}
        if "best" in node:
            queue.append((score, node))
        return node

    def nested(node: dict[str, Any]) -> Any:
        return (node["best"], *map(nested, node["children"])) if "children" in node else node["rows"]

    root = find_best_split_attribute(rows)
    for _ in range(max_leaf_nodes - 1):
        if not queue:
            break
        _, node = queue.pop(min(range(len(queue)), key=lambda i: queue[i][0]))
        node["children"] = [find_best_split_attribute(side) for side in node["sides"]]
    return nested(root)


def nested(node: Node) -> Any:
    """A tree as (split, true, false), a leaf as its rows."""
    if node.split is None:
        return node.rows
    assert node.true is not None
    assert node.false is not None
    return node.split, nested(node.true), nested(node.false)


@pytest.mark.parametrize("l2_regularization", [0, 3])
def test_trees_are_those_of_the_table_in_exact_arithmetic(rng, l2_regularization):
    """The targets of random potentials are all different, so that only splits into the same two parts tie."""
    corpus = random_corpus(rng, 3, [5, 1, 6, 3])
    targets = tree_crf.likelihood_targets(random_potentials(rng, corpus), corpus)
    for k, tree in enumerate(
        tree_crf.fit_trees(corpus, targets, max_leaf_nodes=6, l2_regularization=l2_regularization)
    ):
        rows = tree_crf.generate_examples(k, corpus, targets)
        assert nested(tree) == fit_exactly(rows, corpus, 6, Fraction(l2_regularization))


def test_leaf_values_follow_equation_3_1():
    leaf = Node([Row(0, [], 0, target) for target in (3, -1, 4)])
    assert tree_crf.output(leaf, 0.0, one=2.0) == 1.0
    assert tree_crf.output(leaf, 7.0, one=2.0) == pytest.approx(0.3, rel=1e-15)


@pytest.mark.parametrize("n_labels", [2, 3, 4])
def test_log_likelihood_rises_at_every_small_step(rng, n_labels):
    raw = make_raw(rng, n_labels, [6, 1, 3, 8, 2], (1, 1), (WORDS, SIZE))
    corpus = to_corpus(raw)
    runs = tree_crf.tree_boost(corpus, 8, max_leaf_nodes=5, l2_regularization=1.0, learning_rate=0.1)
    values = [tree_crf.log_likelihood(run.potentials, corpus) for run in runs]
    start = -len(corpus.windows) * np.log(n_labels)
    assert np.all(np.diff([start, *values]) > 0)
    engine = Engine(raw, max_leaf_nodes=5, l2_regularization=1.0, learning_rate=0.1)
    found = []
    for _ in range(20):
        found.append(engine.evaluate()[0])
        engine.step()
    assert np.all(np.diff(found) > 0)


def test_first_iterations_follow_the_pseudo_likelihood(rng):
    corpus = random_corpus(rng, 3, [5, 1, 4, 6])
    options = {"max_leaf_nodes": 5, "l2_regularization": 1.0, "learning_rate": 0.1}
    runs = tree_crf.tree_boost(corpus, 4, pseudo_likelihood_steps=3, **options)
    values = [tree_crf.pseudo_log_likelihood(run.potentials, corpus) for run in runs[:3]]
    assert np.all(np.diff([-len(corpus.windows) * np.log(3), *values]) > 0)
    plain = tree_crf.tree_boost(corpus, 1, **options)[0].potentials
    assert not np.allclose(runs[0].potentials, plain)
    before, after = (tree_crf.log_likelihood(run.potentials, corpus) for run in runs[2:])
    assert after > before
    targets = tree_crf.likelihood_targets(runs[2].potentials, corpus)
    last = tree_crf.fit_trees(corpus, targets, max_leaf_nodes=5, l2_regularization=1.0)
    assert [nested(tree) for tree in runs[3].trees] == [nested(tree) for tree in last]


@pytest.mark.parametrize("n_labels", [2, 3, 4])
def test_sequences_of_one_position_are_plain_boosting(rng, n_labels):
    """Multi-class boosting as anybody would write it: softmax, one row an item, no chain in sight."""
    raw = make_raw(rng, n_labels, [1] * 30, (0, 0), (WORDS, SIZE))
    corpus = to_corpus(raw)
    engine = Engine(raw, max_leaf_nodes=5, l2_regularization=1.0)
    scores = np.zeros((30, n_labels))
    rules = growing.Rules(corpus.kinds, corpus.n_bins, 0, max_leaf_nodes=5, l2_regularization=1.0)
    for iteration in tree_crf.tree_boost(corpus, 4, max_leaf_nodes=5, l2_regularization=1.0, one=engine.one):
        residuals = np.eye(n_labels)[corpus.labels] - np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        _, targets = engine.evaluate()
        np.testing.assert_allclose(targets[:, :, -1].T, residuals, rtol=0, atol=1e-10)
        assert not targets[:, :, :-1].any()
        for k, (tree, found) in enumerate(zip(iteration.trees, engine.step())):
            rows = [Row(i, w, n_labels, round(residuals[i, k] * engine.one)) for i, w in enumerate(corpus.windows)]
            root, leaves = growing.grow(rows, rules)
            assert_same_tree(root, found, 0, 1.0, engine.one)
            assert nested(root) == nested(tree)
            for leaf in leaves:
                scores[[row.position for row in leaf.rows], k] += tree_crf.output(leaf, 1.0, engine.one)
        np.testing.assert_allclose(iteration.potentials[:, :, -1].T, scores, rtol=0, atol=1e-9)


# ------------------------------------------------------------------------------------------------- sabotage

FAULTS = {
    "windows of the position after": ("columns[c][t + o] if", "columns[c][t + o + 1] if"),
    "windows reach into the next sequence": ("if begin <= t + o < end else", "if 0 <= t + o < len(columns[c]) else"),
    "every k' at first positions": ("[self.n_labels] if is_first else", "range(self.n_labels) if is_first else"),
    "the label after for the one before": ("int(self.labels[t - 1])", "int(self.labels[t])"),
    "sign of the target": ("= truth - prob", "= prob - truth"),
    "edges transposed": ("edge_probs[k, t, previous]", "edge_probs[previous, t, k]"),
    "truth of the node alone": ("corpus.before(t) == previous and corpus.labels[t] == k", "corpus.labels[t] == k"),
    "no term of the position after": ("if not corpus.is_last(t):", "if False:"),
    "pseudo-likelihood without the second term": ("if previous < K and k == corpus", "if False and k == corpus"),
    "second term at the wrong position": ("(potentials, corpus, t - 1)", "(potentials, corpus, t)"),
    "targets of another label": ("round(targets[k, t, previous] * one)", "round(targets[0, t, previous] * one)"),
    "fixed point too coarse": ("round(targets[k, t, previous] * one)", "round(targets[k, t, previous] * 9) * one / 9"),
    "no l2_regularization in the leaf": ("/ (l2_regularization + len(leaf.rows))", "/ len(leaf.rows)"),
    "no l2_regularization in the gain": ("max_leaf_nodes, l2_regularization)", "max_leaf_nodes, 0.0)"),
    "one leaf too many": ("max_leaf_nodes, l2_regularization)", "max_leaf_nodes + 1, l2_regularization)"),
    "no learning rate": ("+= learning_rate * output", "+= output"),
    "only the last iteration": ("total = potentials.copy()", "total = 0.0 * potentials"),
    "sides swapped": ("child = node.true if", "child = node.false if"),
}  # fmt: skip


def sabotaged(fault: str, monkeypatch) -> types.ModuleType:
    right, wrong = FAULTS[fault]
    source = Path(tree_crf.__file__).read_text(encoding="utf-8")
    assert source.count(right) == 1, f"the line of the fault {fault!r} is no longer there once: {right}"
    twin = types.ModuleType("sabotaged")
    monkeypatch.setitem(sys.modules, "sabotaged", twin)  # where dataclasses look for the types of their fields
    exec(compile(source.replace(right, wrong), fault, "exec"), twin.__dict__)
    return twin


@pytest.mark.parametrize("fault", FAULTS)
def test_sabotage_is_found(monkeypatch, fault):
    twin = sabotaged(fault, monkeypatch)
    raw = make_raw(np.random.default_rng(5), 3, [4, 5, 1, 4], (1, 1), (WORDS, SIZE))
    small = make_raw(np.random.default_rng(6), 2, [3, 1, 2], (1, 1), (WORDS, SIZE))
    found = []
    for compare in (
        lambda module: compare_with_engine(module, raw, 2),
        lambda module: compare_with_differences(module, small),
    ):
        compare(tree_crf)
        try:
            compare(twin)
        except (AssertionError, IndexError) as error:
            found.append(error)
    assert found, f"the comparisons do not notice: {fault}"
