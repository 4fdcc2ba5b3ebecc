"""Model files: what is saved comes back to the bit; what is whole but wrong is refused before a kernel runs."""

from __future__ import annotations

import copy
import functools
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hedgerow import LinearCRF, load, persistence
from hedgerow.errors import HedgerowError, HedgerowWarning, InputError, ModelFileError
from hedgerow.metrics import label_accuracy

from .corpora import COLUMNS, X_SMALL, Y_SMALL, rich_corpus

CORPUS = rich_corpus(25, seed=1)

SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "window": {"window": 2},
    "window by column": {"window": {"word": (1, 0), "*": 1}},
    "window of NumPy": {"window": np.int64(1)},
    "columns": {"columns": {"word": "categorical", "size": "numeric", "upper": "boolean"}},
    "columns that cannot be changed": {"columns": MappingProxyType({"tags": "attributes"})},
    "both penalties": {"l1": 0.5, "l2": np.float32(0.25)},
    "all pairs": {"pairs": "all", "min_frequency": 2},
    "observed": {"transitions": "observed"},
    "forbidden": {"transitions": "forbid_unseen", "decoder": "posterior"},
    "scheme": {"constraints": "iob2"},
    "forbidden pairs": {"constraints": [("O", "I-X")]},
    "label pairs": {"transition_columns": ["word", "*"], "window": 1},
    "label pairs as a set": {"transition_columns": {"word", "language"}},
    "label pairs as an array": {"transition_columns": np.array(["word", "size"])},
    "early stopping": {"early_stopping": True, "scoring": "span_f1", "random_state": 0},
    "numbers of NumPy": {"max_iter": np.int64(300), "tol": np.float64(1e-4), "n_jobs": np.int32(2)},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_what_is_saved_comes_back(name, tmp_path):
    X, y = CORPUS
    model = LinearCRF(**{"columns": COLUMNS} | SETTINGS[name]).fit(X, y)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert type(loaded) is LinearCRF
    np.testing.assert_array_equal(loaded.weights_, model.weights_)
    assert loaded.schema_ == model.schema_
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    for ours, theirs in zip(loaded.predict_proba(X), model.predict_proba(X)):
        np.testing.assert_array_equal(ours, theirs)
    for attribute in ("n_iter_", "best_iteration_", "loss_", "outcome_"):
        assert getattr(loaded, attribute) == getattr(model, attribute)
    np.testing.assert_array_equal(loaded.classes_, model.classes_)
    np.testing.assert_array_equal(loaded.transition_weights_, model.transition_weights_)
    assert loaded.feature_weights() == model.feature_weights()
    assert loaded.l2 == model.l2
    assert loaded.decoder == model.decoder
    assert loaded.max_iter == model.max_iter
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()
    refitted = loaded.fit(X, y)
    np.testing.assert_array_equal(refitted.weights_, model.weights_)


@pytest.mark.parametrize(
    ("X", "y"),
    [
        ([["a", "b"], ["c"]], [[1, -2], [10**9]]),
        ([["ä", "日本"], ["\ud800"]], [["é", "O"], ["O"]]),
        ([np.array([[1.0, 2.0]]), np.array([[0.5, -1.0]])], [["x"], ["y"]]),
        ([[{}, {}]], [["x", "y"]]),
        ([["a"]], [["x"]]),
    ],
    ids=["integers", "text", "arrays", "nothing", "one"],
)
def test_shapes_of_data(X, y, tmp_path):
    model = LinearCRF().fit(X, y)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    assert loaded.classes_.dtype == model.classes_.dtype
    assert [type(label) for label in loaded.predict(X)[0]] == [type(label) for label in model.predict(X)[0]]


def test_what_json_cannot_hold_goes_back_to_its_default(tmp_path):
    model = LinearCRF(scoring=label_accuracy, random_state=np.random.RandomState(0), l2=0.5).fit(X_SMALL, Y_SMALL)
    with pytest.warns(HedgerowWarning, match="cannot hold random_state, scoring;") as caught:
        model.save(tmp_path / "model")
    assert caught[0].filename == __file__
    loaded = load(tmp_path / "model")
    assert (loaded.scoring, loaded.random_state, loaded.l2) == ("accuracy", None, 0.5)


def test_loaded_weights_cannot_be_written_to(tmp_path):
    LinearCRF().fit(X_SMALL, Y_SMALL).save(tmp_path / "model")
    with pytest.raises(ValueError, match="read-only"):
        load(tmp_path / "model").weights_[:] = 0


def test_a_new_fit_forgets_the_notes_of_the_old_one(tmp_path):
    model = LinearCRF().fit(X_SMALL, Y_SMALL)
    assert model.metadata_ == {}
    model.metadata_ = {"reader": {"format": "conll"}}
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.metadata_ == model.metadata_
    assert loaded.fit(X_SMALL, Y_SMALL).metadata_ == {}


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    model = LinearCRF().fit(X_SMALL, Y_SMALL).set_params(l2=-1.0)
    with pytest.raises(InputError, match=r"l2 is -1.0"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


# ------------------------------------------------------------------------------------------ whole, and wrong


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the tensors of a model with everything in it."""
    path = tmp_path_factory.mktemp("files") / "model"
    parameters = {"columns": COLUMNS, "window": 1, "transition_columns": ["word", "*"], "constraints": "iob2"}
    LinearCRF(**parameters).fit(*CORPUS).save(path)
    return persistence.read(path)


def write(folder, header, tensors):
    persistence.write(folder / "model", header, tensors)
    return folder / "model"


def set_tensor(name, value):
    def change(header, tensors):
        tensors[name] = value(tensors[name])

    return change


def set_header(*keys, value):
    def change(header, tensors):
        place = header
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    return change


def bump(array, place, value):
    changed = array.copy()
    changed[place] = value
    return changed


WRONG = {
    "weights too short": set_tensor("weights", lambda a: a[:-1]),
    "weights of another type": set_tensor("weights", lambda a: a.astype(np.float32)),
    "weights not numbers": set_tensor("weights", lambda a: bump(a, 0, np.nan)),
    "weights infinite": set_tensor("weights", lambda a: bump(a, 0, np.inf)),
    "weights in two dimensions": set_tensor("weights", lambda a: a[None]),
    "a label out of range": set_tensor("layout.nodes.slot_label", lambda a: bump(a, 0, 3)),
    "a negative label": set_tensor("layout.nodes.slot_label", lambda a: bump(a, 0, -1)),
    "a pair out of range": set_tensor("layout.pairs.slot_label", lambda a: bump(a, 0, 9)),
    "rows that go back": set_tensor("layout.nodes.row_ptr", lambda a: bump(a, 5, a[-1] + 5)),
    "rows that begin late": set_tensor("layout.nodes.row_ptr", lambda a: bump(a, 0, 1)),
    "rows that end late": set_tensor("layout.nodes.row_ptr", lambda a: bump(a, -1, a[-1] + 1)),
    "too few rows": set_tensor("layout.nodes.row_ptr", lambda a: np.concatenate([a[:3], a[-1:]])),
    "an arc out of range": set_tensor("layout.arc_to", lambda a: bump(a, 0, 3)),
    "an arc without an end": set_tensor("layout.arc_to", lambda a: a[:-1]),
    "a space of another size": set_tensor("layout.space.transitions", lambda a: a[:2, :2]),
    "a space of numbers": set_tensor("layout.space.start", lambda a: a.astype(np.uint8)),
    "text that is not UTF-8": set_tensor("schema.attributes.utf8", lambda a: bump(a, 0, 255)),
    "text cut short": set_tensor("schema.attributes.utf8", lambda a: a[:-1]),
    "text that goes back": set_tensor("schema.attributes.ends", lambda a: bump(a, 0, a[-1] + 1)),
    "text with a negative end": set_tensor("schema.attributes.ends", lambda a: bump(a, 0, -5)),
    "a label twice": set_header("state", "schema", "labels", value=["O", "O", "I-X"]),
    "no labels": set_header("state", "schema", "labels", value=[]),
    "labels of another kind": set_header("state", "schema", "labels", value=[1.5, 2.5, 3.5]),
    "labels that are lists": set_header("state", "schema", "labels", value=[["a"], ["b"], ["c"]]),
    "labels of two kinds": set_header("state", "schema", "labels", value=["a", 1, 2]),
    "a label beyond 64 bits": set_header("state", "schema", "labels", value=[1, 2, 10**30]),
    "one label too many": set_header("state", "schema", "labels", value=["B-X", "I-X", "O", "Z"]),
    "a kind that does not exist": set_header("state", "schema", "columns", 0, "kind", value="text"),
    "a kind that is no word": set_header("state", "schema", "columns", 0, "kind", value=["numeric"]),
    "offsets that are not numbers": set_header("state", "schema", "columns", 0, "offsets", value=["1"]),
    "offsets out of bounds": set_header("state", "schema", "columns", 0, "offsets", value=[10**12]),
    "offsets with a gap": set_header("state", "schema", "columns", 0, "offsets", value=[-1, 1]),
    "offsets out of order": set_header("state", "schema", "columns", 0, "offsets", value=[1, 0, -1]),
    "an offset twice": set_header("state", "schema", "columns", 0, "offsets", value=[-1, 0, 0, 1]),
    "offsets of attributes with a gap": set_header("state", "schema", "attribute_offsets", value=[-2, 0, 1]),
    "no offsets": set_header("state", "schema", "columns", 0, "offsets", value=[]),
    "columns that are none": set_header("state", "schema", "columns", value=3),
    "sequences: no number": set_header("state", "n_sequences", value="many"),
    "another estimator": set_header("kind", value="ForestCRF"),
    "an estimator that is not in it": set_header("kind", value="TreeCRF"),
    "a parameter that does not exist": set_header("parameters", "colour", value="red"),
    "a parameter that cannot be meant": set_header("parameters", "decoder", value="magic"),
    "parameters that are none": set_header("parameters", value=[]),
    "an outcome that is no word": set_header("state", "outcome", value=3),
    "a loss that is no number": set_header("state", "loss", value="low"),
    "pairs of other columns": set_header("state", "layout", "pair_columns", value=["size"]),
    "declared as a list": set_header("state", "schema", "declared", value=["tags"]),
    "metadata that are none": set_header("metadata", value=[1]),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_is_whole_and_wrong(name, sound, tmp_path):
    header, tensors = copy.deepcopy(sound[0]), dict(sound[1])
    WRONG[name](header, tensors)
    path = write(tmp_path, header, tensors)
    with pytest.raises(ModelFileError) as caught:
        load(path)
    assert str(path) in str(caught.value)


def parts(header, *keys):
    """The keys of everything in a header that has a name, the parameters aside."""
    own = header if not keys else functools.reduce(lambda place, key: place[key], keys, header)
    for name in own if isinstance(own, dict) else ():
        yield (*keys, name)
        if name not in ("parameters", "metadata", "declared", "codes", "numbers", "window"):
            yield from parts(header, *keys, name)


def check_every_part_is_needed(header, tensors, folder, optional=()):
    """Without any part of a file, but for those that may be absent, it is refused; and so it is with one more."""
    assert load(write(folder, header, tensors)) is not None
    for name in tensors:
        with pytest.raises(ModelFileError, match="is not a sound hedgerow model"):
            load(write(folder, header, {k: v for k, v in tensors.items() if k != name}))
    with pytest.raises(ModelFileError, match="'more', which has no place here"):
        load(write(folder, header, tensors | {"more": np.zeros(1)}))
    for *keys, name in parts(header):
        changed = copy.deepcopy(header)
        place = functools.reduce(lambda inner, key: inner[key], keys, changed)
        del place[name]
        if name == "kind":
            continue
        if name not in optional:
            with pytest.raises(ModelFileError, match=f"there is no '.*{name}'"):
                load(write(folder, changed, tensors))
        place["more"] = 1
        with pytest.raises(ModelFileError):
            load(write(folder, changed, tensors))


def test_every_part_is_needed(sound, tmp_path):
    check_every_part_is_needed(*sound, tmp_path, optional=("pairs", "temperature"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)


def places(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [here, *(place for key, item in inner for place in places(item, (*here, key)))]


@settings(max_examples=150)
@given(data=st.data())
def test_any_change_is_refused_or_harmless(sound, tmp_path_factory, data):
    """A file with a changed header or tensor does not load, or predicts, or fails with an error of hedgerow's own."""
    header, tensors = copy.deepcopy(sound[0]), dict(sound[1])
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


def mutate(array: np.ndarray, data: st.DataObject) -> np.ndarray:
    how = data.draw(st.sampled_from(["value", "shorter", "longer", "type", "shape", "shuffle"]))
    if how == "value" and array.size:
        changed = array.copy()
        limits = (0, 1) if array.dtype == bool else (0, 255) if array.dtype == np.uint8 else (-(2**31), 2**31 - 1)
        changed.flat[data.draw(st.integers(0, array.size - 1))] = data.draw(st.integers(*limits))
        return changed
    if how == "shorter":
        return array[: len(array) // 2]
    if how == "longer":
        return np.concatenate([array, array[:1]])
    if how == "type":
        kind = data.draw(st.sampled_from([np.float32, np.int32, np.int64, np.float64, np.uint8]))
        with np.errstate(invalid="ignore"):  # numbers that the other type does not have
            return array.astype(kind)
    if how == "shape":
        return array.reshape(-1, 1)
    return array[::-1].copy()
