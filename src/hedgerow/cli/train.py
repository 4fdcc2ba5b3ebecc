"""`hedgerow train`: labelled files in, a model file out."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import typer

from hedgerow.cli import train_options as options
from hedgerow.cli.flags import in_flags
from hedgerow.cli.info import show_choice
from hedgerow.cli.inputs import (
    STANDARD,
    TABLES,
    Input,
    Reading,
    check_checkpoint,
    check_format,
    check_writable,
    format_of,
    kept_in,
    save,
)
from hedgerow.cli.models import MODELS, find_model, make_model, read_settings
from hedgerow.cli.train_options import option
from hedgerow.errors import InputError
from hedgerow.estimators.facts import kept_iteration, model_sizes

if TYPE_CHECKING:
    from hedgerow.cli.recipe import Recipe
    from hedgerow.estimators.base import ChainModel
    from hedgerow.legend import AnyArray

INTERRUPTED = 130


def command(
    data: options.Data,
    model_out: Annotated[str, option("FILE", "Where the model goes; - is standard output.", "--model-out", "-o")],
    model: Annotated[
        str | None,
        option("NAME", "auto, linear, tree, hmm, memm, sw, rsw, … \\[auto]", "--model", "-m", show_default=False),
    ] = None,
    time_budget: Annotated[float | None, option("SECONDS", "Auto: how long to look for a model. \\[60]")] = None,
    dev: Annotated[str | None, option("FILE", "Choose or stop early by these; or by a share.")] = None,
    template: options.Template = None, format: options.Format = None, columns: options.Columns = None,
    separator: options.Separator = None, label: options.Label = None, by: options.By = None,
    time: options.Time = None, max_gap: options.MaxGap = None, time_columns: options.TimeColumns = None,
    kinds: options.Kinds = None, encoding: options.Encoding = None,
    window: options.Window = None,
    features: Annotated[str | None, option("A,B,…", "Words: ner, pos, chunk; numbers: rolling_mean(10), …")] = None,
    order: Annotated[int | None, option("N", "Labels before it that a label sees. \\[1; trees: auto]")] = None,
    objective: Annotated[str | None, option("NAME", "What to minimise: log_likelihood, labelwise, margin, …")] = None,
    trainer: Annotated[str | None, option("NAME", "Linear: lbfgs, adagrad, smd, … \\[auto]")] = None,
    l2: Annotated[float | None, option("X", "Linear: weight of the penalty ‖w‖². \\[1]")] = None,
    l1: Annotated[float | None, option("X", "Linear: weight of the penalty ‖w‖₁. \\[0]", hidden=True)] = None,
    max_iter: Annotated[int | None, option("N", "Linear: the most iterations, or passes. \\[500; 50]")] = None,
    trees: Annotated[int | None, option("N", "Tree: the most trees of a label. \\[auto]")] = None,
    leaves: Annotated[int | None, option("N", "Tree: the most leaves of a tree. \\[32]")] = None,
    l2_regularization: Annotated[float | None, option("X", "Tree: λ, which makes leaves small. \\[5]")] = None,
    learning_rate: Annotated[str | None, option("X", "Tree: a number, or line_search. \\[0.1]")] = None,
    # Not in --help, which fits a screen: --set edges=shared says the same.
    edges: Annotated[str | None, option("NAME", "Tree: joint, or shared for many labels.", hidden=True)] = None,
    min_frequency: Annotated[float | None, option("N", "Leave out rarer features.", hidden=True)] = None,
    missing: Annotated[str | None, option("NAME", "Gaps: impute, indicator; tree: weighting, …")] = None,
    transitions: Annotated[str | None, option("NAME", "all, forbid_unseen; linear: observed. \\[all]")] = None,
    constraints: Annotated[str | None, option("NAME", "Legal label order: iob1, iob2, bioes.")] = None,
    settings: options.Set = None,
    scoring: Annotated[str | None, option("NAME", "To stop early by: accuracy, span_f1, log_likelihood, …")] = None,
    jobs: options.Jobs = -1, seed: options.Seed = 0, checkpoint: options.Checkpoint = None,
    resume: options.Resume = False, engine: options.Engine = None, workers: options.Workers = None,
    memory: options.Memory = None, quiet: options.Quiet = False,
) -> None:  # fmt: skip
    """Train a model on labelled files. Ctrl-C keeps the best so far; --checkpoint FILE outlives a kill."""
    reading = options.reading(
        template, format, columns, separator, label, by, kinds, time, max_gap, time_columns, encoding
    )
    model, parameters = options.named_model(
        model, settings or (), dev, quiet=quiet, time_budget=time_budget, features=options.features(features),
        order=order, objective=objective, trainer=trainer, l2=l2, l1=l1, max_iter=max_iter, trees=trees, leaves=leaves,
        l2_regularization=l2_regularization, edges=edges, learning_rate=options.number_or_name(learning_rate),
        min_frequency=min_frequency, missing=missing, transitions=transitions, constraints=constraints,
    )  # fmt: skip
    parameters |= {"n_jobs": jobs, "verbose": 0 if quiet else 1} | read_settings(model, settings or (), trainer)
    given: dict[str, Any] = {"model": model, "dev": dev, "window": options.window(window), "scoring": scoring}
    given |= {"seed": seed, "checkpoint": checkpoint, "resume": resume}
    with in_flags(command, options.parameter_options(model)), contextlib.nullcontext() if quiet else log_lines():
        crf = _train_by(engine, workers, memory, data, model_out, parameters=parameters, **given, **reading)
    if not quiet:
        _tell(crf, data, model_out, reading, seed)
    if crf.outcome_ == "interrupted":
        raise typer.Exit(INTERRUPTED)


def _train_by(engine: str | None, workers: int | None, memory: str | None, *data: Any, **given: Any) -> ChainModel:
    """Train in this process, or by an engine."""
    if engine is not None:
        from hedgerow.cli.train_workers import train_by_workers

        return train_by_workers(*data, engine=engine, workers=workers, memory=memory, **given)
    for name, value in (("workers", workers), ("memory", memory)):
        if value is not None:
            raise InputError(f"--{name} is for --engine dask", hint="Threads of this process are --jobs.")
    return train(*data, **given)


def _tell(crf: ChainModel, data: Sequence[str], model_out: str, reading: Reading, seed: int) -> None:
    """Print the summary; on standard error where the model itself goes to standard output."""
    with contextlib.redirect_stdout(sys.stderr if model_out == STANDARD else sys.stdout):
        print(summary(crf, model_out))
        if hasattr(crf, "leaderboard_"):
            show_choice(crf, data, model_out, reading, seed)


def train(
    data: Sequence[str],
    model_out: str,
    *,
    model: str = "linear",
    dev: str | None = None,
    window: int | tuple[int, int] | str | None = None,
    scoring: str | None = None,
    seed: int = 0,
    parameters: Mapping[str, Any] | None = None,
    checkpoint: str | None = None,
    resume: bool = False,
    **reading: Unpack[Reading],
) -> ChainModel:
    """Train a model on files and save it with what `tag` and `eval` need to read such files again.

    The parameters are the options of the command. dev may also be a share of the sequences, such as "0.1", to hold out;
    "0" holds out none. The window is by default "auto", and 0 with a template.
    """
    kind = find_model(model)
    read = (*data, dev, reading.get("template"))
    check_writable(model_out, read, model=True)
    check_checkpoint(checkpoint, resume=resume, read=(*read, model_out))
    share = share_of(dev)
    auto = model == "auto"
    for flag, value, parameter in (("dev", dev, "validation_fraction"), ("window", window, "window")):
        if value is not None and not kind.takes(parameter) and not (auto and flag == "dev"):
            options.refuse_option(flag, model, [name for name, other in MODELS.items() if other.takes(parameter)])
    if auto and share is not None:
        hint = "Give a file, or leave it out: each sequence is held out once."
        raise InputError("--dev with a share is not supported with --model auto", hint=hint)
    if scoring is not None and not auto and (share == 0.0 or (dev is None and model != "tree")):
        raise InputError("--scoring is for --dev", hint="Give sequences to stop early by, as --dev FILE or --dev 0.1.")
    if scoring is not None and not kind.takes("scoring"):
        hint = "It stops by the likelihood: leave it out."
        raise InputError(f"--scoring is not supported with --model {model}", hint=hint)
    X, y, recipe = read_files(data, reading, complete=kind.complete and (parameters or {}).get("missing") is None)
    if window is None and kind.takes("window"):
        window = default_window(recipe)
    seeded = seed if kind.takes("random_state") else None
    given: dict[str, Any] = {"window": window, "scoring": scoring, "random_state": seeded}
    if share is not None:
        given |= {"early_stopping": share != 0.0, "validation_fraction": share or None}
    crf: ChainModel = new_model(model, recipe, given, parameters)
    held_out = {}
    if share is None and dev is not None:
        held_out = dict(zip(("X_val", "y_val"), recipe.read_labelled(Input(dev))))
    began = perf_counter()
    with kept_in(crf, checkpoint):
        _fit(crf, X, y, held_out, data, recipe)
        crf.plan_ = recipe.plan(crf.plan_)
        own = None if getattr(crf, "refitted_", False) else crf.__dict__.get("_kept")
        kept = y if own is None else y[own]
        crf.metadata_ = {"reader": recipe.to_json(), "training": _facts(crf, y, kept, perf_counter() - began)}
        save(crf, model_out)
    return crf


def _facts(crf: ChainModel, y: AnyArray, kept: AnyArray, seconds: float) -> dict[str, Any]:
    """What a model file says of its training. y, kept : the labels of all sequences, and of those it learnt from"""
    return {
        "sequences": len(kept),
        "positions": sum(map(len, kept)),
        "held_out": len(y) - len(kept),
        "seconds": round(seconds, 3),
        "score": held_out_score(crf),
    }


def _fit(crf: ChainModel, X: Any, y: Any, held_out: Mapping[str, Any], data: Sequence[str], recipe: Recipe) -> None:
    """Train. How training ended is in the summary, and errors name the file and the line."""
    from hedgerow.cli.recipe import in_files

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="training (stopped|was interrupted)")
        try:
            crf.fit(X, y, **held_out)
        except InputError as error:
            raise in_files(error, data, recipe) from None


def held_out_score(crf: ChainModel) -> float | None:
    """The best score on held-out sequences, where there were any."""
    if hasattr(crf, "leaderboard_"):
        return float(crf.best_score_) if crf.leaderboard_ and crf.best_score_ == crf.best_score_ else None
    return max((step.score for step in crf.history_ if step.score is not None), default=None)


def summary(model: ChainModel, path: str) -> str:
    """What was trained, in a few lines."""
    facts = model.metadata_["training"]
    ends = {
        "converged": "converged",
        "max_iter": "stopped by --max-iter before it converged",
        "n_estimators": "as many as --trees",
        "early_stopping": "stopped early",
        "interrupted": "interrupted",
        "diverged": "the loss grew: give another --trainer",
        "time_budget": "as many as --time-budget allowed",
        "n_trials": "as many as n_trials",
        "exhausted": "nothing near the best is left to try",
    }
    work = "models tried" if hasattr(model, "leaderboard_") else "iterations"
    names = [str(label) for label in model.classes_[:5]]
    held_out = f" (and {facts['held_out']:,} held out)" if facts["held_out"] else ""
    if facts["sequences"] == 1 and model.plan_ is not None and not model.plan_.by:
        held_out = " (all rows; --by COLUMN tells sequences apart)"
    again = " (before the last training, on all sequences)" if getattr(model, "refitted_", False) else ""
    lines = [
        ("sequences", f"{facts['sequences']:,}{held_out}"),
        ("positions", f"{facts['positions']:,}"),
        *([] if not (kinds := _kinds(model)) else [("columns", kinds)]),
        ("labels", f"{len(model.classes_):,}: {', '.join(names)}{', …' * (len(model.classes_) > 5)}"),
        *((what, f"{number:,}") for what, number in model_sizes(model).items()),
        (work, f"{model.n_iter_} ({ends[model.outcome_]}{kept_iteration(model)})"),
        ("loss", f"{model.loss_:.4f}"),
        *([] if facts["score"] is None else [(f"dev {model._scoring()}", f"{facts['score']:.4f}{again}")]),
        ("seconds", f"{facts['seconds']:.1f}"),
        ("file", path),
    ]
    return "\n".join(f"{name:<14} {value}" for name, value in lines)


def _kinds(model: ChainModel) -> str:
    """The columns that were read, with their kinds; nothing where they have no names."""
    from hedgerow.data.dataset import OUTSIDE_COLUMN

    columns = [column for column in model.schema_.columns if column.derived is None and column.name != OUTSIDE_COLUMN]
    named = [f"{column.name} ({column.kind})" for column in columns]
    return "" if not named else f"{', '.join(named[:8])}{', …' * (len(named) > 8)}"


def new_model(name: str, recipe: Recipe, options: Mapping[str, Any], parameters: Mapping[str, Any] | None) -> Any:
    """The model that the options describe; of those in `options`, None means that it is not said."""
    from hedgerow.data.readers import Template

    given = {parameter: value for parameter, value in options.items() if value is not None} | dict(parameters or {})
    # The columns of a template's B lines score pairs of labels. Trees may always split on the previous label and a
    # column together.
    if name in ("linear", "m3n") and recipe.template is not None:
        given = {"transition_columns": Template.parse(recipe.template).bigram_columns or None} | given
    return make_model(name, given)


def read_files(data: Sequence[str], reading: Reading, *, complete: bool) -> tuple[Any, AnyArray, Recipe]:
    """The training corpus and how it was read. The bytes of the files are let go when this returns."""
    from hedgerow.cli.recipe import Recipe, read_training
    from hedgerow.data.readers import Template

    sources, template = [Input(path) for path in data], reading.get("template")
    format = check_format(reading.get("format") or format_of(sources[0].path) or "conll")
    check_options(format, sources[0].name, reading)
    plan = Recipe(
        format,
        columns=tuple(reading.get("columns", ())),
        label=reading.get("label"),
        by=tuple(reading.get("by", ())),
        time=reading.get("time"),
        max_gap=options.number_or_name(reading.get("max_gap")),
        time_columns=tuple(reading.get("time_columns", ())),
        encoding=reading.get("encoding") or "utf-8",
        kinds=dict(reading.get("kinds", {})),
        template=None if template is None else Template.read(template).text,
        separator=reading.get("separator"),
        complete=complete,
    )
    return read_training(sources, plan)


def check_options(format: str, first: str, reading: Reading) -> None:
    """Refuse an option that the format has no use for, and a table with tabs that may be none."""
    if isinstance(options.number_or_name(reading.get("time")), float):
        raise InputError("--time names a column", hint="Seconds to look for a model are --time-budget.")
    conll = ("columns", "separator", "label")
    table = ("columns", "label", "by", "time", "max_gap", "time_columns", "kinds")
    useful = {"conll": conll, "jsonl": ("label",)}.get(format, table if format in TABLES else ())
    for name, value in reading.items():
        if value and name not in ("format", "template", "encoding", *useful):
            hint = "Say --format csv if it is a table." if format == "conll" else ""
            raise InputError(f"--{name.replace('_', '-')} is not supported with {format} files", path=first, hint=hint)
    if format == "tsv" and not reading.get("by") and not reading.get("time"):
        what = "a table needs --by, the column that tells its sequences apart, or --time if it is one recording"
        raise InputError(what, path=first, hint="CoNLL columns with tabs are --format conll.")


def default_window(recipe: Recipe) -> int | str:
    """What the corpus asks for; 0 with a template, whose features have their surroundings in them."""
    return "auto" if recipe.template is None else 0


def share_of(dev: str | None) -> float | None:
    """The share of the sequences to hold out, where --dev is neither None nor a file."""
    if dev is None or os.path.exists(dev):
        return None
    try:
        return float(dev)
    except ValueError:
        return None


@contextlib.contextmanager
def log_lines() -> Iterator[None]:
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
