"""partial_fit: a pass over the sequences at hand, with new words, attributes and labels from call to call."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hedgerow import LinearCRF
from hedgerow.data.encoding import learn
from hedgerow.datasets import make_sequences
from hedgerow.errors import InputError
from hedgerow.models.layout import carry_over
from hedgerow.models.linear_training import ONLINE
from hedgerow.models.online import partial_fit

from .corpora import COLUMNS, rich_corpus


def portions(X, y, size):
    return [(X[i : i + size], y[i : i + size]) for i in range(0, len(X), size)]


def trained(X, y, size, **parameters):
    model = LinearCRF(**({"random_state": 1, "l2": 0.1} | parameters))
    for part in portions(X, y, size):
        partial_fit(model, *part)
    return model


def weights_in(model, other):
    """The weights of a model in the layout of another, by name."""
    return carry_over(model.schema_, model.layout_, model.weights_, other.schema_, other.layout_)


@pytest.mark.filterwarnings("ignore:training made the loss larger")
@pytest.mark.parametrize("trainer", ONLINE)
def test_one_call_is_one_pass_of_fit(trainer):
    X, y = rich_corpus(30, seed=3)
    parameters = {"trainer": trainer, "gain": 0.05, "window": 1, "columns": COLUMNS, "random_state": 5}
    model = LinearCRF(**parameters)
    partial_fit(model, X, y)
    fitted = LinearCRF(**parameters, max_iter=1).fit(X, y)
    np.testing.assert_array_equal(model.weights_, fitted.weights_)
    assert (model.n_iter_, model.outcome_, len(model.history_)) == (1, "partial_fit", 1)
    np.testing.assert_allclose(model.loss_, fitted.history_[-1].loss, rtol=1e-12)


def test_a_first_call_with_enough_data_finds_the_gain():
    X, y = make_sequences(500, random_state=1)
    model = trained(X, y, 500, trainer="adagrad")
    fitted = LinearCRF(trainer="adagrad", l2=0.1, random_state=1, max_iter=1).fit(X, y)
    np.testing.assert_array_equal(model.weights_, fitted.weights_)
    assert model._progress.gain != trained(X[:50], y[:50], 50, trainer="adagrad")._progress.gain == 0.4


@pytest.mark.parametrize("trainer", ONLINE)
def test_portions_learn_as_well_as_the_whole(trainer):
    X, y = make_sequences(300, random_state=2, n_labels=4)
    y = [[f"label {k}" for k in labels] for labels in y]
    model = trained(X[:200], y[:200], 20, trainer=trainer)
    at_once = trained(X[:200], y[:200], 200, trainer=trainer)
    assert model.score(X[200:], y[200:]) > at_once.score(X[200:], y[200:]) - 0.02
    assert len(model.history_) == 10
    assert model.n_sequences_ == 200


@pytest.mark.parametrize("trainer", ["sgd", "adagrad", "smd", "averaged_perceptron"])
def test_what_the_trainer_keeps_is_carried_on(trainer):
    """Without a penalty two calls are two passes over different sequences: as if no call ended between them.

    The second call brings words of its own, so that all that is kept moves to other places.
    """
    rng = np.random.default_rng(7)
    labels = [["A", "B", "C"], ["B", "A"], ["C", "C", "A", "B"], ["A"]] * 4
    X = [[f"w{rng.integers(6)}" for _ in row] for row in labels] + [
        [f"v{rng.integers(6)}" for _ in row] for row in labels
    ]
    y = labels + labels
    parameters = {"trainer": trainer, "gain": 0.1, "l2": 0.0, "pairs": "all", "batch_size": 100, "random_state": 4}
    model = trained(X, y, 16, **parameters)
    # batches of whole calls: the order of the sequences does not matter, and one pass in batches of 16 is the same
    whole = LinearCRF(**parameters | {"batch_size": 16})
    in_order = _Ordered(whole, X, y)
    np.testing.assert_allclose(weights_in(model, in_order), in_order.weights_, rtol=0, atol=1e-12)
    fresh = LinearCRF(**parameters)
    partial_fit(fresh, X[:16], y[:16])
    fresh._progress = None
    partial_fit(fresh, X[16:], y[16:])
    same = np.allclose(weights_in(fresh, in_order), in_order.weights_, rtol=0, atol=1e-12)
    assert same == (trainer == "sgd")  # it alone keeps nothing but weights


class _Ordered:
    """A model that saw all data in one call, whose batches were in the order given."""

    def __init__(self, model, X, y):
        from hedgerow.models import online

        class InOrder(online.Portion):
            def order(self, number, sequences=None):
                return iter(np.split(np.arange(self.dataset.n_sequences), range(16, self.dataset.n_sequences, 16)))

        portion, online.Portion = online.Portion, InOrder
        try:
            partial_fit(model, X, y)
        finally:
            online.Portion = portion
        self.schema_, self.layout_, self.weights_ = model.schema_, model.layout_, model.weights_


@pytest.mark.parametrize("trainer", ONLINE)
def test_new_words_attributes_and_labels(trainer):
    model = LinearCRF(trainer=trainer, window=1, random_state=0, l2=0.01, batch_size=1)
    first = [[{"word": w} for w in ("the", "cat")]] * 10, [["D", "N"]] * 10
    later = (
        [[{"word": "a", "flag": True}, {"word": "dog", "tags": ["x"]}, {"word": "barks"}]] * 10,
        [["D", "N", "C"]] * 10,
    )
    partial_fit(model, *first, classes=["Z"])
    assert model.classes_.tolist() == ["D", "N", "Z"]
    for _ in range(5):
        partial_fit(model, *(a + b for a, b in zip(first, later)))
    assert model.classes_.tolist() == ["C", "D", "N", "Z"]
    assert model.predict([first[0][0], later[0][0]]).tolist() == [["D", "N"], ["D", "N", "C"]]
    assert {"tags:x", "flag[-1]", "word:barks"} <= {name for name, _, _ in model.feature_weights()}


def test_a_model_that_was_fitted_goes_on():
    X, y = make_sequences(100, random_state=4)
    model = LinearCRF(l2=0.1, random_state=0).fit(X[:80], y[:80])
    before = model.weights_
    partial_fit(model, X[80:], y[80:])
    assert np.corrcoef(before, weights_in(model, LinearCRF(l2=0.1).fit(X[:80], y[:80])))[0, 1] > 0.7
    assert len(model.history_) > 1


def test_a_pickle_goes_on_as_the_model_does():
    X, y = make_sequences(60, random_state=5)
    model = trained(X[:40], y[:40], 20)
    copy = pickle.loads(pickle.dumps(model))
    for one in (model, copy):
        partial_fit(one, X[40:], y[40:])
    np.testing.assert_array_equal(model.weights_, copy.weights_)
    assert model._progress.n_calls == copy._progress.n_calls == 3


@pytest.mark.parametrize("change", [{"trainer": "sgd"}, {"gain": 0.01}, "weights", "fit"])
def test_fresh_gains_where_what_was_kept_no_longer_fits(change):
    X, y = make_sequences(40, random_state=6)
    model = trained(X, y, 20, trainer="adagrad")
    if change == "weights":
        model.weights_ = model.weights_ * 0.5
    elif change == "fit":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
    else:
        model.set_params(**change)
    partial_fit(model, X, y)
    assert model._progress.n_calls == 1


def test_the_penalty_is_spread_over_all_that_was_seen():
    """Many calls with l2 shrink weights no more than one call with all sequences."""
    X, y = make_sequences(200, random_state=8)
    sizes = [np.linalg.norm(trained(X, y, n, trainer="adagrad", gain=0.2, l2=2.0).weights_) for n in (10, 200)]
    assert 0.8 < sizes[0] / sizes[1] < 1.25


def test_forbidden_transitions_are_those_that_no_call_showed():
    model = LinearCRF(transitions="forbid_unseen", random_state=0)
    partial_fit(model, [["a", "b"]], [["x", "y"]])
    partial_fit(model, [["b", "a"]], [["y", "z"]])
    assert np.isfinite(model.transition_weights_).tolist() == [[False, True, False], [False, False, True], [False] * 3]


def test_partial_labels_and_weights():
    model = LinearCRF(random_state=0)
    partial_fit(model, [["a", "b"], ["c"]], [["x", {"y", "z"}], [None]], sample_weight=[2.0, 1.0])
    partial_fit(model, [["a", "d"]], [["x", "w"]], sample_weight=[[1, 0]])
    assert model.classes_.tolist() == ["w", "x", "y", "z"]
    assert ("token:d", "w") not in {(name, label) for name, label, _ in model.feature_weights()}


# ---- what is refused


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"trainer": "lbfgs"}, "trainer 'lbfgs' needs all data at once"),
        ({"trainer": "frank_wolfe"}, "trainer 'frank_wolfe' needs all data at once"),
        ({"l1": 1.0}, "l1 is 1.0 and needs all data at once"),
        ({"min_frequency": 2}, "min_frequency is 2 and needs all data at once"),
        ({"early_stopping": True}, "early_stopping is True and needs all data at once"),
        ({"start": "log_likelihood"}, "start is 'log_likelihood' and needs all data at once"),
    ],
)
def test_parameters_that_need_all_data(parameters, match):
    with pytest.raises(InputError, match=match):
        partial_fit(LinearCRF(**parameters), [["a"]], [["x"]])


def test_parameters_that_changed():
    model = trained([["a", "b"]], [["x", "y"]], 1, window=1, columns={"token": "categorical"})
    for change in ({"window": 2}, {"columns": {"token": "attributes"}}, {"transition_columns": ["token"]}):
        changed = pickle.loads(pickle.dumps(model)).set_params(**change)
        with pytest.raises(InputError, match=f"{next(iter(change))} is .* and the model began with"):
            partial_fit(changed, [["a"]], [["x"]])
    partial_fit(model.set_params(window=(1, 1)), [["a"]], [["x"]])


def test_a_dataset():
    with pytest.raises(InputError, match="partial_fit takes sequences, not a Dataset"):
        partial_fit(LinearCRF(), learn([["a"]], [["x"]]), None)


@pytest.mark.parametrize(
    "bad", [([["c"]], [[3]]), ([[{"token": 1.0}]], [["x"]]), ([["c"]], None), ([["c"]], [["x", "y"]])]
)
def test_a_call_that_fails_leaves_the_model_as_it_was(bad):
    model = trained([["a", "b"]], [["x", "y"]], 1)
    before = dict(vars(model))
    with pytest.raises(InputError):
        partial_fit(model, *bad)
    assert all(before[name] is value for name, value in vars(model).items())


def test_a_gain_that_is_too_large_leaves_the_model_as_it_was():
    model = trained([["a", "b"]], [["x", "y"]], 1, trainer="sgd", gain=1e-3)
    before = dict(vars(model))
    model.set_params(gain=1e300)
    with pytest.raises(InputError, match="is too large"):
        partial_fit(model, [["a", "b"], ["b", "a"]] * 9, [["x", "y"], ["y", "y"]] * 9)
    assert model.weights_ is before["weights_"]
    assert model.schema_ is before["schema_"]
