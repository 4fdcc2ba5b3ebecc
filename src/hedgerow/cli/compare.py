"""`hedgerow compare`: several models on the same folds, in one table."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Unpack

import typer
from typer import Option

from hedgerow.cli import train_options as options
from hedgerow.cli.flags import as_typed, in_flags
from hedgerow.cli.inputs import Input, Reading
from hedgerow.cli.models import MODELS, listed, read_settings
from hedgerow.cli.report import check_outputs
from hedgerow.cli.train import INTERRUPTED, default_window, new_model, read_files
from hedgerow.cli.train_options import option
from hedgerow.errors import InputError

if TYPE_CHECKING:
    from hedgerow.report import Comparison

ALIASES = {"crf": "linear"}


def command(
    context: typer.Context,
    data: options.Data,
    models: Annotated[str, option("A,B,…", "Names, and settings: hmm,crf,crf:l2=0.1.", "--models", "-m")],
    test: Annotated[str | None, option("FILE", "Test on this file, and not in folds.")] = None,
    folds: Annotated[int | None, option("N", "Parts to cross-validate on. \\[5]", min=2)] = None,
    template: options.Template = None,
    format: options.Format = None,
    columns: options.Columns = None,
    separator: options.Separator = None,
    label: options.Label = None,
    by: options.By = None,
    time: options.Time = None,
    max_gap: options.MaxGap = None,
    time_columns: options.TimeColumns = None,
    kinds: options.Kinds = None,
    encoding: options.Encoding = None,
    window: options.Window = None,
    scheme: options.Scheme = None,
    groups: Annotated[str | None, option("NAME", "A column: sequences with its value stay together.")] = None,
    html: Annotated[str | None, option("FILE", "Write a page for a browser, too.")] = None,
    plot: Annotated[str | None, option("FILE", "Draw it, too: .png, .svg, .pdf.")] = None,
    as_json: options.AsJson = False,
    as_csv: Annotated[bool, Option("--csv", help="Print comma-separated values.")] = False,
    jobs: options.Jobs = -1,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Train several models on the same folds and print one table: how right, how fast, how large.

    p says whether a model differs from the best by more than chance: of labels by McNemar's test, of sequences by a
    permutation test of their errors. Ctrl-C keeps what is finished.
    """
    if as_json and as_csv:
        raise InputError("--json and --csv are two forms", hint="Give one of them.")
    _check_test(test, folds, groups)
    _check_outputs(html, plot, (*data, test, template))
    from hedgerow.report import plot_comparison, write_comparison

    with in_flags(command, {"cv": "folds"}):
        comparison = compare(
            data, models.split(","), test=test, folds=folds or 5, window=options.window(window), scheme=scheme,
            groups=groups, jobs=jobs, seed=seed, say=None if quiet else partial(print, file=sys.stderr, flush=True),
            **options.reading(
                template, format, columns, separator, label, by, kinds, time, max_gap, time_columns, encoding
            ),
        )  # fmt: skip
    if as_json:
        print(json.dumps(comparison.to_dict(), indent=2, ensure_ascii=False))
    else:
        print(comparison.to_csv() if as_csv else comparison, end="" if as_csv else "\n")
    if html is not None:
        write_comparison(comparison, html, command=as_typed(context))
    if plot is not None:
        plot_comparison(comparison, plot)
    if comparison.interrupted:
        raise typer.Exit(INTERRUPTED)


def _check_test(test: str | None, folds: int | None, groups: str | None) -> None:
    """Refuse --groups and --folds with --test."""
    if test is not None and groups is not None:
        raise InputError("--groups is not supported with --test", hint="Groups keep folds apart.")
    if test is not None and folds is not None:
        raise InputError("--folds is not supported with --test", hint="Give one of them.")


def _check_outputs(html: str | None, plot: str | None, read: Sequence[str | None]) -> None:
    """Refuse files that cannot be written, and those that are read or written twice, before anything is trained."""
    from hedgerow.report.style import check_picture

    check_outputs((html, plot), read)
    if plot is not None:
        check_picture(plot)


def compare(
    data: Sequence[str],
    models: Sequence[str],
    *,
    test: str | None = None,
    folds: int = 5,
    window: int | tuple[int, int] | str | None = None,
    scheme: str | None = None,
    groups: str | None = None,
    jobs: int | None = None,
    seed: int = 0,
    say: Callable[[str], None] | None = None,
    **reading: Unpack[Reading],
) -> Comparison:
    """Train models on files, all on the same folds, and compare what they predict.

    The parameters are the options of the command. `models` are keys of `MODELS` ("crf" is "linear"), each with
    parameters where they are not the defaults: "crf:l2=0.1:order=2". `say` is called with what is being done.
    """
    from hedgerow.metrics.spans import looks_like_spans
    from hedgerow.report import compare as compare_models

    plan = read_models(models)
    X, y, recipe = read_files(data, reading, complete=False)
    together = None if groups is None else _read_groups(data, reading, groups)
    reach = default_window(recipe) if window is None else window
    estimators = {}
    for shown, (name, settings) in plan.items():
        given = {"window": reach, "random_state": seed}
        given = {parameter: value for parameter, value in given.items() if MODELS[name].takes(parameter)}
        estimators[shown] = new_model(name, recipe, given | {"n_jobs": jobs}, settings)
        estimators[shown]._check_parameters()  # before any of them is trained
    tested = (None, None) if test is None else recipe.read_labelled(Input(test))
    if scheme is None and looks_like_spans({label for row in y for label in row}):
        scheme = "auto"
    return compare_models(
        estimators, X, y, X_test=tested[0], y_test=tested[1], cv=folds, groups=together, random_state=seed,
        scheme=scheme, say=say,
    )  # fmt: skip


def _read_groups(data: Sequence[str], reading: Reading, column: str) -> list[Any]:
    """The group of each sequence: the value that a column has at all its positions. Read as labels are."""
    _, rows, _ = read_files(data, {**reading, "label": column}, complete=False)
    for i, row in enumerate(rows):
        if len(set(row)) > 1:
            hint = "A group is of whole sequences."
            raise InputError(f"--groups: the column has more values than one: {row[0]!r}, …", hint=hint, sequence=i)
    return [row[0] for row in rows]


def read_models(texts: Sequence[str]) -> dict[str, tuple[str, dict[str, Any]]]:
    """What is shown → the model's name and its settings, of texts such as "crf:l2=0.1"."""
    models: dict[str, tuple[str, dict[str, Any]]] = {}
    for text in texts:
        shown = text.strip()
        name, *settings = shown.split(":")
        name = ALIASES.get(name, name)
        if name not in MODELS:
            known = listed([*ALIASES, *MODELS])
            raise InputError(f"--models names {name!r}, which is not a model", hint=f"Choose among {known}.")
        if shown in models:
            raise InputError(f"--models names {shown!r} twice")
        models[shown] = (name, read_settings(name, settings))
    return models
