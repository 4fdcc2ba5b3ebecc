"""What a report is of: the model and how it came to be, the data, the command, the time."""

from __future__ import annotations

import datetime
import hashlib
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow import __version__
from hedgerow.explain.splits import explained
from hedgerow.report.page.tested import Tested

_LONGEST = 400  # letters of a value


@dataclass(frozen=True)
class About:
    """`facts` are (name, value) of the model and of the data, to be read from top to bottom."""

    title: str
    model: str
    command: str
    facts: list[tuple[str, str]]


def about(tested: Tested, title: str | None, command: str | None, files: Mapping[str, str]) -> About:
    """files : what it is → path, of the files that were read; their fingerprints tell later which they were"""
    model, words = tested.model, tested.words
    name = type(model).__name__
    best = explained(model)
    kind = name if best is model else f"{name}: {type(best).__name__}"
    n, N = tested.n_sequences, len(tested.true)
    facts = [("data", f"{n:,} {words['items' if n != 1 else 'item']}, {N:,} {words['places']}")]
    facts += [("model", kind), ("labels", f"{len(model.classes_):,}"), *_training(model), *_settings(model)]
    facts += [(what, f"{path} (SHA-256 {_fingerprint(path)})") for what, path in files.items()]
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    facts.append(("made", f"{now}, hedgerow {__version__}, Python {platform.python_version()}, NumPy {np.__version__}"))
    return About(title or f"{kind} on {n:,} {words['items']}", kind, command or "model.report(X, y)", facts)


def _training(model: Any) -> list[tuple[str, str]]:
    told = []
    match getattr(model, "metadata_", {}).get("training"):
        case {"sequences": int(n), "positions": int(N), "seconds": (int() | float()) as seconds}:
            told.append(("trained on", f"{n:,} sequences, {N:,} positions, in {seconds:.1f} seconds"))
    work = "models tried" if hasattr(model, "leaderboard_") else "iterations"
    told.append(
        ("training", f"{model.n_iter_:,} {work}, {str(model.outcome_).replace('_', ' ')}, loss {model.loss_:.4f}")
    )
    return told


def _settings(model: Any) -> list[tuple[str, str]]:
    """The parameters that are not the defaults."""
    if hasattr(model, "chosen_"):
        return [("chosen", str(model.chosen_)[:_LONGEST])]
    plain = type(model)().get_params(deep=False)
    changed = {name: value for name, value in model.get_params(deep=False).items() if not _same(value, plain.get(name))}
    text = ", ".join(f"{name}={value!r}" for name, value in changed.items() if name not in ("verbose", "n_jobs"))
    return [("settings", text[:_LONGEST] or "all by default")]


def _same(a: Any, b: Any) -> bool:
    try:
        return bool(a is b or a == b)
    except ValueError:  # arrays
        return False


def _fingerprint(path: str) -> str:
    file = Path(path)
    if not file.is_file():
        return "–"
    with open(file, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()[:16]
