"""The experiments on images, in parts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hedgerow.errors import InputError
from hedgerow.lattice import grid
from hedgerow.trainers import SMD
from reproduction import find_experiment
from reproduction.lattice.denoising import SHAPES, load_drawings, load_shapes
from reproduction.lattice.figure_5 import _shares
from reproduction.lattice.methods import (
    ALONE,
    AUTO,
    BASE,
    TRAINED,
    TREES,
    Run,
    label,
    make_model,
    run_method,
    train,
    training_loss,
    without_edges,
    without_warnings,
)
from reproduction.lattice.snakes import snake_graph
from reproduction.lattice.structure import STRUCTURE, load_structure
from reproduction.lattice.tables import curves, paired_test, table
from reproduction.settings import Settings

SETTINGS = Settings(seeds=(0,), quick=True)


def named(name):
    return next(method for method in (ALONE, *TRAINED, *TREES) if method.name == name)


def test_the_images_are_those_of_the_paper_in_number_and_size():
    images = load_shapes(replace(SETTINGS, quick=False), 3)
    assert (len(images.X), len(images.X_test)) == (40, 10)
    assert {own.shape for own in (*images.X, *images.X_test)} == {(64, 64)}


def test_parts_of_drawings_differ_by_seed_and_not_by_the_clock(tiny_data):
    first, second, other = (load_drawings(SETTINGS, seed) for seed in (0, 0, 1))
    assert {mask.shape for mask in (*first.y, *first.y_test)} == {(16, 16)}
    assert (first.X[0].node_features == second.X[0].node_features).all()
    assert (first.X[0].node_features != other.X[0].node_features).any()


def test_everybody_is_compared_with_the_paper_s_gains():
    assert len(SHAPES.methods) == 26
    assert named("LBP, SMD").gain == 1e-4
    assert named("MF, SGD").gain == 1e-3
    assert named("PL, annealed").gain == 0.04
    assert named("PL, L-BFGS").gain is None
    assert [own.gains for own in AUTO] == 9 * [("auto",)]
    model = make_model(SHAPES, named("PL, SMD"), replace(SETTINGS, quick=False), 0, 0.04)
    assert (model.objective, model.edge_start) == ("pseudo_likelihood", 0.5)
    assert model.trainer == SMD(gain=0.04, meta_gain=0.4, gain_decay=0.9, batch_size=SHAPES.batch_size)
    assert make_model(SHAPES, AUTO[2], SETTINGS, 0, "auto").trainer == SMD(batch_size=SHAPES.batch_size)
    assert (model.max_updates, model.message_schedule, model.form, model.l2) == (200, "parallel", "ising", 0.5)


def test_nodes_alone_have_no_edges_and_all_features():
    own = grid(np.arange(6.0).reshape(2, 3), edge_features=np.ones((7, 4)))
    alone = without_edges(own)
    assert alone.n_edges == 0
    assert alone.edge_features.shape == (0, 4)
    assert (alone.node_features == own.node_features).all()


def test_logistic_regression_is_that_of_scikit_learn():
    """Node scores ±θ are a logistic regression of 2θ: l2·θ² is l2/4·(2θ)², and the constant is penalised too."""
    from sklearn.linear_model import LogisticRegression

    images = load_shapes(SETTINGS, 0)
    model, _, _ = train(SHAPES, ALONE, images, replace(SETTINGS, quick=False), 0)
    pixels = np.concatenate([own.node_features for own in images.X])
    flat = np.concatenate([mask.ravel() for mask in images.y])
    design = np.column_stack([np.ones(len(pixels)), pixels])
    other = LogisticRegression(C=2.0 / 0.5, fit_intercept=False, tol=1e-8).fit(design, flat)
    assert 2.0 * model.node_weights_.ravel() == pytest.approx(other.coef_[0], rel=1e-2)


@pytest.mark.parametrize("method", [ALONE, named("PL, SMD"), TREES[2]], ids=lambda method: method.name)
def test_a_run_has_losses_and_errors_by_image(method):
    images = load_shapes(SETTINGS, 0)
    found = run_method(SHAPES, method, images, SETTINGS, 0, follow=method.name == "PL, SMD")
    assert len(found.wrong) == len(images.y_test)
    assert all(0.0 <= share <= 100.0 for share in found.wrong)
    assert len(found.errors) == (len(found.losses) if method.name == "PL, SMD" else 0)
    assert found.seconds > 0.0


def test_of_all_gains_the_one_with_the_smallest_training_loss_is_taken():
    images = load_shapes(SETTINGS, 0)
    method, y = named("PL, SGD"), [mask.ravel() for mask in images.y]
    model, gain, _ = train(SHAPES, method, images, SETTINGS, 0)
    losses = {}
    for other in method.gains:
        with without_warnings():
            losses[other] = training_loss(make_model(SHAPES, method, SETTINGS, 0, other).fit(images.X, y), images.X, y)
    assert len(set(losses.values())) > 1
    assert gain == min(losses, key=losses.get)
    assert training_loss(model, images.X, y) == losses[gain]
    assert model.outcome_ != "diverged"
    shares = np.bincount(np.concatenate(y)) / sum(map(len, y))
    assert model.loss_ < -sum(map(len, y)) * (shares * np.log(shares)).sum()  # of knowing how often each label is
    assert gain in {0.04 / 8**k for k in range(8)}
    assert label(method, model, images)[0].shape == (16, 16)


def test_the_training_loss_is_what_l_bfgs_made_small():
    images = load_shapes(SETTINGS, 0)
    y = [mask.ravel() for mask in images.y]
    model, _, _ = train(SHAPES, named("PL, L-BFGS"), images, SETTINGS, 0)
    assert training_loss(model, images.X, y) == pytest.approx(model.loss_, rel=1e-12)


def test_belief_propagation_labels_and_leaves_the_model_as_it_was():
    images = load_shapes(SETTINGS, 0)
    method = named("MF, L-BFGS")
    model, _, _ = train(SHAPES, method, images, SETTINGS, 0)
    found = label(method, model, images)
    assert model.inference == "mean_field"
    probs = model.set_params(inference="loopy", message_schedule="parallel").predict_proba(images.X_test)
    assert (found[0] == probs[0].argmax(axis=-1)).all()


def test_photographs_have_the_features_of_the_paper(tiny_data):
    images = load_structure(SETTINGS, 0)
    own = images.X[0]
    assert own.node_features.shape[1] == 20  # and the constant
    assert own.edge_features.shape[1] == 14
    trees, _ = images.seen_by(TREES[1])
    assert trees[0].node_features.shape[1] == 5
    everything, _ = images.seen_by(STRUCTURE.others[2])
    assert everything[0].node_features.shape[1] == 19
    assert (everything[0].edge_features == own.edge_features).all()
    tail, head = own.topology.ends.T
    scales = everything[0].node_features[:, 5:]
    assert own.edge_features == pytest.approx(np.abs(scales[tail] - scales[head]))


def test_shares_of_blocks():
    assert _shares(np.array([1, 1, 0, 0]), np.array([1, 0, 0, 1])) == ("50.00", "50.0", "50.0")
    assert _shares(np.zeros(4, dtype=int), np.array([1, 0, 0, 0])) == ("25.00", "0.0", "0.0")


def test_an_edge_of_a_snake_sees_both_its_ends():
    colours = np.zeros((2, 2, 3), dtype=np.uint8)
    colours[..., 2] = 255
    colours[0, 0] = (255, 0, 0)
    own = snake_graph(colours, "ends")
    nodes = own.node_features.reshape(2, 2, 9, 5)
    assert nodes.sum(axis=-1).tolist() == np.ones((2, 2, 9)).tolist()  # a colour each, outside too
    assert nodes[0, 0, 4].tolist() == [1, 0, 0, 0, 0]
    assert nodes[0, 1, 3].tolist() == [1, 0, 0, 0, 0]  # to the left
    assert nodes[1, 1, 0].tolist() == [1, 0, 0, 0, 0]  # above to the left
    tail, head = own.topology.ends[0]
    assert own.edge_features[0].tolist() == [*own.node_features[tail], *own.node_features[head]]
    assert snake_graph(colours, "directions").edge_features.shape[1] == 0
    assert snake_graph(colours, None).n_edges == 0


def run_of(wrong, gain=None):
    return Run([2.0, 1.0], [30.0, 20.0], wrong, 1.0, gain, True, "converged", 7.0)


def test_a_paired_test_sees_small_steady_differences():
    rng = np.random.default_rng(0)
    base = rng.uniform(0.0, 30.0, size=30).tolist()
    assert paired_test([share + 0.1 for share in base], base) < 0.001
    assert paired_test([share + d for share, d in zip(base, rng.normal(size=30))], base) > 0.05
    assert paired_test(base, base) == 1.0


def test_a_table_has_means_tests_and_gains():
    base = [float(i) for i in range(10)]
    worse = [share + 1.0 for share in base]
    runs = {BASE.name: [run_of(base), run_of(worse)], "other": [run_of(worse, 0.1), run_of(worse, 0.2)]}
    first, second = table("a title", runs).rows
    assert first[:4] == (BASE.name, "5.00 (4.50–5.50)", "–", "–")
    assert second[0] == "other"
    assert second[2] == "+0.50, worse"
    assert second[4] == "7.0"
    assert second[7] == "0.1, 0.2"


def test_curves_are_those_of_the_first_seed():
    runs = {method.name: [run_of([1.0]), run_of([2.0])] for method in TRAINED}
    panels = curves(runs)
    assert list(panels) == ["LBP", "MF", "PL"]
    assert panels["MF"]["SMD"] == ([2.0, 1.0], [30.0, 20.0])


@pytest.mark.parametrize("name", ["smd-fig-5", "smd-fig-6", "snakes"])
def test_without_data_both_ways_to_give_it_are_named(name, monkeypatch):
    monkeypatch.delenv("HEDGEROW_DATA", raising=False)
    with pytest.raises(InputError, match="HEDGEROW_DATA"):
        find_experiment(name).run(SETTINGS)
    with pytest.raises(InputError, match="has no file"):
        find_experiment(name).run(replace(SETTINGS, folder="nowhere"))
