"""`hedgerow tag`: a model and a file in, the file with predicted labels out."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Annotated, Any

from typer import Option

from hedgerow.cli import train_options as options
from hedgerow.cli.flags import in_flags
from hedgerow.cli.inputs import STANDARD, Input, check_writable, load_chain
from hedgerow.cli.train_options import option
from hedgerow.errors import InputError

MOST_COLUMNS = 1000  # that are added
_ALONE = "With it go --lag, --probabilities and --format."


def command(
    model: options.ModelFile,
    data: Annotated[str, options.file("DATA", "The file to tag; - is standard input.")] = STANDARD,
    output: Annotated[str, option("FILE", "Where to; - is standard output.", "--output", "-o")] = STANDARD,
    decoder: Annotated[str | None, option("NAME", "viterbi, posterior or beam. \\[the model's]")] = None,
    probabilities: Annotated[bool, Option("--probabilities", "-p", help="Add how probable they are.")] = False,
    k_best: Annotated[int | None, option("N", "The N best labelings, best first.", "--k-best", "-k")] = None,
    format: Annotated[str | None, option("NAME", "The input's format. \\[by suffix; as in training]")] = None,
    stream: Annotated[bool, Option("--stream", help="Write each line as soon as its label can be told.")] = False,
    lag: Annotated[int | None, option("N", "With --stream: so many lines more may tell. \\[0]")] = None,
) -> None:
    """Write a file again with predicted labels.

    They are one more column, or one more field in JSON lines. The input may have labels of its own or not.

    With --stream, lines of columns or CSV are labelled as they come, each by the lines up to it.
    """
    with in_flags(command, {"k": "k_best"}):
        if stream:
            if decoder not in (None, "posterior") or k_best is not None or output != STANDARD:
                raise InputError("--stream writes the most probable labels to standard output", hint=_ALONE)
            _stream(model, data, lag=lag or 0, probabilities=probabilities, format=format)
            return
        if lag is not None:
            raise InputError("--lag is for --stream")
        check_writable(output, (model, data))  # before anything is tagged
        content = tag(model, data, decoder=decoder, probabilities=probabilities, k_best=k_best, format=format)
    if output != STANDARD:
        from hedgerow.persistence import replace_file

        replace_file(output, [content])
        return
    if content.startswith(b"PAR1") and sys.stdout.isatty():
        raise InputError("Parquet is not for a terminal", hint="Give --output FILE.")
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def _stream(model: str, data: str, **options: Any) -> None:
    """Tag line by line, to standard output."""
    from hedgerow.cli.streaming import tag_lines

    with nullcontext(sys.stdin.buffer) if data == STANDARD else open(data, "rb") as lines:
        sys.stdout.flush()
        for content in tag_lines(model, data, lines, **options):
            sys.stdout.buffer.write(content)
            sys.stdout.buffer.flush()


def tag(
    model: str, data: str, *, decoder: str | None = None, probabilities: bool = False, k_best: int | None = None,
    format: str | None = None,
) -> bytes:  # fmt: skip
    """The content of a file, in its own format, with predicted labels. The parameters are the options of the command.
    With `k_best`, `probabilities` are those of whole labelings."""
    from hedgerow.cli.recipe import labelled, recipe_of

    if k_best is not None and k_best > MOST_COLUMNS:
        hint = f"The most is {MOST_COLUMNS}; in Python there is predict_k_best."
        raise InputError(f"--k-best {k_best} would add as many columns", hint=hint)
    if k_best is not None and decoder == "posterior":
        raise InputError("--k-best gives whole labelings, which the posterior decoder does not have")
    crf = load_chain(model)
    asked = [("--probabilities", probabilities, "predict_proba"), ("--k-best", k_best is not None, "predict_k_best")]
    for flag, given, method in asked:
        if given and not hasattr(crf, method):
            kind = type(crf).__name__
            what = "has no probabilities" if method == "predict_proba" else "has no list of best labelings"
            raise InputError(f"{flag}: {kind} {what}", hint="Leave it out, or tag with another model.", path=model)
    source = Input(data)
    recipe = recipe_of(crf, source, format)
    X, y = recipe.read(source)
    columns = _predict(crf, X, decoder, probabilities) if k_best is None else _k_best(crf, X, k_best, probabilities)
    return labelled(source, recipe, columns, y)


def _predict(model: Any, X: Any, decoder: str | None, probabilities: bool) -> dict[str, list[list[Any]]]:
    """Name of a new column → its values, a list per sequence."""
    dataset = model.encode(X)
    columns = {"predicted": list(model.predict(dataset, decoder=decoder))}
    if probabilities:
        place = {label: k for k, label in enumerate(model.classes_.tolist())}
        columns["probability"] = [
            [round(float(row[place[label]]), 4) for row, label in zip(probs, labels)]
            for probs, labels in zip(model.predict_proba(dataset), columns["predicted"])
        ]
    return columns


def _k_best(model: Any, X: Any, k: int, probabilities: bool) -> dict[str, list[list[Any]]]:
    """One column per labeling. A short sequence may have fewer than k: the other columns then hold None."""
    labelings = model.predict_k_best(X, k)
    columns: dict[str, list[list[Any]]] = {}
    for j in range(max((len(best) for best in labelings), default=0)):
        name = "" if j == 0 else f"_{j + 1}"
        columns[f"predicted{name}"] = [best[j][0] if j < len(best) else [None] * len(best[0][0]) for best in labelings]
        if probabilities:
            columns[f"probability{name}"] = [
                [round(best[j][1], 4) if j < len(best) else None] * len(best[0][0]) for best in labelings
            ]
    return columns
