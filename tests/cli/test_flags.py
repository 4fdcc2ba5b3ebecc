"""Errors of the library in the words of the command line."""

from __future__ import annotations

import pytest

from hedgerow.cli import evaluate, explain, tag, train, train_options
from hedgerow.cli.flags import flags_of, in_flags, translate
from hedgerow.cli.models import MODELS
from hedgerow.errors import InputError

TREE = flags_of(train.command, train_options.parameter_options("tree"))


@pytest.mark.parametrize(
    ("python", "words"),
    [
        ("max_leaves is 1. Give a whole number ≥ 2.", "--leaves is 1. Give a whole number ≥ 2."),
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
        ("column 'max_leaves': 'edges=3' is not a number", "column 'max_leaves': 'edges=3' is not a number"),
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


def test_other_commands():
    assert translate("scheme is 'odd'", flags_of(evaluate.command)) == "--scheme is 'odd'"
    assert translate("by is 'odd'", flags_of(explain.command)) == "--by is 'odd'"
