"""Where a data set lies on disk: in the folder given, else inside the one that HEDGEROW_DATA names."""

from __future__ import annotations

import os
from pathlib import Path

from hedgerow.errors import InputError

VARIABLE = "HEDGEROW_DATA"


def find_folder(folder: str | os.PathLike[str] | None, name: str, files: tuple[str, ...]) -> Path:
    """The folder that holds these files: `folder`, else `name` inside the folder that HEDGEROW_DATA names."""
    if folder is not None:
        place = Path(folder)
    elif named := os.environ.get(VARIABLE):
        place = Path(named) / name
    else:
        raise InputError(
            f"the data set {name!r} is not there: no folder was given and {VARIABLE} is not set",
            hint=f"Give folder=, a folder with {_listed(files)}; or set {VARIABLE} to the folder that holds {name}/.",
        )
    for file in files:
        if not (place / file).is_file():
            raise InputError(
                f"has no file {file}",
                hint=f"Give folder=, a folder with {_listed(files)}; or set {VARIABLE} to the folder that holds"
                f" {name}/.",
                path=os.fspath(place),
            )
    return place


def _listed(files: tuple[str, ...]) -> str:
    return " and ".join(files)
