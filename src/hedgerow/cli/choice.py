"""What `hedgerow train --model auto` says at the end: what was tried, what it chose, and how to train that again."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from hedgerow.cli.models import MODELS

SHOWN = 8  # models of the table


def show_choice(model: Any, data: Sequence[str], path: str, reading: Mapping[str, Any], seed: int) -> None:
    """Print the best models as a table, and the lines that train the chosen one again."""
    from rich.console import Console
    from rich.table import Table

    if model.leaderboard_:
        heads = ("", model.scoring_, "± error", "log-loss", "folds", "seconds", "model")
        table = Table(box=None, pad_edge=False, title=None)
        for i, head in enumerate(heads):
            table.add_column(head, justify="left" if i in (0, 6) else "right", overflow="fold")
        for row in model.leaderboard_.rows(SHOWN):
            table.add_row(*row)
        print()
        Console(highlight=False, markup=False).print(table)
    print("\nto train the same again, in Python")
    print(f"  {model.chosen_}")
    line = command_line(model, data, path, reading, seed)
    if line is not None:
        print(f"in a shell\n  {line}")


def command_line(model: Any, data: Sequence[str], path: str, reading: Mapping[str, Any], seed: int) -> str | None:
    """The command that trains the chosen model again; None where only Python can say it: averages, and trees on a
    linear model."""
    from hedgerow.models.auto.candidates import changed_parameters

    best = model.best_estimator_
    names = {one.estimator.partition(":")[2]: name for name, one in MODELS.items()}
    settings = changed_parameters(best)
    if len(model.estimators_) > 1 or type(best).__name__ not in names or hasattr(settings.get("init"), "fit"):
        return None
    inner = settings.pop("estimator", None)
    if hasattr(inner, "get_params"):  # its parameters are given as if they were the model's own
        settings = {"estimator": {"LinearCRF": "linear", "TreeCRF": "trees"}[type(inner).__name__]} | settings
        settings |= changed_parameters(inner)
    name = names[type(best).__name__]
    words = ["hedgerow", "train", *data, "-o", path, *_reading(reading), "--model", name]
    if MODELS[name].takes("window"):
        window = getattr(best, "window", 0)
        words += ["--window", ",".join(map(str, window)) if isinstance(window, tuple) else str(window)]
    if MODELS[name].takes("random_state"):
        words += ["--seed", str(seed)]
    for parameter, value in settings.items():
        if parameter not in ("window", "n_jobs", "random_state", "columns", "verbose"):
            words += ["--set", f"{parameter}={value}"]
    return shlex.join(words)


def _reading(reading: Mapping[str, Any]) -> list[str]:
    """The options that say how files are read, as they were given."""
    words: list[str] = []
    for name, value in reading.items():
        if value:
            pairs = [f"{key}={kind}" for key, kind in value.items()] if isinstance(value, Mapping) else value
            text = pairs if isinstance(pairs, str) else ",".join(pairs)
            words += [f"--{name}", text.replace("\t", "\\t")]
    return words
