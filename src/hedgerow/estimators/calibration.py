"""The temperature of a model: what its scores are divided by, so that its probabilities hold on held-out sequences.

Scores of nodes and of edges are divided alike, so that the most probable labeling stays what it is. What is minimised
is the log-loss of the marginals, position by position. The log-likelihood of whole labelings asks for lower
temperatures, with which marginals are too sure: inside the training part of the arena's protein task it leaves a
calibration error of .13, and the log-loss of marginals one of .02.

Weights of labels (`class_weight`) tilt the probabilities of a likelihood once they are tempered. Where weights enter in
another way, the loss of a label counts as much as its weight.

Losses are taken at the same temperatures for all held-out sequences, so that those of several folds add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hedgerow.chain.inference import node_marginals
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.data.dataset import Dataset
from hedgerow.data.parts.corpus import SharedCorpus, join, whole_part
from hedgerow.estimators.values import class_weights
from hedgerow.legend import FloatArray
from hedgerow.parallel import plan_chunks
from hedgerow.training.pool import Operation

_HALF = (0.1, 0.2, 0.35, 0.55, 0.85, 1.3, 1.9, 2.6)
LOG_TEMPERATURES: FloatArray = np.array([*(-x for x in reversed(_HALF)), 0.0, *_HALF])
LARGEST = float(np.exp(_HALF[-1]))  # and the smallest is 1 / LARGEST
FEWEST_LABELS = 50  # held-out labels; with fewer the temperature is 1
# Times (log T)² and the labels of a sequence this is added to the loss. Labels of one sequence are right or wrong
# together: each sequence is about one witness, and few of them must not move T far.
TOWARDS_ONE = 0.5
_SMALLEST = 1e-300


def tempered_losses(
    model: Any, held_out: Dataset | SharedCorpus, train: Dataset | SharedCorpus | None = None
) -> FloatArray:
    """(2 + temperatures,): how many labels there are, how many sequences have one, and the log-loss of these labels at
    each temperature. train : what weights of labels are counted in, where not in these"""
    weights = None
    if model.tilt_ is None:  # weights of labels are part of the model in another way, if there are any
        weights = class_weights(getattr(model, "class_weight", None), held_out if train is None else train)
    if isinstance(held_out, SharedCorpus):
        plan = plan_chunks(held_out.offsets, model._chunk_positions())
        pool = held_out.pool(plan, whole_part, (), _LossMember, model.to_local(), weights)
        answers = pool.call([Operation("losses")], [])
        pool.close()
        return np.sum([losses for ((*found,),) in answers for losses in found], axis=0)  # type: ignore[no-any-return]
    total: FloatArray = np.sum(_chunk_losses(model, held_out, weights), axis=0)
    return total


class _LossMember:
    """What a worker does for `tempered_losses`: the losses of a run of the held-out sequences."""

    def __init__(self, model: Any, weights: FloatArray | None, plan: Any, pieces: Sequence[Dataset]) -> None:
        whole = join(pieces)
        self.given = model, replace(model._dataset(whole, None, None), labels=whole.labels), weights

    def losses(self) -> list[FloatArray]:
        return _chunk_losses(*self.given)


def _chunk_losses(model: Any, held_out: Dataset, weights: FloatArray | None) -> list[FloatArray]:
    """What `tempered_losses` adds up: (2 + temperatures,) of each chunk."""
    labels = held_out.labels
    assert labels is not None

    def work(potentials: ChainPotentials, rows: slice) -> FloatArray:
        known = np.flatnonzero(labels[rows] >= 0)
        true = labels[rows][known]
        some = np.logical_or.reduceat(labels[rows] >= 0, potentials.offsets[:-1])
        losses, counts = [float(len(known)), float(some.sum())], 1.0 if weights is None else weights[true]
        for t in LOG_TEMPERATURES:
            probs = node_marginals(potentials.scaled(float(np.exp(-t))))[known, true]
            losses.append(-float((counts * np.log(np.maximum(probs, _SMALLEST))).sum()))
        return np.array(losses)

    hidden = replace(held_out, labels=None, allowed=None)
    found: list[FloatArray] = model._over_chunks(hidden, work, tempered=False)
    return found


def best_temperature(losses: Sequence[FloatArray]) -> float:
    """The temperature with the least loss over all folds, as `tempered_losses` gives them; 1 where labels are few."""
    if not losses or (total := np.sum(losses, axis=0))[0] < FEWEST_LABELS:
        return 1.0
    values = total[2:] + TOWARDS_ONE * total[0] / total[1] * LOG_TEMPERATURES**2
    i = min(max(int(np.argmin(values)), 1), len(values) - 2)
    x, y = LOG_TEMPERATURES[i - 1 : i + 2], values[i - 1 : i + 2]  # through which a parabola goes
    slopes = np.diff(y) / np.diff(x)
    bend = (slopes[1] - slopes[0]) / (x[2] - x[0])
    least = 0.5 * (x[0] + x[1] - slopes[0] / bend) if bend > 0.0 else x[np.argmin(y)]
    return float(np.exp(np.clip(least, x[0], x[2])))
