"""Future features in words: the pattern that each looks for ahead, how often it is there, and what it tells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np

from hedgerow.data.imputation import seen_schema
from hedgerow.errors import InputError
from hedgerow.explain.rules import Rule, rules
from hedgerow.legend import FloatArray
from hedgerow.models.future.multiple_instance import Growth, RowTrees
from hedgerow.trees.binning import bin_dataset
from hedgerow.trees.ensemble import Ensemble

PATTERN = "pattern"
_HALF = 0.5


@dataclass(frozen=True)
class FutureFeatureSummary:
    """One future feature of a model, as it looks on some sequences.

    label : what it speaks for, weight : by how much, where a bag is surely positive
    place : where it looks, in words
    rules : which positions have the pattern; their weights are the shares that have it where a rule holds
    fidelity : the share of positions of which the rules say the same as the feature
    pattern_share, bag_share : how many positions have the pattern, and how many have it ahead of them
    bag_accuracy : the share of positions where the pattern is ahead just if the label is the feature's; None without y
    """

    label: Any
    weight: float
    place: str
    rules: tuple[Rule, ...]
    fidelity: float
    pattern_share: float
    bag_share: float
    bag_accuracy: float | None

    def __str__(self) -> str:
        lines = [f"{self.weight:+.2f} for {self.label!r} where {self.place} has the pattern:"]
        for i, rule in enumerate(self.rules):
            lines.append(f"  {'or ' if i else '   '}{rule.when}  ({rule.weight:.0%})")
        lines += [
            f"  {self.pattern_share:.1%} of the positions have it, {self.bag_share:.1%} have it ahead of them;",
            f"  the rules agree with the feature at {self.fidelity:.1%} of the positions",
        ]
        if self.bag_accuracy is not None:
            share = f"in {self.bag_accuracy:.1%} of cases"
            lines.append(f"  ahead or not tells whether the label is {self.label!r} {share}")
        return "\n".join(lines)


def future_features(model: Any, X: Any, y: Any = None, *, max_rules: int = 16) -> list[FutureFeatureSummary]:
    """The future features of a FutureFeatureMEMM, in the order they were found, as they look on sequences X.

    A feature is a sum of trees. What it has learnt is told by one tree that is fitted to it on these sequences: its
    leaves in which more than half of the positions have the pattern are the rules.

    Parameters
    ----------
    model : a fitted FutureFeatureMEMM
    X : sequences, best those of training
    y : their labels, for `bag_accuracy`
    max_rules : the most leaves of that tree
    """
    require_features(model)
    if max_rules < 2:
        raise InputError(f"max_rules is {max_rules}", hint="Give at least 2.")
    patterns = np.concatenate([np.empty((0, model.n_features_)), *model.predict_patterns(X)])
    ahead = np.concatenate([np.empty((0, model.n_features_)), *model.predict_features(X)])
    if not len(patterns):
        raise InputError("there is no sequence to look at")
    truth = None if y is None else np.array([label for row in y for label in row], dtype=object)
    if truth is not None and len(truth) != len(ahead):
        raise InputError(f"y has {len(truth)} labels for {len(ahead)} positions")
    features = []
    for j, feature in enumerate(model.scorer_.features):
        label = model.schema_.labels[feature.label]
        distilled, fidelity = _distil(model, X, patterns[:, j], max_rules)
        positive = ahead[:, j] > _HALF
        accuracy = None if truth is None else float((positive == (truth == label)).mean())
        shares = float((patterns[:, j] > _HALF).mean()), float(positive.mean())
        summary = label, feature.weight, _place(model), distilled, fidelity
        features.append(FutureFeatureSummary(*summary, *shares, accuracy))
    return features


def require_features(model: Any) -> None:
    """Refuse a model without future features."""
    if not hasattr(getattr(model, "scorer_", None), "features"):
        raise InputError(f"{type(model).__name__} has no future features", hint="A fitted FutureFeatureMEMM has.")


def _place(model: Any) -> str:
    """Where the features of a model look, in words."""
    bag, backward = model.scorer_.bag, model.scorer_.backward
    side = "before" if backward else "after"
    if bag is None:
        return f"some position {side} it"
    return f"one of the {bag} positions {side} it" if bag > 1 else f"the position {side} it"


def _distil(model: Any, X: Any, probs: FloatArray, max_leaf_nodes: int) -> tuple[tuple[Rule, ...], float]:
    """Rules for the positions whose probability is above a half, and how often they say the same."""
    dataset = model.seen(X)
    data = bin_dataset(model.scorer_.inputs, dataset, postings=True)
    # As one value of a column against all others: a set of values is hard to read.
    growth = Growth(max_leaf_nodes, l2_regularization=0.0, subsets=False)
    positive = (probs > _HALF).astype(np.float64)
    tree, values = RowTrees(model.scorer_.inputs, data, np.ones(len(probs)), growth).fit(positive)
    schema = replace(seen_schema(model), labels=(PATTERN,))
    alone = SimpleNamespace(schema_=schema, binning_=model.scorer_.inputs, ensemble_=Ensemble.of(1, [tree]))
    distilled = tuple(rule for rule in rules(alone, None) if rule.weight > _HALF)
    return distilled, float(((values > _HALF) == (positive > 0)).mean())
