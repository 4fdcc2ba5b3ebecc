"""From the text of a contender, such as "TreeCRF(leaves='newton')", to a model. Nothing is evaluated.

A contender is a name, or a call of a name with keyword arguments. Names are the estimators that hedgerow exports and
the baselines of the arena; arguments are literals or contenders themselves.
"""

from __future__ import annotations

import ast
from typing import Any

import hedgerow
from benchmarks.arena.baselines import BASELINES
from hedgerow.errors import InputError

HINT = "Write a name, or a name with keyword arguments that are literals, such as TreeCRF(learning_rate=0.1)."


class Missing(Exception):
    """A contender that hedgerow may have and does not have here."""


def canonical(text: str) -> str:
    """The text in one spelling; a name alone is called without arguments."""
    node = _parse(text)
    return f"{node.id}()" if isinstance(node, ast.Name) else ast.unparse(node)


def resolve(text: str) -> Any:
    """The model that a text names, not fitted. Missing where hedgerow has no such estimator."""
    return _build(_parse(text), text)


def given_parameters(text: str) -> set[str]:
    """The parameters that a text gives."""
    node = _parse(text)
    return {keyword.arg for keyword in node.keywords if keyword.arg} if isinstance(node, ast.Call) else set()


def _parse(text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise InputError(f"{text!r} is no contender", hint=HINT) from error


def _build(node: ast.expr, text: str) -> Any:
    if isinstance(node, ast.Name):
        return _class(node.id)()
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.args:
        raise InputError(f"{text!r} is no contender", hint=HINT)
    arguments: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise InputError(f"{text!r} is no contender", hint=HINT)
        if isinstance(keyword.value, ast.Call):
            arguments[keyword.arg] = _build(keyword.value, text)
        else:
            try:
                arguments[keyword.arg] = ast.literal_eval(keyword.value)
            except ValueError as error:
                raise InputError(f"{keyword.arg} of {text!r} is not a literal", hint=HINT) from error
    return _class(node.func.id)(**arguments)


def _class(name: str) -> Any:
    if name in BASELINES:
        return BASELINES[name]
    found = getattr(hedgerow, name, None) if name in hedgerow.__all__ else None
    if found is None and name == "AutoLabeler":
        raise Missing(f"this hedgerow has no {name}")
    if not isinstance(found, type) or not hasattr(found, "fit"):
        raise InputError(f"there is no contender {name!r}", hint=HINT)
    return found
