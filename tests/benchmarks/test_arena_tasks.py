"""The tasks of the arena: what is read, and that nothing is chosen on a test part."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.arena.tasks import TASKS, Asked, Part, Task, inside_train, tiny
from benchmarks.arena.tasks.chorales import load_chorales
from benchmarks.arena.tasks.homes import MINUTES, load_home
from benchmarks.arena.tasks.task import SEEDS, cut_sequences, end_to_end, in_turn, join
from hedgerow.data.sequences import Sequences

MADE = [name for name in TASKS.loaders if "made" in name]


@pytest.mark.parametrize("name", TASKS.loaders)
def test_inside_train_sees_no_sequence_that_is_tested(name, request):
    folder = None if name in MADE else request.getfixturevalue("data_folder")
    for seed in (0, 3):
        task = TASKS.loaders[name](Asked(folder, seed, True))
        tested = np.concatenate([part.test for part in task.parts])
        assert all(not set(part.train) & set(part.test) for part in task.parts)
        assert len(tested) == len(set(tested.tolist()))
        inside = inside_train(task, seed)
        assert all(not set(part.train) & set(part.test) for part in inside.parts)
        if task.block:
            assert inside.y[0] + inside.y[1] == task.y[task.parts[0].train[0]]
        else:
            avoid = tested if task.tested is None else np.union1d(tested, task.tested)
            assert not {id(task.y[i]) for i in avoid} & {id(labels) for labels in inside.y}
            assert {id(labels) for labels in inside.y} <= {id(task.y[i]) for part in task.parts for i in part.train}


def test_what_another_seed_tests_is_not_for_choosing():
    y = [[str(i)] for i in range(8)]
    task = Task([[str(i)] for i in range(8)], y, [Part(np.arange(4), np.array([4, 5]))], tested=np.array([1, 4, 5]))
    inside = inside_train(task, 0)
    assert {label for labels in inside.y for label in labels} == {"0", "2", "3"}


@pytest.mark.data
def test_words_that_any_seed_tests_are_never_inside(data_folder):
    tasks = [TASKS.loaders["stress"](Asked(data_folder, seed, False)) for seed in range(SEEDS)]
    tested = {"".join(task.X[i]) for task in tasks for i in task.parts[0].test}
    inside = inside_train(tasks[2], 2)
    # Words that are spelt alike have two entries; those are not the same sequence.
    assert len({"".join(word) for word in inside.X} & tested) <= 5
    assert len(inside.X) > 700


@pytest.mark.data
@pytest.mark.parametrize("name", ["home A", "home B", "lines of papers", "heads of papers"])
def test_sequences_tested_in_turn_leave_others_to_choose_by(data_folder, name):
    task = TASKS.loaders[name](Asked(data_folder, 0, False))
    tested = np.sort(np.concatenate([part.test for part in task.parts]))
    assert tested.tolist() == list(range(1, len(task.y), 2))
    assert all(len(part.train) + len(part.test) == len(task.y) for part in task.parts)
    assert len(inside_train(task, 0).y) == len(task.y) - len(tested)


@pytest.mark.data
def test_the_fixed_comparisons(data_folder):
    def sizes(name):
        task = TASKS.loaders[name](Asked(data_folder, 0, False))
        part = task.parts[0]
        labels = {label for i in part.train for label in task.y[i]}
        return len(part.train), len(part.test), len(labels), task.window

    assert sizes("letters") == (626, 6251, 26, 0)
    assert sizes("chorales") == (40, 20, 91, 1)
    assert sizes("protein") == (111, 17, 3, 5)
    assert sizes("hyphenation") == (1951, 908, 2, 0)
    assert sizes("stress") == (1000, 1000, 5, 3)
    assert sizes("pairs") == (1000, 1000, 125, 3)


def test_folds_are_drawn_by_the_seed():
    parts = in_turn(21, 3, seed=0)
    assert sorted(np.concatenate([part.test for part in parts]).tolist()) == list(range(1, 21, 2))
    assert any((a.test.tolist() != b.test.tolist()) for a, b in zip(parts, in_turn(21, 3, seed=1)))


def test_a_recording_is_cut_in_time():
    X = [list("abcdefgh"), list("xyz")]
    y = [list("AABBCCDD"), list("XYZ")]
    inside = inside_train(Task(X, y, [Part(np.array([0]), np.array([1]))]), 0)
    assert [list("abcdef"), list("gh")] == inside.X
    assert inside.y == [list("AABBCC"), list("DD")]
    assert [part.test.tolist() for part in inside.parts] == [[1]]


def test_data_that_are_not_there_are_said(tmp_path):
    with pytest.raises(FileNotFoundError, match="HEDGEROW_DATA is not set"):
        TASKS.loaders["protein"](Asked(None, 0, True))
    with pytest.raises(FileNotFoundError, match="no folder protein"):
        TASKS.loaders["protein"](Asked(tmp_path, 0, True))


def test_containers_are_cut_and_joined():
    X = Sequences({"a": np.arange(5.0)}, np.array([0, 2, 5]), {"a": "numeric"})
    assert cut_sequences(X, [(1, 1, 3), (0, 0, 1)]).columns["a"].tolist() == [3.0, 4.0, 0.0]
    both = join(X[[1]], X[[0]])
    assert both.columns["a"].tolist() == [2.0, 3.0, 4.0, 0.0, 1.0]
    assert both.offsets.tolist() == [0, 3, 5]
    one, labels = end_to_end(X, [["u", "v"], ["w", "x", "y"]], np.array([1, 0]))
    assert one.offsets.tolist() == [0, 5]
    assert labels == ["w", "x", "y", "u", "v"]


def test_the_slice_to_compile_on_has_changes_of_labels():
    y = [["a"] * 50 + ["b"] * 50, ["a"] * 3]
    X, labels = tiny([list(range(100)), list(range(3))], y)
    assert len(X) == len(labels) == 16
    assert set(labels[0]) == {"a", "b"}
    assert [len(row) for row in X] == [len(row) for row in labels]


def test_minutes_of_a_home(tmp_path):
    (tmp_path / "houseA-as.txt").write_text("25-Feb-2008 00:01:30\t25-Feb-2008 00:03:10\t10\n")
    (tmp_path / "houseA-ss.txt").write_text(
        "25-Feb-2008 00:01:10\t25-Feb-2008 00:02:10\t7\t\n25-Feb-2008 00:04:00\t25-Feb-2008 00:09:59\t3\t\n"
    )
    X, y = load_home(tmp_path, "A")
    assert y[0][:6] == ["none", "go to bed", "go to bed", "go to bed", "none", "none"]
    assert len(y) == 1
    assert len(y[0]) == MINUTES
    columns = X.columns
    assert np.flatnonzero(columns["change 7"]).tolist() == [1, 2]
    assert np.flatnonzero(columns["change 3"]).tolist() == [4, 9]
    assert np.flatnonzero(columns["last 7"]).tolist() == [1, 2, 3]
    assert np.flatnonzero(columns["last 3"]).tolist() == list(range(4, MINUTES))


def test_chorales_are_cut_by_their_names(tmp_path):
    head = "Choral_ID,Event_number," + ",".join(f"PC{i}" for i in range(1, 13)) + ",Bass,Meter,Chord\n"
    flags = "YES," + " NO," * 11
    lines = [f"a,1,{flags}F,3, F_M\n", f"a,2,{flags}E,5, C_M\n", f"b,1,{flags}C,1, C_M\n"]
    (tmp_path / "chorales.csv").write_text(head + "".join(lines))
    X, y = load_chorales(tmp_path)
    assert y == [["F_M", "C_M"], ["C_M"]]
    assert X.columns["PC1"].all()
    assert not X.columns["PC2"].any()
    assert X.columns["bass"].tolist() == ["F", "E", "C"]
