"""Files of TreeCRF: what is saved comes back to the bit; trees that a walk could not follow are refused."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import LinearCRF, TreeCRF, load, persistence
from hedgerow.errors import HedgerowError, HedgerowWarning, ModelFileError

from .corpora import COLUMNS, rich_corpus
from .test_files import JSON, bump, check_every_part_is_needed, mutate, places, set_header, set_tensor, write

CORPUS = rich_corpus(25, seed=1)
SHORT: dict[str, Any] = {"n_estimators": 4, "max_leaf_nodes": 6, "l2_regularization": 1.0, "early_stopping": False}

SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "window": {"window": {"word": (1, 0), "*": 1}},
    "early stopping": {"early_stopping": True, "scoring": "span_f1", "random_state": 0},
    "shared": {"edges": "shared"},
    "forest": {"trees_per_step": 3, "max_features": 0.5, "random_state": np.int64(3)},
    "subsets": {"categorical": "subset"},
    "constraints": {"constraints": "iob2", "decoder": "posterior"},
    "constant": {"init": "constant", "transitions": "forbid_unseen"},
    "linear": {"init": LinearCRF(columns=COLUMNS, l2=0.5)},
    "fitted linear": {"init": LinearCRF(columns=COLUMNS, window=1).fit(*CORPUS), "window": 0},
    "linear with pairs": {"init": LinearCRF(columns=COLUMNS, transition_columns=["word"])},
    "search": {"learning_rate": "line_search", "leaves": "newton", "min_samples_leaf": 0.5},
    "bags": {"n_bags": 2, "random_state": 0},
    "multi": {"multi_strategy": "multi_output_tree"},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_what_is_saved_comes_back(name, tmp_path):
    X, y = CORPUS
    settings = {"columns": COLUMNS} | SHORT | SETTINGS[name]
    if name == "multi":  # attributes are not for it
        X = [[{key: value for key, value in row.items() if key != "tags"} for row in x.positions] for x in X]
        settings["columns"] = None
    model = TreeCRF(**settings).fit(X, y)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert type(loaded) is TreeCRF
    for attribute in ("ptr", "set_ptr", "nodes", "values", "gains", "counts", "sets"):
        np.testing.assert_array_equal(getattr(loaded.ensemble_, attribute), getattr(model.ensemble_, attribute))
    assert loaded.schema_ == model.schema_
    np.testing.assert_array_equal(loaded.binning_.streams, model.binning_.streams)
    for ours, theirs in zip(loaded.predict_proba(X), model.predict_proba(X)):
        np.testing.assert_array_equal(ours, theirs)
    for attribute in ("n_iter_", "best_iteration_", "loss_", "outcome_", "max_leaf_nodes", "learning_rate", "edges"):
        assert getattr(loaded, attribute) == getattr(model, attribute)
    assert list(loaded.staged_score(X, y)) == list(model.staged_score(X, y))
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    refitted = loaded.fit(X, y)
    np.testing.assert_array_equal(refitted.ensemble_.values, model.ensemble_.values)


def test_a_linear_start_is_in_the_file(tmp_path):
    model = TreeCRF(columns=COLUMNS, init=LinearCRF(columns=COLUMNS, window=1), **SHORT).fit(*CORPUS)
    model.save(tmp_path / "model")  # without a warning: `init` is not lost
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.linear_.weights_, model.linear_.weights_)
    assert loaded.init is loaded.linear_


def test_a_loaded_model_can_be_gone_on_with(tmp_path):
    X, y = CORPUS
    model = TreeCRF(columns=COLUMNS, warm_start=True, **SHORT).fit(X, y)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model").set_params(n_estimators=6).fit(X, y)
    assert loaded.ensemble_.n_iterations == 6
    whole = TreeCRF(columns=COLUMNS, **SHORT | {"n_estimators": 6}).fit(X, y)
    np.testing.assert_array_equal(loaded.ensemble_.nodes, whole.ensemble_.nodes)


ANEW: dict[str, Any] = {
    "n_estimators": 1,
    "window": 0,
    "columns": None,
    "edges": "joint",
    "leaves": "newton",
    "init": "zero",
    "max_bins": 4,
    "min_frequency": 9.0,
    "categorical": "one_against_rest",
    "trees_per_step": 1,
    "n_bags": 2,
    "transitions": "forbid_unseen",
    "decoder": "viterbi",
    "warm_start": True,
}


@pytest.mark.parametrize("below", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_parameters_set_after_fit_do_not_change_what_was_fitted(below, shared, tmp_path):
    X, y = CORPUS
    edges = "shared" if shared else "joint"
    init = LinearCRF(columns=COLUMNS) if below else "constant"
    fitted = TreeCRF(columns=COLUMNS, window=1, edges=edges, init=init, trees_per_step=2, **SHORT).fit(X, y)
    before = fitted.predict_proba(X)
    for name, value in (ANEW | {"edges": "joint" if shared else "shared"}).items():
        model = copy.deepcopy(fitted).set_params(**{name: value})
        model.save(tmp_path / "model")
        loaded = load(tmp_path / "model")
        assert getattr(loaded, name) == value
        for ours, theirs in zip(loaded.predict_proba(X), before):
            np.testing.assert_array_equal(ours, theirs)
        assert loaded.predict(X).tolist() == model.predict(X).tolist()


def test_another_linear_init_that_was_set_after_fit_is_not_in_the_file(tmp_path):
    model = TreeCRF(columns=COLUMNS, init=LinearCRF(columns=COLUMNS), **SHORT).fit(*CORPUS)
    model.set_params(init=LinearCRF(columns=COLUMNS, l2=9.0))
    with pytest.warns(HedgerowWarning, match="init was set anew; a loaded model has the linear model"):
        model.save(tmp_path / "model")
    assert load(tmp_path / "model").init.l2 == 1.0


def test_columns_of_very_many_values(tmp_path):
    """They are numbered behind all others."""
    X = [[{"word": f"{i} {t}", "part": ["a", "b"], "size": float(t)} for t in range(8)] for i in range(60)]
    y = [["A" if t < i % 8 else "B" for t in range(8)] for i in range(60)]
    model = TreeCRF(window=1, **SHORT).fit(X, y)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.binning_.names == model.binning_.names == ("(outside)", "size", "word", "*")
    assert (loaded.binning_.kinds, loaded.binning_.n_bins) == (model.binning_.kinds, model.binning_.n_bins)
    np.testing.assert_array_equal(np.concatenate(loaded.predict_proba(X)), np.concatenate(model.predict_proba(X)))


GATHERED = {
    "a code twice": lambda a: bump(a, 3, a[2]),
    "a code that is not there": lambda a: bump(a, -1, 10**6),
    "no bin for no value": lambda a: bump(a, 0, 1),
    "more codes than bins": lambda a: np.arange(300, dtype=a.dtype),
    "no codes": lambda a: a[:0],
}


def test_columns_of_very_many_values_with_the_rare_ones_as_one(tmp_path):
    X = [[{"word": f"{i} {t}", "size": float(t)} for t in range(8)] for i in range(40)]
    y = [["A" if t < i % 8 else "B" for t in range(8)] for i in range(40)]
    parameters = {"init": "zero", "multi_strategy": "multi_output_tree", "leaves": "newton"}
    model = TreeCRF(window=1, **SHORT | parameters).fit(X, y)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert (loaded.binning_.kinds, loaded.binning_.n_bins) == (model.binning_.kinds, model.binning_.n_bins)
    np.testing.assert_array_equal(loaded.binning_.item_source[1], model.binning_.item_source[1])
    np.testing.assert_array_equal(np.concatenate(loaded.predict_proba(X)), np.concatenate(model.predict_proba(X)))
    header, tensors = persistence.read(tmp_path / "model")
    for change in GATHERED.values():
        source = change(tensors["binning.item_source"])
        ends = np.where(tensors["binning.item_source_ptr"] > 0, len(source), 0)
        wrong = tensors | {"binning.item_source": source, "binning.item_source_ptr": ends}
        with pytest.raises(ModelFileError):
            load(write(tmp_path, header, wrong))


def test_whether_it_was_trained_again_is_in_the_file(tmp_path):
    for refit in (False, True):
        model = TreeCRF(columns=COLUMNS, refit=refit, **SHORT | {"early_stopping": True}).fit(*CORPUS)
        model.save(tmp_path / "model")
        assert load(tmp_path / "model").refitted_ is model.refitted_ is refit


def test_how_many_iterations_followed_the_likelihood_is_in_the_file(tmp_path):
    model = TreeCRF(columns=COLUMNS, objective="labelwise", likelihood_steps=1, **SHORT).fit(*CORPUS)
    model.save(tmp_path / "model")
    assert load(tmp_path / "model").likelihood_iterations_ == model.likelihood_iterations_ == 1


# ------------------------------------------------------------------------------------------ whole, and wrong


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the tensors of a model with everything in it."""
    path = tmp_path_factory.mktemp("files") / "model"
    below = LinearCRF(columns=COLUMNS)
    parameters = {"columns": COLUMNS, "window": 1, "init": below, "edges": "shared", "categorical": "subset"}
    TreeCRF(**parameters, trees_per_step=2, max_features=0.7, **SHORT).fit(*CORPUS).save(path)
    return persistence.read(path)


@pytest.fixture(scope="module")
def joint(tmp_path_factory) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """One with joint edges and one-against-rest splits."""
    path = tmp_path_factory.mktemp("files") / "joint"
    TreeCRF(columns=COLUMNS, window=1, **SHORT).fit(*CORPUS).save(path)
    return persistence.read(path)


def set_node(field: int, value: int, *, leaf: bool = False):
    """Change a field of the first split (or leaf) of the trees."""

    def change(header, tensors):
        nodes = tensors["ensemble.nodes"]
        row = int(np.argmax((nodes[:, 0] == -2) == leaf))
        tensors["ensemble.nodes"] = bump(nodes, (row, field), value)

    return change


WRONG = {
    "a child before its parent": set_node(3, 0),
    "a child that is the parent's own": set_node(4, 0),
    "a negative child": set_node(3, -1),
    "a child beyond its tree": set_node(4, 10**6),
    "a stream that is not there": set_node(0, 10**6),
    "a stream below all": set_node(0, -3),
    "a leaf that splits": set_node(0, 0, leaf=True),
    "a negative bin": set_node(1, -1),
    "a bin beyond its column": set_node(1, 10**6),
    "a rule that is none": set_node(2, 7),
    "a negative rule": set_node(2, -1),
    "nodes too few": set_tensor("ensemble.nodes", lambda a: a[:-1]),
    "nodes of four numbers": set_tensor("ensemble.nodes", lambda a: a[:, :4]),
    "nodes of another type": set_tensor("ensemble.nodes", lambda a: a.astype(np.int32)),
    "values that are not numbers": set_tensor("ensemble.values", lambda a: bump(a, 0, np.nan)),
    "values without end": set_tensor("ensemble.values", lambda a: bump(a, 0, np.inf)),
    "values too few": set_tensor("ensemble.values", lambda a: a[:-1]),
    "gains that are not numbers": set_tensor("ensemble.gains", lambda a: bump(a, 0, np.nan)),
    "counts too few": set_tensor("ensemble.counts", lambda a: a[:-1]),
    "pointers that fall": set_tensor("ensemble.ptr", lambda a: bump(a, 1, a[-1])),
    "a tree without nodes": set_tensor("ensemble.ptr", lambda a: bump(a, 1, 0)),
    "pointers too few": set_tensor("ensemble.ptr", lambda a: a[:-1]),
    "no pointers": set_tensor("ensemble.ptr", lambda a: a[:0]),
    "a tree too many": set_tensor("ensemble.ptr", lambda a: np.append(a, a[-1])),
    "set pointers that fall": set_tensor("ensemble.set_ptr", lambda a: bump(a, 1, 10**6)),
    "sets too narrow": set_tensor("ensemble.sets", lambda a: a[:, :100]),
    "a constant that is not a number": set_tensor("constant", lambda a: bump(a, 0, np.inf)),
    "a constant of another shape": set_tensor("constant", lambda a: a[:-1]),
    "moves of another shape": set_tensor("space.transitions", lambda a: a[:-1]),
    "thresholds that fall": set_tensor("binning.thresholds", lambda a: a[::-1].copy()),
    "thresholds that are not numbers": set_tensor("binning.thresholds", lambda a: bump(a, 0, np.nan)),
    "thresholds cut wrongly": set_tensor("binning.thresholds_ptr", lambda a: bump(a, 0, 1)),
    "thresholds of too few columns": set_tensor("binning.thresholds_ptr", lambda a: a[1:]),
    "an item that is not there": set_tensor("binning.item_source", lambda a: bump(a, -1, 10**6)),
    "a negative item": set_tensor("binning.item_source", lambda a: bump(a, 0, -1)),
    "items out of order": set_tensor("binning.item_source", lambda a: a[::-1].copy()),
    "cuts too few": set_tensor("binning.item_cut", lambda a: a[:-1]),
    "trees in a step: none": set_header("state", "ensemble", "trees_per_step", value=0),
    "trees in a step: no number": set_header("state", "ensemble", "trees_per_step", value="two"),
    "trees in a step that do not fit": set_header("state", "ensemble", "trees_per_step", value=7),
    "shared edges: no flag": set_header("state", "shared_edges", value=1),
    "shared edges that are not there": set_header("state", "shared_edges", value=True),
    "trained again: no flag": set_header("state", "refitted", value="yes"),
    "steps by the likelihood: fewer than none": set_header("state", "likelihood_iterations", value=-1),
    "steps by the likelihood: no number": set_header("state", "likelihood_iterations", value=1.5),
    "another estimator": set_header("kind", value="LinearCRF"),
    "a parameter that cannot be meant": set_header("parameters", "edges", value="both"),
    "a loss that is no number": set_header("state", "loss", value="low"),
}  # fmt: skip

WRONG_BELOW = {
    "edge tables too few": set_tensor("edge_tables", lambda a: a[:-1]),
    "edge tables that are not numbers": set_tensor("edge_tables", lambda a: bump(a, 0, np.nan)),
    "weights below that are not numbers": set_tensor("linear.weights", lambda a: bump(a, 0, np.nan)),
    "weights below too few": set_tensor("linear.weights", lambda a: a[:-1]),
    "trees below trees": set_header("state", "linear", "kind", value="TreeCRF"),
    "other labels below": set_header("state", "linear", "state", "schema", "labels", value=["a", "b", "c"]),
    "a list below": set_header("state", "linear", value=[]),
    "a set that is not there": set_node(1, 10**6),
}


@pytest.mark.parametrize("name", [*WRONG, *WRONG_BELOW])
def test_a_file_that_is_whole_and_wrong(name, sound, joint, tmp_path):
    whole = joint if name in WRONG else sound
    header, tensors = copy.deepcopy(whole[0]), dict(whole[1])
    (WRONG | WRONG_BELOW)[name](header, tensors)
    path = write(tmp_path, header, tensors)
    with pytest.raises(ModelFileError) as caught:
        load(path)
    assert str(path) in str(caught.value)


def test_every_part_is_needed(sound, joint, tmp_path):
    for whole in (sound, joint):
        check_every_part_is_needed(*whole, tmp_path, optional=("linear", "pairs", "temperature"))


@settings(max_examples=150)
@given(data=st.data())
def test_any_change_is_refused_or_harmless(sound, joint, tmp_path_factory, data):
    """A file with a changed header or tensor does not load, or predicts, or fails with an error of hedgerow's own."""
    whole = data.draw(st.sampled_from([sound, joint]))
    header, tensors = copy.deepcopy(whole[0]), dict(whole[1])
    for _ in range(data.draw(st.integers(1, 2))):
        if data.draw(st.booleans()):
            place = data.draw(st.sampled_from([p for p in places(header) if p and p != ("kind",)]))
            target: Any = header
            for key in place[:-1]:
                target = target[key]
            target[place[-1]] = data.draw(JSON)
        else:
            name = data.draw(st.sampled_from(sorted(tensors)))
            tensors[name] = mutate(tensors[name], data)
    folder = tmp_path_factory.mktemp("mutant")
    try:
        model = load(write(folder, header, tensors))
    except ModelFileError:
        return
    try:
        with np.errstate(all="ignore"):
            model.predict(CORPUS[0][:2])
            model.predict_proba(CORPUS[0][:2])
    except HedgerowError:
        pass
