"""LatticeCRF from items to labels."""

from __future__ import annotations

import os
import signal
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV

from hedgerow.datasets.shapes import make_shapes
from hedgerow.errors import HedgerowWarning, InputError, ModelFileError
from hedgerow.lattice import LatticeCRF, graph, grid, load
from hedgerow.lattice.dataset import make_dataset, with_labels
from hedgerow.lattice.graphs import read_graphs
from hedgerow.lattice.inference.infer import Inference
from hedgerow.lattice.objectives import GraphObjective
from hedgerow.lattice.online import DenseMetaDescent, GraphBatches
from hedgerow.lattice.scores import FORMS, Design, Form, Layout, Scaling
from hedgerow.lattice.training import GraphEvaluation, LineEvaluation, start_weights
from hedgerow.parallel import Lanes
from hedgerow.trainers import SGD, SMD, AdaGrad, AnnealedSGD


@pytest.fixture(scope="module")
def shapes():
    images, masks = make_shapes(8, size=16, noise=0.6, random_state=1)
    return images, masks


@pytest.fixture(scope="module")
def fitted(shapes):
    return LatticeCRF(form="ising").fit(*shapes)


def edge_graphs(rng, n_items=6, n_nodes=12, n_labels=3):
    """Graphs of three labels, with features of edges, and string labels."""
    X, y = [], []
    for _ in range(n_items):
        labels = rng.integers(n_labels, size=n_nodes)
        pairs = [(i, j) for i in range(n_nodes) for j in range(i + 1, n_nodes) if rng.random() < 0.2]
        edges = np.array(pairs).reshape(-1, 2)
        same = (labels[edges[:, 0]] == labels[edges[:, 1]]).astype(float)
        features = np.eye(n_labels)[labels] + rng.normal(scale=0.8, size=(n_nodes, n_labels))
        X.append((features, edges, same + rng.normal(scale=0.3, size=len(edges))))
        y.append(np.array(["a", "b", "c"])[labels])
    return X, y


def design_of(rng, form, directions=1, n_labels=3):
    images = [rng.normal(size=(3, 4, 2)), rng.normal(size=(4, 4, 2))]
    dataset = make_dataset(read_graphs(images, neighbours=4, ndim=2), differences=True)
    labels = rng.integers(n_labels, size=28).astype(np.int32)
    dataset = with_labels(dataset, labels, np.array([1.0, 2.5]))
    layout = Layout(Form.of(form, n_labels), 2, 2, directions)
    return Design(layout, Scaling.learn(dataset, standardize=True), dataset)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_labels", [2, 3])
def test_the_gradient_by_the_weights(rng, form, n_labels):
    design = design_of(rng, form, directions=2, n_labels=n_labels)
    objective = GraphObjective("log_likelihood", Inference(tol=1e-13, max_updates=3000))
    weights = 0.2 * rng.normal(size=design.layout.n_weights)
    with Lanes(None, 2) as lanes:
        evaluation = GraphEvaluation(design, objective, lanes, keeps=True)
        _, gradient = evaluation(weights)
        for w in rng.integers(len(weights), size=12):
            moved = [weights.copy(), weights.copy()]
            moved[0][w] += 1e-5
            moved[1][w] -= 1e-5
            difference = (evaluation(moved[0])[0] - evaluation(moved[1])[0]) / 2e-5
            assert gradient[w] == pytest.approx(difference, abs=1e-5)


def test_forms_are_what_they_say():
    table = Form.of("ising", 3).edge_scores(np.array([[2.0]]))[0]
    assert table.tolist() == [[2, -2, -2], [-2, 2, -2], [-2, -2, 2]]
    assert Form.of("ising", 2).node_scores(np.array([[0.5]])).tolist() == [[-0.5, 0.5]]
    symmetric = Form.of("symmetric", 2).edge_scores(np.array([[1.0, 2.0, 3.0]]))[0]
    assert symmetric.tolist() == [[1, 2], [2, 3]]
    assert Form.of("full", 2).edge_scores(np.array([[1.0, 2.0, 3.0, 4.0]]))[0].tolist() == [[1, 2], [3, 4]]
    for form in FORMS:
        own = Form.of(form, 3)
        assert own.edge_scores(own.equal_labels(0.5)[None])[0].tolist() == (0.5 * (2 * np.eye(3) - 1)).tolist()


def test_it_beats_pixels_alone_and_its_probabilities_are_some(shapes, fitted):
    images, masks = make_shapes(6, size=16, noise=0.6, random_state=2)
    alone = np.mean([((image > 0.5) == mask).mean() for image, mask in zip(images, masks)])
    assert fitted.score(images, masks) > alone + 0.05
    assert fitted.converged_
    for probs, labels in zip(fitted.predict_proba(images), fitted.predict(images)):
        assert probs.shape == (16, 16, 2)
        np.testing.assert_allclose(probs.sum(axis=-1), 1.0, atol=1e-9)
        assert np.array_equal(probs.argmax(axis=-1), labels)
    assert fitted.outcome_ == "converged"
    assert fitted.history_[-1].loss == fitted.loss_ <= fitted.history_[0].loss


@pytest.mark.parametrize(
    "options",
    [
        {"objective": "pseudo_likelihood", "form": "symmetric"},
        {"inference": "mean_field", "form": "full", "trainer": "annealed_sgd", "max_iter": 4},
        {"inference": "tree_reweighted", "inference_tol": 1e-3, "max_iter": 50, "tol": 1e-2},
        {"directions": "separate", "neighbours": 8},
        {"trainer": "sgd", "max_iter": 5},
        {"trainer": AnnealedSGD(batch_size=2), "max_iter": 5},
        {"trainer": SMD(gain=0.002), "max_iter": 5},
        {"trainer": "annealed_sgd", "objective": "margin", "max_iter": 5},
        {"differences": False, "standardize": False, "edge_start": 0.5},
        {"differences": False, "start": "zero"},
    ],
    ids=lambda options: "-".join(map(str, options.values())),
)
def test_every_way_to_train_learns(shapes, options):
    images, masks = shapes
    model = LatticeCRF(**{"form": "ising", "random_state": 0, **options}).fit(images, masks)
    assert model.score(images, masks) > 0.9
    assert model.edge_weights_.ravel()[0] != 0.0


@pytest.mark.parametrize(
    "trainer", [SGD(batch_size=8, gain=3e-4), SMD(batch_size=8, gain=3e-4, meta_gain=1e-4)], ids=repr
)
def test_all_trainers_reach_the_same_likelihood(shapes, fitted, trainer):
    images, masks = shapes  # all of them in one batch, so that nothing is left to chance
    online = LatticeCRF(form="ising", trainer=trainer, max_iter=60, tol=0.0, random_state=0).fit(images, masks)
    assert fitted.loss_ * (1 - 1e-6) <= online.loss_ <= fitted.loss_ * 1.02


def test_without_edges_it_is_logistic_regression(rng):
    from sklearn.linear_model import LogisticRegression

    X = [(rng.normal(size=(30, 2)), np.empty((0, 2), dtype=int)) for _ in range(3)]
    y = [(features @ [1.0, -2.0] + rng.logistic(size=30) > 0).astype(int) for features, _ in X]
    model = LatticeCRF(standardize=False, tol=1e-10, l2=0.5).fit(X, y)
    rows, labels = np.concatenate([features for features, _ in X]), np.concatenate(y)
    # ± half of each weight a label: two penalties of l2·(w/2)², and a constant that is penalised too.
    other = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-10, max_iter=1000)
    other.fit(np.column_stack([np.ones(90), rows]), labels)
    found = np.concatenate([probs[:, 1] for probs in model.predict_proba(X)])
    np.testing.assert_allclose(found, other.predict_proba(np.column_stack([np.ones(90), rows]))[:, 1], atol=1e-4)


def test_graphs_with_features_of_edges_and_names_for_labels(rng):
    X, y = edge_graphs(rng, n_items=12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain = LatticeCRF(differences=False, l2=0.3).fit([item[:2] for item in X], y)
        model = LatticeCRF(differences=False, l2=0.3).fit(X, y)
        assert model.score(X, y) > plain.score([item[:2] for item in X], y)
        labels = model.predict(X)
    assert labels.dtype == object
    assert labels[0].shape == (12,)
    assert set(np.unique(labels[0])) <= {"a", "b", "c"}
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.edge_weights_.shape == (1, 2, 6)


def test_items_in_any_form_are_the_same(shapes, fitted):
    image = shapes[0][0]
    own = grid(image)
    with_edges = graph(own.node_features, own.topology.ends)
    a, b, c = (fitted.predict_proba([item])[0].ravel() for item in (image, own, with_edges))
    assert np.array_equal(a, b)
    assert np.array_equal(b, c)
    stacked = fitted.predict(np.stack(shapes[0]))
    assert np.array_equal(stacked[3], fitted.predict([shapes[0][3]])[0])


def test_a_graph_of_two_parts_is_two_graphs(shapes, fitted):
    first, second = shapes[0][0], shapes[0][1]
    n = first.size
    ends = grid(first).topology.ends
    features = np.concatenate([first.ravel(), second.ravel()])
    both = fitted.predict_proba([graph(features, np.concatenate([ends, ends + n]))])[0]
    np.testing.assert_allclose(both[:n], fitted.predict_proba([first])[0].reshape(n, 2), atol=1e-5)
    np.testing.assert_allclose(both[n:], fitted.predict_proba([second])[0].reshape(n, 2), atol=1e-5)


def test_threads_do_not_change_bits(shapes, fitted):
    threaded = LatticeCRF(form="ising", n_jobs=3).fit(*shapes)
    assert np.array_equal(threaded.weights_, fitted.weights_)
    assert np.array_equal(threaded.predict_proba(shapes[0])[2], fitted.predict_proba(shapes[0])[2])
    for model in (threaded, fitted):
        model.set_params(inference="tree_reweighted")
    one, three = fitted.infer(shapes[0]), threaded.infer(shapes[0])
    fitted.set_params(inference="loopy")
    assert max(own.n_updates for own in one) > 5  # so that updates were extrapolated
    for own, other in zip(one, three):
        assert np.array_equal(own.state, other.state)
        assert own.log_partition == other.log_partition


def test_a_weight_of_two_is_an_item_twice(shapes):
    images, masks = shapes[0][:3], shapes[1][:3]
    weighted = LatticeCRF(form="ising", tol=1e-9, standardize=False).fit(images, masks, sample_weight=[1, 2, 0])
    twice = [0, 1, 1]
    repeated = LatticeCRF(form="ising", tol=1e-9, standardize=False)
    repeated.fit([images[i] for i in twice], [masks[i] for i in twice])
    np.testing.assert_allclose(weighted.weights_, repeated.weights_, atol=1e-3)


def test_a_weight_of_every_node_is_that_of_the_item(shapes):
    images, masks = shapes[0][:3], shapes[1][:3]
    options = {"form": "ising", "objective": "pseudo_likelihood"}
    by_item = LatticeCRF(**options).fit(images, masks, sample_weight=[1.0, 2.0, 0.5])
    by_node = [np.full(mask.shape, weight) for mask, weight in zip(masks, (1.0, 2.0, 0.5))]
    found = LatticeCRF(**options).fit(images, masks, sample_weight=by_node)
    np.testing.assert_allclose(found.weights_, by_item.weights_, atol=1e-8)
    assert found.score(images, masks, by_node) == pytest.approx(by_item.score(images, masks, [1.0, 2.0, 0.5]))


def test_nodes_have_weights_of_their_own(shapes):
    """A node with weight 0 has no loss, but is a neighbour: the half that counts says how often labels are which."""
    images, masks = shapes[0][:4], shapes[1][:4]
    counted = [np.where(mask == 1, 1.0, 0.0) for mask in masks]
    options = {"form": "ising", "objective": "pseudo_likelihood"}
    plain = LatticeCRF(**options).fit(images, masks)
    found = LatticeCRF(**options).fit(images, masks, sample_weight=counted)
    share = [np.mean([(own == 1).mean() for own in model.predict(images)]) for model in (plain, found)]
    assert share[1] > share[0]
    assert found.score(images, masks, counted) > plain.score(images, masks, counted)
    flat = [own.ravel() for own in counted]
    again = LatticeCRF(**options).fit(images, masks, sample_weight=flat)
    np.testing.assert_array_equal(again.weights_, found.weights_)


@pytest.mark.parametrize(
    ("options", "weights", "message"),
    [
        ({}, [np.ones((3, 3))], "weight for each node, and the objective is 'log_likelihood'"),
        ({"objective": "margin"}, np.ones((1, 3, 3)), "weight for each node, and the objective is 'margin'"),
        ({"objective": "pseudo_likelihood"}, [np.ones(4)], r"item 0 has the shape \(3, 3\), and its weights \(4,\)"),
        ({"objective": "pseudo_likelihood"}, [np.zeros((3, 3))], "cannot be a weight, or only zeros"),
        ({}, [1.0, 2.0], "2 entries, and there are 1 items"),
        ({}, [-1.0], "cannot be a weight"),
        ({}, ["a"], "does not hold numbers"),
        ({}, 3.0, "does not hold numbers"),
    ],
)
def test_bad_weights_are_refused(options, weights, message):
    with pytest.raises(InputError, match=message):
        LatticeCRF(**options).fit([np.eye(3)], [np.eye(3, dtype=int)], sample_weight=weights)


def test_nodes_without_a_label(shapes):
    images, masks = shapes
    holes = [mask.copy() for mask in masks]
    for mask in holes:
        mask[::3] = 255
    model = LatticeCRF(form="ising", unlabelled=255).fit(images, holes)
    assert model.classes_.tolist() == [0, 1]
    assert model.score(images, masks) > 0.93
    named = [np.where(mask == 255, None, mask).astype(object) for mask in holes]
    again = LatticeCRF(form="ising").fit(images, named)
    assert np.array_equal(again.weights_, model.weights_)
    assert model.score(images, holes) == pytest.approx(
        np.mean([(labels == mask)[mask != 255].mean() for labels, mask in zip(model.predict(images), holes)]), abs=1e-3
    )


def test_warm_start_goes_on(shapes, fitted):
    images, masks = shapes
    short = LatticeCRF(form="ising", max_iter=2, warm_start=True)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        short.fit(images, masks)
    first = short.loss_
    short.set_params(max_iter=100).fit(images, masks)
    assert short.loss_ < first
    assert len(short.history_) > 2
    assert short.loss_ == pytest.approx(fitted.loss_, rel=1e-4)
    with pytest.raises(InputError, match="other labels, features"):
        short.set_params(form="full").fit(images, masks)


def test_early_stopping_keeps_the_best(shapes):
    images, masks = shapes
    model = LatticeCRF(form="ising", early_stopping=True, validation_fraction=0.3, n_iter_no_change=3, random_state=0)
    model.fit(images, masks)
    scores = [step.score for step in model.history_]
    assert max(scores) == scores[model.best_iteration_ - 1]
    given = LatticeCRF(form="ising", n_iter_no_change=3).fit(images[:5], masks[:5], X_val=images[5:], y_val=masks[5:])
    assert given.history_[-1].score is not None


@pytest.mark.parametrize("blank", [255, None])
def test_an_item_with_a_pixel_without_a_label_can_be_held_out(blank):
    images, masks = make_shapes(10, size=8, random_state=3)
    masks = [mask.astype(object) if blank is None else mask.astype(np.uint8) for mask in masks]
    held = int(np.random.RandomState(0).permutation(10)[0])  # the one that is drawn
    masks[held][0, 0] = blank
    options = {"form": "ising", "objective": "pseudo_likelihood", "unlabelled": blank, "n_iter_no_change": 3}
    model = LatticeCRF(early_stopping=True, random_state=0, **options).fit(images, masks)
    rest = [i for i in range(10) if i != held]
    given = LatticeCRF(**options).fit(
        [images[i] for i in rest], [masks[i] for i in rest], X_val=[images[held]], y_val=[masks[held]]
    )
    np.testing.assert_array_equal(model.weights_, given.weights_)
    lonely = [mask.copy() for mask in masks]
    lonely[held][1, 1] = 2  # a label that no other item has
    with pytest.raises(InputError, match="none can be held out"):
        LatticeCRF(early_stopping=True, random_state=0, **options).fit(images, lonely)


def test_ctrl_c_keeps_the_weights_so_far(shapes, monkeypatch):
    images, masks = shapes
    accept, accepted = LineEvaluation.accept, []

    def interrupted(self, weights):
        accepted.append(weights)
        if len(accepted) == 4:  # the start, and three iterations
            os.kill(os.getpid(), signal.SIGINT)
        accept(self, weights)

    monkeypatch.setattr(LineEvaluation, "accept", interrupted)
    with pytest.warns(ConvergenceWarning, match="interrupted after 3 iterations; the best weights so far are kept"):
        model = LatticeCRF(form="ising").fit(images, masks)
    assert model.outcome_ == "interrupted"
    assert np.array_equal(model.weights_, accepted[-1])


def test_nodes_start_from_a_logistic_regression(shapes):
    """Trained a little from there, edges at 0, the loss begins with that of the pixels by themselves."""
    images, masks = shapes
    alone = LatticeCRF(form="ising", differences=False, neighbours=4, edge_start=0.0)
    data = alone._training_graphs(images, masks, None, None, None)
    layout = Layout.of(Form.of("ising", 2), data.train, directions="tied")
    scaling = Scaling.learn(data.train, standardize=True)
    with Lanes(None, 2) as lanes:
        weights = start_weights(alone, Design(layout, scaling, data.train), lanes)
        zero = start_weights(alone.set_params(start="zero"), Design(layout, scaling, data.train), lanes)
    nodes = [(image.reshape(-1, 1), np.empty((0, 2), dtype=int)) for image in images]
    fitted = LatticeCRF(form="ising").fit(nodes, [mask.ravel() for mask in masks])
    np.testing.assert_allclose(weights[:2], fitted.node_weights_[:, 0], atol=1e-2)
    assert np.abs(fitted.node_weights_).min() > 0.1
    assert weights[2] == 0.0
    assert not zero.any()


@pytest.mark.parametrize("decoder", ["max_product", "icm", "graph_cut"])
def test_searches_find_labelings_about_as_good(shapes, fitted, decoder):
    if decoder == "graph_cut":
        pytest.importorskip("maxflow", reason="PyMaxflow is not installed")
    images, masks = shapes
    found = fitted.predict(images, decoder=decoder)
    assert np.mean([(labels == mask).mean() for labels, mask in zip(found, masks)]) > 0.9


def test_a_volume_is_labelled(rng):
    mask = np.zeros((4, 5, 6), dtype=bool)
    mask[1:3, 1:4, 2:5] = True
    volume = mask + rng.normal(scale=0.2, size=mask.shape)
    model = LatticeCRF(ndim=3, form="ising")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # one small volume: strong edges, a rough loss
        assert model.fit([volume], [mask]).score([volume], [mask]) > 0.9
        assert model.predict([volume])[0].shape == (4, 5, 6)
    assert model.edge_weights_.shape == (1, 2, 1)


@pytest.mark.parametrize("trainer", ["sgd", "annealed_sgd", "smd"])
def test_a_gain_is_found_on_many_small_graphs(trainer):
    """A trial ends by its steps here, long before it has seen many nodes."""
    rng = np.random.default_rng(0)
    labels = [np.full(2, rng.integers(2)) for _ in range(40)]
    graphs = [(own[:, None] + rng.normal(size=(2, 1)), np.array([[0, 1]])) for own in labels]
    model = LatticeCRF(trainer=trainer, max_iter=3, random_state=0).fit(graphs, labels)
    assert model.score(graphs, labels) > 0.6


def test_files_bring_the_model_back(shapes, fitted, tmp_path):
    path = tmp_path / "model.hedgerow"
    fitted.save(path)
    again = load(path)
    assert again.get_params() == fitted.get_params()
    assert again.classes_.tolist() == fitted.classes_.tolist()
    assert np.array_equal(again.weights_, fitted.weights_)
    assert np.array_equal(again.predict_proba(shapes[0])[0], fitted.predict_proba(shapes[0])[0])
    assert again.loss_ == fitted.loss_
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    with pytest.raises(ModelFileError, match="damaged"):
        load(path)


def test_a_file_that_lies_is_refused(fitted, tmp_path):
    from hedgerow import persistence
    from hedgerow.estimators.files import pack_model

    header, tensors = pack_model(fitted)
    path = tmp_path / "bad.hedgerow"
    for part, change in (
        ("state", {"labels": [1, 0]}),
        ("state", {"node_features": 2}),
        ("state", {"n_directions": 0}),
        ("state", {"form": "other"}),
        ("state", {"node_features": -1}),
        ("parameters", {"differences": False}),
    ):
        persistence.write(path, header | {part: header[part] | change}, tensors)
        with pytest.raises(ModelFileError):
            load(path)
    persistence.write(path, header | {"kind": "Other"}, tensors)
    with pytest.raises(ModelFileError, match="'Other', which this version does not know"):
        load(path)
    tensors["weights"] = np.full_like(tensors["weights"], np.nan)
    persistence.write(path, header, tensors)
    with pytest.raises(ModelFileError, match="not a number"):
        load(path)


def test_what_a_file_cannot_hold_is_said(shapes, tmp_path):
    model = LatticeCRF(form="ising", random_state=np.random.RandomState(0)).fit(shapes[0][:2], shapes[1][:2])
    with pytest.warns(HedgerowWarning, match="random_state"):
        model.save(tmp_path / "model.hedgerow")


def test_what_does_not_rest_is_warned_of(rng):
    image = rng.normal(size=(6, 6))
    mask = (rng.random((6, 6)) < 0.5).astype(int)
    model = LatticeCRF(inference="loopy", max_updates=1, inference_tol=0.0, max_iter=200, form="ising")
    with pytest.warns(ConvergenceWarning, match="did not converge on 1 of 1 training items; raise max_updates"):
        model.fit([image], [mask])
    assert not model.converged_
    with pytest.warns(ConvergenceWarning, match="1 of 1 items"):
        model.predict([image])
    [found] = model.infer([image])
    assert not found.converged
    assert found.n_updates == 1
    with pytest.warns(ConvergenceWarning, match="1 of 1 items; raise max_updates or inference_tol"):
        model.set_params(inference="tree_reweighted").predict([image])


def test_what_training_counts_is_what_prediction_finds():
    """Few images of one shape ask for edges so strong that messages can rest far from the probable labelings."""
    rng = np.random.default_rng(0)
    images, masks = [], []
    for i in range(4):
        mask = np.zeros((24, 24), dtype=int)
        mask[4:18, 5 + i : 15 + i] = 1
        grey = np.clip(90 + 60 * mask + 40 * rng.normal(size=mask.shape), 0, 255).astype(np.uint8)
        images.append(grey / 255.0)
        masks.append(mask)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = LatticeCRF().fit(images, masks)
        scores = model._scores(make_dataset(model._read(images), differences=model.differences))
        alone = np.mean([(scores(i).node_scores.argmax(axis=1) == masks[i].ravel()).mean() for i in range(4)])
        assert model.score(images, masks) > max(0.85, alone)
        losses = [found.log_partition for found in model.infer(images)]
    truths = [scores(i).score(masks[i].ravel().astype(np.int32)) for i in range(4)]
    penalty = float(model.weights_ @ model.weights_)
    assert sum(losses) - sum(truths) + penalty == pytest.approx(model.loss_, abs=1e-3)


def test_weights_at_which_inference_does_not_rest_count_as_worse(shapes):
    images, masks = shapes
    model = LatticeCRF(form="ising")
    data = model._training_graphs(images, masks, None, None, None)
    layout = Layout.of(Form.of("ising", 2), data.train, directions="tied")
    scaling = Scaling.learn(data.train, standardize=True)
    objective = GraphObjective("log_likelihood", Inference(max_updates=300))
    weak, strong = np.array([-0.4, 1.0, 0.3, 0.0]), np.array([-0.4, 1.0, 0.9, 0.0])
    with Lanes(None, 2) as lanes:
        line = LineEvaluation(Design(layout, scaling, data.train), objective, lanes)
        first = line(weak)[0]
        line.accept(weak)
        plain = line(strong)[0]
        line.loss = GraphObjective("log_likelihood", Inference(max_updates=2))
        assert line(strong)[0] > 1.0 + plain
        for _ in range(20):
            worse, nothing = line(strong)
        assert worse > first  # and no work is done for it any more
        assert not nothing.any()
        line.accept(weak)
        assert line(weak)[1].any()


def test_a_loss_below_zero_is_no_success(rng):
    """Messages of a strong magnet that rest with all labels 0, where all labels 1 are the truth and more probable."""
    from hedgerow.lattice.objectives import log_likelihood

    own = Inference()
    potentials = Design(*magnet_design()).potentials(0, np.array([0.02, 0.0, 1.5]))
    ones = np.ones(25, dtype=np.int32)
    like = own(potentials).state
    wrong = own._decided(potentials, np.zeros(25, dtype=np.int32), like)
    found = log_likelihood(potentials, ones, own, (wrong, np.empty((0, 0))))
    assert found.loss < -0.5
    assert not found.converged
    assert log_likelihood(potentials, ones, own).converged


def magnet_design():
    dataset = make_dataset(read_graphs([np.zeros((5, 5))], neighbours=4, ndim=2), differences=False)
    dataset = with_labels(dataset, np.ones(25, dtype=np.int32), None)
    return Layout(Form.of("ising", 2), 1, 0, 1), Scaling.learn(dataset, standardize=False), dataset


def test_training_that_went_wrong_says_so(shapes):
    images, masks = shapes
    model = LatticeCRF(form="ising", start="zero", edge_start=0.5, differences=False, standardize=False)
    with pytest.warns(ConvergenceWarning, match="training is stuck"):
        clone(model).set_params(inference="loopy").fit(images, masks)  # strong edges and no evidence: messages jump
    assert model.fit(images, masks).outcome_ == "converged"  # which those of the default do not
    wild = LatticeCRF(form="ising", trainer=SGD(gain=0.02, batch_size=8), max_iter=3)
    with pytest.warns(ConvergenceWarning, match="made the loss larger"):
        wild.fit(images, masks)
    assert wild.outcome_ == "diverged"


def test_scikit_learn_can_clone_and_search(shapes):
    images, masks = shapes
    model = LatticeCRF(form="ising", objective="pseudo_likelihood")
    assert clone(model).get_params() == model.get_params()
    found = GridSearchCV(model, {"l2": [0.1, 10.0]}, cv=2).fit(images, masks)
    assert set(found.best_params_) == {"l2"}
    with pytest.raises(NotFittedError):
        clone(model).predict(images)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([np.zeros((4, 4))], [np.zeros((4, 3), int)], "item 0: X has 4×4 nodes and y has 4×3 labels"),
        (
            [np.zeros((4, 4)), np.zeros((4, 4, 3))],
            [np.eye(4, dtype=int)] * 2,
            "item 1 has 3 channels, and item 0 has 1",
        ),
        ([np.zeros((4, 4))], [np.zeros((4, 4))], "item 0: y is an array of float64"),
        ([np.zeros((4, 4))], [np.eye(4, dtype=int)] * 2, "X has 1 items and y has 2"),
        ([np.zeros((4, 4))], None, "y is missing"),
        (np.zeros((4, 4)), [np.eye(4, dtype=int)], r"one array of the shape \(4, 4\).*\[image\]"),
        (grid(np.zeros((4, 4))), [np.eye(4, dtype=int)], "X is one graph, not a list"),
        ([], [], "X has no items"),
        ([np.full((4, 4), np.nan)], [np.eye(4, dtype=int)], r"item 0: the features at \(0, 0\) have a missing value"),
        ([(np.zeros((3, 1)), [[0, 3]])], [[0, 1, 1]], r"item 0: edge 0 joins \(0, 3\)"),
        ([(np.zeros((3, 1)),)], [[0, 1, 1]], "item 0: the item is a tuple of 1"),
        ([np.zeros((2, 2))], [np.array([[0, "a"], [1, "b"]], dtype=object)], "both whole numbers and strings"),
        ([np.zeros((2, 2))], [np.array([[0, 0.5], [1, 1]], dtype=object)], "0.5 is not a label"),
        ([np.zeros((2, 2))], [np.full((2, 2), None)], "no label at all"),
    ],
)
def test_bad_items_are_refused(X, y, message):
    with pytest.raises(InputError, match=message):
        LatticeCRF().fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"neighbours": 5}, "no 5 neighbours"),
        ({"form": "other"}, "form is 'other'"),
        ({"l2": -1}, "l2 is -1"),
        ({"inference": "mean_field", "message_schedule": "parallel"}, "'mean_field' has no message_schedule"),
        ({"damping": 1.0}, "damping is 1.0"),
        ({"objective": "margin", "trainer": "smd"}, "smd needs an objective with a Hessian"),
        ({"unlabelled": 0.5}, "unlabelled is 0.5"),
        ({"trainer": SGD(gain=0.0)}, "gain is 0.0"),
        ({"trainer": SMD(schedule="averaged")}, "lattices have the schedule 'plain' alone"),
        ({"trainer": AnnealedSGD(schedule="averaged")}, "lattices have the schedule 'inverse' or 'published' alone"),
        ({"trainer": AdaGrad()}, "trainer is AdaGrad"),
        ({"verbose": -1}, "verbose is -1"),
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"early_stopping": True}, "none can be held out"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        LatticeCRF(**options).fit([np.eye(3)], [np.eye(3, dtype=int)])


def test_labels_and_features_that_training_never_saw(shapes, fitted):
    images, masks = shapes
    strange = masks[0].copy()
    strange[0, 0] = 7
    with pytest.raises(InputError, match=r"item 1: y has the label 7.*Known labels: 0, 1"):
        fitted.score(images[:2], [masks[0], strange])
    with pytest.raises(InputError, match="X has 3 features per node, and training had 1"):
        fitted.predict([np.zeros((4, 4, 3))])
    with pytest.raises(InputError, match="sample_weight has 1 entries"):
        LatticeCRF().fit(images[:2], masks[:2], sample_weight=[1.0])
    with pytest.raises(InputError, match="gain=10 is too large"):
        LatticeCRF(trainer=SGD(gain=10), max_iter=30).fit(images, masks)


def test_the_hessian_by_differences_is_that_of_the_loss(rng):
    design = design_of(rng, "ising", n_labels=2)
    design.dataset.labels[:] %= 2
    objective = GraphObjective("pseudo_likelihood", Inference())
    with Lanes(None, 1) as lanes:
        batches = GraphBatches(GraphEvaluation(design, objective, lanes), batch_size=2, seed=0)
        weights, v = 0.1 * rng.normal(size=(2, design.layout.n_weights))
        loss, gradient, product = batches.curve(np.array([0, 1]), weights, v)
        ahead, behind = (batches.gradient(np.array([0, 1]), weights + e * v)[1] for e in (1e-5, -1e-5))
        np.testing.assert_allclose(product, (ahead - behind) / 2e-5, atol=1e-4)
        learner = DenseMetaDescent(batches, weights, 0.3, 0.01, SMD(meta_gain=0.1, gain_decay=0.9))
        learner.v = v.copy()
        assert learner.step(np.array([0, 1])) == pytest.approx(loss)
        g = gradient + 0.6 * weights
        gains = 0.01 * np.clip(1 - 0.1 * g * v, 0.5, 2.0)
        np.testing.assert_allclose(learner.weights(), weights - gains * g, atol=1e-12)
        np.testing.assert_allclose(learner.v, 0.9 * v - gains * (g + 0.9 * (product + 0.6 * v)), atol=1e-6)
