"""The temperature: fitted on held-out sequences, applied wherever scores become probabilities, kept in files."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow import MEMM, FutureFeatureMEMM, LinearCRF, SlidingWindow, TreeCRF, load, persistence
from hedgerow.chain.edges import HistoryEdges, HistoryTables, chain_from_scores
from hedgerow.chain.inference import entropy, k_best, node_marginals, position_scores, span_log_probability
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.chain.structure.histories import Histories
from hedgerow.chain.structure.history_table import HistoryTable
from hedgerow.errors import ModelFileError
from hedgerow.estimators import calibration
from hedgerow.estimators.calibration import LOG_TEMPERATURES, best_temperature, tempered_losses

from .test_holding_out import recordings

QUICK = {"max_leaf_nodes": 4, "n_estimators": 15, "random_state": 0}


@pytest.fixture(scope="module")
def corpus():
    return recordings(30, 20, np.random.default_rng(1))


@pytest.fixture(scope="module")
def linear(corpus):
    return LinearCRF(l2=0.1).fit(*corpus)


def too_sure(linear, corpus, factor, n_samples=8):
    """A model whose scores are `factor` times those that drew the labels, and a dataset with such labels."""
    X, _ = corpus
    drawn = linear.sample(X, n_samples, random_state=0)
    model = LinearCRF().fit(*corpus)
    model.weights_ = factor * linear.weights_
    return model, model.encode(X * n_samples, [labels for one in drawn for labels in one])


# ------------------------------------------------------------------------------------------------ fitting


@pytest.mark.parametrize("factor", [0.4, 1.0, 2.5])
def test_the_temperature_that_drew_the_labels_is_found(linear, corpus, factor):
    model, dataset = too_sure(linear, corpus, factor)
    assert best_temperature([tempered_losses(model, dataset)]) == pytest.approx(factor, rel=0.08)


def test_losses_are_those_of_the_probabilities_of_true_labels(linear, corpus):
    X, y = corpus
    losses = tempered_losses(linear, linear.encode(X, y))
    for i in (3, 8, 12):
        linear.temperature_ = float(np.exp(LOG_TEMPERATURES[i]))
        probs = np.concatenate(linear.predict_proba(X))
        found = -np.log(probs[np.arange(len(probs)), np.concatenate(y)]).sum()
        assert losses[2 + i] == pytest.approx(found, rel=1e-12)
    del linear.temperature_
    assert losses[:2].tolist() == [600, 30]


def test_positions_without_a_label_do_not_count(linear, corpus):
    X, y = corpus
    hidden = [[None if t % 2 else label for t, label in enumerate(labels)] for labels in y]
    sets = [[{0, 1} if t % 2 else label for t, label in enumerate(labels)] for labels in y]
    losses = tempered_losses(linear, linear.encode(X, hidden))
    probs = np.concatenate(linear.predict_proba(X))
    found = -np.log(probs[np.arange(len(probs)), np.concatenate(y)])[::2].sum()
    assert losses[:2].tolist() == [300, 30]
    assert losses[2 + 8] == pytest.approx(found, rel=1e-12)
    np.testing.assert_array_equal(losses, tempered_losses(linear, linear.encode(X, sets)))


def test_losses_of_folds_are_added(linear, corpus):
    model, dataset = too_sure(linear, corpus, 2.5)
    halves = [dataset.take(np.arange(i, len(dataset), 2)) for i in range(2)]
    of_all = best_temperature([tempered_losses(model, dataset)])
    assert best_temperature([tempered_losses(model, half) for half in halves]) == pytest.approx(of_all, rel=1e-9)


def test_few_labels_and_few_sequences_change_little_or_nothing():
    rising, few = 3.0 * LOG_TEMPERATURES, calibration.FEWEST_LABELS  # the lower the temperature the better, without end
    assert best_temperature([]) == 1.0
    assert best_temperature([np.array([few - 1, 5, *rising])]) == 1.0
    least = best_temperature([np.array([few, few // 10, *rising])])
    assert least == pytest.approx(np.exp(-0.3), rel=1e-6)  # where 3 log T + 5 (log T)² is least, 5 half of 10 labels
    assert best_temperature([np.array([few, 1, *rising])]) > least
    many = best_temperature([np.array([10_000, 1000, *(1000.0 * rising)])])
    assert many == pytest.approx(1.0 / calibration.LARGEST)


# ------------------------------------------------------------------------------------------------ of estimators


MODELS = {
    "trees": (TreeCRF(**QUICK), {}),
    "trees of order 2": (TreeCRF(order=2, edges="joint", **QUICK), {}),
    "arcs": (TreeCRF(order=2, edges="shared", **QUICK), {}),
    "trees on weights": (TreeCRF(init=LinearCRF(), **QUICK), {}),
    "imputed": (TreeCRF(init=LinearCRF(missing="indicator"), missing="indicator", **QUICK), {}),
    "bags with X_val": (TreeCRF(n_bags=2, **QUICK), {"val": True}),
    "linear": (LinearCRF(early_stopping=True, validation_fraction=0.3, random_state=0), {}),
    "linear of order 2": (LinearCRF(order=2, max_iter=20), {"val": True}),
    "margin": (LinearCRF(objective="margin", max_iter=20, random_state=0), {"val": True}),
    "memm": (MEMM(estimator=TreeCRF(max_leaf_nodes=4, n_estimators=15, validation_fraction=0.3), random_state=0), {}),
    "window": (SlidingWindow(estimator="linear"), {"val": True}),
    "future": (FutureFeatureMEMM(n_estimators=10, max_future_features=1, random_state=0), {}),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_held_out_sequences_set_it(name, corpus, tmp_path, monkeypatch):
    X, y = corpus
    model, how = MODELS[name]
    monkeypatch.setattr(calibration, "FEWEST_LABELS", 10)
    given = (X[:20], y[:20], None, X[20:], y[20:]) if how.get("val") else (X, y)
    model.fit(*given)
    assert model.temperature_ != 1.0
    assert 0.2 < model.temperature_ < 5.0
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.temperature_ == model.temperature_
    for ours, theirs in zip(loaded.predict_proba(X[:3]), model.predict_proba(X[:3])):
        np.testing.assert_array_equal(ours, theirs)
    tempered = model.predict_proba(X[:3])
    inner = getattr(model, "estimator", model)
    if not isinstance(inner, str):
        inner.set_params(calibrate=False)
        model.fit(*given)
        inner.set_params(calibrate=True)
        assert model.temperature_ == 1.0
        assert not np.allclose(model.predict_proba(X[:3])[0], tempered[0])


def test_nothing_held_out_is_a_temperature_of_1(linear, corpus):
    assert linear.temperature_ == 1.0
    assert TreeCRF(early_stopping=False, **QUICK).fit(*corpus).temperature_ == 1.0


def test_the_same_trees_and_scores_with_and_without(corpus):
    one, other = (TreeCRF(calibrate=calibrate, **QUICK).fit(*corpus) for calibrate in (True, False))
    assert [step.score for step in one.history_] == [step.score for step in other.history_]
    np.testing.assert_array_equal(one.ensemble_.values, other.ensemble_.values)
    X = corpus[0]
    assert one.predict(X, decoder="viterbi").tolist() == other.predict(X, decoder="viterbi").tolist()


def test_of_several_folds_all_count_and_the_last_training_keeps_it(corpus, monkeypatch):
    folds = []
    best = best_temperature
    monkeypatch.setattr(
        "hedgerow.estimators.base.best_temperature", lambda losses: folds.append(losses) or best(losses)
    )
    model = TreeCRF(validation_folds=3, **QUICK).fit(*corpus)
    [losses] = folds
    assert len(losses) == 3
    assert model.refitted_
    assert model.temperature_ == best(losses)


def test_the_last_training_on_all_sequences_has_no_say(corpus):
    """The labels of held-out sequences are no longer held out from it."""
    trees = {"max_leaf_nodes": 4, "n_estimators": 15, "validation_fraction": 0.3}
    for make in (
        lambda refit: TreeCRF(refit=refit, validation_folds=1, random_state=0, **trees),
        lambda refit: MEMM(estimator=TreeCRF(refit=refit, **trees), random_state=0),
        lambda refit: FutureFeatureMEMM(refit=refit, max_future_features=1, random_state=0, **trees),
    ):
        one, other = make(True).fit(*corpus), make(False).fit(*corpus)
        assert one.refitted_
        assert not other.refitted_
        assert one.temperature_ == other.temperature_ != 1.0


def test_few_long_sequences_are_calibrated_by_blocks(rng):
    X, y = recordings(2, 300, rng)
    model = TreeCRF(edges="shared", **QUICK).fit(X, y)
    assert model.temperature_ != 1.0


def test_a_fit_that_goes_on_has_its_own(corpus):
    X, y = corpus
    model = TreeCRF(warm_start=True, refit=False, **QUICK).fit(X, y)
    first = model.temperature_
    model.set_params(n_estimators=40).fit(X, y)
    assert model.temperature_ != first
    model.set_params(n_estimators=41, early_stopping=False).fit(X, y)
    assert model.temperature_ == 1.0


def test_partial_fit_drops_it(corpus):
    X, y = corpus
    model = LinearCRF(random_state=0).fit(X[:20], y[:20], None, X[20:], y[20:])
    assert model.temperature_ != 1.0
    assert model.partial_fit(X, y).temperature_ == 1.0


def test_threads_do_not_change_it(corpus):
    one, two = (TreeCRF(n_jobs=n, **QUICK).fit(*corpus).temperature_ for n in (1, 2))
    assert one == two


# ------------------------------------------------------------------------------------------------ applied


def test_it_is_applied_wherever_scores_become_probabilities(linear, corpus):
    X, y = corpus[0][:4], corpus[1][:4]
    plain = linear.predict(X, decoder="viterbi").tolist()
    linear.temperature_ = 2.0
    try:
        potentials = linear._potentials(linear.encode(X), 0, 4).scaled(0.5)
        np.testing.assert_allclose(np.concatenate(linear.predict_proba(X)), node_marginals(potentials), rtol=1e-12)
        np.testing.assert_allclose(linear.entropy(X), entropy(potentials), rtol=1e-12)
        best = k_best(potentials, 3)
        for ours, theirs in zip(linear.predict_k_best(X, 3), best):
            np.testing.assert_allclose([p for _, p in ours], theirs.probs, rtol=1e-12)
        scores = np.add.reduceat(position_scores(potentials, np.concatenate(y)), potentials.offsets[:-1])
        logs = scores - potentials.edges.log_partition(potentials, None)
        np.testing.assert_allclose(linear.log_probability(X, y), logs, rtol=1e-10)
        span = np.exp(span_log_probability(potentials.sequence(1), 0, 3, np.array(y[1][3:6])))
        assert linear.span_probability(X, [(1, 3, y[1][3:6])])[0] == pytest.approx(span, rel=1e-10)
        drawn = np.concatenate(linear.sample(X, 4000, random_state=0)[0])
        assert drawn.shape == (80,)
        shares = np.mean([np.concatenate(one) == 0 for one in linear.sample(X, 4000, random_state=0)], axis=0)
        np.testing.assert_allclose(shares, node_marginals(potentials)[:, 0], atol=0.05)
        assert linear.predict(X, decoder="viterbi").tolist() == plain
        posterior = np.concatenate(linear.predict(X, decoder="posterior"))
        np.testing.assert_array_equal(posterior, node_marginals(potentials).argmax(axis=1))
    finally:
        del linear.temperature_


def test_every_form_of_edges_is_scaled(rng):
    offsets, labels = np.array([0, 4, 6]), np.array([0, 2, 1, 1, 2, 0])
    nodes, table = rng.normal(size=(6, 3)), rng.normal(size=(3, 3))
    table[2, 2] = -np.inf
    histories = Histories.observed(labels, offsets, 3, 2)
    tables = HistoryTable.full(3, 2)
    forms = [
        chain_from_scores(nodes, table, offsets),
        chain_from_scores(nodes, rng.normal(size=(3, 6, 3)), offsets),
        ChainPotentials(nodes, offsets, HistoryEdges.from_scores(histories, rng.normal(size=histories.n_arcs))),
        ChainPotentials(nodes, offsets, HistoryTables(tables, rng.normal(size=(3, 6, tables.n_histories)))),
    ]
    for chain in forms:
        half = chain.scaled(0.5)
        assert type(half.edges) is type(chain.edges)
        np.testing.assert_allclose(position_scores(half, labels), 0.5 * position_scores(chain, labels), rtol=1e-12)
        assert chain.scaled(1.0) is chain


# ------------------------------------------------------------------------------------------------ files


@pytest.mark.parametrize("value", [0.0, -1.0, 1e9, 1, "hot", True])
def test_a_file_with_another_temperature_is_refused(linear, tmp_path, value):
    linear.save(tmp_path / "model")
    header, tensors = persistence.read(tmp_path / "model")
    header["state"]["temperature"] = value
    persistence.write(tmp_path / "model", header, tensors)
    with pytest.raises(ModelFileError):
        load(tmp_path / "model")


def test_an_older_file_says_nothing_of_it(linear, tmp_path):
    linear.save(tmp_path / "model")
    header, tensors = persistence.read(tmp_path / "model")
    del header["state"]["temperature"]
    persistence.write(tmp_path / "model", header, tensors)
    assert load(tmp_path / "model").temperature_ == 1.0
