"""Parameters of older files as this version has them: settings of trainers have stood among them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

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
