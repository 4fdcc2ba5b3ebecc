"""The models of the command line: what they are called, which estimator each is, and which options it takes."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hedgerow.errors import InputError


@dataclass(frozen=True)
class Model:
    """A model by its short name.

    estimator : "module:class"
    title : what it is, in a few words
    options : the options of `hedgerow train` that it takes, each with the parameter that it sets
    window : whether it has a window
    holds_out : whether it can stop early by sequences that are held out
    draws : whether it draws random numbers
    complete : whether every number must be there, unless it is told what to do with gaps
    """

    estimator: str
    title: str
    options: Mapping[str, str] = field(default_factory=dict)
    window: bool = True
    holds_out: bool = True
    draws: bool = True
    complete: bool = True

    def load(self) -> Any:
        """The class."""
        module, _, name = self.estimator.partition(":")
        return getattr(importlib.import_module(module), name)


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


# Of models that classify rows, by weights or by trees.
_OF_ROWS = {"trees": "n_estimators", "leaves": "max_leaf_nodes"} | _same(
    "l2",
    "l1",
    "max_iter",
    "l2_regularization",
    "learning_rate",
    "min_frequency",
    "missing",
    "transitions",
    "constraints",
)

MODELS: dict[str, Model] = {
    "linear": Model(
        "hedgerow.models.crf.linear:LinearCRF",
        "a linear CRF",
        _same("order", "objective", "trainer", "l2", "l1", "max_iter")
        | _same("min_frequency", "missing", "transitions", "constraints"),
    ),
    "tree": Model(
        "hedgerow.models.crf.tree:TreeCRF",
        "a CRF of boosted trees",
        {"trees": "n_estimators", "leaves": "max_leaf_nodes"}
        | _same("order", "objective", "l2_regularization", "learning_rate", "edges")
        | _same("min_frequency", "missing", "transitions", "constraints"),
        complete=False,
    ),
    "sw": Model(
        "hedgerow.models.local.sliding_window:SlidingWindow",
        "a sliding window",
        _OF_ROWS,
        complete=False,
    ),
    "rsw": Model(
        "hedgerow.models.local.recurrent_sliding_window:RecurrentSlidingWindow",
        "a recurrent sliding window",
        {"order": "history"} | _OF_ROWS,
        complete=False,
    ),
    "memm": Model(
        "hedgerow.models.local.memm:MEMM",
        "a maximum entropy Markov model",
        {"order": "order"} | _OF_ROWS,
        complete=False,
    ),
    "ffmemm": Model(
        "hedgerow.models.future.estimator:FutureFeatureMEMM",
        "a maximum entropy Markov model with future features",
        {"trees": "n_estimators", "leaves": "max_leaf_nodes"}
        | _same(
            "order", "l2_regularization", "learning_rate", "min_frequency", "missing", "transitions", "constraints"
        ),
        complete=False,
    ),
    "search": Model(
        "hedgerow.models.search.estimator:BeamSearchTagger",
        "a tagger that learns to search",
        _same("order", "max_iter", "min_frequency", "missing", "transitions", "constraints"),
    ),
    "veb": Model(
        "hedgerow.models.crf.virtual_evidence:VirtualEvidence",
        "virtual evidence boosting",
        {"trees": "n_estimators", "leaves": "max_leaf_nodes"}
        | _same(
            "l2_regularization", "learning_rate", "edges", "min_frequency", "missing", "transitions", "constraints"
        ),
        complete=False,
    ),
    "hmm": Model(
        "hedgerow.models.hmm.estimator:HMM",
        "a hidden Markov model",
        _same("order", "max_iter", "transitions", "constraints"),
        window=False,
        holds_out=False,
        draws=False,
        complete=False,
    ),
    "iohmm": Model(
        "hedgerow.models.iohmm.estimator:IOHMM",
        "an input/output hidden Markov model",
        _same("l2", "max_iter"),
        holds_out=False,
    ),
    "m3n": Model(
        "hedgerow.models.crf.max_margin:MaxMarginMarkovNetwork",
        "a max-margin Markov network",
        _same("trainer", "l2", "max_iter", "min_frequency", "transitions", "constraints"),
    ),
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


def read_settings(name: str, given: Sequence[str]) -> dict[str, Any]:
    """Parameters written as NAME=VALUE, for the model of that name."""
    return settings_of(find_model(name).load(), name, given)


def settings_of(estimator: Any, name: str, given: Sequence[str]) -> dict[str, Any]:
    """Parameters of an estimator, which errors call `name`, written as NAME=VALUE. A value is read as Python writes it
    (3, 0.5, True, None, [1, 2]), and as text where it is no such thing."""
    known = inspect.signature(estimator).parameters
    found = {}
    for text in given:
        parameter, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not parameter:
            raise InputError(f"{text!r} names no parameter and value", hint="Write NAME=VALUE, such as l2=0.5.")
        if parameter not in known:
            raise InputError(f"{name} has no parameter {parameter!r}", hint=f"It has {', '.join(known)}.")
        found[parameter] = _value(value)
    return found


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
