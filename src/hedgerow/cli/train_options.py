"""The options of `hedgerow train`, some of which other commands have too: their names, and what their text means."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

from typer import Argument, Option

from hedgerow.cli.inputs import Reading
from hedgerow.cli.models import MODELS, find_model, listed, parameters_of
from hedgerow.errors import InputError

# What the options are called and what --help says of them.
Data = Annotated[list[str], Argument(metavar="DATA", help="Labelled files; - is standard input.")]
ModelOut = Annotated[str, Option("--model-out", "-o", metavar="FILE", help="Where the model goes.")]
_MODELS = "auto, linear, tree, hmm, memm, sw, rsw, … \\[auto]"
Model = Annotated[str | None, Option("--model", "-m", metavar="NAME", show_default=False, help=_MODELS)]
Time = Annotated[float | None, Option(metavar="SECONDS", help="Auto: how long to look for a model. \\[60]")]
Dev = Annotated[str | None, Option(metavar="FILE", help="Choose or stop early by these; or by a share.")]
Template = Annotated[str | None, Option(metavar="FILE", help="A CRF++ template that makes the features.")]
Format = Annotated[str | None, Option(metavar="NAME", help="conll, csv, tsv, parquet, jsonl, crfsuite.")]
Columns = Annotated[str | None, Option(metavar="A,B,…", help="Names of CoNLL columns; of a table, those to use.")]
Separator = Annotated[
    str | None, Option(metavar="TEXT", help="Between CoNLL columns, such as '\\t'. \\[spaces and tabs]")
]
Label = Annotated[str | None, Option(metavar="NAME", help="The label's column, or its index. \\[last; 'label']")]
By = Annotated[str | None, Option(metavar="A,B,…", help="The columns that tell a table's sequences apart.")]
Kinds = Annotated[str | None, Option(metavar="A=KIND,…", help="Table columns: categorical, numeric, boolean.")]
Window = Annotated[str | None, Option(metavar="N", help="Positions seen each side; 1,2 for before, after. \\[2]")]
Order = Annotated[int | None, Option(metavar="N", help="How many labels before it a label depends on. \\[1]")]
Objective = Annotated[str | None, Option(metavar="NAME", help="What to minimise: log_likelihood, labelwise, margin, …")]
Trainer = Annotated[str | None, Option(metavar="NAME", help="Linear: lbfgs, adagrad, smd, … \\[auto]")]
L2 = Annotated[float | None, Option(metavar="X", help="Linear: weight of the penalty ‖w‖². \\[1]")]
L1 = Annotated[float | None, Option(metavar="X", help="Linear: weight of the penalty ‖w‖₁. \\[0]")]
MaxIter = Annotated[int | None, Option(metavar="N", help="Linear: the most iterations, or passes. \\[500; 50]")]
Trees = Annotated[int | None, Option(metavar="N", help="Tree: the most trees of a label. \\[500]")]
Leaves = Annotated[int | None, Option(metavar="N", help="Tree: the most leaves of a tree. \\[32]")]
L2Regularization = Annotated[float | None, Option(metavar="X", help="Tree: λ, which makes leaves small. \\[20]")]
LearningRate = Annotated[str | None, Option(metavar="X", help="Tree: a number, or line_search. \\[0.3]")]
# Not in --help, which fits a screen: --set edges=shared says the same.
Edges = Annotated[str | None, Option(metavar="NAME", hidden=True, help="Tree: joint, or shared for many labels.")]
MinFrequency = Annotated[float | None, Option(metavar="N", help="Leave out rarer features.")]
Missing = Annotated[str | None, Option(metavar="NAME", help="Gaps: impute, indicator; tree: weighting, …")]
Transitions = Annotated[str | None, Option(metavar="NAME", help="all, forbid_unseen; linear: observed. \\[all]")]
Constraints = Annotated[str | None, Option(metavar="NAME", help="Legal label order: iob1, iob2, bioes.")]
Set = Annotated[list[str] | None, Option("--set", metavar="NAME=X", help="Any other parameter of the model.")]
Scoring = Annotated[str | None, Option(metavar="NAME", help="To stop early by: accuracy, span_f1, log_likelihood, …")]
ModelFile = Annotated[str, Argument(metavar="MODEL", help="A model file.")]
Scheme = Annotated[
    str | None, Option(metavar="NAME", help="Spans: auto, iob1, iob2, iobes, bilou. \\[if labels look so]")
]
AsJson = Annotated[bool, Option("--json", help="Print JSON.")]
Jobs = Annotated[int, Option("--jobs", "-j", metavar="N", help="Threads; -1 is all cores.")]
Seed = Annotated[int, Option(metavar="N", help="Chooses what is held out, and all else.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Print errors only.")]

# What the options that all models have set, where it is not called the same.
_COMMON = {"n_jobs": "jobs", "random_state": "seed", "validation_fraction": "dev"}


def parameter_options(model: str) -> dict[str, str]:
    """Parameter → option, of a model; where both are called the same it may be left out."""
    names = MODELS[model].options if model in MODELS else {}
    return _COMMON | {parameter: option for option, parameter in names.items()}


def given_parameters(model: str, **options: Any) -> dict[str, Any]:
    """The parameters that the options given (those that are not None) set; an error for one of another model."""
    names = find_model(model).options
    given = {}
    for option, value in options.items():
        if value is not None:
            if option not in names:
                refuse_option(option, model, [name for name, other in MODELS.items() if option in other.options])
            given[names[option]] = value
    return given


def named_model(
    model: str | None, settings: Sequence[str], dev: str | None, *, quiet: bool, **options: Any
) -> tuple[str, dict[str, Any]]:
    """The model and its parameters. Where none is named, one is looked for, unless something was given that one model
    alone has: then that is the linear one, and it is said."""
    of_one: list[str] = []
    if model is None:
        known = parameters_of(find_model("auto").load())
        own = MODELS["auto"].options
        of_one += [f"--{name.replace('_', '-')}" for name, x in options.items() if x is not None and name not in own]
        of_one += [f"--set {text}" for text in settings if text.partition("=")[0].strip() not in known]
        of_one += [] if dev is None or os.path.exists(dev) else [f"--dev {dev}"]
        model = "linear" if of_one else "auto"
    parameters = given_parameters(model, **options)
    if of_one and not quiet:
        what = f"hedgerow: {of_one[0]} is for one model, so this is --model linear; none is looked for"
        print(what, file=sys.stderr)
    return model, parameters


def refuse_option(option: str, model: str, owners: list[str]) -> NoReturn:
    """Raise the error for an option that other models have."""
    what = f"--{option.replace('_', '-')} is for --model {listed(owners)}"
    raise InputError(what, hint=f"This one is {model}.")


def reading(
    template: str | None, format: str | None, columns: str | None, separator: str | None, label: str | None,
    by: str | None, kinds: str | None,
) -> Reading:  # fmt: skip
    """The options that say how files are read."""
    pairs = [part.partition("=") for part in names(kinds)]
    for name, equals, _ in pairs:
        if not equals:
            raise InputError(f"--kinds {name!r} has no kind", hint="Write --kinds size=numeric,code=categorical.")
    return {
        "template": template,
        "format": format,
        "columns": names(columns),
        "separator": None if separator is None else separator.replace("\\t", "\t"),
        "label": label,
        "by": names(by),
        "kinds": {name.strip(): kind.strip() for name, _, kind in pairs},
    }


def names(text: str | None) -> list[str]:
    return [] if text is None else [name.strip() for name in text.split(",")]


def number_or_name(text: str | None) -> float | str | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def window(text: str | None) -> int | tuple[int, int] | None:
    if text is None:
        return None
    try:
        parts = [int(part) for part in text.split(",")]
    except ValueError:
        parts = []
    if len(parts) not in (1, 2):
        raise InputError(f"--window is {text!r}", hint="Give a number of positions, or two: before,after.")
    return parts[0] if len(parts) == 1 else (parts[0], parts[1])
