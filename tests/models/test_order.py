"""LinearCRF of order 0 and of orders above 1: by enumeration, by what it learns, and what it refuses."""

from __future__ import annotations

import copy
import itertools
import pickle
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from hedgerow import LinearCRF, load
from hedgerow.chain.objectives import log_likelihood
from hedgerow.data.encoding import learn
from hedgerow.errors import InputError, ModelFileError
from hedgerow.estimators.constraints import legal_space
from hedgerow.estimators.files import pack_model, unpack_model
from hedgerow.estimators.histories import observed_histories
from hedgerow.linear.chain import Evaluation, LinearChain
from hedgerow.models.crf.linear_layout import lay_out
from hedgerow.parallel import Lanes
from hedgerow.trainers import SMD, AdaGrad, AnnealedSGD
from hedgerow.training import memory

from .corpora import X_SMALL, Y_SMALL, partial_labels, rich_corpus


def made(order, n_sequences, seed, noise=0.05, length=30):
    """Labels that are the parity of the last `order` ones, but for some noise; nothing else to see."""
    rng = np.random.default_rng(seed)
    y = []
    for _ in range(n_sequences):
        labels = rng.integers(2, size=order).tolist()
        while len(labels) < length:
            labels.append((sum(labels[-order:]) + int(rng.random() < noise)) % 2)
        y.append(["ab"[v] for v in labels])
    return [["x"] * length for _ in y], y


@pytest.fixture(scope="module", params=[2, 3, 4])
def model(request):
    X, y = rich_corpus(25, seed=request.param)
    own = LinearCRF(order=request.param, l2=0.02, window=1, columns={"tags": "attributes"})
    return own.fit(X, y)


def enumerated(model, X):
    """All labelings of one sequence and their scores, by the sum over all runs of labels that have a weight."""
    dataset = model.encode([X])
    node = model._potentials(dataset, 0, 1).node_scores
    runs = {(before, label): weight for before, label, weight in model.history_weights()}
    names = model.classes_.tolist()
    every = list(itertools.product(range(len(names)), repeat=len(node)))
    scores = []
    for labels in every:
        past = [None, *(names[v] for v in labels)]
        total = sum(node[t, v] for t, v in enumerate(labels))
        for t in range(len(labels)):
            for n in range(min(model.order, t + 1) + 1):
                total += runs.get((tuple(past[t + 1 - n : t + 1]), past[t + 1]), 0.0)
        scores.append(total)
    return np.array(every), np.array(scores)


def test_everything_by_enumeration(model):
    X, _ = rich_corpus(12, seed=77)
    chosen = [x for x in X if len(x) in (1, 3, 5)][:4]
    for x in chosen:
        every, scores = enumerated(model, x)
        probs = np.exp(scores - np.logaddexp.reduce(scores))
        marginals = np.stack([(probs[:, None] * (every == v)).sum(axis=0) for v in range(3)], axis=1)
        np.testing.assert_allclose(model.predict_proba([x])[0], marginals, rtol=1e-9, atol=1e-12)
        best = model.classes_[every[np.argmax(scores)]].tolist()
        assert model.predict([x], decoder="viterbi")[0] == best
        assert model.predict([x], decoder="beam")[0] == best
        assert model.predict([x], decoder="posterior")[0] == model.classes_[marginals.argmax(axis=1)].tolist()
        top = np.argsort(-scores)[:3]
        found = model.predict_k_best([x], k=3)[0]
        np.testing.assert_allclose([p for _, p in found], probs[top], rtol=1e-8)
        assert found[0][0] == best
        y = model.classes_[every[5 % len(every)]].tolist()
        np.testing.assert_allclose(model.log_probability([x], [y]), [np.log(probs[5 % len(every)])], rtol=1e-9)
        first = model.classes_[0]
        open_ = [first, *[None] * (len(y) - 1)]
        share = probs[every[:, 0] == 0].sum()
        np.testing.assert_allclose(model.log_probability([x], [open_]), [np.log(share)], rtol=1e-9)
        np.testing.assert_allclose(model.span_probability([x], [(0, 0, [first])]), [share], rtol=1e-9)
        assert model.predict([x], known=[open_])[0][0] == first


def test_samples_have_the_marginals(model):
    x = next(x for x in rich_corpus(12, seed=77)[0] if len(x) == 3)
    drawn = np.array([list(s[0]) for s in model.sample([x], 2000, random_state=0)])
    shares = np.stack([(drawn == label).mean(axis=0) for label in model.classes_], axis=1)
    np.testing.assert_allclose(shares, model.predict_proba([x])[0], atol=0.05)


@pytest.mark.parametrize("transitions", ["all", "forbid_unseen"])
@pytest.mark.parametrize("order", [2, 3])
def test_gradient_by_differences(order, transitions):
    X, y = rich_corpus(8, seed=1)
    y = partial_labels(y, 3) if transitions == "all" else y
    dataset = learn(X, y, columns={"tags": "attributes"}, sample_weight=np.linspace(0.5, 2.0, 8))
    space = legal_space(dataset, None, forbid_unseen=False)
    histories = observed_histories(dataset, space, order, transitions=transitions)
    layout, _ = lay_out(
        dataset,
        space,
        transitions=transitions,
        pairs="observed",
        min_frequency=0.0,
        transition_columns=None,
        order=order,
        histories=histories,
    )
    rng = np.random.default_rng(0)
    weights = rng.normal(size=layout.n_weights)
    with Lanes(1, 1) as lanes:
        evaluate = Evaluation(LinearChain(layout), dataset, log_likelihood, lanes)
        _, gradient = evaluate(weights)
        arcs = range(layout.nodes.n_weights, layout.n_weights)
        for j in [*rng.choice(arcs, 12, replace=False), *rng.integers(layout.nodes.n_weights, size=6)]:
            step = np.zeros(len(weights))
            step[j] = 1e-5
            slope = (evaluate(weights + step)[0] - evaluate(weights - step)[0]) / 2e-5
            assert gradient[j] == pytest.approx(slope, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_it_learns_what_one_order_less_cannot(order):
    X, y = made(order, 60, seed=order)
    X_new, y_new = made(order, 20, seed=100 + order)
    right = LinearCRF(order=order, l2=0.01).fit(X, y)
    short = LinearCRF(order=order - 1, l2=0.01).fit(X, y)
    per_label = [float(m.log_probability(X_new, y_new).sum() / 600) for m in (right, short)]
    assert per_label[0] > -0.3  # the truth has −0.20 a label, and ln 2 for the first ones
    assert per_label[1] < -0.6
    known = [[*labels[:order], *[None] * 5] for labels in y_new]
    ahead = right.predict([x[: order + 5] for x in X_new], known=known)
    for labels in ahead:
        for t in range(order, order + 5):
            assert labels[t] == "ab"[sum(v == "b" for v in labels[t - order : t]) % 2]


def test_files_and_pickles_keep_the_model(model, tmp_path):
    X, _ = rich_corpus(6, seed=5)
    model.save(tmp_path / "m")
    for other in (load(tmp_path / "m"), pickle.loads(pickle.dumps(model))):
        assert other.order == model.order
        for mine, theirs in zip(model.predict_proba(X), other.predict_proba(X)):
            np.testing.assert_array_equal(mine, theirs)
        assert other.history_weights() == model.history_weights()


@pytest.mark.parametrize("name", ["labels", "back_off", "arc_next", "arc_label"])
def test_a_file_whose_histories_do_not_fit(model, name):
    header, tensors = pack_model(model)
    damaged = tensors[f"layout.histories.{name}"].copy()
    damaged.flat[0] = 10**6
    with pytest.raises((ModelFileError, InputError)):
        unpack_model(header, {**tensors, f"layout.histories.{name}": damaged})


@pytest.mark.parametrize("name", ["order", "start"])
def test_a_header_whose_histories_do_not_fit(model, name):
    header, tensors = copy.deepcopy(pack_model(model))
    header["state"]["layout"]["histories"][name] = 10**6
    with pytest.raises(ModelFileError):
        unpack_model(header, tensors)


def test_a_warm_start_goes_on_where_it_ended():
    X, y = rich_corpus(20, seed=9)
    model = LinearCRF(order=2, l2=0.1, columns={"tags": "attributes"}, warm_start=True).fit(X, y)
    cold, loss = model.n_iter_, model.loss_
    model.fit(X, y)
    assert model.n_iter_ < cold / 2
    assert model.loss_ == pytest.approx(loss, rel=1e-4)


def test_threads_do_not_change_bits():
    X, y = rich_corpus(40, seed=2)
    own = {"order": 3, "columns": {"tags": "attributes"}}
    one, two = (LinearCRF(n_jobs=n, **own).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.weights_, two.weights_)


def test_unseen_runs_back_off_or_are_forbidden():
    X, y = [["x"] * 4] * 2, [["a", "b", "a", "b"], ["b", "a", "b", "a"]]
    odd = ["a", "b", "b", "a"]
    free = LinearCRF(order=2).fit(X, y)
    strict = LinearCRF(order=2, transitions="forbid_unseen").fit(X, y)
    assert np.isfinite(free.log_probability(X[:1], [odd]))
    assert np.isneginf(strict.log_probability(X[:1], [odd]))
    assert strict.predict(X[:1], known=[["b", None, None, None]])[0] == ["b", "a", "b", "a"]
    with pytest.raises(InputError, match="no legal labeling"):
        strict.predict(X[:1], known=[["b", "b", None, None]])
    unlabelled = [*y, ["a", None, None, "a"]]
    with pytest.raises(InputError, match="forbid_unseen' leaves no labeling") as caught:
        LinearCRF(order=2, transitions="forbid_unseen").fit([*X, X[0]], unlabelled)
    assert caught.value.sequence == 2


def test_constraints_hold():
    X, y = rich_corpus(20, seed=4)
    model = LinearCRF(order=2, constraints="iob2", l2=100.0, columns={"tags": "attributes"}).fit(X, y)
    for decoder in ("viterbi", "beam"):
        for labels in model.predict(rich_corpus(20, seed=6)[0], decoder=decoder):
            assert all(b != "I-X" or a in ("B-X", "I-X") for a, b in itertools.pairwise(["O", *labels]))
    assert model.log_probability(X[:1], [["I-X"] * len(y[0])])[0] == -np.inf


def test_rare_runs_are_left_out():
    X, y = made(2, 10, seed=0)
    often = LinearCRF(order=2, transitions="observed", min_frequency=20).fit(X, y)
    every = LinearCRF(order=2).fit(X, y)
    assert len(often.history_weights()) < len(every.history_weights())
    assert np.isfinite(often.log_probability(X, y)).all()


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({"order": -1}, "order is -1"),
        ({"order": 1.5}, "order is 1.5"),
        ({"order": 17}, "order is 17"),
        ({"order": 2, "trainer": "frank_wolfe"}, "trainer='frank_wolfe' is not available for order=2. Use 'adagrad'"),
        ({"order": 2, "start": "counts"}, "start='counts' is not available"),
        ({"order": 2, "transition_columns": ["token"]}, "transition_columns are for order 1, not 2"),
        ({"order": 0, "transition_columns": ["token"]}, "transition_columns are for order 1, not 0"),
        ({"decoder": "beam", "beam_width": 0}, "beam_width is 0"),
    ],
)
def test_what_is_refused(parameters, complaint):
    with pytest.raises(InputError) as caught:
        LinearCRF(**parameters).fit(X_SMALL, Y_SMALL)
    assert str(caught.value).startswith(complaint)


def test_what_a_fitted_model_refuses():
    model = LinearCRF(order=2).fit(X_SMALL, Y_SMALL)
    with pytest.raises(AttributeError, match="history_weights"):
        _ = model.transition_weights_
    with pytest.raises(InputError, match="partial_fit is for order 1"):
        model.partial_fit(X_SMALL, Y_SMALL)
    with pytest.raises(InputError, match="order 1 has no histories"):
        LinearCRF().fit(X_SMALL, Y_SMALL).history_weights()


@pytest.mark.parametrize("objective", ["log_likelihood", "pseudo_likelihood"])
def test_exact_trainers_reach_the_same_optimum(objective):
    X, y = rich_corpus(20, seed=9)
    own = {"order": 2, "objective": objective, "l2": 0.5, "columns": {"tags": "attributes"}, "tol": 1e-9}
    best = LinearCRF(**own).fit(X, y)
    for trainer, max_iter, near in (
        ("conjugate_gradient", 1000, 1e-6),
        (AdaGrad(gain=0.5), 150, 0.01),  # these end where the loss of a pass no longer falls
        (AnnealedSGD(gain=0.05), 150, 0.02),
        (SMD(gain=0.02, lazy=False), 60, 0.02),  # its gains do not fall, and it keeps moving
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = LinearCRF(trainer=trainer, max_iter=max_iter, random_state=0, **own).fit(X, y)
        assert best.loss_ * (1 - 1e-6) < model.loss_ < best.loss_ * (1 + near), trainer


def test_the_entropy_is_that_of_all_labelings(model):
    x = next(x for x in rich_corpus(12, seed=77)[0] if len(x) == 3)
    scores = enumerated(model, x)[1]
    logs = scores - np.logaddexp.reduce(scores)
    assert model.entropy([x])[0] == pytest.approx(-(np.exp(logs) * logs).sum(), rel=1e-8)


def test_memory_is_planned(monkeypatch):
    monkeypatch.setattr(memory, "memory_limit", lambda: 1000)
    monkeypatch.setattr(memory, "_LITTLE", 1000)  # of less nobody asks how much there is
    with pytest.raises(InputError, match=r"order=2 has \d+ arcs and \d+ weights in all: training needs 0.0 GB.*lower"):
        LinearCRF(order=2).fit(X_SMALL, Y_SMALL)


@pytest.mark.parametrize(
    ("objective", "trainer"),
    [
        ("log_likelihood", "lbfgs"),
        ("log_likelihood", "smd"),
        ("labelwise", "lbfgs"),
        ("margin", "frank_wolfe"),
        ("perceptron", "averaged_perceptron"),
        ("perceptron", "passive_aggressive"),
        ("perceptron", "arow"),
        ("pseudo_likelihood", "adagrad"),
    ],
)
def test_order_zero_takes_every_objective(objective, trainer):
    model = LinearCRF(order=0, objective=objective, trainer=trainer, window=1, random_state=0).fit(X_SMALL, Y_SMALL)
    assert not model.transition_weights_.any()
    assert model.predict(X_SMALL).tolist() == Y_SMALL
    potentials = model._potentials(model.encode(X_SMALL), 0, 4)
    probs = np.exp(potentials.node_scores)
    probs /= probs.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.concatenate(model.predict_proba(X_SMALL)), probs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_early_stopping_by_a_beam(order):
    X, y = rich_corpus(40, seed=8)
    model = LinearCRF(
        order=order, decoder="beam", beam_width=2, early_stopping=True, random_state=0, columns={"tags": "attributes"}
    ).fit(X, y)
    assert model.history_[-1].score is not None
    assert model.predict(X[:1])[0] == model.predict(X[:1], decoder="beam")[0]
