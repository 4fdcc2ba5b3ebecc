"""`hedgerow compare`: several models on the same folds, in one table."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.cli import train_options as options
from hedgerow.cli.evaluate import looks_like_spans
from hedgerow.cli.flags import in_flags
from hedgerow.cli.inputs import Input
from hedgerow.cli.models import MODELS, listed, read_settings
from hedgerow.cli.train import INTERRUPTED, check_writable, default_window, new_model, read_files
from hedgerow.errors import InputError

if TYPE_CHECKING:
    from hedgerow.report import Comparison

ALIASES = {"crf": "linear"}


def command(
    data: options.Data,
    models: Annotated[
        str, typer.Option("--models", "-m", metavar="A,B,…", help="Names, and settings: hmm,crf,crf:l2=0.1.")
    ],
    test: Annotated[str | None, typer.Option(metavar="FILE", help="Test on this file, and not in folds.")] = None,
    folds: Annotated[int | None, typer.Option(metavar="N", min=2, help="Parts to cross-validate on. \\[5]")] = None,
    template: options.Template = None,
    format: options.Format = None,
    columns: options.Columns = None,
    separator: options.Separator = None,
    label: options.Label = None,
    by: options.By = None,
    kinds: options.Kinds = None,
    window: options.Window = None,
    scheme: Annotated[
        str | None, typer.Option(metavar="NAME", help="Spans: auto, iob1, iob2, iobes, bilou. \\[if labels look so]")
    ] = None,
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Write a page for a browser, too.")] = None,
    plot: Annotated[str | None, typer.Option(metavar="FILE", help="Draw it, too: .png, .svg, .pdf.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values.")] = False,
    jobs: options.Jobs = -1,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Train several models on the same folds and print one table: how right, how fast, how large.

    p says whether a model differs from the best by more than chance (McNemar's test). Ctrl-C keeps what is finished.
    """
    if as_json and as_csv:
        raise InputError("--json and --csv are two forms", hint="Give one of them.")
    if test is not None and folds is not None:
        raise InputError("--folds has no meaning with --test", hint="Give one of them.")
    for path in (html, plot):
        if path is not None:
            check_writable(path)
    if plot is not None:
        from hedgerow.report.style import check_picture

        check_picture(plot)
    with in_flags(command, {"cv": "folds"}):
        found = compare(
            data, models.split(","), test=test, folds=folds or 5, template=template, format=format,
            columns=options.names(columns), separator=None if separator is None else separator.replace("\\t", "\t"),
            label=label, by=options.names(by), kinds=options.kinds(kinds), window=options.window(window),
            scheme=scheme, jobs=jobs, seed=seed, say=None if quiet else _say,
        )  # fmt: skip
    if as_json:
        print(json.dumps(found.to_dict(), indent=2, ensure_ascii=False))
    else:
        print(found.to_csv() if as_csv else found, end="" if as_csv else "\n")
    _write(found, html, plot)
    if found.interrupted:
        raise typer.Exit(INTERRUPTED)


def compare(
    data: Sequence[str],
    models: Sequence[str],
    *,
    test: str | None = None,
    folds: int = 5,
    template: str | None = None,
    format: str | None = None,
    columns: Sequence[str] = (),
    separator: str | None = None,
    label: str | None = None,
    by: Sequence[str] = (),
    kinds: Mapping[str, str] | None = None,
    window: int | tuple[int, int] | None = None,
    scheme: str | None = None,
    jobs: int | None = None,
    seed: int = 0,
    say: Callable[[str], None] | None = None,
) -> Comparison:
    """Train models on files, all on the same folds, and compare what they predict.

    Parameters
    ----------
    data : paths of labelled files of one format; "-" is standard input
    models : keys of `hedgerow.cli.models.MODELS` ("crf" is "linear"), each with parameters where they are not the
        defaults: "crf:l2=0.1:order=2"
    test : a labelled file to test on, in place of folds
    folds : how many parts
    template, format, columns, separator, label, by, kinds : as in `hedgerow.cli.train.train`
    window : of the models that have one; by default 2 around columns and tokens, and 0 where features are ready-made
    scheme : how spans are written; by default they are counted where every label is O or looks like B-NP
    jobs : threads of the models that take it
    seed : of the folds, and of what models draw
    say : told what is being done
    """
    from hedgerow.report import compare as compare_models

    plan = read_models(models)
    told = {"columns": columns, "separator": separator, "label": label, "by": by, "kinds": kinds}
    X, y, recipe = read_files(data, format, template, told, complete=False)
    reach = default_window(X, recipe) if window is None else window
    estimators = {}
    for shown, (name, settings) in plan.items():
        own = MODELS[name]
        given = {"window": reach if own.window else None, "random_state": seed if own.draws else None, "n_jobs": jobs}
        estimators[shown] = new_model(name, recipe, given, settings)
        estimators[shown]._check_parameters()  # before any of them is trained
    tested = (None, None) if test is None else recipe.read_labelled(Input(test))
    if scheme is None and looks_like_spans({own for row in y for own in row}):
        scheme = "auto"
    return compare_models(
        estimators, X, y, X_test=tested[0], y_test=tested[1], cv=folds, random_state=seed, scheme=scheme, say=say
    )


def read_models(texts: Sequence[str]) -> dict[str, tuple[str, dict[str, Any]]]:
    """What is shown → the model's name and its settings, of texts such as "crf:l2=0.1"."""
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for text in texts:
        shown = text.strip()
        name, *settings = shown.split(":")
        name = ALIASES.get(name, name)
        if name not in MODELS:
            known = listed([*ALIASES, *MODELS])
            raise InputError(f"--models names {name!r}, which is no model", hint=f"Choose among {known}.")
        if shown in found:
            raise InputError(f"--models names {shown!r} twice")
        found[shown] = (name, read_settings(name, settings))
    return found


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def _write(found: Comparison, html: str | None, plot: str | None) -> None:
    from hedgerow.report import plot_comparison, write_comparison

    if html is not None:
        write_comparison(found, html)
    if plot is not None:
        plot_comparison(found, plot)
