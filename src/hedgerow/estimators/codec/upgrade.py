"""Files of older versions as this one has them.

Format 1 had one flat header, and names of tensors that each kind chose. What all models have is moved here, and what
one kind has in its own `upgrade`. Parameters have had other names, and settings of trainers stood among them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

from hedgerow.estimators.codec.steps import Tensors
from hedgerow.trainers import TRAINERS, FeatureInduction, make_trainer

_SETTINGS = ("batch_size", "gain", "schedule", "meta_gain", "gain_decay", "lazy")


def with_trainer(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters with a trainer of settings as an object, and an induction; older files have the settings of trainers
    beside their names."""
    upgraded, trainer = dict(parameters), parameters.get("trainer")
    given = {name: upgraded.pop(name) for name in _SETTINGS if name in upgraded}
    if isinstance(trainer, dict):
        upgraded["trainer"] = make_trainer(trainer["name"], trainer["settings"])
    elif given and trainer in TRAINERS:
        defaults = {field.name: field.default for field in fields(TRAINERS[trainer])}
        changed = {name: x for name, x in given.items() if name in defaults and x not in (defaults[name], "auto")}
        upgraded["trainer"] = make_trainer(trainer, changed) if changed else trainer
    if isinstance(parameters.get("induction"), dict):
        upgraded["induction"] = FeatureInduction(**parameters["induction"])
    return upgraded


class Old:
    """A model of a file of format 1: what is left of its header and tensors, and what was made of them so far.

    kind, parameters, metadata : of the model
    header, tensors : what is left
    state, moved : the state of format 2, and its tensors
    """

    def __init__(self, header: dict[str, Any], tensors: Tensors, upgrade_of: Callable[[Any], Callable[[Old], None]]):
        self.header, self.tensors = dict(header), dict(tensors)
        self.kind = self.header.pop("kind")
        self.parameters = self.header.pop("parameters")
        self.metadata = self.header.pop("metadata", {})
        self.state: dict[str, Any] = {name.removesuffix("_"): x for name, x in self.header.pop("fitted").items()}
        self.moved: Tensors = {}
        self._upgrade_of = upgrade_of
        upgrade_of(self.kind)(self)

    def new(self) -> tuple[dict[str, Any], Tensors]:
        """Header and tensors of format 2."""
        header = {"kind": self.kind, "parameters": self.parameters, "metadata": self.metadata, "state": self.state}
        return header, self.moved

    def part(self, path: str, **values: Any) -> None:
        """A part of the state, with these values."""
        place = self.state
        for name in path.split("."):
            place = place.setdefault(name, {})
        place |= values

    def taken(self, prefix: str) -> Tensors:
        """The tensors whose names begin so, by the rest of their names; they are left no longer."""
        names = [name for name in self.tensors if name.startswith(prefix)]
        return {name.removeprefix(prefix): self.tensors.pop(name) for name in names}

    def move(self, path: str, old: str | None = None) -> None:
        """A part of the state that has the tensors which were called by the name `old` (else `path`) and theirs."""
        self.part(path)
        self.moved |= {f"{path}.{name}": array for name, array in self.taken(f"{old or path}.").items()}

    def keep(self, *names: str, path: str = "") -> None:
        """Tensors of the state, or of a part of it, which were called by these names alone."""
        self.moved |= {f"{path}{name}": self.tensors.pop(name) for name in names}

    def model(self, name: str) -> None:
        """A model inside, whose tensors were called by its name and theirs."""
        inner = Old(self.header[name], self.taken(f"{name}."), self._upgrade_of)
        self.state[name], tensors = inner.new()
        self.moved |= {f"{name}.{key}": array for key, array in tensors.items()}

    def schema(self) -> None:
        """The schema of a chain model, and what stands in for missing values."""
        names = ("labels", "columns", "attribute_offsets", "window", "declared")
        self.part("schema", **{name: self.header.pop(name) for name in names})
        self.move("schema.attributes", "attributes")
        columns = self.state["schema"]["columns"] = [dict(column) for column in self.state["schema"]["columns"]]
        for i, column in enumerate(columns):
            if column["kind"] == "categorical":
                column["vocabulary"] = {}
                vocabulary = self.taken(f"column.{i}.")
                self.moved |= {f"schema.columns.{i}.vocabulary.{name}": one for name, one in vocabulary.items()}
        if "imputation" in self.header:
            self.part("imputation", **self.header.pop("imputation"))

    def space(self, path: str = "space") -> None:
        """The legal moves."""
        self.move(path, "space")

    def histories(self, path: str = "histories") -> None:
        """Histories, where there are some."""
        if "histories.order_start" in self.tensors:
            order, start = self.tensors.pop("histories.order_start").tolist()
            self.move(path, "histories")
            self.part(path, order=order, start=start)

    def trees(self, binning: str, ensemble: str, prefix: str = "", trees_per_step: Any = 1) -> None:
        """Bins and trees."""
        self.move(binning, f"{prefix}bins")
        self.move(ensemble, f"{prefix}trees")
        self.part(ensemble, trees_per_step=trees_per_step)
