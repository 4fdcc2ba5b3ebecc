"""What a command reads: the bytes of a file or of standard input, its name for messages, its format; and where it
writes."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypedDict

from hedgerow.errors import InputError

STANDARD = "-"
FORMATS = ("conll", "csv", "tsv", "parquet", "jsonl", "crfsuite")
TABLES = ("csv", "tsv", "parquet")
_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".crfsuite": "crfsuite",
}


class Reading(TypedDict, total=False):
    """How labelled files are to be read, as `train` and `compare` are told; what is left out, or None, is not said.

    template : path of a CRF++ template
    format : one of FORMATS; by default told from the suffix, else conll
    columns, separator, label, by, time, max_gap, time_columns, kinds, encoding : as in `read_conll` and `read_table`
    """

    template: str | None
    format: str | None
    columns: Sequence[str]
    separator: str | None
    label: str | None
    by: Sequence[str]
    kinds: Mapping[str, str]
    time: str | None
    max_gap: str | None
    time_columns: Sequence[str]
    encoding: str | None


class _Named(io.BytesIO):
    """Bytes with the name that readers put into their messages."""

    name: str


class Input:
    """A file, or standard input for "-", read once: a pipe cannot be read a second time."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.name = self.name_of(path)
        if path == STANDARD:
            if sys.stdin is None:
                raise InputError("standard input is closed")
            self.content = sys.stdin.buffer.read()
        else:
            with open(path, "rb") as file:
                from hedgerow.data.readers.source import read_all

                self.content = read_all(file, path)

    @staticmethod
    def name_of(path: str) -> str:
        """The name of an input in messages."""
        return "standard input" if path == STANDARD else path

    def stream(self) -> io.BytesIO:
        """The content as a file, from its beginning."""
        stream = _Named(self.content)
        stream.name = self.name
        return stream


def format_of(path: str) -> str | None:
    """The format that the end of a name tells, if it tells one; the file is not read."""
    return _SUFFIXES.get(Path(path).suffix.lower())


def check_format(format: str) -> str:
    """The name of a format, if there is such a format; an error elsewhere."""
    if format not in FORMATS:
        raise InputError(f"{format!r} is not a format", hint=f"Formats are {', '.join(FORMATS)}.")
    return format


def load_chain(path: str) -> Any:
    """The model of sequences in a file; an error where it is one of images."""
    from hedgerow.estimators.base import ChainModel
    from hedgerow.estimators.files import load

    model = load(path)
    if not isinstance(model, ChainModel):
        hint = "Use `hedgerow lattice segment` or `hedgerow lattice eval`."
        raise InputError(f"the file holds a {type(model).__name__}, which labels images", hint=hint, path=path)
    return model


# ------------------------------------------------------------------------------------------------ where it writes


def check_writable(path: str, read: Iterable[str | None] = (), *, model: bool = False) -> None:
    """Refuse a place where a file cannot be written, and one that is read itself, before the work that makes it.

    model : whether it is for a model, which a terminal cannot show
    """
    from hedgerow.persistence import check_target

    if path == STANDARD:
        if model and sys.stdout.isatty():
            raise InputError("a model is not for a terminal", hint="Name a file, or a pipe.")
        return
    for other in filter(None, read):
        same = os.path.exists(other) and os.path.exists(path) and os.path.samefile(other, path)
        if same or os.path.realpath(other) == os.path.realpath(path):
            what = "would be replaced, and is read itself or written twice"
            raise InputError(what, path=path, hint="Name another file.")
    check_target(path, through=True)


def save(model: Any, path: str) -> None:
    """Write a model to a file, or to standard output."""
    if path == STANDARD:
        sys.stdout.flush()
    model.save(sys.stdout.buffer if path == STANDARD else path)


def check_checkpoint(path: str | None, *, resume: bool, read: Iterable[str | None] = ()) -> None:
    """Refuse a place where no checkpoint can be kept, and one that is there where training is to begin anew."""
    if path is None and resume:
        raise InputError("--resume goes on from a --checkpoint", hint="Give --checkpoint FILE.")
    if path is not None:
        check_writable(path, read)
        if os.path.exists(path) and not resume:
            hint = "Give --resume to go on from it, or delete it."
            raise InputError("the checkpoint is there already", path=path, hint=hint)


@contextmanager
def kept_in(model: Any, checkpoint: str | None) -> Iterator[None]:
    """Around training and saving: keep the training in a file, which is deleted when all is done."""
    if checkpoint is None:
        yield
        return
    from hedgerow.training.checkpoint import Checkpoint

    model._check_kept()
    kept = Checkpoint(checkpoint)
    with kept.applied():
        yield
        if not kept.frozen:
            kept.remove()
