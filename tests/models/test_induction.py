"""LinearCRF(induction=FeatureInduction(...)): rounds of training, and the features that they add."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import hedgerow
from hedgerow import FeatureInduction, InputError, Item, LinearCRF
from hedgerow.data.encoding import learn
from hedgerow.linear.conjunctions import Conjunctions, list_atoms, meet
from hedgerow.metrics import label_accuracy
from hedgerow.models.crf.induction import Induced, outputs_of
from hedgerow.training.induction import Search
from tests.models.checkpoints import bits, fitted, live_and_die

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def exclusive(n: int = 60, seed: int = 0) -> tuple[list, list]:
    """A label that is whether two letters differ, which no sum of their weights tells."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        a, b = rng.integers(0, 2, (2, 6))
        X.append([{"a": "xy"[i], "b": "xy"[j], "noise": "pqr"[rng.integers(3)]} for i, j in zip(a, b)])
        y.append(["same" if i == j else "other" for i, j in zip(a, b)])
    return X, y


def rich() -> tuple[list, list]:
    """Columns of every kind."""
    rng = np.random.default_rng(1)
    X, y = [], []
    for i in range(30):
        rows = [
            {
                "letter": "abc"[rng.integers(3)],
                "flag": bool(rng.integers(2)),
                "size": float(rng.normal()),
                "parts": sorted({"uvw"[rng.integers(3)], "uvw"[rng.integers(3)]}),
            }
            for _ in range(5)
        ]
        X.append(Item(rows, {"language": "de" if i % 2 else "en", "year": float(i)}))
        y.append(["1" if row["flag"] == (row["size"] > 0) else "0" for row in rows])
    return X, y


def test_it_finds_the_conjunction_that_a_label_is_made_of():
    (X, y), (X_test, y_test) = exclusive(), exclusive(seed=1)
    plain = LinearCRF().fit(X, y)
    model = LinearCRF(induction=FeatureInduction(n_features=4, max_rounds=3, every=5)).fit(X, y)
    assert label_accuracy(y_test, plain.predict(X_test)) < 0.7
    assert label_accuracy(y_test, model.predict(X_test)) > 0.99
    best = {feature for feature, _, _ in model.feature_weights()[:4]}
    assert best == {"a:x & b:x", "a:x & b:y", "a:y & b:x", "a:y & b:y"}
    assert len(model.induced_) <= 1 + 3 * 4


def test_the_first_features_are_those_with_the_largest_gain_by_enumeration():
    """The gain that chooses features, against sums over all labelings and a search along one weight."""
    X, y = exclusive(6)
    X, y = [x[:3] for x in X], [labels[:3] for labels in y]
    l2 = 0.3
    model = LinearCRF(l2=l2, max_iter=3, induction=FeatureInduction(every=3, n_features=2)).fit(X, y)
    dataset, K = model.encode(X, y), 2
    atoms, conjunctions = list_atoms(dataset), model.induced_
    assert conjunctions.sets() == [()]
    where, outputs = outputs_of(
        Induced(conjunctions, model.layout_, model.weights_, None), conjunctions.apply(dataset), None, pairs=False
    )
    table, bias = model.transition_weights_, {label: w for _, label, w in model.feature_weights()}
    nodes = np.array([bias[label] for label in model.classes_])
    probs = np.zeros((3, K))
    for labels in product(range(K), repeat=3):
        score = nodes[list(labels)].sum() + table[labels[0], labels[1]] + table[labels[1], labels[2]]
        probs[range(3), labels] += np.exp(score)
    probs /= probs.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(outputs.probs, np.tile(probs, (6, 1)), atol=1e-12)

    held = conjunctions.held(atoms)
    search = Search(conjunctions, atoms, held, outputs)
    sets = [(row,) for row in np.unique(atoms.numbers).tolist()]

    def true_gain(one: tuple[int, ...]) -> float:
        """Each position by itself, its label scored by its marginal and one weight more."""
        total = 0.0
        for m in range(K):

            def loss(mu: float, m: int = m) -> float:
                sums = l2 * mu**2
                for t in range(len(where)):
                    if set(one) <= set(atoms.numbers[atoms.ptr[t] : atoms.ptr[t + 1]].tolist()):
                        scores = np.log(outputs.probs[t]) + mu * (np.arange(K) == m)
                        sums -= scores[outputs.truth[t]] - np.logaddexp.reduce(scores)
                        sums += np.log(outputs.probs[t, outputs.truth[t]])
                return sums

            total -= minimize_scalar(loss, bounds=(-20, 20), method="bounded", options={"xatol": 1e-9}).fun
        return total

    gains = np.array([true_gain(one) for one in sets])
    np.testing.assert_allclose(search.gains(meet(sets, atoms), l2), gains, atol=1e-6)
    assert search.best(2, l2) == [sets[i] for i in np.argsort(-gains)[:2]]


@pytest.mark.parametrize("on", ["labels", "pairs"])
def test_every_kind_of_column_takes_part_and_files_and_explanations_know_it(on, tmp_path):
    X, y = rich()
    settings = FeatureInduction(n_features=12, max_rounds=3, every=4, on=on)
    model = LinearCRF(window=1, max_iter=30, induction=settings, decoder="posterior").fit(X, y)
    assert label_accuracy(y, model.predict(X)) > 0.9
    assert any("flag" in feature and "size" in feature for feature, _, _ in model.feature_weights())
    model.save(tmp_path / "model.hedgerow")
    loaded = hedgerow.load(tmp_path / "model.hedgerow")
    assert loaded.induction == settings
    assert loaded.induced_.sets() == model.induced_.sets()
    for one, other in zip(model.predict_proba(X), loaded.predict_proba(X)):
        np.testing.assert_array_equal(one, other)
    # One sequence alone, and all at once; and by one position after the other.
    np.testing.assert_allclose(model.predict_proba(X[:1])[0], model.predict_proba(X)[0], atol=1e-12)
    found = model.explain(X[0], 2)
    assert sum(part.log_odds for part in found.parts) == pytest.approx(found.log_odds, abs=1e-9)
    assert hedgerow.explain.importance(model).rows


def test_all_features_from_the_start_and_nothing_hard_is_the_plain_model():
    X, y = rich()
    settings = FeatureInduction(start="features", threshold=1e-9, every=5)
    induced = LinearCRF(window=1, induction=settings, tol=1e-9).fit(X, y)
    # The constant is the one feature more.
    with_bias = [Item([row | {"bias": "1"} for row in x.positions], x.features) for x in X]
    plain = LinearCRF(window={"bias": 0, "*": 1}, tol=1e-9).fit(with_bias, y)
    assert induced.loss_ == pytest.approx(plain.loss_, rel=1e-4)


def test_rounds_and_iterations_are_counted_and_the_best_is_kept():
    X, y = exclusive()
    settings = FeatureInduction(n_features=3, max_rounds=4, every=3)
    model = LinearCRF(max_iter=14, induction=settings).fit(X, y)
    assert model.n_iter_ == 14
    assert [step.iteration for step in model.history_] == list(range(1, 15))
    X_val, y_val = exclusive(seed=2)
    stopped = LinearCRF(max_iter=40, induction=settings, n_iter_no_change=6, scoring="accuracy").fit(
        X, y, X_val=X_val, y_val=y_val
    )
    scores = [step.score for step in stopped.history_]
    assert stopped.best_iteration_ == 1 + max(i for i, score in enumerate(scores) if score == max(scores))
    assert label_accuracy(y_val, stopped.predict(X_val)) == pytest.approx(max(scores))


def test_held_out_sequences_change_nothing_but_what_is_kept():
    """The next round goes on from the last weights, and not from those that held-out sequences prefer."""
    X, y = exclusive()
    settings = FeatureInduction(n_features=2, max_rounds=3, every=3, proportions=(0.5,))
    options = {"max_iter": 12, "induction": settings, "random_state": 0}
    alone = LinearCRF(**options).fit(X, y)
    X_val, y_val = exclusive(10, seed=3)
    watched = LinearCRF(**options, n_iter_no_change=50).fit(X, y, X_val=X_val, y_val=y_val)
    assert [step.loss for step in alone.history_] == [step.loss for step in watched.history_]


def test_a_training_that_dies_goes_on_with_the_same_bits(tmp_path):
    X, y = exclusive(8)
    settings = FeatureInduction(n_features=3, max_rounds=2, every=2, proportions=(0.5,))
    model, data = LinearCRF(max_iter=6, induction=settings, random_state=0), (X[:6], y[:6])
    held_out = {"X_val": X[6:], "y_val": y[6:]}
    died, n_deaths = live_and_die(model, data, tmp_path / "checkpoint", **held_out)
    assert n_deaths > 3
    assert bits(died) == bits(fitted(model, data, **held_out))


def test_threads_change_no_bit():
    X, y = rich()
    one, two = (
        LinearCRF(window=1, max_iter=12, induction=FeatureInduction(every=4, n_features=9), n_jobs=n).fit(X, y)
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one.weights_, two.weights_)
    assert one.induced_.sets() == two.induced_.sets()


@pytest.mark.parametrize(
    "parameters",
    [
        {"objective": "labelwise"},
        {"trainer": "sgd"},
        {"start": "counts"},
        {"warm_start": True},
        {"class_weight": "balanced"},
        {"transition_columns": ["a"]},
        {"order": 2, "induction": FeatureInduction(on="pairs")},
    ],
)
def test_what_does_not_go_together_is_refused(parameters):
    X, y = exclusive(4)
    with pytest.raises(InputError, match="induction is not supported with"):
        LinearCRF(**{"induction": FeatureInduction()} | parameters).fit(X, y)


@pytest.mark.parametrize(
    ("settings", "words"), [({"every": 0}, "every"), ({"proportions": 0.5}, "proportions"), ({"on": "both"}, "on")]
)
def test_settings_that_mean_nothing_are_refused(settings, words):
    with pytest.raises(InputError, match=words):
        LinearCRF(induction=FeatureInduction(**settings)).fit(*exclusive(4))
    with pytest.raises(InputError, match="FeatureInduction"):
        LinearCRF(induction=8).fit(*exclusive(4))


def test_partial_fit_refuses_it():
    with pytest.raises(InputError, match="induction"):
        LinearCRF(induction=FeatureInduction()).partial_fit(*exclusive(4))


def test_an_order_of_two_and_zero_have_it():
    X, y = exclusive(20)
    for order in (0, 2):
        model = LinearCRF(order=order, max_iter=24, induction=FeatureInduction(every=4, n_features=6)).fit(X, y)
        assert label_accuracy(y, model.predict(X)) > 0.99


def test_atoms_of_attributes_rise_whatever_their_order():
    X, y = [[["v", "u", "v"], ["w"]]], [["0", "1"]]
    dataset = LinearCRF(window=1).fit(X, y).encode(X, y)
    atoms = list_atoms(dataset)
    for a, b in zip(atoms.ptr[:-1], atoms.ptr[1:]):
        assert (np.diff(atoms.numbers[a:b]) >= 0).all()
    sets = [(int(row),) for row in np.unique(atoms.numbers)]
    held = Conjunctions.of(dataset.schema, sets).held(atoms)
    assert all(len(set(held.numbers[a:b])) == b - a for a, b in zip(held.ptr[:-1], held.ptr[1:]))


@pytest.mark.parametrize("start", ["constant", "features"])
def test_a_round_that_finds_nothing_ends_the_rounds(start):
    X = [[{"w": "abc"[(i + t) % 3]} for t in range(5)] for i in range(12)]
    y = [["B" if item["w"] == "a" else "A" for item in x] for x in X]
    induction = FeatureInduction(on="pairs", start=start, every=5)
    model = LinearCRF(window=0, early_stopping=False, l2=0.01, max_iter=200, induction=induction).fit(X, y)
    assert model.score(X, y) == 1.0


def test_an_attribute_that_a_position_has_twice_is_there_once():
    rows = [["b", "a", "a"], ["b"]]
    dataset = learn([rows], [["0", "1"]])
    atoms = list_atoms(dataset)
    assert dataset.attr_ptr[1] == 3  # listed twice
    assert np.diff(atoms.ptr).tolist() == [2, 1]
    assert [len(set(atoms.numbers[a:b])) for a, b in zip(atoms.ptr, atoms.ptr[1:])] == [2, 1]
    pair = Conjunctions.of(dataset.schema, [tuple(atoms.numbers[:2].tolist())])
    assert np.diff(pair.held(atoms).ptr).tolist() == [1, 0]
