"""Killed after any iteration and gone on, training ends with the same bits as if it had never stopped."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

from hedgerow import (
    HMM,
    IOHMM,
    MEMM,
    AutoLabeler,
    BeamSearchTagger,
    Checkpoint,
    FutureFeatureMEMM,
    InputError,
    LatticeCRF,
    LinearCRF,
    MaxMarginMarkovNetwork,
    ModelFileError,
    RecurrentSlidingWindow,
    SlidingWindow,
    TreeCRF,
    TreeLatticeCRF,
    VirtualEvidence,
    persistence,
)
from hedgerow.datasets import make_future, make_sequences, make_shapes
from hedgerow.trainers import SMD, AnnealedSGD

from .checkpoints import Died, Mortal, bits, fitted, live_and_die

WORDS = make_sequences(24, n_tokens=20, mean_length=6, random_state=0)
MANY_WORDS = (
    [[f"w{13 * (40 * i + t) % 530}" for t in range(40)] for i in range(14)],
    [["AB"[13 * (40 * i + t) % 530 % 2] for t in range(40)] for i in range(14)],
)
FUTURE = make_future("or", 40, random_state=0)
FEW_AHEAD = tuple(own[:8] for own in FUTURE)
SHAPES = make_shapes(4, size=8, random_state=0)


@pytest.fixture(autouse=True)
def no_sync(monkeypatch):
    monkeypatch.setattr(persistence.os, "fsync", lambda descriptor: None)


def measurements():
    """Numbers in units of their own, some of them missing."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(8, 3)) * [1.0, 100.0, 0.01] for _ in range(20)]
    y = [["up" if row[0] + row[1] / 100.0 > 0.0 else "down" for row in one] for one in X]
    return X, y


def gaps(X, y):
    """The same with some labels unknown."""
    return X, [[None if (i + t) % 3 == 0 else label for t, label in enumerate(one)] for i, one in enumerate(y)]


def linear(**parameters):
    return LinearCRF(**{"window": 0, "max_iter": 6, "l2": 0.1, "random_state": 0} | parameters)


def trees(**parameters):
    few = {"window": 0, "n_estimators": 5, "max_leaf_nodes": 4, "random_state": 0}
    return TreeCRF(**few | parameters)


def future(**parameters):
    few = {"window": 0, "order": 1, "n_estimators": 3, "max_leaf_nodes": 4, "feature_steps": 2, "random_state": 0}
    return FutureFeatureMEMM(**few | {"max_future_features": 2} | parameters)


MODELS = {
    "lbfgs": (linear(), WORDS),
    "lbfgs to its end": (linear(l2=10.0, max_iter=100), WORDS),
    "owl-qn": (linear(l1=0.5), WORDS),
    "conjugate gradient": (linear(trainer="conjugate_gradient"), WORDS),
    "gradient descent": (linear(trainer="gradient_descent"), WORDS),
    "stages": (linear(objective="labelwise", max_iter=3), WORDS),
    "stopped early": (linear(early_stopping=True, n_iter_no_change=3, max_iter=30, l2=0.001), WORDS),
    "order 2": (linear(order=2), WORDS),
    "window": (linear(window="auto"), WORDS),
    "sgd": (linear(trainer="sgd"), WORDS),
    "annealed": (linear(trainer="annealed_sgd"), measurements()),
    "annealed, inverse": (linear(trainer=AnnealedSGD(schedule="inverse")), WORDS),
    "adagrad": (linear(trainer="adagrad"), measurements()),
    "adam": (linear(trainer="adam"), WORDS),
    "smd": (linear(trainer="smd"), WORDS),
    "smd, annealed": (linear(trainer=SMD(schedule="annealed", lazy=False)), WORDS),
    "smd, plain": (linear(trainer=SMD(schedule="plain")), WORDS),
    "averaged perceptron": (linear(trainer="averaged_perceptron"), WORDS),
    "passive aggressive": (linear(trainer="passive_aggressive"), WORDS),
    "arow": (linear(trainer="arow"), WORDS),
    "frank-wolfe": (MaxMarginMarkovNetwork(window=0, l2=1.0, max_iter=6, trainer="frank_wolfe", random_state=0), WORDS),
    "trees": (TreeCRF(window=0, n_iter_no_change=2, max_leaf_nodes=4, random_state=0, l2_regularization=1.0), WORDS),
    "joint trees": (trees(edges="joint", early_stopping=False), WORDS),
    "trees, no refit": (trees(refit=False, edges="shared"), WORDS),
    "trees for all labels": (trees(edges="shared", multi_strategy="multi_output_tree", early_stopping=False), WORDS),
    "line search": (trees(learning_rate="line_search", leaves="mean", early_stopping=False), WORDS),
    "samples": (trees(subsample=0.7, max_features=0.5, trees_per_step=2, early_stopping=False), measurements()),
    "phases": (trees(objective="labelwise", refit=False, pseudo_likelihood_steps=1), WORDS),
    "bags": (trees(n_bags=2), WORDS),
    "trees of order 2": (trees(order=2, early_stopping=False), WORDS),
    "trees on weights": (trees(init=LinearCRF(max_iter=3), early_stopping=False), WORDS),
    "trees on words": (trees(n_estimators=3, n_iter_no_change=2), MANY_WORDS),
    "surrogates": (trees(missing="surrogate", early_stopping=False), measurements()),
    "virtual evidence": (VirtualEvidence(window=0, n_estimators=4, max_leaf_nodes=4, random_state=0), WORDS),
    "hmm": (HMM(max_iter=6), gaps(*WORDS)),
    "iohmm": (IOHMM(window=0, max_iter=4, n_init=2, random_state=0), WORDS),
    "memm": (MEMM(window=0, estimator=LinearCRF(max_iter=4)), WORDS),
    "memm of trees": (MEMM(window=0, random_state=0, estimator=TreeCRF(n_estimators=4, max_leaf_nodes=4)), WORDS),
    "sliding window": (SlidingWindow(window=1, estimator=LinearCRF(max_iter=4)), WORDS),
    "recurrent": (
        RecurrentSlidingWindow(
            window=0, training="predicted", n_folds=2, random_state=0, estimator=LinearCRF(max_iter=2)
        ),
        WORDS,
    ),
    "future": (future(), FUTURE),
    "future, three labels": (future(window=1, bag=3), WORDS),
    "future, no refit": (future(refit=False), FUTURE),
    "search": (BeamSearchTagger(window=0, max_iter=4, random_state=0), WORDS),
    "search by trees": (BeamSearchTagger(window=0, max_iter=3, random_state=0, ranking="trees"), WORDS),
    "lattice": (LatticeCRF(max_iter=5), SHAPES),
    "loopy lattice": (LatticeCRF(max_iter=5, inference="loopy", early_stopping=True, random_state=0), SHAPES),
    "lattice, sgd": (LatticeCRF(max_iter=3, trainer="annealed_sgd", random_state=0), SHAPES),
    "lattice, smd": (LatticeCRF(max_iter=3, trainer="smd", random_state=0), SHAPES),
    "lattice of trees": (TreeLatticeCRF(n_estimators=4, early_stopping=True, random_state=0), SHAPES),
    "auto": (AutoLabeler(n_trials=2, cv=2, random_state=0, candidates=[linear(), HMM()]), WORDS),
}


@pytest.mark.parametrize("name", MODELS)
def test_dying_after_every_write_changes_no_bit(name, tmp_path):
    model, data = MODELS[name]
    expected = bits(fitted(model, data))
    whole = Mortal(tmp_path / "whole")
    assert bits(fitted(model, data, whole)) == expected, "keeping a checkpoint changes the model"
    assert not (tmp_path / "whole").exists(), "it is of no use any more"
    again, deaths = live_and_die(model, data, tmp_path / "kept")
    assert bits(again) == expected
    assert deaths == whole.writes > 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("kind", "lives"), [(True, 3), ("errors", 8)])
def test_a_search_finds_its_future_features_once(kind, lives, tmp_path, monkeypatch):
    if kind is True:  # in less time than its own training of them
        quick = future()
        monkeypatch.setattr(BeamSearchTagger, "_find_future_features", lambda model, ready: quick.fit(ready.dataset))
    model = BeamSearchTagger(window=0, max_iter=1, random_state=0, future_features=kind)
    again, deaths = live_and_die(model, FEW_AHEAD, tmp_path / "kept", lives=lives)
    assert deaths > 2
    assert again.future_.n_features_ > 0
    assert bits(again) == bits(fitted(model, FEW_AHEAD))


def test_two_writes_at_a_time_and_no_seed_of_its_own(tmp_path):
    # Without a seed nothing can be compared with a training that was never stopped: what it drew is kept.
    few = TreeCRF(window=0, n_estimators=8, max_leaf_nodes=4)
    model, _ = live_and_die(few, WORDS, tmp_path / "kept", lives=7)
    assert model.refitted_
    assert not (tmp_path / "kept").exists()


def test_a_warm_start_goes_on(tmp_path):
    def warm():
        model = fitted(linear(max_iter=3), WORDS)
        return model.set_params(warm_start=True, max_iter=6)

    expected = bits(fitted(warm(), WORDS))
    again, deaths = live_and_die(warm(), WORDS, tmp_path / "kept")
    assert deaths > 2
    assert bits(again) == expected


def test_held_out_sequences_that_are_given(tmp_path):
    X, y = WORDS
    data, held = (X[:16], y[:16]), {"X_val": X[16:], "y_val": y[16:]}
    model = linear(l2=0.001, max_iter=20, n_iter_no_change=3)
    again, _ = live_and_die(model, data, tmp_path / "kept", **held)
    assert bits(again) == bits(fitted(model, data, **held))
    with pytest.raises(Died):
        fitted(model, data, Mortal(tmp_path / "kept", 6), **held)
    with pytest.raises(InputError, match=r"kept: cannot go on from this checkpoint: other data \(labels\)"):
        fitted(model, data, tmp_path / "kept", X_val=X[16:], y_val=[one[::-1] for one in y[16:]])


# ------------------------------------------------------------------------------------------------ what is refused


@pytest.fixture
def kept(tmp_path):
    """The checkpoint of a training that died."""
    with pytest.raises(Died):
        fitted(linear(), WORDS, Mortal(tmp_path / "kept", 5))
    return tmp_path / "kept"


def changed(X, y):
    """The corpus with one word, one label, one weight changed."""
    other = [list(one) for one in X]
    other[3] = ["strange", *other[3][1:]]
    labels = [list(one) for one in y]
    labels[2] = labels[2][::-1] if labels[2] != labels[2][::-1] else [labels[0][0]] * len(labels[2])
    return {"values": (other, y), "labels": (X, labels), "weights": (X, y, [2.0, *[1.0] * (len(X) - 1)])}


@pytest.mark.parametrize("part", ["values", "labels", "weights"])
def test_other_data_are_refused(kept, part):
    before = kept.read_bytes()
    with pytest.raises(InputError, match=rf"kept: cannot go on .*: other data \([a-z, ]*{part}.*delete "):
        fitted(linear(), changed(*WORDS)[part], kept)
    assert kept.read_bytes() == before


@pytest.mark.parametrize(
    ("model", "names"),
    [
        (linear(l2=0.2), "l2"),
        (linear(random_state=1, max_iter=7), "max_iter, random_state"),
        (linear(trainer=AnnealedSGD(gain=0.1)), "trainer"),
    ],
)
def test_other_parameters_are_refused(kept, model, names):
    with pytest.raises(InputError, match=rf"other parameters \(.*{names}"):
        fitted(model, WORDS, kept)


def test_another_model_is_refused(kept):
    with pytest.raises(InputError, match=r"cannot go on from this checkpoint: another model \(kind\)"):
        fitted(HMM(), WORDS, kept)


def test_threads_and_words_may_change(kept):
    assert bits(fitted(linear(n_jobs=2, verbose=0), WORDS, kept))[1:] == bits(fitted(linear(n_jobs=2), WORDS))[1:]


def test_another_version_is_refused(kept, monkeypatch):
    monkeypatch.setattr("hedgerow.training.checkpoint.__version__", "9.9")
    with pytest.raises(InputError, match=r"it was written by hedgerow '.*', and this is 9.9"):
        fitted(linear(), WORDS, kept)


def test_damage_is_noticed(kept):
    whole = kept.read_bytes()
    for damaged in (whole[:-1], whole[:40], b"", whole[:500] + b"x" + whole[501:], b"not a checkpoint"):
        kept.write_bytes(damaged)
        with pytest.raises(ModelFileError, match="kept: is"):
            fitted(linear(), WORDS, kept)
        assert kept.read_bytes() == damaged


def test_what_is_sealed_and_yet_no_checkpoint(kept):
    header, tensors = persistence.read(kept)
    for name, value in (("ended", None), ("ended", {"dict": {"0": {"array": "7"}}}), ("running", ["0"])):
        persistence.write(kept, header | {name: value}, tensors)
        with pytest.raises((ModelFileError, InputError), match="checkpoint"):
            fitted(linear(), WORDS, kept)
    number, (monitor, state) = header["running"][0], header["running"][1]
    short = dict(state["dict"]) | {"variables": {"array": "short"}}
    persistence.write(
        kept, header | {"running": [number, [monitor, {"dict": short}]]}, tensors | {"short": np.zeros(3)}
    )
    with pytest.raises(ModelFileError, match="kept: is damaged, or not that of this training: variables is"):
        fitted(linear(), WORDS, kept)


def test_a_model_is_no_checkpoint_and_the_other_way_round(kept, tmp_path):
    from hedgerow import load

    with pytest.raises(ModelFileError, match="it is the checkpoint of a training"):
        load(kept)
    fitted(linear(), WORDS).save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="model: it holds a LinearCRF, and not a checkpoint"):
        fitted(linear(), WORDS, tmp_path / "model")


def test_places_that_cannot_be_written_to(tmp_path):
    for path in (tmp_path, tmp_path / "no" / "kept", "/dev/null"):
        with pytest.raises(InputError, match=r"is a folder|does not exist|is not a regular file"):
            fitted(linear(), WORDS, path)


def test_a_disk_that_is_full_ends_training_with_an_error(tmp_path, monkeypatch):
    def full(*given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(persistence.os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        fitted(linear(), WORDS, Checkpoint(tmp_path / "kept", every=0))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("model", "what"),
    [
        (AutoLabeler(time_budget=1.0), "is not supported with time_budget. Give n_trials"),
        (AutoLabeler(n_trials=1, candidates=[MEMM(estimator=GaussianNB())]), "is not supported with estimator=Gauss"),
        (MEMM(estimator=GaussianNB()), "is not supported with estimator=GaussianNB"),
        (linear(random_state=np.random.RandomState(0)), "random_state is a RandomState"),
    ],
)
def test_what_cannot_be_kept_is_refused(model, what, tmp_path):
    with pytest.raises(InputError, match=what):
        fitted(model, WORDS, tmp_path / "kept")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("every", [-1, "often", float("nan"), True])
def test_seconds_that_are_none(every, tmp_path):
    with pytest.raises(InputError, match="every is"):
        Checkpoint(tmp_path / "kept", every=every)


def test_one_checkpoint_at_a_time(tmp_path):
    with Checkpoint(tmp_path / "a").applied(), pytest.raises(InputError, match="is kept already"):
        fitted(linear(), WORDS, tmp_path / "b")


def test_scores_that_are_scaled_anew_now_and_then(tmp_path):
    # Exponentials are made anew after 100 iterations: how many there were since is part of the state.
    model = trees(edges="joint", early_stopping=False, n_estimators=106, max_leaf_nodes=2)
    again, deaths = live_and_die(model, WORDS, tmp_path / "kept", lives=20)
    assert deaths > 3
    assert bits(again) == bits(fitted(model, WORDS))


def test_another_metric_is_another_parameter():
    """By its code and its settings, not by its name alone."""
    from functools import partial

    from hedgerow.estimators.kept import digest
    from hedgerow.metrics import label_f1, make_scorer, span_f1

    plus, minus = (lambda a, b: 1.0), (lambda a, b: -1.0)
    metrics = [plus, minus, make_scorer(label_f1), make_scorer(span_f1), partial(label_f1, average="macro"), label_f1]
    assert len({digest(metric) for metric in metrics}) == len(metrics)
    assert digest(make_scorer(label_f1)) == digest(make_scorer(label_f1))


def test_what_a_metric_closes_over_is_compared():
    from hedgerow.estimators.kept import digest

    def scaled(by, n=0):
        def metric(a, b):
            nonlocal n
            n += 1  # a counter is no setting
            return by * (a == b)

        return metric

    assert digest(scaled(2.0)) == digest(scaled(2.0, n=3)) != digest(scaled(3.0))
    assert digest(scaled(np.ones(2))) != digest(scaled(np.zeros(2)))


def test_two_fits_do_not_keep_one_checkpoint(tmp_path):
    path = tmp_path / "kept"
    with persistence.held(path), pytest.raises(InputError, match=r"kept: another training keeps it. Name another"):
        fitted(linear(), WORDS, path)
    fitted(linear(), WORDS, path)
    (tmp_path / ".kept.hedgerow-lock").touch()  # left by a process that was killed
    fitted(linear(), WORDS, path)
    assert not list(tmp_path.iterdir())
