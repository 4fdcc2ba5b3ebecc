"""The models of the command line: what they are called, which estimator each is, and which options it takes."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hedgerow.errors import InputError

LONGEST_VALUE = 10_000  # characters of a parameter that is read as Python writes it


@dataclass(frozen=True)
class Model:
    """A model by its short name.

    estimator : its class, in hedgerow
    options : the options of `hedgerow train` that it takes, each with the parameter that it sets
    complete : whether every number must be there, unless it is told what to do with gaps
    """

    estimator: str
    options: Mapping[str, str]
    complete: bool = True

    def load(self) -> Any:
        """The class."""
        return getattr(importlib.import_module("hedgerow"), self.estimator)

    def takes(self, parameter: str) -> bool:
        """Whether the class, or the estimator of rows that it takes, has a parameter of this name."""
        return parameter in parameters_of(self.load())


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


_ALL = _same("features", "min_frequency", "missing", "transitions", "constraints")
_TREES = {"trees": "n_estimators", "leaves": "max_leaf_nodes"} | _same("l2_regularization", "learning_rate") | _ALL
_ROWS = _TREES | _same("l2", "l1", "max_iter")  # of models that classify rows, by weights or by trees
_ORDER = _same("order")


MODELS: dict[str, Model] = {
    "linear": Model("LinearCRF", _ORDER | _same("objective", "trainer", "l2", "l1", "max_iter") | _ALL),
    "tree": Model("TreeCRF", _ORDER | _same("objective", "edges") | _TREES, complete=False),
    "sw": Model("SlidingWindow", _ROWS, complete=False),
    "rsw": Model("RecurrentSlidingWindow", _ORDER | _ROWS, complete=False),
    "memm": Model("MEMM", _ORDER | _ROWS, complete=False),
    "ffmemm": Model("FutureFeatureMEMM", _ORDER | _TREES, complete=False),
    "search": Model("BeamSearchTagger", _ORDER | _same("max_iter") | _ALL),
    "veb": Model("VirtualEvidence", _TREES | _same("edges"), complete=False),
    "hmm": Model("HMM", _ORDER | _same("max_iter", "transitions", "constraints"), complete=False),
    "iohmm": Model("IOHMM", _same("features", "l2", "max_iter")),
    "m3n": Model(
        "MaxMarginMarkovNetwork",
        _same("features", "trainer", "l2", "max_iter", "min_frequency", "transitions", "constraints"),
    ),
    "auto": Model("AutoLabeler", _same("time_budget", "features", "missing", "constraints"), complete=False),
}


def find_model(name: str) -> Model:
    """The model of that name."""
    if name not in MODELS:
        raise InputError(f"--model is {name!r}", hint=f"Choose {listed(MODELS)}.")
    return MODELS[name]


def listed(names: Sequence[str] | Mapping[str, Any]) -> str:
    """Names in words: "a, b or c"."""
    *most, last = names
    return f"{', '.join(most)} or {last}" if most else last


def parameters_of(estimator: Any) -> list[str]:
    """The parameters of a class; those of the estimators of rows too, where it takes one."""
    known = list(inspect.signature(estimator).parameters)
    if "estimator" in known:
        from hedgerow.models.local.training import NAMED

        known += [name for rows in NAMED.values() for name in inspect.signature(rows).parameters]
    return list(dict.fromkeys(known))


def make_model(name: str, parameters: Mapping[str, Any]) -> Any:
    """The model of that name. Where it takes an estimator of rows, parameters that are not its own are that one's."""
    estimator = find_model(name).load()
    known = inspect.signature(estimator).parameters
    outer = {parameter: value for parameter, value in parameters.items() if parameter in known}
    inner = {parameter: value for parameter, value in parameters.items() if parameter not in known}
    if inner:
        from hedgerow.models.local.training import named_estimator

        outer["estimator"] = named_estimator(outer.get("estimator", known["estimator"].default), **inner)
    return estimator(**outer)


def read_settings(name: str, given: Sequence[str], trainer: str | None = None) -> dict[str, Any]:
    """Parameters written as NAME=VALUE, for the model of that name."""
    return settings_of(find_model(name).load(), name, given, trainer)


def settings_of(estimator: Any, name: str, given: Sequence[str], trainer: str | None = None) -> dict[str, Any]:
    """Parameters of an estimator, which errors call `name`, written as NAME=VALUE. A value is read as Python writes it
    (3, 0.5, True, None, [1, 2]), and as text where it is no such thing. Settings of the trainer, which is named here or
    by `trainer`, stand among them."""
    from hedgerow.trainers import SETTINGS, TRAINERS, make_trainer

    known = parameters_of(estimator)
    parameters, of_trainer = {}, {}
    for text in given:
        parameter, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not parameter:
            raise InputError(f"{text!r} is not a parameter and a value", hint="Write NAME=VALUE, such as l2=0.5.")
        if parameter in known:
            parameters[parameter] = _value(value)
        elif parameter in SETTINGS and "trainer" in known:
            of_trainer[parameter] = _value(value)
        else:
            raise InputError(f"{name} has no parameter {parameter!r}", hint=f"It has {', '.join(known)}.")
    if of_trainer:
        trainer = parameters.get("trainer", trainer)
        if trainer not in TRAINERS:
            what = f"{next(iter(of_trainer))} is a setting of a trainer, and none is named"
            raise InputError(what, hint=f"Name one of {', '.join(TRAINERS)}.")
        parameters["trainer"] = make_trainer(trainer, of_trainer)
    return parameters


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text) if len(text) <= LONGEST_VALUE else text
    except (ValueError, SyntaxError, RecursionError, MemoryError):  # the last two for brackets in brackets
        return text
