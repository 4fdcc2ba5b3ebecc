"""hedgerow.compat.pycrfsuite beside python-crfsuite itself: the same script with both."""

from __future__ import annotations

import io
from contextlib import redirect_stdout
from typing import Any

import numpy as np
import pycrfsuite as theirs
import pytest

from hedgerow.compat import pycrfsuite as ours
from hedgerow.errors import InputError, ModelFileError

from .corpora import all_marginals, made_corpus

BOTH = [ours, theirs]
ALGORITHMS = ["lbfgs", "l2sgd", "ap", "pa", "arow"]


@pytest.fixture(scope="module")
def corpus():
    return made_corpus()


def trained(package: Any, corpus: Any, path: Any, algorithm: str = "lbfgs", **parameters: Any) -> Any:
    trainer = package.Trainer(algorithm, parameters, verbose=False)
    for items, labels in zip(*corpus):
        trainer.append(items, labels)
    trainer.train(str(path))
    return trainer


@pytest.fixture(scope="module")
def paths(corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for package, name in zip(BOTH, ("ours", "theirs")):
        trained(package, corpus, folder / name, c2=0.1, delta=1e-11, epsilon=1e-9)
    return folder / "ours", folder / "theirs"


# ------------------------------------------------------------------------------------------------ ItemSequence


@pytest.mark.parametrize(
    "sequence",
    [
        [],
        [["a", "b"], {"a", "b"}, ("x",), {"k": 1}.keys()],
        [{"a": "b", "c": 1, "d": True, "e": 0.5, "f": False}, {}],
        [{"p": {"q": "r", "s": {"t": [b"u", "v"]}}, b"k": b"v", "set": {"x"}, "none": []}],
    ],
    ids=["empty", "names", "values", "nested"],
)
def test_item_sequences(sequence):
    found, expected = (package.ItemSequence(sequence) for package in BOTH)
    assert len(found) == len(expected)
    assert repr(found) == repr(expected)
    assert found.items() == expected.items()
    assert ours.ItemSequence(found).items() == ours.ItemSequence(expected).items() == found.items()


def test_an_attribute_that_comes_twice_has_the_sum():
    """CRFsuite adds both, though `items` of python-crfsuite tells the last alone."""
    assert ours.ItemSequence([{"a": "x", "a:x": 2.0}]).items() == [{"a:x": 3.0}]


@pytest.mark.parametrize("sequence", [None, 5, "ab", ["ab"], [5], [{"a": object()}], [{"a": float("nan")}], [[1]]])
def test_what_is_no_sequence_is_refused(sequence):
    """python-crfsuite takes texts letter by letter, and some of these end the process."""
    with pytest.raises(InputError):
        ours.ItemSequence(sequence)


# ------------------------------------------------------------------------------------------------ Tagger


@pytest.mark.parametrize("which", [0, 1], ids=["our file", "their file"])
def test_both_taggers_read_both_files(paths, which):
    with ours.Tagger().open(str(paths[which])) as found, theirs.Tagger().open(str(paths[which])) as expected:
        assert found.labels() == expected.labels()
        for items, labels in zip(*made_corpus(10, seed=1)):
            assert found.tag(items) == expected.tag(items)
            np.testing.assert_allclose(all_marginals(found, items), all_marginals(expected, items), rtol=0, atol=1e-9)
            found.set(ours.ItemSequence(items))
            expected.set(items)
            assert found.tag() == expected.tag()
            expected.set(items)
            assert found.probability(labels) == pytest.approx(expected.probability(labels), rel=1e-9)


def test_both_trainers_find_the_same_model(paths):
    infos = []
    for path in paths:
        with ours.Tagger().open(path) as tagger:
            infos.append(tagger.info())
    for name in ("state_features", "transitions"):
        assert getattr(infos[0], name) == pytest.approx(getattr(infos[1], name), abs=2e-3)
    assert infos[0].labels == infos[1].labels


def test_info_and_dump(paths, tmp_path):
    found, expected = ours.Tagger(), theirs.Tagger()
    found.open(paths[1])
    expected.open(str(paths[1]))
    info, other = found.info(), expected.info()
    assert (info.header, info.labels, info.attributes) == (other.header, other.labels, other.attributes)
    assert info.state_features == pytest.approx(other.state_features, abs=1e-6)
    assert info.transitions == pytest.approx(other.transitions, abs=1e-6)
    for tagger, name in ((found, "ours"), (expected, "theirs")):
        tagger.dump(str(tmp_path / name))
    assert (tmp_path / "ours").read_text() == (tmp_path / "theirs").read_text()
    with redirect_stdout(io.StringIO()) as out:
        found.dump()
    assert out.getvalue() == (tmp_path / "theirs").read_text()


def test_models_in_memory(paths, corpus):
    content = paths[1].read_bytes()
    with ours.Tagger().open_inmemory(content) as tagger:
        assert tagger.tag(corpus[0][0]) == theirs.Tagger().open_inmemory(content).thing.tag(corpus[0][0])
    for bad in (b"", b"lCRFabc", content[:-3]):
        with pytest.raises(ModelFileError, match="the bytes"):
            ours.Tagger().open_inmemory(bad)


def test_a_sequence_without_items(paths):
    tagger = ours.Tagger()
    tagger.open(paths[0])
    assert tagger.tag([]) == []
    assert tagger.probability([]) == tagger.marginal("Z", 0) == 0.0
    assert len(tagger.tag([{}])) == len(tagger.tag([{"unknown": 1.0}])) == 1


def test_a_closed_tagger_says_so(paths):
    tagger = ours.Tagger()
    with tagger.open(paths[0]):
        pass
    for call in (tagger.labels, lambda: tagger.tag([{}]), lambda: tagger.marginal("Z", 0), lambda: tagger.set([])):
        with pytest.raises(ValueError, match="no model"):
            call()
    for method in (tagger.info, tagger.dump):
        with pytest.raises(RuntimeError, match="closed"):
            method()
    with pytest.raises(FileNotFoundError):
        tagger.open(paths[0].parent / "none")


def test_what_a_tagger_is_asked_wrongly(paths):
    tagger = ours.Tagger()
    tagger.open(paths[0])
    tagger.set([{"word": "w1"}] * 2)
    for call, match in (
        (lambda: tagger.probability(["Z"]), "2 items, and there are 1 labels"),
        (lambda: tagger.probability(["Z", "Q"]), "'Q' is not a label"),
        (lambda: tagger.marginal("Q", 0), "'Q' is not a label"),
        (lambda: tagger.marginal("Z", 2), "the position is 2"),
        (lambda: tagger.marginal("Z", -1), "the position is -1"),
    ):
        with pytest.raises(InputError, match=match):
            call()


# ------------------------------------------------------------------------------------------------ Trainer


@pytest.mark.parametrize("algorithm", [*ALGORITHMS, "averaged-perceptron", "passive-aggressive", "LBFGS"])
def test_parameters(algorithm):
    found, expected = (package.Trainer(algorithm) for package in BOTH)
    assert found.params() == expected.params()
    assert found.get_params() == expected.get_params()
    for trainer in (found, expected):
        trainer.set_params({"feature.minfreq": 2, "feature.possible_states": True, "max_iterations": "7"})
    assert found.get_params() == expected.get_params()
    assert all(found.help(name) for name in found.params())


def test_wrong_parameters():
    trainer = ours.Trainer("l2sgd")
    for call, match in (
        (lambda: trainer.select("foo"), "algorithm='foo'"),
        (lambda: trainer.select("lbfgs", "tree"), "type='tree'"),
        (lambda: trainer.set("c1", 1.0), "no parameter 'c1'"),
        (lambda: trainer.get("foo"), "no parameter 'foo'"),
        (lambda: trainer.help("c1"), "no parameter 'c1'"),
        (lambda: trainer.set("c2", "much"), "c2 is 'much'"),
    ):
        with pytest.raises(InputError, match=match):
            call()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_trains(corpus, tmp_path, algorithm):
    """test_face compares them with those of CRFsuite."""
    trained(ours, corpus, tmp_path / "model", algorithm, max_iterations=30)
    with theirs.Tagger().open(str(tmp_path / "model")) as tagger:
        pairs = [(a, b) for x, y in zip(*corpus) for a, b in zip(tagger.tag(x), y)]
    assert np.mean([a == b for a, b in pairs]) > 0.7


def test_parameters_reach_training(corpus, tmp_path):
    for parameters in ({"feature.possible_transitions": True}, {"c1": 2.0}, {"feature.minfreq": 4.0}):
        for package, name in zip(BOTH, ("ours", "theirs")):
            trained(package, corpus, tmp_path / name, **parameters, delta=1e-11, epsilon=1e-9)
        found, expected = (ours.Tagger().open(tmp_path / name).thing.info() for name in ("ours", "theirs"))
        assert found.transitions.keys() == expected.transitions.keys()
        if "feature.minfreq" not in parameters:  # which counts values there, and how often here
            assert found.state_features.keys() == expected.state_features.keys()


def test_sequences_are_checked_and_cleared(tmp_path):
    trainer = ours.Trainer(verbose=False)
    with pytest.raises(InputError, match="1 items, and there are 2 labels"):
        trainer.append([["a"]], ["A", "B"])
    with pytest.raises(InputError, match="position 0: the label 1 is of type int"):
        trainer.append([["a"]], [1])
    trainer.append([["a"]], [b"A"])
    trainer.clear()
    with pytest.raises(InputError, match="no sequences"):
        trainer.train(str(tmp_path / "model"))
    assert not (tmp_path / "model").exists()
    trainer.append([["a"], ["b"]], ["A", "B"])
    with pytest.raises(InputError, match="no such folder"):
        trainer.train(str(tmp_path / "none" / "model"))
    trainer.train("")  # no file


def test_a_group_is_held_out(corpus, tmp_path):
    logs = []
    for package in BOTH:
        trainer = package.Trainer(verbose=False)
        for i, (items, labels) in enumerate(zip(*corpus)):
            trainer.append(items, labels, i % 4)
        trainer.train(str(tmp_path / "model"), holdout=3)
        logs.append(trainer.logparser.last_iteration)
    assert logs[0]["item_accuracy"].denominator > 1
    for name in ("item_accuracy_float", "instance_accuracy_float"):
        assert logs[0][name] == pytest.approx(logs[1][name], abs=0.05)
    assert logs[0]["loss"] == pytest.approx(logs[1]["loss"], rel=1e-3)


# ------------------------------------------------------------------------------------------------ messages


def test_events_come_as_in_python_crfsuite(corpus, tmp_path):
    """The same hooks in the same order; python-crfsuite tells of the progress of feature generation, too."""

    def listener(package: Any) -> Any:
        class Listener(package.Trainer):  # type: ignore[misc]
            def __init__(self) -> None:  # does not call that of its base
                self.events: list[str] = []

        for name in ("start", "featgen_end", "prepared", "optimization_end", "end"):
            setattr(Listener, f"on_{name}", lambda self, log, name=name: self.events.append(name))
        Listener.on_featgen_progress = lambda self, log, percent: None
        Listener.on_iteration = lambda self, log, info: self.events.append(f"iteration {info['num']}")
        return Listener()

    events = []
    for package in BOTH:
        trainer = listener(package)
        trainer.verbose = True
        trainer.set("max_iterations", 2)
        for items, labels in zip(*corpus):
            trainer.append(items, labels)
        trainer.train(str(tmp_path / "model"))
        events.append(trainer.events)
        assert [step["num"] for step in trainer.logparser.iterations] == [1, 2]
        assert trainer.logparser.last_iteration["loss"] > 0
    assert events[0] == events[1]


def test_messages_can_be_taken_over(tmp_path):
    class Quiet(ours.Trainer):
        def __init__(self) -> None:
            self.messages: list[str] = []

        def message(self, message: str) -> None:
            self.messages.append(message)

    trainer = Quiet()
    trainer.append([["a"], ["b"]], ["A", "B"])
    trainer.train(str(tmp_path / "model"))
    assert "type: CRF1d\n" in trainer.messages
    parser = theirs._pycrfsuite._logparser.TrainLogParser()
    events = [parser.feed(message) for message in trainer.messages]  # their parser reads our log
    assert [event for event in events if event][-1] == "end"
    assert parser.last_iteration["loss"] > 0


def test_a_verbose_trainer_prints(tmp_path, capsys):
    trainer = ours.Trainer()
    trainer.append([["a"], ["b"]], ["A", "B"])
    trainer.train(str(tmp_path / "model"))
    assert "***** Iteration #1 *****" in capsys.readouterr().out
