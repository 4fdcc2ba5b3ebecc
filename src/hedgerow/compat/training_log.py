"""What CRFsuite says while it trains, and what python-crfsuite's log parser makes of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

_HEAD = re.compile(r"\*{5} Iteration #(\d+) \*{5}\n")
_NUMBERS = {
    "loss": re.compile(r"Loss: (-?\d+\.\d+)"),
    "time": re.compile(r"Seconds required for this iteration: (\d+\.\d+)"),
}
_ACCURACY = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")
_TITLES = {
    "lbfgs": "L-BFGS optimization",
    "l2sgd": "Stochastic Gradient Descent (SGD)",
    "averaged-perceptron": "Averaged perceptron",
    "passive-aggressive": "Passive Aggressive",
    "arow": "Adaptive Regularization of Weights (AROW)",
}


class LogParser:
    """Gathers messages, and tells which event each of them ends.

    log : the messages; last_log : those of the last event
    iterations : a dict per iteration, with "num", "loss", "time" and, of held-out sequences, accuracies
    last_iteration : the last of them, None before the first
    """

    def __init__(self) -> None:
        self.log: list[str] = []
        self.last_log = ""
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self._part = ""
        self._begin = 0

    def feed(self, message: str) -> str | None:
        """Take a message; the event that it ends, or None."""
        self.log.append(message)
        event, end = self._event(message)
        if event is not None:
            self.last_log = "".join(self.log[self._begin : end])
            self._begin = end
        return event

    def _event(self, message: str) -> tuple[str | None, int]:
        here = len(self.log)
        head = _HEAD.match(message)
        if head:
            event = "prepared" if self._part == "preparing" else None
            self._part, self.last_iteration = "iteration", {"num": int(head[1]), "scores": {}}
            self.iterations.append(self.last_iteration)
            return event, here - 1
        if message.startswith("Storing the model"):
            self._part = "storing"
            return "optimization_end", here - 1
        match self._part:
            case "":
                self._part = "features"
                return "start", here
            case "features" if message.startswith("Seconds required:"):
                self._part = "preparing"
                return "featgen_end", here
            case "iteration" if message == "\n":
                self._part = "between"
                return "iteration", here
            case "iteration":
                self._read(message)
            case "storing" if message == "\n":
                return "end", here
        return None, here

    def _read(self, message: str) -> None:
        assert self.last_iteration is not None
        for name, pattern in _NUMBERS.items():
            found = pattern.match(message)
            if found:
                self.last_iteration[name] = float(found[1])
        accuracy = _ACCURACY.match(message)
        if accuracy:
            name, share = f"{accuracy[1].lower()}_accuracy", Fraction(int(accuracy[2]), int(accuracy[3]))
            self.last_iteration |= {name: share, f"{name}_float": float(share)}


def before(algorithm: str, parameters: Mapping[str, Any]) -> Iterator[str]:
    """What is said before training."""
    yield from ("Feature generation\n", "type: CRF1d\n")
    for name, value in parameters.items():
        if name.startswith("feature."):
            yield f"{name}: {_written(value)}\n"


def during(
    algorithm: str,
    parameters: Mapping[str, Any],
    n_features: int,
    iterations: list[dict[str, Any]],
    held_out: tuple[str, ...],
) -> Iterator[str]:
    """What is said of training; `held_out` is said of the last iteration."""
    yield from (f"Number of features: {n_features}\n", "Seconds required: 0.000\n", "\n", f"{_TITLES[algorithm]}\n")
    for name, value in parameters.items():
        if not name.startswith("feature."):
            yield f"{name}: {_written(value)}\n"
    yield "\n"
    for step in iterations:
        yield f"***** Iteration #{step['num']} *****\n"
        yield f"Loss: {step['loss']:f}\n"
        yield f"Seconds required for this iteration: {step['time']:.3f}\n"
        if step is iterations[-1]:
            yield from held_out
        yield "\n"
    yield f"Total seconds required for training: {sum(step['time'] for step in iterations):.3f}\n"
    yield "\n"


def after(n_features: int, n_attributes: int, n_labels: int) -> Iterator[str]:
    """What is said when the model is written."""
    yield "Storing the model\n"
    yield f"Number of active features: {n_features} ({n_features})\n"
    yield f"Number of active attributes: {n_attributes} ({n_attributes})\n"
    yield f"Number of active labels: {n_labels} ({n_labels})\n"
    yield from ("Seconds required: 0.000\n", "\n")


def _written(value: Any) -> str:
    return f"{value:f}" if isinstance(value, float) else str(int(value) if isinstance(value, bool) else value)
