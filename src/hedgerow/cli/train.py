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
from typing import TYPE_CHECKING, Any

import typer

from hedgerow.cli import train_options as options
from hedgerow.cli.flags import in_flags
from hedgerow.cli.info import kept_iteration, model_sizes
from hedgerow.cli.inputs import TABLES, Input, check_format
from hedgerow.cli.models import MODELS, find_model, read_settings
from hedgerow.errors import InputError

if TYPE_CHECKING:
    from hedgerow.cli.recipe import Recipe
    from hedgerow.estimators.base import ChainModel
    from hedgerow.legend import AnyArray

INTERRUPTED = 130


def command(
    data: options.Data,
    model_out: options.ModelOut,
    model: options.Model = "linear",
    dev: options.Dev = None,
    template: options.Template = None,
    format: options.Format = None,
    columns: options.Columns = None,
    separator: options.Separator = None,
    label: options.Label = None,
    by: options.By = None,
    kinds: options.Kinds = None,
    window: options.Window = None,
    order: options.Order = None,
    objective: options.Objective = None,
    trainer: options.Trainer = None,
    l2: options.L2 = None,
    l1: options.L1 = None,
    max_iter: options.MaxIter = None,
    trees: options.Trees = None,
    leaves: options.Leaves = None,
    l2_regularization: options.L2Regularization = None,
    learning_rate: options.LearningRate = None,
    edges: options.Edges = None,
    min_frequency: options.MinFrequency = None,
    missing: options.Missing = None,
    transitions: options.Transitions = None,
    constraints: options.Constraints = None,
    settings: options.Set = None,
    scoring: options.Scoring = None,
    jobs: options.Jobs = -1,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Train a model on labelled files. Ctrl-C keeps the best model so far."""
    parameters = options.given_parameters(
        model, order=order, objective=objective, trainer=trainer, l2=l2, l1=l1, max_iter=max_iter, trees=trees,
        leaves=leaves, l2_regularization=l2_regularization, edges=edges,
        learning_rate=options.number_or_name(learning_rate), min_frequency=min_frequency, missing=missing,
        transitions=transitions, constraints=constraints,
    )  # fmt: skip
    parameters |= {"n_jobs": jobs, "verbose": 0 if quiet else 1} | read_settings(model, settings or ())
    with in_flags(command, options.parameter_options(model)), contextlib.nullcontext() if quiet else log_lines():
        crf = train(
            data, model_out, model=model, dev=dev, template=template, format=format, columns=options.names(columns),
            separator=None if separator is None else separator.replace("\\t", "\t"), label=label,
            by=options.names(by), kinds=options.kinds(kinds), window=options.window(window), scoring=scoring, seed=seed,
            parameters=parameters,
        )  # fmt: skip
    if not quiet:
        print(summary(crf, model_out))
    if crf.outcome_ == "interrupted":
        raise typer.Exit(INTERRUPTED)


def train(
    data: Sequence[str],
    model_out: str,
    *,
    model: str = "linear",
    dev: str | None = None,
    template: str | None = None,
    format: str | None = None,
    columns: Sequence[str] = (),
    separator: str | None = None,
    label: str | None = None,
    by: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    window: int | tuple[int, int] | None = None,
    scoring: str | None = None,
    seed: int = 0,
    parameters: Mapping[str, Any] | None = None,
) -> ChainModel:
    """Train a model on files and save it with what `tag` and `eval` need to read such files again.

    Parameters
    ----------
    data : paths of labelled files of one format; "-" is standard input
    model_out : where the model is saved
    model : "linear" for a LinearCRF, "tree" for a TreeCRF, or another key of `hedgerow.cli.models.MODELS`
    dev : a file that stops training early, or a share of the sequences, such as "0.1", to hold out for that; "0" holds
        out none, as a LinearCRF does by itself
    template : path of a CRF++ template
    format : "conll", "csv", "tsv", "parquet", "jsonl" or "crfsuite"; told from the suffix, else conll
    columns, separator, label, by, kinds : as in `read_conll` and `read_table`
    window : as in the models; by default 2 around columns and tokens, and 0 where the features are ready-made
    scoring : what counts on sequences that are held out
    seed : chooses the sequences to hold out, and what else a model draws
    parameters : more parameters of the model
    """
    kind = find_model(model)
    check_writable(model_out)
    share = _share(dev)
    _check_model_options(model, dev, window)
    if scoring is not None and (share == 0.0 or (dev is None and model != "tree")):
        raise InputError("--scoring is for --dev", hint="Give sequences to stop early by, as --dev FILE or --dev 0.1.")
    if scoring is not None and "scoring" not in kind.load()().get_params():
        raise InputError(
            f"--scoring means nothing to --model {model}", hint="It stops by the likelihood: leave it out."
        )
    told = {"columns": columns, "separator": separator, "label": label, "by": by, "kinds": kinds}
    complete = kind.complete and (parameters or {}).get("missing") is None
    X, y, recipe = read_files(data, format, template, told, complete=complete)
    if kind.window:
        window = default_window(X, recipe) if window is None else window
    crf = new_model(
        model, recipe, {"window": window, "scoring": scoring, "random_state": seed if kind.draws else None}, parameters
    )
    held_out = {}
    if share is not None:
        crf.set_params(early_stopping=share != 0.0, **({"validation_fraction": share} if share else {}))
    elif dev is not None:
        held_out = dict(zip(("X_val", "y_val"), recipe.read_labelled(Input(dev))))
    began = time.perf_counter()
    with warnings.catch_warnings():
        # How training ended is in the summary.
        warnings.filterwarnings("ignore", message="training (stopped|was interrupted)")
        crf.fit(X, y, **held_out)
    kept = _trained_on(crf, X, y) if not held_out else y
    crf.metadata_ = {
        "reader": recipe.to_json(),
        "training": {
            "sequences": len(kept),
            "positions": sum(map(len, kept)),
            "held_out": len(y) - len(kept),
            "seconds": round(time.perf_counter() - began, 3),
            "score": max((step.score for step in crf.history_ if step.score is not None), default=None),
        },
    }
    crf.save(model_out)
    return crf


def _trained_on(crf: ChainModel, X: Any, y: AnyArray) -> AnyArray:
    """The labels of the sequences that the kept model was trained on: without those that it held out itself, unless
    it was trained again on all."""
    from hedgerow.estimators.validation import hold_out

    if not crf._holds_out() or getattr(crf, "refitted_", False):
        return y
    kept: AnyArray = hold_out(crf, X, y, None, None, None)[1]  # by the same seed, so the same sequences
    return kept


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
    }
    names = [str(label) for label in model.classes_[:5]]
    held_out = f" (and {facts['held_out']:,} held out)" if facts["held_out"] else ""
    again = " (before the last training, on all sequences)" if getattr(model, "refitted_", False) else ""
    lines = [
        ("sequences", f"{facts['sequences']:,}{held_out}"),
        ("positions", f"{facts['positions']:,}"),
        ("labels", f"{len(model.classes_):,}: {', '.join(names)}{', …' * (len(model.classes_) > 5)}"),
        *((what, f"{number:,}") for what, number in model_sizes(model).items()),
        ("iterations", f"{model.n_iter_} ({ends[model.outcome_]}{kept_iteration(model)})"),
        ("loss", f"{model.loss_:.4f}"),
        (f"dev {model._scoring()}", None if facts["score"] is None else f"{facts['score']:.4f}{again}"),
        ("seconds", f"{facts['seconds']:.1f}"),
        ("file", path),
    ]
    return "\n".join(f"{name:<14} {value}" for name, value in lines if value is not None)


def new_model(name: str, recipe: Recipe, told: Mapping[str, Any], parameters: Mapping[str, Any] | None) -> ChainModel:
    """The model that the options describe; of those in `told`, None means that it is not said."""
    said = {parameter: value for parameter, value in told.items() if value is not None} | dict(parameters or {})
    if name in ("linear", "m3n"):  # trees may always split on the previous label and a column together
        said = {"transition_columns": _pair_columns(recipe)} | said
    model: ChainModel = find_model(name).load()(**said)
    return model


def _check_model_options(name: str, dev: str | None, window: Any) -> None:
    """Refuse options that the model has no use for, before anything is read."""
    kind = MODELS[name]
    if dev is not None and not kind.holds_out:
        options.refuse_option("dev", name, [own for own, other in MODELS.items() if other.holds_out])
    if window is not None and not kind.window:
        options.refuse_option("window", name, [own for own, other in MODELS.items() if other.window])


def read_files(
    data: Sequence[str], format: str | None, template: str | None, told: Mapping[str, Any], *, complete: bool
) -> tuple[Any, AnyArray, Recipe]:
    """The training corpus and how it was read. The bytes of the files are let go when this returns."""
    from hedgerow.cli.recipe import Recipe, read_training
    from hedgerow.data.readers import Template

    sources = [Input(path) for path in data]
    format = check_format(format or sources[0].suffix_format or "conll")
    _check_options(format, sources[0], told)
    plan = Recipe(
        format,
        columns=tuple(told["columns"]),
        label=told["label"],
        by=tuple(told["by"]),
        kinds=dict(told["kinds"] or {}),
        template=None if template is None else Template.read(template).text,
        separator=told["separator"],
        complete=complete,
    )
    return read_training(sources, plan)


def _check_options(format: str, first: Input, told: Mapping[str, Any]) -> None:
    """Refuse an option that the format has no use for, and a table without --by."""
    conll, table = ("columns", "separator", "label"), ("columns", "label", "by", "kinds")
    useful = conll if format == "conll" else table if format in TABLES else ()
    for name, value in told.items():
        if value and name not in useful:
            raise InputError(f"--{name} has no meaning for {format} files", path=first.name)
    if format in TABLES and not told["by"]:
        raise InputError(
            "a table needs --by, the column that tells its sequences apart",
            path=first.name,
            hint="CoNLL columns with tabs are --format conll.",
        )


def default_window(X: Any, recipe: Recipe) -> int:
    """2 around plain columns and tokens; 0 where features are ready-made, which have their surroundings in them."""
    from hedgerow.data.sequences import Sequences

    columns = isinstance(X, Sequences) and recipe.template is None
    tokens = isinstance(X, list) and isinstance(X[0][0], str)
    return 2 if columns or tokens else 0


def _pair_columns(recipe: Recipe) -> list[str] | None:
    """The columns of the template's B lines, which score pairs of labels."""
    from hedgerow.data.readers import Template

    return None if recipe.template is None else Template.parse(recipe.template).bigram_columns or None


def _share(dev: str | None) -> float | None:
    """The share of the sequences to hold out, where --dev is none of None and a file."""
    if dev is None or os.path.exists(dev):
        return None
    try:
        return float(dev)
    except ValueError:
        return None


def check_writable(path: str) -> None:
    """Refuse a place where a file cannot be written before the work that makes it."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise InputError(f"the folder {str(folder)!r} does not exist", path=path)
    if Path(path).is_dir():
        raise InputError("is a folder", path=path, hint="Name a file.")
    if not os.access(folder, os.W_OK):
        raise InputError(f"the folder {str(folder)!r} cannot be written to", path=path)


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
