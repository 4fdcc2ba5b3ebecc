"""What an experiment finds: a table to read, numbers to keep, a picture."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from reproduction.settings import Settings

Row = tuple[str, ...]

_PACKAGES = ("hedgerow", "numpy", "numba", "scikit-learn", "lightgbm", "statsmodels")


@dataclass(frozen=True)
class Grid:
    """A table as text."""

    title: str
    header: Row
    rows: list[Row]


@dataclass(frozen=True)
class Report:
    """The outcome of an experiment.

    name : "thesis-3.5"
    tables : to be read one after the other
    notes : sentences below them
    data : everything that was measured, in values that JSON has, or that have a `to_dict`
    """

    name: str
    tables: list[Grid]
    notes: list[str] = field(default_factory=list)
    data: dict[str, Any] = field(default_factory=dict)

    def save(self, path: str | os.PathLike[str], settings: Settings) -> None:
        """Write it as JSON, with the settings and the versions it was made with."""
        record = {
            "experiment": self.name,
            "settings": settings.to_dict(),
            "versions": {"python": platform.python_version(), **_versions()},
            "cores": os.cpu_count(),
            "tables": [asdict(table) for table in self.tables],
            "notes": self.notes,
            "data": self.data,
        }
        text = json.dumps(record, indent=1, ensure_ascii=False, default=lambda thing: thing.to_dict())
        Path(path).write_text(text + "\n", encoding="utf-8")

    def show(self, console: Any) -> None:
        """Print tables and notes to a console of rich."""
        from rich.table import Table

        for own in self.tables:
            table = Table(title=own.title, title_justify="left")
            for i, name in enumerate(own.header):
                table.add_column(name, justify="right" if i else "left")
            for row in own.rows:
                table.add_row(*row)
            console.print(table)
        for note in self.notes:
            console.print(note, highlight=False)


def _versions() -> dict[str, str]:
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
