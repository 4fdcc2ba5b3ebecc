"""`hedgerow train`: labelled files in, a model file out."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli.inputs import TABLES, Input, check_format
from hedgerow.errors import InputError

if TYPE_CHECKING:
    from hedgerow.cli.recipe import Recipe
    from hedgerow.legend import AnyArray
    from hedgerow.models.linear_crf import LinearCRF

INTERRUPTED = 130


# What the options are called and what --help says of them.
_Data = Annotated[list[str], typer.Argument(metavar="DATA", help="Labelled files; - is standard input.")]
_ModelOut = Annotated[str, typer.Option("--model-out", "-o", metavar="FILE", help="Where the model goes.")]
_Dev = Annotated[str | None, typer.Option(metavar="FILE", help="Stop early by these, or by a share such as 0.1.")]
_Template = Annotated[str | None, typer.Option(metavar="FILE", help="A CRF++ template that makes the features.")]
_Format = Annotated[str | None, typer.Option(metavar="NAME", help="conll, csv, tsv, parquet, jsonl, crfsuite.")]
_Columns = Annotated[
    str | None, typer.Option(metavar="A,B,…", help="Names of CoNLL columns; of a table, those to use.")
]
_Separator = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Between CoNLL columns, such as '\\t'. \\[spaces and tabs]")
]
_Label = Annotated[str | None, typer.Option(metavar="NAME", help="The label's column, or its index. \\[last; 'label']")]
_By = Annotated[str | None, typer.Option(metavar="A,B,…", help="The columns that tell a table's sequences apart.")]
_Kinds = Annotated[str | None, typer.Option(metavar="A=KIND,…", help="Table columns: categorical, numeric, boolean.")]
_Window = Annotated[
    str | None, typer.Option(metavar="N", help="Positions seen each side; 1,2 for before, after. \\[2]")
]
_L2 = Annotated[float, typer.Option(metavar="X", help="Weight of the penalty ‖w‖².")]
_L1 = Annotated[float, typer.Option(metavar="X", help="Weight of the penalty ‖w‖₁: a sparse model.")]
_MaxIter = Annotated[int, typer.Option(metavar="N", help="The most iterations.")]
_MinFrequency = Annotated[float, typer.Option(metavar="N", help="Leave out rarer features.")]
_Transitions = Annotated[str, typer.Option(metavar="NAME", help="all, observed or forbid_unseen.")]
_Constraints = Annotated[str | None, typer.Option(metavar="NAME", help="Legal label order: iob1, iob2, bioes.")]
_Metric = Annotated[str | None, typer.Option(metavar="NAME", help="For --dev: accuracy, span_f1, … \\[accuracy]")]
_Jobs = Annotated[int, typer.Option("--jobs", "-j", metavar="N", help="Threads; -1 is all cores.")]
_Seed = Annotated[int, typer.Option(metavar="N", help="Chooses the sequences of a --dev share.")]
_Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]


def command(
    data: _Data,
    model_out: _ModelOut,
    dev: _Dev = None,
    template: _Template = None,
    format: _Format = None,
    columns: _Columns = None,
    separator: _Separator = None,
    label: _Label = None,
    by: _By = None,
    kinds: _Kinds = None,
    window: _Window = None,
    l2: _L2 = 1.0,
    l1: _L1 = 0.0,
    max_iter: _MaxIter = 500,
    min_frequency: _MinFrequency = 0.0,
    transitions: _Transitions = "all",
    constraints: _Constraints = None,
    metric: _Metric = None,
    jobs: _Jobs = -1,
    seed: _Seed = 0,
    quiet: _Quiet = False,
) -> None:
    """Train a linear-chain CRF on labelled files.

    Ctrl-C ends training and keeps the best model so far.
    """
    with contextlib.nullcontext() if quiet else _log_lines():
        model = train(
            data,
            model_out,
            dev=dev,
            template=template,
            format=format,
            columns=_names(columns),
            separator=None if separator is None else separator.replace("\\t", "\t"),
            label=label,
            by=_names(by),
            kinds=_kinds(kinds),
            window=_window(window),
            metric=metric,
            seed=seed,
            parameters={
                "l1": l1,
                "l2": l2,
                "max_iter": max_iter,
                "min_frequency": min_frequency,
                "transitions": transitions,
                "constraints": constraints,
                "n_jobs": jobs,
                "verbose": 0 if quiet else 1,
            },
        )
    if not quiet:
        print(summary(model, model_out))
    if model.outcome_ == "interrupted":
        raise typer.Exit(INTERRUPTED)


def train(
    data: Sequence[str],
    model_out: str,
    *,
    dev: str | None = None,
    template: str | None = None,
    format: str | None = None,
    columns: Sequence[str] = (),
    separator: str | None = None,
    label: str | None = None,
    by: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    window: int | tuple[int, int] | None = None,
    metric: str | None = None,
    seed: int = 0,
    parameters: Mapping[str, Any] | None = None,
) -> LinearCRF:
    """Train a LinearCRF on files and save it with what `tag` and `eval` need to read such files again.

    Parameters
    ----------
    data : paths of labelled files of one format; "-" is standard input
    model_out : where the model is saved
    dev : a file that stops training early, or a share of the sequences, such as "0.1", to hold out for that
    template : path of a CRF++ template
    format : "conll", "csv", "tsv", "parquet", "jsonl" or "crfsuite"; told from the suffix, else conll
    columns, separator, label, by, kinds : as in `read_conll` and `read_table`
    window : as in LinearCRF; by default 2 around columns and tokens, and 0 where the features are ready-made
    metric : what counts on `dev`
    seed : chooses the sequences to hold out
    parameters : more parameters of LinearCRF
    """
    from hedgerow.models.linear_crf import LinearCRF

    _check_writable(model_out)
    if metric is not None and dev is None:
        raise InputError("--metric is for --dev", hint="Give sequences to stop early by, as --dev FILE or --dev 0.1.")
    options = {"columns": columns, "separator": separator, "label": label, "by": by, "kinds": kinds}
    X, y, recipe = _read(data, format, template, options)
    model = LinearCRF(
        window=_default_window(X, recipe) if window is None else window,
        transition_columns=_pair_columns(recipe),
        metric=metric or "accuracy",
        random_state=seed,
        **(parameters or {}),
    )
    held_out = _held_out(dev, recipe, model)
    began = time.perf_counter()
    with warnings.catch_warnings():
        # How training ended is in the summary.
        warnings.filterwarnings("ignore", message="training (stopped|was interrupted)")
        model.fit(X, y, **held_out)
    model.metadata_ = {
        "reader": recipe.to_json(),
        "training": {
            "sequences": len(y),
            "positions": sum(map(len, y)),
            "seconds": round(time.perf_counter() - began, 3),
            "score": max((step.score for step in model.history_ if step.score is not None), default=None),
        },
    }
    model.save(model_out)
    return model


def summary(model: LinearCRF, path: str) -> str:
    """What was trained, in a few lines."""
    facts = model.metadata_["training"]
    ends = {
        "converged": "converged",
        "max_iter": "stopped by --max-iter before it converged",
        "early_stopping": "stopped early",
        "interrupted": "interrupted",
    }
    names = [str(label) for label in model.classes_[:5]]
    kept = "" if model.best_iteration_ == model.n_iter_ else f", kept that of iteration {model.best_iteration_}"
    lines = [
        ("sequences", f"{facts['sequences']:,}"),
        ("positions", f"{facts['positions']:,}"),
        ("labels", f"{len(model.classes_):,}: {', '.join(names)}{', …' * (len(model.classes_) > 5)}"),
        ("weights", f"{len(model.weights_):,}"),
        ("iterations", f"{model.n_iter_} ({ends[model.outcome_]}{kept})"),
        ("loss", f"{model.loss_:.4f}"),
        (f"dev {model.metric}", None if facts["score"] is None else f"{facts['score']:.4f}"),
        ("seconds", f"{facts['seconds']:.1f}"),
        ("file", path),
    ]
    return "\n".join(f"{name:<14} {value}" for name, value in lines if value is not None)


def _read(
    data: Sequence[str], format: str | None, template: str | None, options: Mapping[str, Any]
) -> tuple[Any, AnyArray, Recipe]:
    """The training corpus and how it was read. The bytes of the files are let go when this returns."""
    from hedgerow.cli.recipe import Recipe, read_training
    from hedgerow.data.readers import Template

    sources = [Input(path) for path in data]
    told = check_format(format or sources[0].suffix_format or "conll")
    _check_options(told, sources[0], options)
    plan = Recipe(
        told,
        columns=tuple(options["columns"]),
        label=options["label"],
        by=tuple(options["by"]),
        kinds=dict(options["kinds"] or {}),
        template=None if template is None else Template.read(template).text,
        separator=options["separator"],
    )
    return read_training(sources, plan)


def _check_options(format: str, first: Input, options: Mapping[str, Any]) -> None:
    """Refuse an option that the format has no use for, and a table without --by."""
    conll, table = ("columns", "separator", "label"), ("columns", "label", "by", "kinds")
    useful = conll if format == "conll" else table if format in TABLES else ()
    for name, value in options.items():
        if value and name not in useful:
            raise InputError(f"--{name} has no meaning for {format} files", path=first.name)
    if format in TABLES and not options["by"]:
        raise InputError(
            "a table needs --by, the column that tells its sequences apart",
            path=first.name,
            hint="CoNLL columns with tabs are --format conll.",
        )


def _default_window(X: Any, recipe: Recipe) -> int:
    """2 around plain columns and tokens; 0 where features are ready-made, which have their surroundings in them."""
    from hedgerow.data.sequences import Sequences

    columns = isinstance(X, Sequences) and recipe.template is None
    tokens = isinstance(X, list) and isinstance(X[0][0], str)
    return 2 if columns or tokens else 0


def _pair_columns(recipe: Recipe) -> list[str] | None:
    """The columns of the template's B lines, which score pairs of labels."""
    from hedgerow.data.readers import Template

    return None if recipe.template is None else Template.parse(recipe.template).bigram_columns or None


def _held_out(dev: str | None, recipe: Recipe, model: LinearCRF) -> dict[str, Any]:
    """What `fit` needs for early stopping: held-out sequences, or none where the model takes a share itself."""
    if dev is None:
        return {}
    try:
        share = None if os.path.exists(dev) else float(dev)
    except ValueError:
        share = None
    if share is not None:
        model.set_params(early_stopping=True, validation_fraction=share)
        return {}
    X_val, y_val = recipe.read_labelled(Input(dev))
    return {"X_val": X_val, "y_val": y_val}


def _check_writable(path: str) -> None:
    """Refuse a place where the model cannot be saved before training takes its time."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise InputError(f"the folder {str(folder)!r} does not exist", path=path)
    if Path(path).is_dir():
        raise InputError("is a folder", path=path, hint="Name a file.")
    if not os.access(folder, os.W_OK):
        raise InputError(f"the folder {str(folder)!r} cannot be written to", path=path)


@contextlib.contextmanager
def _log_lines() -> Iterator[None]:
    """Show what the library logs as plain lines on standard error."""
    log, handler = logging.getLogger("hedgerow"), logging.StreamHandler(sys.stderr)
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(level)


def _names(text: str | None) -> list[str]:
    return [] if text is None else [name.strip() for name in text.split(",")]


def _kinds(text: str | None) -> dict[str, str]:
    pairs = [part.partition("=") for part in _names(text)]
    for name, equals, _ in pairs:
        if not equals:
            raise InputError(f"--kinds {name!r} names no kind", hint="Write --kinds size=numeric,code=categorical.")
    return {name.strip(): kind.strip() for name, _, kind in pairs}


def _window(text: str | None) -> int | tuple[int, int] | None:
    if text is None:
        return None
    try:
        parts = [int(part) for part in text.split(",")]
    except ValueError:
        parts = []
    if len(parts) not in (1, 2):
        raise InputError(f"--window is {text!r}", hint="Give a number of positions, or two: before,after.")
    return parts[0] if len(parts) == 1 else (parts[0], parts[1])
