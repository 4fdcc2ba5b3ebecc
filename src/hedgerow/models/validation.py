"""Held-out sequences: which they are, and the score on them after each iteration."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from hedgerow.data.dataset import Dataset
from hedgerow.data.sequences import Sequences
from hedgerow.errors import InputError
from hedgerow.legend import AnyArray, FloatArray
from hedgerow.models.base import object_array
from hedgerow.scorers.chain import ChainLayout, LinearChain


def hold_out(
    model: Any, X: Any, y: Any, sample_weight: Any, X_val: Any, y_val: Any, lengths: Any
) -> tuple[Any, Any, Any, Any, Any]:
    """Set sequences aside for early stopping, unless they are given or not asked for."""
    if (X_val is None) != (y_val is None):
        raise InputError("X_val and y_val go together", hint="Give both, or neither.")
    if X_val is not None or not model.early_stopping:
        return X, y, sample_weight, X_val, y_val
    if lengths is not None:
        raise InputError(
            "early_stopping cannot cut flat arrays",
            hint="Give a list of sequences, or held-out ones as X_val and y_val.",
        )
    from sklearn.utils import check_random_state

    X = X if isinstance(X, Sequences) or hasattr(X, "shape") else object_array(X)
    y = y if hasattr(y, "shape") else object_array(y)
    n = len(X)
    n_held = int(np.ceil(model.validation_fraction * n))
    if len(y) != n:
        raise InputError(f"X has {n} sequences and y has {len(y)}")
    if n_held >= n:
        raise InputError(f"{n} sequences are too few to hold some out", hint="Set early_stopping=False.")
    order = check_random_state(model.random_state).permutation(n)
    held, kept = np.sort(order[:n_held]), np.sort(order[n_held:])
    weight = None if sample_weight is None else [sample_weight[i] for i in kept]
    return X[kept], y[kept], weight, X[held], y[held]


class Validation:
    """Weights in, score on the held-out sequences out; greater is better."""

    def __init__(self, model: Any, layout: ChainLayout, held_out: Dataset) -> None:
        from hedgerow.metrics import get_metric

        self.model = model
        self.held_out = held_out
        self.chain = LinearChain(layout)
        labels = held_out.require_labels("validation")
        self.by_loss = model.metric == "log_likelihood"
        self.metric = None if self.by_loss else get_metric(model.metric)
        self.truth = self._lists(labels)

    def __call__(self, weights: FloatArray) -> float:
        from hedgerow.decoding import decoder
        from hedgerow.inference import log_probability
        from hedgerow.parallel import plan_chunks

        self.chain.load(weights)
        plan = plan_chunks(self.held_out.offsets)
        found: list[AnyArray] = []
        decode = decoder(self.model.decoder)
        for first, last in zip(plan[:-1].tolist(), plan[1:].tolist()):
            potentials = self.chain.potentials(self.chain.compile(self.held_out, first, last))
            if self.by_loss:
                assert self.held_out.labels is not None
                rows = slice(int(self.held_out.offsets[first]), int(self.held_out.offsets[last]))
                found.append(log_probability(potentials, self.held_out.labels[rows]))
            else:
                found.append(decode(potentials, None))
        if self.metric is None:
            return float(np.concatenate(found).sum())
        return float(self.metric(self.truth, self._lists(np.concatenate(found))))

    def _lists(self, labels: AnyArray) -> AnyArray:
        names = np.empty(self.held_out.n_labels, dtype=object)
        names[:] = self.held_out.schema.labels
        flat, ends = names[labels].tolist(), self.held_out.offsets.tolist()
        return object_array(flat[begin:end] for begin, end in itertools.pairwise(ends))
