"""`hedgerow tag`: a model and a file in, the file with predicted labels out."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer

from hedgerow.cli.flags import in_flags
from hedgerow.cli.inputs import STANDARD, Input, check_format, load_chain
from hedgerow.cli.train import check_writable
from hedgerow.errors import InputError


def command(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model file.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="The file to tag; - is standard input.")] = STANDARD,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Where to; - is standard output.")
    ] = STANDARD,
    decoder: Annotated[
        str | None, typer.Option(metavar="NAME", help="viterbi, posterior or beam. \\[the model's]")
    ] = None,
    probabilities: Annotated[bool, typer.Option("--probabilities", "-p", help="Add how probable they are.")] = False,
    k_best: Annotated[
        int | None, typer.Option("--k-best", "-k", metavar="N", help="The N best labelings, best first.")
    ] = None,
    format: Annotated[
        str | None, typer.Option(metavar="NAME", help="The input's format. \\[by suffix; as in training]")
    ] = None,
) -> None:
    """Write a file again with predicted labels.

    They are one more column, or one more field in JSON lines. The input may have labels of its own or not.
    """
    with in_flags(command, {"k": "k_best"}):
        if output != STANDARD:
            _check_output(output)
        content = tag(model, data, decoder=decoder, probabilities=probabilities, k_best=k_best, format=format)
    if output != STANDARD:
        with open(output, "wb") as file:
            file.write(content)
        return
    if content.startswith(b"PAR1") and sys.stdout.isatty():
        raise InputError("Parquet is not for a terminal", hint="Give --output FILE.")
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def _check_output(output: str) -> None:
    """Refuse a place that cannot be written to before anything is tagged. A file that is there is written in place."""
    if not os.path.exists(output) or os.path.isdir(output):
        check_writable(output)
    elif not os.access(output, os.W_OK):
        raise InputError("the file cannot be written to", path=output)


def tag(
    model: str,
    data: str,
    *,
    decoder: str | None = None,
    probabilities: bool = False,
    k_best: int | None = None,
    format: str | None = None,
) -> bytes:
    """The content of a file, in its own format, with predicted labels.

    Parameters
    ----------
    model : path of a model that `hedgerow train` made
    data : path of the file, or "-" for standard input
    decoder : "viterbi", "posterior" or "beam"; the model's own by default
    probabilities : add the probability of each predicted label, or with `k_best` of each labeling
    k_best : how many labelings to give, the most probable first
    format : the format of the file; told from its suffix, else that of the training files
    """
    from hedgerow.cli.output import labelled
    from hedgerow.cli.recipe import recipe_of

    if k_best is not None and decoder == "posterior":
        raise InputError("--k-best gives whole labelings, which the posterior decoder does not have")
    crf = load_chain(model)
    source = Input(data)
    recipe = recipe_of(crf, source, None if format is None else check_format(format))
    X, y = recipe.read(source)
    columns = _predict(crf, X, decoder, probabilities) if k_best is None else _k_best(crf, X, k_best, probabilities)
    return labelled(source, recipe, columns, y)


def _predict(model: Any, X: Any, decoder: str | None, probabilities: bool) -> dict[str, list[list[Any]]]:
    """Name of a new column → its values, a list a sequence."""
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
    """One column a labeling. A short sequence may have fewer than k: None then stands in the columns of the others."""
    found = model.predict_k_best(X, k)
    columns: dict[str, list[list[Any]]] = {}
    for j in range(k):
        name = "" if j == 0 else f"_{j + 1}"
        columns[f"predicted{name}"] = [best[j][0] if j < len(best) else [None] * len(best[0][0]) for best in found]
        if probabilities:
            columns[f"probability{name}"] = [
                [round(best[j][1], 4) if j < len(best) else None] * len(best[0][0]) for best in found
            ]
    return columns
