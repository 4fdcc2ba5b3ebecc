"""`hedgerow report`: a page on how good a model is, where it errs, and what it has learnt."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from hedgerow.cli import train_options as options
from hedgerow.cli.flags import as_typed, in_flags
from hedgerow.cli.inputs import STANDARD, Input, check_writable, load_chain
from hedgerow.cli.train_options import option

if TYPE_CHECKING:
    from hedgerow.report import Report

Out = Annotated[str, option("FILE", "Where the page goes.", "--out", "-o")]
Shown = Annotated[int, option("N", "The most sequences to show.", min=0)]
SuspectsFile = Annotated[str | None, option("FILE", "Write labels that are probably wrong, as CSV.")]
NextFile = Annotated[str | None, option("FILE", "Write what to label next, as CSV.", "--next")]
Title = Annotated[str | None, option("TEXT", "The title of the page.")]


def command(
    context: typer.Context,
    model: options.ModelFile,
    data: Annotated[str, options.file("DATA", "A labelled file; - is standard input.")],
    out: Out,
    train: Annotated[
        list[str] | None, option("FILE", "What it was trained on, to compare with; repeat for more.")
    ] = None,
    unlabelled: Annotated[bool, Option("--unlabelled", help="DATA has no labels: no scores, all else.")] = False,
    cv: Annotated[int | None, option("N", "Suspects by N-fold cross-validation, of --train or DATA.", min=2)] = None,
    scheme: options.Scheme = None,
    shown: Shown = 40,
    suspects: SuspectsFile = None,
    next_file: NextFile = None,
    title: Title = None,
    format: Annotated[str | None, option("NAME", "The data's format. \\[by suffix; as in training]")] = None,
    quiet: options.Quiet = False,
) -> None:
    """Write a page on how good a model is and where it errs, which any browser shows.

    Scores with ±, confusions, confidence, the worst sequences with reasons, what the model has learnt, labels that are
    probably wrong. One file, which loads nothing. --train also says how DATA differs from what was trained on.
    """
    with in_flags(command, {"X_train": "train", "y_train": "train"}):
        made = report(
            model, data, out, train=train or (), unlabelled=unlabelled, cv=cv, scheme=scheme, shown=shown,
            suspects=suspects, next_file=next_file, title=title, format=format, command=as_typed(context),
        )  # fmt: skip
    if not quiet:
        tell(made, out)


def report(
    model: str,
    data: str,
    out: str,
    *,
    train: Sequence[str] = (),
    unlabelled: bool = False,
    cv: int | None = None,
    scheme: str | None = None,
    shown: int = 40,
    suspects: str | None = None,
    next_file: str | None = None,
    title: str | None = None,
    format: str | None = None,
    command: str | None = None,
) -> Report:
    """Judge a model by a file, and write the page. The parameters are the options of the command, and what the page
    says made it."""
    from hedgerow.cli.recipe import recipe_of
    from hedgerow.report import make_report

    check_outputs((out, suspects, next_file), (model, data, *train))
    crf = load_chain(model)
    source = Input(data)
    recipe = recipe_of(crf, source, format)
    hint = "Give --unlabelled for a report without scores."
    X, y = (recipe.read(source)[0], None) if unlabelled else recipe.read_labelled(source, hint)
    parts = [(one, recipe_of(crf, one, format)) for one in map(Input, train)]
    pairs = [own.read_labelled(one) for one, own in parts]
    X_train = [x for part, _ in pairs for x in part] if len(pairs) != 1 else pairs[0][0]
    y_train = [labels for _, part in pairs for labels in part]
    files = {"model file": model} | ({"data file": data} if data != STANDARD else {})
    files |= {f"training file{f' {i + 1}' * (len(train) > 1)}": path for i, path in enumerate(train)}
    made = make_report(
        crf, X, y, X_train=X_train if train else None, y_train=y_train if train else None, cv=cv, scheme=scheme,
        n_shown=shown, title=title or f"{_name(model)} on {_name(data)}", files=files, command=command,
    )  # fmt: skip
    return write(made, out, suspects, next_file)


def _name(path: str) -> str:
    return "standard input" if path == STANDARD else path.replace("\\", "/").rpartition("/")[2]


def check_outputs(outputs: Sequence[str | None], read: Sequence[str | None]) -> None:
    """Refuse places where nothing can be written, and those that are read or written twice."""
    taken = list(read)
    for path in outputs:
        if path is not None:
            check_writable(path, taken)
            taken.append(path)


def write(made: Report, out: str, suspects: str | None, next_file: str | None) -> Report:
    """Write the page, or print it, and the lists."""
    if out == STANDARD:
        print(made.to_html())
    else:
        made.save(out)
    if suspects is not None:
        made.save_suspects(suspects)
    if next_file is not None:
        made.save_next(next_file)
    return made


def tell(made: Report, out: str) -> None:
    """Say how good the model is, and where more of it is to be read."""
    lines = [] if made.scores is None else [
        f"{one.name:<19} {one.value:.4f}" + ("" if one.spread is None else f" ± {one.spread:.4f}")
        for one in made.scores.headlines
    ]  # fmt: skip
    print("\n".join([*lines, f"{'page':<19} {out}"]), file=sys.stderr if out == STANDARD else sys.stdout)
