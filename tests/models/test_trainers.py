"""Trainers as objects: parameters of an estimator like any other, in copies, searches and files."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from hedgerow import FeatureInduction, InputError, LatticeCRF, LinearCRF, load, trainers
from hedgerow.datasets import make_sequences
from hedgerow.datasets.shapes import make_shapes
from hedgerow.estimators.codec.upgrade import with_trainer
from hedgerow.metrics import label_accuracy_scorer
from hedgerow.trainers import (
    LBFGS,
    SGD,
    SMD,
    TRAINERS,
    AdaGrad,
    AnnealedSGD,
    AveragedPerceptron,
    FrankWolfe,
    make_trainer,
)

X, y = make_sequences(30, mean_length=5, random_state=2)
EVERY = [own() for own in TRAINERS.values()]


def fitted(trainer, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LinearCRF(trainer=trainer, max_iter=2, random_state=0, **parameters).fit(X, y)


def test_all_of_them_are_there():
    public = {getattr(trainers, name) for name in trainers.__all__} - {FeatureInduction}  # which trainers work for
    assert public == set(TRAINERS.values())
    assert {own.name: own for own in public} == TRAINERS
    LinearCRF(trainer="auto")._check_parameters()


@pytest.mark.parametrize("trainer", EVERY, ids=repr)
def test_a_name_is_a_trainer_as_it_comes(trainer):
    np.testing.assert_array_equal(fitted(trainer).weights_, fitted(trainer.name).weights_)


@pytest.mark.parametrize("trainer", [*EVERY, SMD(meta_gain=0.05, lazy=False), SGD(gain=0.1)], ids=repr)
def test_it_can_be_read_copied_and_compared(trainer):
    model = LinearCRF(trainer=trainer)
    for other in (clone(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert other.trainer == trainer
        assert other.get_params() == model.get_params()
    assert eval(repr(trainer), vars(trainers)) == trainer
    assert repr(model) == f"LinearCRF(trainer={trainer!r})"


def test_settings_tell_trainers_apart():
    assert SMD(meta_gain=0.2) != SMD()
    assert SGD() != AdaGrad()
    assert repr(SMD(meta_gain=0.2, gain_decay=1.0)) == "SMD(meta_gain=0.2)"


def test_settings_reach_the_training():
    plain = fitted(SGD(gain=0.05))
    for other in (SGD(gain=0.1), SGD(gain=0.05, batch_size=3), AnnealedSGD(gain=0.05)):
        assert not np.allclose(plain.weights_, fitted(other).weights_)
    one, two = (fitted(AveragedPerceptron(batch_size=n)).weights_ for n in (1, 4))
    assert not np.allclose(one, two)
    a, b = (fitted(SMD(gain=0.05, meta_gain=mu)).weights_ for mu in (0.0, 0.5))
    assert not np.allclose(a, b)


def test_a_search_goes_over_trainers():
    grid = {"trainer__gain": [1e-3, 1e-1]}
    model = LinearCRF(trainer=SGD(batch_size=4), random_state=0, max_iter=3)
    search = GridSearchCV(model, grid, cv=2, scoring=label_accuracy_scorer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        search.fit(X, y)
    assert search.best_estimator_.trainer == SGD(batch_size=4, gain=search.best_params_["trainer__gain"])
    assert model.trainer == SGD(batch_size=4)


@pytest.mark.parametrize(
    "trainer", ["sgd", SGD(), SMD(meta_gain=0.05, lazy=False, schedule="plain", gain=0.02)], ids=repr
)
def test_a_file_holds_the_settings(trainer, tmp_path):
    model = fitted(trainer)
    model.save(tmp_path / "m")
    loaded = load(tmp_path / "m")
    assert loaded.trainer == trainer
    assert type(loaded.trainer) is type(trainer)
    again = loaded.set_params(max_iter=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        np.testing.assert_array_equal(again.fit(X, y).weights_, model.weights_)


def test_a_file_of_a_lattice_holds_them_too(tmp_path):
    model = LatticeCRF(trainer=SMD(gain=0.001, meta_gain=0.01), max_iter=2).fit(*make_shapes(2, size=8, random_state=0))
    model.save(tmp_path / "m")
    assert load(tmp_path / "m").trainer == model.trainer


@pytest.mark.parametrize(
    ("old", "trainer"),
    [
        ({"trainer": "lbfgs", "gain": 0.1, "lazy": False}, "lbfgs"),
        ({"trainer": "auto", "gain": 0.1, "batch_size": 3}, "auto"),
        ({"trainer": "sgd", "gain": "auto", "batch_size": None, "schedule": "auto"}, "sgd"),
        ({"trainer": "sgd", "gain": 0.1, "meta_gain": 0.3}, SGD(gain=0.1)),
        ({"trainer": "smd", "schedule": "plain", "lazy": False, "meta_gain": 0.1}, SMD(schedule="plain", lazy=False)),
        ({"trainer": "annealed_sgd", "schedule": "inverse"}, AnnealedSGD(schedule="inverse")),
        ({"trainer": {"name": "adagrad", "settings": {"gain": 0.5, "batch_size": None}}}, AdaGrad(gain=0.5)),
    ],
)  # fmt: skip
def test_settings_that_older_files_have_beside_the_name(old, trainer):
    assert with_trainer(old | {"l2": 3.0}) == {"trainer": trainer, "l2": 3.0}


def test_what_a_trainer_does_not_have_is_refused():
    with pytest.raises(TypeError):
        LBFGS(gain=0.1)
    with pytest.raises(InputError, match=r"trainer 'lbfgs' has no setting 'gain'. It has none"):
        make_trainer("lbfgs", {"gain": 0.1})
    with pytest.raises(InputError, match=r"trainer 'sgd' has no setting 'lazy'. It has batch_size, gain"):
        make_trainer("sgd", {"lazy": True})
    with pytest.raises(KeyError):
        make_trainer("newton", {})


@pytest.mark.parametrize(
    ("trainer", "message"),
    [
        (SGD(gain=0), "gain is 0. Give a number > 0 or 'auto'"),
        (SGD(batch_size=0.5), "batch_size is 0.5. Give a whole number"),
        (SMD(meta_gain=-1), "meta_gain is -1"),
        (SMD(gain_decay=1.1), "gain_decay is 1.1"),
        (SMD(schedule="inverse"), "schedule is 'inverse'"),
        (SMD(lazy=1), "lazy is 1. Give True or False"),
        (SGD, "trainer is <class"),
        (FrankWolfe, "trainer is <class"),
    ],
    ids=repr,
)
def test_settings_that_cannot_be_meant_are_refused(trainer, message):
    with pytest.raises(InputError, match=message):
        LinearCRF(trainer=trainer).fit(X, y)
