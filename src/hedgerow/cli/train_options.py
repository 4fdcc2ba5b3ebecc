"""Options that several commands have, and what the text of those of `hedgerow train` means."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

from typer import Argument, Option

from hedgerow.cli.inputs import STANDARD, Reading
from hedgerow.cli.models import MODELS, find_model, listed, parameters_of
from hedgerow.errors import InputError


def option(metavar: str, help: str, *names: str, **more: Any) -> Any:
    """An option of a command, as --help has it. It is called as its parameter is, where no names are given."""
    return Option(*names, metavar=metavar, help=help, **more)


def file(metavar: str, help: str) -> Any:
    """A file, or several, that must be there. If not, that is said before anything slow is imported."""

    def check(given: Any) -> Any:
        for path in [given] if isinstance(given, str) else given or ():
            if path != STANDARD:
                os.stat(path)
        return given

    return Argument(metavar=metavar, help=help, callback=check)


Data = Annotated[list[str], file("DATA", "Labelled files; - is standard input.")]
Template = Annotated[str | None, option("FILE", "A CRF++ template that makes the features.")]
Format = Annotated[str | None, option("NAME", "conll, csv, tsv, parquet, jsonl, crfsuite.")]
Columns = Annotated[str | None, option("A,B,…", "Names of CoNLL columns; of a table, those to use.")]
Separator = Annotated[str | None, option("TEXT", "Between CoNLL columns, such as '\\t'. \\[spaces and tabs]")]
Label = Annotated[str | None, option("NAME", "The label's column, or its index. \\[last; 'label']")]
By = Annotated[str | None, option("A,B,…", "The columns that tell a table's sequences apart. \\[one]")]
Time = Annotated[str | None, option("NAME", "A table's times, to sort by; --max-gap 5min cuts.")]
MaxGap = Annotated[str | None, option("X", "Cut a sequence where more time passes: 5min, 2h.", hidden=True)]
TimeColumns = Annotated[str | None, option("A,B,…", "Features of the time: elapsed, hour, weekday.", hidden=True)]
Encoding = Annotated[str | None, option("NAME", "Of the files, such as latin-1. \\[utf-8]", hidden=True)]
Kinds = Annotated[str | None, option("A=KIND,…", "Table columns: categorical, numeric, boolean.")]
Window = Annotated[str | None, option("N", "Positions seen each side; 1,2: before, after. \\[auto]")]
Set = Annotated[list[str] | None, option("NAME=X", "Any other parameter of the model.", "--set")]
ModelFile = Annotated[str, file("MODEL", "A model file.")]
Scheme = Annotated[str | None, option("NAME", "Spans: auto, iob1, iob2, iobes, bilou. \\[if labels look so]")]
AsJson = Annotated[bool, Option("--json", help="Print JSON.")]
Jobs = Annotated[int, option("N", "Threads; -1 is all cores.", "--jobs", "-j")]
Seed = Annotated[int, option("N", "Chooses what is held out, and all else.")]
Checkpoint = Annotated[
    str | None, option("FILE", "Keep training in this file, to go on from it after a kill.", hidden=True)
]
Resume = Annotated[bool, Option("--resume", help="Go on from the checkpoint, if it is there.", hidden=True)]
Engine = Annotated[str | None, option("NAME", "dask: worker processes train; for large Parquet files.", hidden=True)]
Workers = Annotated[int | None, option("N", "Dask: how many worker processes. \\[2]", hidden=True, min=1)]
Memory = Annotated[str | None, option("SIZE", "Dask: of all workers together, such as 4GB.", hidden=True)]
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
    from hedgerow.data.words import word_kind

    of_one: list[str] = []
    if model is None:
        known = parameters_of(find_model("auto").load())
        own = MODELS["auto"].options
        of_one += [f"--features {kind}"] if (kind := word_kind(options.get("features"))) else []
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
    by: str | None, kinds: str | None, time: str | None = None, max_gap: str | None = None,
    time_columns: str | None = None, encoding: str | None = None,
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
        "time": time,
        "max_gap": max_gap,
        "time_columns": names(time_columns),
        "encoding": encoding,
    }


def names(text: str | None) -> list[str]:
    return [] if text is None else [name.strip() for name in text.split(",")]


def features(text: str | None) -> list[str] | str | None:
    return text if text is None or text == "auto" else names(text)


def number_or_name(text: str | None) -> float | str | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return text


def window(text: str | None) -> int | tuple[int, int] | str | None:
    if text is None or text == "auto":
        return text
    try:
        parts = [int(part) for part in text.split(",")]
    except ValueError:
        parts = []
    if len(parts) not in (1, 2):
        raise InputError(f"--window is {text!r}", hint="Give a number of positions, two (before,after), or auto.")
    return parts[0] if len(parts) == 1 else (parts[0], parts[1])
