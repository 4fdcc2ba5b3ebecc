"""Boosted scores on graphs."""

from __future__ import annotations

import os
import signal
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from hedgerow import persistence
from hedgerow.datasets.shapes import make_shapes
from hedgerow.errors import InputError, ModelFileError
from hedgerow.estimators.files import load, pack_model
from hedgerow.lattice import LatticeCRF, TreeLatticeCRF, grid
from hedgerow.lattice.boosting import Bins, GraphBooster, TreeScorer, TreeValues
from hedgerow.lattice.dataset import make_dataset, with_labels
from hedgerow.lattice.graphs import read_graphs
from hedgerow.lattice.inference.infer import Inference
from hedgerow.lattice.objectives import GraphObjective
from hedgerow.lattice.scores import Form
from hedgerow.lattice.tree_rows import RowGrower, bin_rows, row_dataset, tree_values
from hedgerow.parallel import Lanes
from hedgerow.trees.binning import learn_binning

OPTIONS = {"max_leaf_nodes": 6, "l2_regularization": 2.0, "min_samples_leaf": 1.0, "max_features": 1.0}


def bands(n_images, rng, size=14):
    """Pixels whose label is 1 where the number is between 1 and 2: no weight can tell, a tree can."""
    images, masks = [], []
    for _ in range(n_images):
        mask = np.zeros((size, size), dtype=int)
        mask[3:9, 4:11] = 1
        mask = np.roll(mask, rng.integers(-3, 4, size=2), axis=(0, 1))
        ground = rng.choice([0.5, 2.5], size=mask.shape)
        images.append(np.where(mask == 1, 1.5, ground) + rng.normal(scale=0.35, size=mask.shape))
        masks.append(mask)
    return images, masks


@pytest.fixture(scope="module")
def fitted():
    images, masks = bands(6, np.random.default_rng(0))
    return TreeLatticeCRF(n_estimators=12, form="ising", max_leaf_nodes=6).fit(images, masks)


def test_a_tree_is_the_best_one_by_hand(rng):
    rows = rng.normal(size=(60, 2))
    gradient = np.where(rows[:, 1] > 0.3, -0.8, 0.4)
    binning = learn_binning(row_dataset(rows), 253)
    tree, added = RowGrower(bin_rows(binning, rows, growing=True), None, **OPTIONS).grow(gradient)
    n = int((rows[:, 1] > 0.3).sum())
    assert added[rows[:, 1] > 0.3] == pytest.approx(0.8 * n / (n + 2.0), abs=1e-6)
    assert added[rows[:, 1] <= 0.3] == pytest.approx(-0.4 * (60 - n) / (62.0 - n), abs=1e-6)
    values = np.zeros((60, 1))
    tree_values(bin_rows(binning, rows, growing=False), [tree], values)
    np.testing.assert_allclose(values[:, 0], added, atol=1e-12)


def test_weights_of_rows_count(rng):
    rows = rng.normal(size=(40, 1))
    weights = rng.choice([0.5, 1.0, 4.0], size=40)
    gradient = weights * rng.choice([-3.0, 1.0], size=40)  # more than words have room for
    binning = learn_binning(row_dataset(rows), 253)
    data = bin_rows(binning, rows, growing=True)
    tree, _ = RowGrower(data, weights, **{**OPTIONS, "min_samples_leaf": 1e9}).grow(gradient)
    assert len(tree.values) == 1  # no split leaves so many rows
    assert tree.values[0] == pytest.approx(-gradient.sum() / (weights.sum() + 2.0), abs=1e-3)


@pytest.mark.parametrize("weighted", ["not", "by item", "by node"])
def test_what_a_step_adds_is_what_its_trees_say_and_goes_downhill(rng, weighted):
    images, masks = bands(3, rng)
    dataset = make_dataset(read_graphs(images, neighbours=8, ndim=2), differences=True)
    labels = np.concatenate([mask.ravel() for mask in masks]).astype(np.int32)
    of_nodes = [rng.choice([0.5, 1.0, 3.0], size=mask.size) for mask in masks]
    weights = {"not": None, "by item": np.array([1.0, 2.0, 0.5]), "by node": of_nodes}[weighted]
    dataset = with_labels(dataset, labels, weights)
    form = Form.of("symmetric", 2)
    bins = Bins.learn(dataset, 253)
    sizes = (len(dataset.nodes), 2), (len(dataset.edges), 3)
    values, copy = (TreeValues(form, dataset, np.zeros(sizes[0]), np.zeros(sizes[1])) for _ in range(2))
    objective = GraphObjective("pseudo_likelihood", Inference())
    with Lanes(None, 4) as lanes:
        booster = GraphBooster(values, bins, lanes, [], learning_rate=0.5, seed=0, **OPTIONS)
        losses = []
        for _ in range(3):
            losses.append(booster.evaluate(objective))
            booster.step()
        booster.rescale(0.25)
        losses.append(booster.evaluate(objective))
    assert losses == sorted(losses, reverse=True)
    TreeScorer(bins, copy).add(booster.iterations)
    np.testing.assert_allclose(copy.nodes, values.nodes, atol=1e-10)
    np.testing.assert_allclose(copy.edges, values.edges, atol=1e-10)
    assert np.abs(values.edges).max() > 0.0


def test_a_weight_of_every_node_is_that_of_the_item(rng):
    images, masks = bands(3, rng)
    options = {"n_estimators": 4, "objective": "pseudo_likelihood"}
    one = TreeLatticeCRF(**options).fit(images, masks, sample_weight=[1.0, 2.0, 0.5])
    by_node = [np.full(mask.shape, weight) for mask, weight in zip(masks, (1.0, 2.0, 0.5))]
    other = TreeLatticeCRF(**options).fit(images, masks, sample_weight=by_node)
    for own, same in zip(one.predict_proba(images), other.predict_proba(images)):
        np.testing.assert_allclose(own, same, atol=1e-9)


def test_trees_see_what_weights_cannot(fitted):
    images, masks = bands(4, np.random.default_rng(1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # weights that tell nothing leave the edges to themselves
        linear = LatticeCRF(form="ising").fit(*bands(6, np.random.default_rng(0))).score(images, masks)
    assert fitted.score(images, masks) > max(0.9, linear + 0.03)
    losses = [step.loss for step in fitted.history_]
    assert losses == sorted(losses, reverse=True)
    for probs, labels in zip(fitted.predict_proba(images), fitted.predict(images)):
        assert np.array_equal(probs.argmax(axis=-1), labels)


def test_missing_numbers_and_labels_left_open():
    images, masks = bands(6, np.random.default_rng(2))
    rng = np.random.default_rng(3)
    for image, mask in zip(images, masks):
        image[rng.random(image.shape) < 0.1] = np.nan
        mask[rng.random(mask.shape) < 0.2] = 255
    model = TreeLatticeCRF(n_estimators=8, form="ising", unlabelled=255)
    assert model.fit(images, masks).score(images, masks) > 0.9


def test_early_stopping_keeps_the_best_iterations():
    images, masks = bands(6, np.random.default_rng(4))
    model = TreeLatticeCRF(
        n_estimators=10, form="ising", early_stopping=True, validation_fraction=0.3, n_iter_no_change=3, random_state=0
    )
    model.fit(images, masks)
    assert model.node_trees_.n_iterations == model.edge_trees_.n_iterations == model.best_iteration_
    scores = [step.score for step in model.history_]
    assert scores[model.best_iteration_ - 1] == max(scores)


def test_warm_start_adds_trees(fitted, tmp_path):
    images, masks = bands(6, np.random.default_rng(0))
    model = clone(fitted).set_params(n_estimators=7, warm_start=True).fit(images, masks)
    first = model.loss_
    with pytest.raises(InputError, match="n_estimators is 7 and the model has 7 iterations already"):
        model.fit(images, masks)
    model.save(tmp_path / "m")
    for own in (load(tmp_path / "m"), model):
        own.set_params(n_estimators=12).fit(images, masks)
        assert own.node_trees_.n_iterations == own.best_iteration_ == 12
        assert own.loss_ < first
        assert own.loss_ == pytest.approx(fitted.loss_, rel=0.02)
    assert [step.iteration for step in model.history_] == list(range(1, 13))
    with pytest.raises(InputError, match="other labels, features or another form"):
        model.set_params(form="full", n_estimators=20).fit(images, masks)


def test_ctrl_c_keeps_the_trees_so_far(monkeypatch):
    images, masks = bands(4, np.random.default_rng(0))
    step = GraphBooster.step

    def interrupted(self, scale=None):
        if len(self.iterations) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return step(self, scale)

    monkeypatch.setattr(GraphBooster, "step", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted after 4 iterations, which are kept"):
        model = TreeLatticeCRF(n_estimators=12, form="ising").fit(images, masks)
    assert model.outcome_ == "interrupted"
    assert model.node_trees_.n_iterations == 4


def test_threads_do_not_change_bits(fitted):
    images, masks = bands(6, np.random.default_rng(0))
    threaded = clone(fitted).set_params(n_jobs=2).fit(images, masks)
    assert np.array_equal(threaded.node_trees_.values, fitted.node_trees_.values)
    assert np.array_equal(threaded.edge_trees_.nodes, fitted.edge_trees_.nodes)


def test_graphs_without_edges_are_boosted_too(rng):
    X = [(rng.normal(size=(50, 1)), np.empty((0, 2), dtype=int))]
    y = [np.where(np.abs(X[0][0][:, 0]) < 0.7, "in", "out")]
    model = TreeLatticeCRF(n_estimators=10, l2_regularization=1.0).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.edge_trees_.n_trees == 0


def test_files_bring_the_trees_back(fitted, tmp_path):
    images, _ = bands(2, np.random.default_rng(5))
    path = tmp_path / "trees.hedgerow"
    fitted.save(path)
    again = load(path)
    assert again.get_params() == fitted.get_params()
    for one, other in zip(again.predict_proba(images), fitted.predict_proba(images)):
        assert np.array_equal(one, other)
    header, tensors = pack_model(fitted)
    tensors["node.ensemble.nodes"] = tensors["node.ensemble.nodes"].copy()
    tensors["node.ensemble.nodes"][0, 0] = 99
    persistence.write(path, header, tensors)
    with pytest.raises(ModelFileError, match="not there"):
        load(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_leaf_nodes": 1}, "max_leaf_nodes is 1"),
        ({"learning_rate": 0.0}, "learning_rate is 0.0"),
        ({"max_features": 1.5}, "max_features is 1.5"),
        ({"form": "x"}, "form is 'x'"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        TreeLatticeCRF(**options).fit([grid(np.eye(3))], [np.eye(3, dtype=int)])


def test_shapes_are_learnt_by_trees_too():
    images, masks = make_shapes(4, size=16, noise=0.5, random_state=1)
    model = TreeLatticeCRF(n_estimators=10, form="ising", learning_rate=1.0, random_state=0, max_features=0.5)
    assert model.fit(images, masks).score(images, masks) > 0.93
