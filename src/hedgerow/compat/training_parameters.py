"""The parameters of python-crfsuite's Trainer: of which algorithm, of which type, with which default."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

ALIASES = {"ap": "averaged-perceptron", "pa": "passive-aggressive"}


@dataclass(frozen=True)
class Parameter:
    """field : what `CRF` calls it"""

    field: str
    default: Any
    help: str

    @property
    def read(self) -> Callable[[Any], Any]:
        """From what is given to a value of the type that the default has."""
        kind = type(self.default)
        return (lambda value: bool(int(value))) if kind is bool else kind


_SAME = "Without effect here: hedgerow finds the same minimum another way."
_FEATURES = {
    "feature.minfreq": Parameter("min_freq", 0.0, "Features that are seen less often get no weight."),
    "feature.possible_states": Parameter("all_possible_states", False, "A weight for every label of every attribute."),
    "feature.possible_transitions": Parameter("all_possible_transitions", False, "A weight for every pair of labels."),
}
_PASSES = {
    "max_iterations": Parameter("max_iterations", 100, "The passes over the data."),
    "epsilon": Parameter("epsilon", 0.0, "Without effect here: all passes are made."),
}
_C2 = Parameter("c2", 1.0, "The coefficient of the L2 penalty.")
_PERIOD = Parameter("period", 10, "The iterations over which the fall of the loss is taken.")
_DELTA = "Training ends when the loss fell by less than this share in `period` iterations."

ALGORITHMS: dict[str, dict[str, Parameter]] = {
    "lbfgs": {
        **_FEATURES,
        "c1": Parameter("c1", 0.0, "The coefficient of the L1 penalty."),
        "c2": _C2,
        "max_iterations": Parameter("max_iterations", 2**31 - 1, "The most iterations."),
        "num_memories": Parameter("num_memories", 6, _SAME),
        "epsilon": Parameter("epsilon", 1e-5, _SAME),
        "period": _PERIOD,
        "delta": Parameter("delta", 1e-5, _DELTA),
        "linesearch": Parameter("linesearch", "MoreThuente", _SAME),
        "max_linesearch": Parameter("max_linesearch", 20, _SAME),
    },
    "l2sgd": {
        **_FEATURES,
        "c2": _C2,
        "max_iterations": Parameter("max_iterations", 1000, "The most passes over the data."),
        "period": _PERIOD,
        "delta": Parameter("delta", 1e-6, _DELTA),
        "calibration.eta": Parameter("calibration_eta", 0.1, _SAME),
        "calibration.rate": Parameter("calibration_rate", 2.0, _SAME),
        "calibration.samples": Parameter("calibration_samples", 1000.0, _SAME),
        "calibration.candidates": Parameter("calibration_candidates", 10, _SAME),
        "calibration.max_trials": Parameter("calibration_max_trials", 20, _SAME),
    },
    "averaged-perceptron": {**_FEATURES, **_PASSES},
    "passive-aggressive": {
        **_FEATURES,
        "type": Parameter("pa_type", 1, "0: steps as they are; 1: capped at c; 2: shortened."),
        "c": Parameter("c", 1.0, "The aggressiveness: with a smaller one steps are shorter."),
        "error_sensitive": Parameter("error_sensitive", True, "Whether the margin grows with the wrong labels."),
        "averaging": Parameter("averaging", True, "Whether weights are averaged."),
        **_PASSES,
    },
    "arow": {
        **_FEATURES,
        "variance": Parameter("variance", 1.0, "The variance that each weight begins with."),
        "gamma": Parameter("gamma", 1.0, "How slowly variances fall."),
        **_PASSES,
    },
}
