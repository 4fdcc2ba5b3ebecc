"""One data frame as X: every estimator cuts it as it is told, keeps how, and gives labels back row by row."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score

import hedgerow
from hedgerow import HMM, IOHMM, MEMM, AutoLabeler, BeamSearchTagger, InputError, LinearCRF, SlidingWindow, TreeCRF
from hedgerow.data.plan import Plan

LIBRARIES: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}
MODELS = [
    LinearCRF(window=1),
    TreeCRF(n_estimators=3, window=1, random_state=0, early_stopping=False),
    SlidingWindow(window=1, random_state=0),
    MEMM(window=1, random_state=0),
    HMM(),
    IOHMM(n_states=2, max_iter=5, random_state=0),
    BeamSearchTagger(window=1, early_stopping=False, random_state=0),
    AutoLabeler(candidates=[LinearCRF()], cv=0, window=1, random_state=0),
]
QUIET = pytest.mark.filterwarnings("ignore:training stopped")
HOW: dict[str, Any] = {"by": "machine", "label": "state", "time": "at", "max_gap": "10min"}


def make_frame(n: int = 240, seed: int = 0, shuffled: bool = True) -> pd.DataFrame:
    """Four machines, each with a pause of an hour in the middle; the rows of each in any order."""
    rng = np.random.default_rng(seed)
    state = (rng.random(n) < 0.1).cumsum() % 2
    minutes = np.tile(np.arange(n // 4) + 60 * (np.arange(n // 4) >= n // 8), 4)
    frame = pd.DataFrame(
        {
            "machine": np.repeat(list("abcd"), n // 4),
            "at": pd.Timestamp("2024-03-01 08:00") + pd.to_timedelta(minutes, unit="min"),
            "pulse": rng.normal(2.0 * state),
            "mode": np.where(rng.random(n) < 0.5, "x", "y"),
            "state": np.where(state, "on", "off"),
        }
    )
    return frame.groupby("machine").sample(frac=1, random_state=seed) if shuffled else frame


@QUIET
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_frame_is_what_its_sequences_are(model: Any) -> None:
    frame, plain = make_frame(), make_frame(shuffled=False)
    X, y = hedgerow.sequences(plain, "machine", "state", time="at", max_gap="10min")
    assert X.lengths.tolist() == [30] * 8
    by_sequences = clone(model).fit(X, y)
    by_frame = clone(model).fit(frame, **HOW)
    new = make_frame(seed=1, shuffled=False)
    X_new, y_new = hedgerow.sequences(new, "machine", "state", time="at", max_gap="10min")
    wanted = [label for labels in by_sequences.predict(X_new) for label in labels]
    mixed = new.sample(frac=1, random_state=3)
    found = by_frame.predict(mixed)
    assert (found.index == mixed.index).all()
    assert found.name == "state"
    assert found.sort_index().tolist() == wanted
    assert by_frame.score(mixed) == pytest.approx(by_sequences.score(X_new, y_new), abs=1e-12)
    if hasattr(model, "predict_proba"):
        probs = by_frame.predict_proba(mixed)
        assert list(probs.columns) == ["off", "on"]
        assert (probs.index == mixed.index).all()
        np.testing.assert_allclose(probs.sort_index(), np.concatenate(by_sequences.predict_proba(X_new)), atol=1e-12)


@QUIET
@pytest.mark.parametrize("convert", LIBRARIES.values(), ids=LIBRARIES)
def test_libraries_give_the_same_in_their_own_types(convert: Callable[[Any], Any], tmp_path) -> None:
    frame = make_frame()
    options = HOW | {"time_columns": ["elapsed", "hour", "weekday"]}
    reference = LinearCRF(window=1).fit(frame, **options)
    model = LinearCRF(window=1).fit(convert(frame), **options)
    np.testing.assert_array_equal(model.weights_, reference.weights_)
    model.save(tmp_path / "m")
    loaded = hedgerow.load(tmp_path / "m")
    assert loaded.plan_ == model.plan_
    new = convert(make_frame(seed=2).drop(columns="state"))  # which needs no labels
    labels, probs = loaded.predict(new), loaded.predict_proba(new)
    assert isinstance(probs, type(new))
    plain = labels.to_pylist() if isinstance(new, pa.Table) else labels.to_list()
    assert plain == reference.predict(make_frame(seed=2)).tolist()
    assert type(labels) is type(new[new.columns[0]] if not isinstance(new, pa.Table) else new["machine"])


def test_time_columns_are_what_they_say() -> None:
    frame = make_frame(shuffled=False)
    X, _ = hedgerow.sequences(frame, "machine", time="at", time_columns=["elapsed", "hour", "weekday"])
    columns = X.columns
    assert columns["elapsed of at"][:3].tolist() == [0.0, 60.0, 60.0]
    assert columns["elapsed of at"][30] == 61 * 60.0
    assert set(columns["hour of at"]) == {"8", "9"}
    assert set(columns["weekday of at"]) == {"Friday"}
    assert X.kinds["elapsed of at"] == "numeric"
    assert X.kinds["hour of at"] == "categorical"
    aware = frame.assign(at=frame["at"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"))
    local, _ = hedgerow.sequences(aware, "machine", time="at", time_columns="hour")
    assert local.columns["hour of at"][0] == "17"


@pytest.mark.parametrize(
    "times",
    [
        lambda at: at.astype(str),
        lambda at: at.dt.strftime("%Y-%m-%dT%H:%M:%S+00:00"),
        lambda at: (at - pd.Timestamp("2024-01-01")).dt.total_seconds(),
        lambda at: at.map(lambda one: one.to_pydatetime()).astype(object),
        lambda at: at - at.min(),
    ],
    ids=["text", "text with a zone", "seconds", "objects", "durations"],
)
def test_times_of_other_types_sort_alike(times: Callable[[Any], Any]) -> None:
    frame = make_frame()
    wanted, _ = hedgerow.sequences(frame, "machine", time="at", max_gap="10min")
    other = frame.assign(at=times(frame["at"]))
    gap: Any = 600 if other["at"].dtype.kind == "f" else "10min"
    found, _ = hedgerow.sequences(other, "machine", time="at", max_gap=gap)
    assert found.lengths.tolist() == wanted.lengths.tolist()
    assert found.columns["pulse"].tolist() == wanted.columns["pulse"].tolist()


@pytest.mark.parametrize(
    "gap", ["10min", "600 s", "10 minutes", timedelta(minutes=10), np.timedelta64(10, "m"), "0.2h"]
)
def test_gaps_in_any_form(gap: Any) -> None:
    X, _ = hedgerow.sequences(make_frame(), "machine", time="at", max_gap=gap)
    assert len(X) == 8


def test_without_by_a_frame_is_one_recording() -> None:
    frame = make_frame(shuffled=False).drop(columns="at")
    X, y = hedgerow.sequences(frame, label="state")
    assert X.lengths.tolist() == [240]
    assert y is not None
    model = LinearCRF(window=1).fit(frame, label="state")
    assert model.predict(frame).tolist() == list(model.predict(X)[0])
    assert len(LinearCRF(window=1).fit(X, y).predict(X)) == 1


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (
            lambda f: pd.concat([f, f[:2]]),
            HOW,
            r"column 'at': rows 0 and 240 of one sequence have the time 2024.*1 more",
        ),
        (lambda f: f, HOW | {"max_gap": "5 apples"}, "max_gap is '5 apples'"),
        (lambda f: f, HOW | {"max_gap": 5}, "max_gap=5 has no unit, and times are dates"),
        (lambda f: f.assign(at=range(240)), HOW, "max_gap='10min' has a unit, and times are numbers"),
        (lambda f: f.assign(at=f["at"].where(f.index != 7)), HOW, r"column 'at': row \d+: has no time"),
        (lambda f: f.assign(at="soon"), HOW, "column 'at': row 0: 'soon' is not a time"),
        (lambda f: f, {"by": "machine", "label": "state", "max_gap": "1h"}, "max_gap goes with time"),
        (lambda f: f, HOW | {"time_columns": ["month"]}, "time_columns has 'month'"),
        (lambda f: f, {"by": "engine", "label": "state"}, "there is no column 'engine'"),
        (lambda f: f, {"by": "machine"}, "y is missing. Name the column of labels"),
        (lambda f: f, {"by": "machine", "label": "state"}, "column 'at': a column of Datetime.*give time='at'"),
        (lambda f: f.set_axis([*f.columns[:4], "mode"], axis=1), HOW, "column 'mode': two columns have this name"),
    ],
)
def test_what_cannot_be_cut_is_said(change: Callable[[Any], Any], options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        LinearCRF().fit(change(make_frame(shuffled=False)), **options)


def test_frames_and_lists_are_not_mixed_up() -> None:
    frame = make_frame()
    with pytest.raises(InputError, match="by is for a data frame, and X is of type list"):
        LinearCRF().fit([["a"]], [["A"]], by="machine")
    with pytest.raises(InputError, match="X is a frame of 240 rows and y has 1 labels"):
        LinearCRF().fit(frame, [["on"]], by="machine")
    model = LinearCRF().fit(frame, **HOW)
    with pytest.raises(InputError, match="there is no column 'pulse'"):
        model.predict(frame.drop(columns="pulse"))
    with pytest.raises(InputError, match="there is no column 'machine'"):
        model.predict(frame.drop(columns="machine"))
    X, y = hedgerow.sequences(frame, "machine", "state", time="at")
    with pytest.raises(InputError, match="X is one data frame"):
        LinearCRF().fit(X, y).predict(frame)
    with pytest.raises(InputError, match=r"the pair that hedgerow\.sequences gives"):
        model.predict(hedgerow.sequences(frame, "machine", time="at"))
    assert model.predict(frame[:0]).tolist() == []
    with pytest.raises(InputError, match=r"^the table has no rows"):
        LinearCRF().fit(frame[:0], **HOW)


def test_labels_beside_the_frame_and_held_out_frames() -> None:
    frame, held = make_frame(), make_frame(seed=5)
    named = LinearCRF(window=1).fit(frame, **HOW)
    beside = LinearCRF(window=1).fit(frame, frame["state"], **HOW)
    np.testing.assert_array_equal(named.weights_, beside.weights_)
    bare = LinearCRF(window=1).fit(
        frame.drop(columns="state"), frame["state"], by="machine", time="at", max_gap="10min"
    )
    np.testing.assert_array_equal(named.weights_, bare.weights_)
    assert bare.score(held.drop(columns="state"), held["state"]) == named.score(held)
    stopped = LinearCRF(window=1, early_stopping=True).fit(frame, X_val=held, **HOW)
    X, y = hedgerow.sequences(held, "machine", "state", time="at", max_gap="10min")
    again = LinearCRF(window=1, early_stopping=True).fit(frame, X_val=X, y_val=y, **HOW)
    np.testing.assert_array_equal(stopped.weights_, again.weights_)


def test_what_is_known_of_rows_is_forced() -> None:
    frame = make_frame()
    model = LinearCRF(window=1).fit(frame, **HOW)
    known = [None] * len(frame)
    known[11] = "on" if model.predict(frame).iloc[11] == "off" else "off"
    assert model.predict(frame, known=known).iloc[11] == known[11]


@pytest.mark.parametrize("y", [None, "state"])
def test_scikit_learn_cross_validates_frames_by_group(y: str | None) -> None:
    frame = make_frame(shuffled=False)
    labels = None if y is None else frame[y]
    scores = cross_val_score(LinearCRF(), frame, labels, groups=frame["machine"], cv=GroupKFold(4), params=HOW)
    by_hand = []
    for machine in "abcd":
        rest, part = frame[frame["machine"] != machine], frame[frame["machine"] == machine]
        by_hand.append(LinearCRF().fit(rest, **HOW).score(part))
    assert sorted(scores) == sorted(by_hand)
    search = GridSearchCV(LinearCRF(), {"l2": [0.1, 10.0]}, cv=GroupKFold(2))
    search.fit(frame, labels, groups=frame["machine"], **HOW)
    assert search.best_estimator_.plan_ == Plan(("machine",), "state", "at", "10min", columns=("pulse", "mode"))
    assert clone(search.best_estimator_).plan_ is None


def test_names_of_columns() -> None:
    frame = make_frame()
    assert LinearCRF().fit(frame, **HOW).feature_names_in_.tolist() == ["pulse", "mode"]
    numbered = pd.DataFrame({0: [1.0, 2.0, 3.0], 1: ["a", "b", "a"], 2: [0, 1, 0]})
    model = LinearCRF().fit(numbered, label=2)  # type: ignore[arg-type]
    assert model.feature_names_in_.tolist() == ["0", "1"]
    assert model.predict(numbered).tolist() == [0, 1, 0]
    assert not hasattr(LinearCRF().fit([np.zeros((2, 1))], [["a", "b"]]), "feature_names_in_")
    assert not hasattr(LinearCRF().fit([["a", "b"]], [["a", "b"]]), "feature_names_in_")
    assert LinearCRF().fit([[{"b": "x", "a": "y"}]], [["a"]]).feature_names_in_.tolist() == ["a", "b"]


@pytest.mark.parametrize("make", [list, np.array, pd.Series])
def test_boolean_labels_come_back_as_they_went_in(make: Any, tmp_path) -> None:
    frame = make_frame()
    frame = frame.assign(state=frame["state"] == "on")
    model = TreeCRF(n_estimators=3, random_state=0, class_weight={True: 2.0, False: 1.0}).fit(frame, **HOW)
    assert model.classes_.dtype == np.bool_
    assert model.predict(frame).dtype == np.bool_
    assert list(model.predict_proba(frame).columns) == ["False", "True"]
    model.save(tmp_path / "m")
    loaded = hedgerow.load(tmp_path / "m")
    assert loaded.class_weight == {True: 2.0, False: 1.0}
    assert loaded.predict(frame).tolist() == model.predict(frame).tolist()
    y = [make([True, False])] * 3
    plain = LinearCRF().fit([["a", "b"]] * 3, y)
    assert plain.predict([["b", "a"]]).tolist() == [[False, True]]
    assert plain.score([["a", "b"]], [make([True, False])]) == 1.0
    with pytest.raises(InputError, match="the label 1 stands beside the label False"):
        plain.score([["a", "b"]], [[1, 0]])


def test_whole_floats_are_integers() -> None:
    model = LinearCRF().fit([["a", "b"]] * 3, [[1.0, 2.0]] * 3)
    assert model.classes_.tolist() == [1, 2]
    assert model.predict([["b", "a"]]).tolist() == [[2, 1]]
    with pytest.raises(InputError, match=r"the label 1\.5 is of type float"):
        LinearCRF().fit([["a", "b"]], [[1.5, 2.0]])


def test_every_frame_of_a_list_has_all_columns() -> None:
    frames = [pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), pd.DataFrame({"a": [1.0]}), pd.DataFrame({"a": [3.0]})]
    with pytest.raises(InputError, match="sequence 1: there is no column 'b', which others have"):
        LinearCRF().fit(frames, [["p", "q"], ["p"], ["q"]])
    model = LinearCRF().fit(frames[1:], [["p"], ["q"]])
    assert len(model.predict(frames)) == 3  # what a model does not know is not read


def test_a_column_that_hardly_repeats_is_named() -> None:
    frame = make_frame().assign(note=[f"note {i}" for i in range(240)])
    with pytest.warns(hedgerow.errors.HedgerowWarning, match="the column 'note' has 240 different values at 240 pos"):
        LinearCRF().fit(frame, **HOW)
    LinearCRF(columns={"note": "categorical"}).fit(frame, **HOW)


def test_errors_hint_and_are_short() -> None:
    model = LinearCRF().fit([["the", "cat"]], [["D", "N"]])
    with pytest.raises(InputError, match=r'If X is one sequence of tokens, wrap it: \[\["the", "cat"\]\]'):
        model.predict(["the", "cat"])
    with pytest.raises(InputError) as error:
        LinearCRF().fit([["the", "cat"]], [make_frame()])
    assert len(str(error.value)) < 600
    assert "\n" not in str(error.value)


def test_one_cell_that_is_no_number_is_named(rng):
    """`read_csv` makes text of a whole column for it; 359 numbers are no categories."""
    frame = pd.DataFrame({"heat": rng.normal(size=40).round(2).astype(str), "state": ["on", "off"] * 20})
    frame.loc[7, "heat"] = "oops"
    with pytest.raises(InputError, match=r"position 7.*'oops' is not a number, as 39 other values of the column are"):
        LinearCRF(window=0).fit(frame, label="state")
    assert LinearCRF(window=0, columns={"heat": "categorical"}).fit(frame, label="state").n_iter_
    digits = frame.assign(heat=[str(i % 5) for i in range(40)])
    assert LinearCRF(window=0).fit(digits, label="state").n_iter_  # all are: text that was meant


@pytest.fixture
def readings(rng):
    return pd.DataFrame(
        {"machine": np.repeat([0, 1], 15), "heat": rng.normal(size=30), "state": ["on", "off", "on"] * 10}
    )


def test_labels_that_are_a_column_are_no_feature(readings):
    model = LinearCRF(window=0).fit(readings, readings["state"], by="machine")
    assert model.feature_names_in_.tolist() == ["heat"]
    assert len(model.predict(readings.drop(columns="state"))) == 30


def test_sequences_are_not_told_apart_by_labels(readings):
    with pytest.raises(InputError, match="by names 'state', the column of labels"):
        LinearCRF(window=0).fit(readings, by=["machine", "state"], label="state")


def test_lengths_cut_a_frame_as_they_cut_an_array(readings):
    flat, y = readings[["heat"]], readings["state"].tolist()
    model = LinearCRF(window=0).fit(flat, y, lengths=[10, 20])
    array = LinearCRF(window=0).fit(flat.to_numpy(), y, lengths=[10, 20])
    np.testing.assert_array_equal(model.weights_, array.weights_)
    with pytest.raises(InputError, match="label is not supported with lengths"):
        LinearCRF(window=0).fit(readings, label="state", lengths=[10, 20])


def test_small_gaps_and_short_words():
    frame = pd.DataFrame({"t": pd.to_timedelta(range(40), unit="us"), "heat": range(40), "state": ["on", "off"] * 20})
    for gap in (timedelta(microseconds=10), np.timedelta64(10, "us"), "5 mins"):
        assert LinearCRF(window=0).fit(frame, label="state", time="t", max_gap=gap).n_sequences_ == 1


@pytest.mark.parametrize("more", [{"constraints_at": "prediction"}, {"repair": True}])
def test_partial_fit_refuses_what_it_does_not_do(more):
    with pytest.raises(InputError, match="is not supported by partial_fit"):
        LinearCRF(constraints="iob2", **more).partial_fit([["a", "b"]], [["O", "I-X"]])


def test_labels_that_a_dataset_does_not_tell():
    from hedgerow.data.readers.token_rows import _labels

    names = ["O", "B-X"]
    assert _labels([0, 1, -1, -100], names, 0) == ["O", "B-X", None, None]
    with pytest.raises(InputError, match="sequence 3, position 1: the label 7 is not one of 0 … 1"):
        _labels([0, 7], names, 3)
