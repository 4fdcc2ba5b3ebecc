"""Errors of the library in the words of the command line."""

from __future__ import annotations

import warnings

import pytest

from hedgerow.cli import evaluate, explain, tag, train, train_options
from hedgerow.cli.flags import flags_of, in_flags, translate
from hedgerow.cli.models import MODELS
from hedgerow.errors import HedgerowWarning, InputError

TREE = flags_of(train.command, train_options.parameter_options("tree"))


@pytest.mark.parametrize(
    ("python", "words"),
    [
        ("max_leaf_nodes is 1. Give a whole number ≥ 2.", "--leaves is 1. Give a whole number ≥ 2."),
        ("n_estimators is 3, raise n_estimators", "--trees is 3, raise --trees"),
        ("Set early_stopping=False, or give X_val and y_val.", "Set --dev 0, or give --dev FILE."),
        ("the metric 'span_f1' cannot score y_val: odd", "the metric 'span_f1' cannot score --dev: odd"),
        ("Use edges='shared', or fewer positions.", "Use --edges shared, or fewer positions."),
        ("Use learning_rate=0.5.", "Use --learning-rate 0.5."),
        ("leave it out with columns=.", "leave it out with --columns."),
        ("Give format=, or a file", "Give --format, or a file"),
        ("x.csv, line 3: window is -1", "x.csv, line 3: --window is -1"),
        ("n_jobs=0 has no meaning", "--jobs 0 has no meaning"),
        # What is not a parameter stays.
        ("the constraints forbid edges of each position", "the constraints forbid edges of each position"),
        ("column 'max_leaf_nodes': 'edges=3' is not a number", "column 'max_leaf_nodes': 'edges=3' is not a number"),
        ("of the shape 'edges' is odd", "of the shape 'edges' is odd"),
        ("no_such_parameter is 3", "no_such_parameter is 3"),
        ("the transitions is odd", "the transitions is odd"),
    ],
)  # fmt: skip
def test_parameters_become_flags(python, words):
    assert translate(python, TREE) == words


@pytest.mark.parametrize("model", MODELS)
def test_every_option_that_is_called_otherwise_has_its_flag(model):
    flags = flags_of(train.command, train_options.parameter_options(model))
    given = train_options.given_parameters(model, **dict.fromkeys(MODELS[model].options, 1))
    known = {*flags_of(train.command).values()}
    assert all(flags[parameter] in known for parameter in (*given, "n_jobs", "random_state", "validation_fraction"))


def test_an_error_keeps_its_place():
    with (
        pytest.raises(InputError, match=r"^train.csv, line 3: --k-best is 0$") as caught,
        in_flags(tag.command, {"k": "k_best"}),
    ):
        raise InputError("k is 0", path="train.csv", line=3)
    assert (caught.value.path, caught.value.line) == ("train.csv", 3)


def test_a_warning_is_one_line_for_the_user(capsys):
    with warnings.catch_warnings(), in_flags(train.command, train_options.parameter_options("tree")):
        warnings.simplefilter("always")
        warnings.warn("training is stuck; raise n_estimators, or use edges='shared'", HedgerowWarning, stacklevel=1)
    assert capsys.readouterr().err == "hedgerow: training is stuck; raise --trees, or use --edges shared\n"


def test_a_warning_for_programmers_stays_as_it_is():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        own = warnings.showwarning
        with in_flags(train.command):
            warnings.warn("max_leaf_nodes is old", DeprecationWarning, stacklevel=1)
        assert warnings.showwarning is own
    assert [str(one.message) for one in caught] == ["max_leaf_nodes is old"]


def test_other_commands():
    assert translate("scheme is 'odd'", flags_of(evaluate.command)) == "--scheme is 'odd'"
    assert translate("by is 'odd'", flags_of(explain.command)) == "--by is 'odd'"
