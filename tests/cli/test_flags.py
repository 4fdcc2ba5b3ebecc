"""Errors of the library in the words of the command line."""

from __future__ import annotations

import copy
import pickle
import warnings

import pytest

from hedgerow.cli import compare, evaluate, explain, lattice, tag, train, train_options
from hedgerow.cli.flags import flags_of, in_flags, with_flags
from hedgerow.cli.models import MODELS
from hedgerow.errors import HedgerowWarning, InputError, Message, warn

TREE = flags_of(train.command, train_options.parameter_options("tree"))


@pytest.mark.parametrize(
    ("marked", "python", "words"),
    [
        ("⟦max_leaf_nodes⟧ is 1", "max_leaf_nodes is 1", "--leaves is 1"),
        ("⟦n_estimators⟧ 3: ⟦n_estimators⟧", "n_estimators 3: n_estimators", "--trees 3: --trees"),
        ("Set ⟦early_stopping=False⟧.", "Set early_stopping=False.", "Set --dev 0."),
        ("Give ⟦X_val and y_val⟧.", "Give X_val and y_val.", "Give --dev FILE."),
        ("cannot score ⟦y_val⟧: odd", "cannot score y_val: odd", "cannot score --dev: odd"),
        ("Use ⟦edges='shared'⟧, or less.", "Use edges='shared', or less.", "Use --edges shared, or less."),
        ("Use ⟦learning_rate=0.5⟧.", "Use learning_rate=0.5.", "Use --learning-rate 0.5."),
        ("leave it out with ⟦columns=⟧.", "leave it out with columns=.", "leave it out with --columns."),
        ("⟦n_jobs=0⟧ is not supported", "n_jobs=0 is not supported", "--jobs 0 is not supported"),
        ('⟦kinds={"…": "categorical"}⟧', 'kinds={"…": "categorical"}', "--kinds …=categorical"),
        ("Known: a, b⟦; or give a function⟧.", "Known: a, b; or give a function.", "Known: a, b."),
        # A parameter without an option keeps its name, and what is not marked is no parameter.
        ("⟦smoothing⟧ is -1", "smoothing is -1", "smoothing is -1"),
        ("edges is odd, order=3 too", "edges is odd, order=3 too", "edges is odd, order=3 too"),
    ],
)  # fmt: skip
def test_parameters_become_flags(marked, python, words):
    assert Message(marked) == python
    assert with_flags(Message(marked), TREE) == words
    assert with_flags(python, TREE) == python


@pytest.mark.parametrize("model", MODELS)
def test_every_option_that_is_called_otherwise_has_its_flag(model):
    flags = flags_of(train.command, train_options.parameter_options(model))
    given = train_options.given_parameters(model, **dict.fromkeys(MODELS[model].options, 1))
    known = {*flags_of(train.command).values()}
    assert all(flags[parameter] in known for parameter in (*given, "n_jobs", "random_state", "validation_fraction"))


def test_an_error_keeps_its_place():
    with (
        pytest.raises(InputError, match=r"^train.csv, line 3: --k-best is 0. Give --k-best 1.$") as caught,
        in_flags(tag.command, {"k": "k_best"}),
    ):
        raise InputError("⟦k⟧ is 0", hint="Give ⟦k=1⟧.", path="train.csv", line=3)
    assert (caught.value.path, caught.value.line, caught.value.parameter) == ("train.csv", 3, "k")


def test_an_error_knows_its_parameter():
    assert InputError("⟦l2⟧ is -1").parameter == "l2"
    assert InputError("⟦edges='joint'⟧ needs less ⟦order⟧").parameter == "edges"
    assert InputError("too many arcs", hint="Use a lower ⟦order⟧.", parameter="order").parameter == "order"
    assert InputError("X is empty", hint="Use a lower ⟦order⟧.").parameter is None


@pytest.mark.parametrize("copied", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))], ids=["copy", "pickle"])
def test_a_copy_of_an_error_is_the_same(copied):
    error = InputError("⟦l2⟧ is -1", hint="Give ⟦l2=1⟧.", sequence=3)
    other = copied(error)
    assert (str(other), other.parameter, other.sequence) == (str(error), "l2", 3)
    assert with_flags(other.args[0], TREE) == "sequence 3: --l2 is -1. Give --l2 1."


def test_a_warning_is_one_line_for_the_user(capsys):
    with warnings.catch_warnings(), in_flags(train.command, train_options.parameter_options("tree")):
        warnings.simplefilter("always")
        warn("training is stuck; raise ⟦n_estimators⟧, or use ⟦edges='shared'⟧", HedgerowWarning)
        warnings.warn("another one", UserWarning, stacklevel=1)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["hedgerow: training is stuck; raise --trees, or use --edges shared", "hedgerow: another one"]


def test_a_warning_in_python_has_no_marks():
    with pytest.warns(HedgerowWarning, match=r"^raise max_iter$") as caught:
        warn("raise ⟦max_iter⟧")
    assert caught[0].filename == __file__


def test_a_warning_for_programmers_stays_as_it_is():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        own = warnings.showwarning
        with in_flags(train.command):
            warnings.warn("max_leaf_nodes is old", DeprecationWarning, stacklevel=1)
        assert warnings.showwarning is own
    assert [str(one.message) for one in caught] == ["max_leaf_nodes is old"]


def test_other_commands():
    assert with_flags(Message("⟦scheme⟧ is 'odd'"), flags_of(evaluate.command)) == "--scheme is 'odd'"
    assert with_flags(Message("⟦by⟧ is 'odd'"), flags_of(explain.command)) == "--by is 'odd'"
    held_out = Message("Set ⟦early_stopping=False⟧, or give ⟦X_val and y_val⟧.")
    for command in (compare.command, lattice.train_command):  # which have no --dev
        assert with_flags(held_out, flags_of(command)) == held_out
