"""partial_fit: a pass over the sequences at hand, with new words, attributes and labels from call to call."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hedgerow import LinearCRF, load
from hedgerow.data.encoding import learn
from hedgerow.datasets import make_sequences
from hedgerow.errors import InputError
from hedgerow.models.crf import partial_fit as online
from hedgerow.models.crf.linear_layout import carry_over
from hedgerow.trainers import SGD, TRAINERS, AdaGrad, GainTrainer, OnlineTrainer, make_trainer

from .corpora import COLUMNS, rich_corpus

ONLINE = [name for name, own in TRAINERS.items() if issubclass(own, OnlineTrainer)]


def with_gain(trainer, gain, **settings):
    """A trainer with this gain, where it has one."""
    own = {"gain": gain} if issubclass(TRAINERS[trainer], GainTrainer) else {}
    return make_trainer(trainer, own | settings)


def portions(X, y, size):
    return [(X[i : i + size], y[i : i + size]) for i in range(0, len(X), size)]


def trained(X, y, size, **parameters):
    model = LinearCRF(**({"random_state": 1, "l2": 0.1} | parameters))
    for part in portions(X, y, size):
        model.partial_fit(*part)
    return model


def weights_in(model, other):
    """The weights of a model in the layout of another, by name."""
    return carry_over(model.schema_, model.layout_, model.weights_, other.schema_, other.layout_)


@pytest.mark.filterwarnings("ignore:training made the loss larger")
@pytest.mark.parametrize("trainer", ONLINE)
def test_one_call_is_one_pass_of_fit(trainer):
    X, y = rich_corpus(30, seed=3)
    parameters = {"trainer": with_gain(trainer, 0.05), "window": 1, "columns": COLUMNS, "random_state": 5}
    model = LinearCRF(**parameters)
    model.partial_fit(X, y)
    fitted = LinearCRF(**parameters, max_iter=1).fit(X, y)
    np.testing.assert_array_equal(model.weights_, fitted.weights_)
    assert (model.n_iter_, model.outcome_, len(model.history_)) == (1, "partial_fit", 1)
    np.testing.assert_allclose(model.loss_, fitted.history_[-1].loss, rtol=1e-12)


def test_a_first_call_with_enough_data_finds_the_gain():
    X, y = make_sequences(500, random_state=1)
    model = trained(X, y, 500, trainer="sgd")
    fitted = LinearCRF(trainer="sgd", l2=0.1, random_state=1, max_iter=1).fit(X, y)
    np.testing.assert_array_equal(model.weights_, fitted.weights_)
    assert model._progress.state.gain != trained(X[:50], y[:50], 50, trainer="sgd")._progress.state.gain == 0.1


@pytest.mark.parametrize("trainer", ONLINE)
def test_portions_learn_as_well_as_the_whole(trainer):
    X, y = make_sequences(500, random_state=2, n_labels=4)
    model, at_once = (trained(X[:200], y[:200], size, trainer=trainer) for size in (20, 200))
    assert model.score(X[200:], y[200:]) > at_once.score(X[200:], y[200:]) - 0.05
    assert len(model.history_) == 10
    assert model.n_sequences_ == 200


@pytest.mark.parametrize("stored", [False, True])
def test_the_sequences_of_fit_count_for_the_penalty(stored, tmp_path):
    """The first call after `fit` bears its share of the penalty, not the whole of it."""
    X, y = make_sequences(400, random_state=3)
    model = LinearCRF(l2=100.0, random_state=1).fit(X, y)
    before = model.weights_
    if stored:
        model.save(tmp_path / "model")
        model = load(tmp_path / "model")
    assert model.n_sequences_ == 400
    model.set_params(trainer="sgd").partial_fit(X[:4], y[:4])
    assert model.n_sequences_ == 404
    alone = LinearCRF(l2=100.0 * 4 / 404, random_state=1).fit(X, y)
    alone.weights_, alone.n_sequences_ = before, 0  # all of the smaller penalty on the four: the same
    alone.set_params(trainer="sgd").partial_fit(X[:4], y[:4])
    np.testing.assert_allclose(model.weights_, alone.weights_, rtol=1e-12)


@pytest.mark.parametrize("trainer", ONLINE)
def test_one_more_sequence_does_not_spoil_a_model(trainer):
    """Whatever trained it: steps are those of a trainer that has seen as many sequences."""
    options = {"n_labels": 4, "n_tokens": 200, "mean_length": 12, "concentration": 0.4}
    for seed in range(3):
        X, y = make_sequences(300, random_state=seed, **options)
        model = LinearCRF(l2=0.3, random_state=0).fit(X[:150], y[:150])
        before = model.score(X[150:], y[150:])
        model.set_params(trainer=trainer).partial_fit(X[:1], y[:1])
        loss = 0.05 if trainer in ("sgd", "adam") else 0.02  # steps of these two do not become smaller
        assert model.score(X[150:], y[150:]) > before - loss


@pytest.mark.parametrize("objective", ["labelwise", "classification_error", "expected_accuracy"])
def test_objectives_that_are_not_convex_begin_with_counts(objective):
    X, y = make_sequences(300, n_labels=4, n_tokens=200, mean_length=12, concentration=0.4, random_state=0)
    model = trained(X[:150], y[:150], 30, objective=objective, window=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        whole = LinearCRF(window=0, objective=objective, l2=0.1).fit(X[:150], y[:150])
    assert model.score(X[150:], y[150:]) > whole.score(X[150:], y[150:]) - 0.1


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
    chosen = with_gain(trainer, 0.1, batch_size=100)
    parameters = {"trainer": chosen, "l2": 0.0, "pairs": "all", "random_state": 4}
    model = trained(X, y, 16, **parameters)
    whole = in_order(LinearCRF(**parameters), X, y, 16)  # a batch is a call
    np.testing.assert_allclose(weights_in(model, whole), whole.weights_, rtol=0, atol=1e-12)
    fresh = LinearCRF(**parameters)
    fresh.partial_fit(X[:16], y[:16])
    fresh._progress = None
    fresh.partial_fit(X[16:], y[16:])
    same = np.allclose(weights_in(fresh, whole), whole.weights_, rtol=0, atol=1e-12)
    assert same == (trainer == "sgd")  # it alone keeps nothing but weights


def in_order(model, X, y, size):
    """Train in one call whose batches are in the order given."""

    class InOrder(online.Batches):
        def order(self, number, sequences=None):
            return iter(np.split(np.arange(self.n_sequences), range(size, self.n_sequences, size)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(online, "Batches", InOrder)
        model.partial_fit(X, y)
    return model


@pytest.mark.parametrize("trainer", ONLINE)
def test_new_words_attributes_and_labels(trainer):
    model = LinearCRF(trainer=make_trainer(trainer, {"batch_size": 1}), window=1, random_state=0, l2=0.01)
    first = [[{"word": w} for w in ("the", "cat")]] * 10, [["D", "N"]] * 10
    later = (
        [[{"word": "a", "flag": True}, {"word": "dog", "tags": ["x"]}, {"word": "barks"}]] * 10,
        [["D", "N", "C"]] * 10,
    )
    model.partial_fit(*first, classes=["Z"])
    assert model.classes_.tolist() == ["D", "N", "Z"]
    for _ in range(5):
        model.partial_fit(*(a + b for a, b in zip(first, later)))
    assert model.classes_.tolist() == ["C", "D", "N", "Z"]
    assert model.predict([first[0][0], later[0][0]]).tolist() == [["D", "N"], ["D", "N", "C"]]
    assert {"tags:x", "flag[-1]", "word:barks"} <= {name for name, _, _ in model.feature_weights()}


def test_a_model_that_was_fitted_goes_on():
    X, y = make_sequences(100, random_state=4)
    model = LinearCRF(l2=0.1, random_state=0).fit(X[:80], y[:80])
    before = model.weights_
    model.partial_fit(X[80:], y[80:])
    assert np.corrcoef(before, weights_in(model, LinearCRF(l2=0.1).fit(X[:80], y[:80])))[0, 1] > 0.7
    assert len(model.history_) > 1


def test_a_pickle_goes_on_as_the_model_does():
    X, y = make_sequences(60, random_state=5)
    model = trained(X[:40], y[:40], 20)
    copy = pickle.loads(pickle.dumps(model))
    for one in (model, copy):
        one.partial_fit(X[40:], y[40:])
    np.testing.assert_array_equal(model.weights_, copy.weights_)
    assert model._progress.n_calls == copy._progress.n_calls == 3


@pytest.mark.parametrize("change", [{"trainer": "sgd"}, "weights", "fit"])
def test_a_fresh_state_where_what_was_kept_no_longer_fits(change):
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
    model.partial_fit(X, y)
    assert model._progress.n_calls == 1


def test_the_penalty_is_spread_over_all_that_was_seen():
    """Many calls with l2 shrink weights no more than one call with all sequences."""
    X, y = make_sequences(200, random_state=8)
    sizes = [np.linalg.norm(trained(X, y, n, trainer=AdaGrad(gain=0.2), l2=2.0).weights_) for n in (10, 200)]
    assert 0.8 < sizes[0] / sizes[1] < 1.25


def test_forbidden_transitions_are_those_that_no_call_showed():
    model = LinearCRF(transitions="forbid_unseen", random_state=0)
    model.partial_fit([["a", "b"]], [["x", "y"]])
    model.partial_fit([["b", "a"]], [["y", "z"]])
    assert np.isfinite(model.transition_weights_).tolist() == [[False, True, False], [False, False, True], [False] * 3]


def test_partial_labels_and_weights():
    model = LinearCRF(random_state=0)
    model.partial_fit([["a", "b"], ["c"]], [["x", {"y", "z"}], [None]], sample_weight=[2.0, 1.0])
    model.partial_fit([["a", "d"]], [["x", "w"]], sample_weight=[[1, 0]])
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
        ({"start": "sgd"}, "start is 'sgd' and needs all data at once"),
    ],
)
def test_parameters_that_need_all_data(parameters, match):
    with pytest.raises(InputError, match=match):
        LinearCRF(**parameters).partial_fit([["a"]], [["x"]])


def test_parameters_that_changed():
    model = trained([["a", "b"]], [["x", "y"]], 1, window=1, columns={"token": "categorical"})
    for change in ({"window": 2}, {"columns": {"token": "attributes"}}, {"transition_columns": ["token"]}):
        changed = pickle.loads(pickle.dumps(model)).set_params(**change)
        with pytest.raises(InputError, match=f"{next(iter(change))} is .* and the model began with"):
            changed.partial_fit([["a"]], [["x"]])
    model.set_params(window=(1, 1)).partial_fit([["a"]], [["x"]])


def test_a_dataset():
    with pytest.raises(InputError, match="partial_fit takes sequences, not a Dataset"):
        LinearCRF().partial_fit(learn([["a"]], [["x"]]), None)


@pytest.mark.parametrize(
    "bad", [([["c"]], [[3]]), ([[{"token": 1.0}]], [["x"]]), ([["c"]], None), ([["c"]], [["x", "y"]])]
)
def test_a_call_that_fails_leaves_the_model_as_it_was(bad):
    model = trained([["a", "b"]], [["x", "y"]], 1)
    before = dict(vars(model))
    with pytest.raises(InputError):
        model.partial_fit(*bad)
    assert all(before[name] is value for name, value in vars(model).items())


def test_a_gain_that_is_too_large_leaves_the_model_as_it_was():
    model = trained([["a", "b"]], [["x", "y"]], 1, trainer=SGD(gain=1e-3))
    before = dict(vars(model))
    model.set_params(trainer=SGD(gain=1e300))
    with pytest.raises(InputError, match="is too large"):
        model.partial_fit([["a", "b"], ["b", "a"]] * 9, [["x", "y"], ["y", "y"]] * 9)
    assert model.weights_ is before["weights_"]
    assert model.schema_ is before["schema_"]
