"""Softmax regressions side by side, linear in the features of a position: the transitions and outputs of an IOHMM."""

from __future__ import annotations

import numpy as np

from hedgerow.data.dataset import Dataset
from hedgerow.legend import CODE, INDEX, FloatArray
from hedgerow.linear.index import Streams, WeightIndex, index_weights
from hedgerow.linear.scorer import ChunkFeatures, LinearScorer
from hedgerow.models.iohmm import kernels
from hedgerow.parallel import Lanes


class Regressions:
    """B regressions with K outputs each. One vector holds their weights: those of the features, then a bias each.

    index : the weights of features, one for each of the B·K outputs of every feature seen in training
    """

    def __init__(self, index: WeightIndex, n_blocks: int, n_outputs: int) -> None:
        self.index = index
        self.n_blocks, self.n_outputs = n_blocks, n_outputs

    @classmethod
    def of(cls, dataset: Dataset, n_blocks: int, n_outputs: int) -> tuple[Regressions, FloatArray]:
        """The regressions on the features of a corpus, and how often the feature of each weight is seen."""
        everywhere = np.arange(dataset.n_positions, dtype=INDEX)
        width = n_blocks * n_outputs
        nothing = np.zeros(dataset.n_positions, dtype=CODE)
        streams = Streams.of(dataset.schema)
        index, counts = index_weights(dataset, streams, everywhere, nothing, width, all_pairs=True)
        # A feature was counted with its first output only.
        seen = np.repeat(counts.reshape(-1, width).sum(axis=1), width)
        frequency = np.concatenate([seen, np.full(width, float(dataset.n_positions))])
        return cls(index, n_blocks, n_outputs), frequency

    @property
    def n_weights(self) -> int:
        return self.index.n_weights + self.n_blocks * self.n_outputs

    def loaded(self, weights: FloatArray) -> Loaded:
        return Loaded(self, weights)


class Loaded:
    """Regressions with weights; any number of threads may use it."""

    def __init__(self, regressions: Regressions, weights: FloatArray) -> None:
        self.regressions = regressions
        self.scorer = LinearScorer(regressions.index)
        self.scorer.load(weights[: regressions.index.n_weights].copy())
        self.bias = weights[regressions.index.n_weights :].copy()

    def scores(self, chunk: ChunkFeatures) -> FloatArray:
        """(n, B, K)."""
        shape = self.regressions
        scores = np.empty((chunk.n_positions, shape.n_blocks * shape.n_outputs))
        self.scorer.score(chunk, scores)
        scores += self.bias
        return scores.reshape(chunk.n_positions, shape.n_blocks, shape.n_outputs)

    def log_probs(self, chunk: ChunkFeatures) -> FloatArray:
        """(n, B, K), log softmax of the scores."""
        shifted, sums, _ = normalised(self.scores(chunk))
        shifted -= np.log(sums)[..., None]
        return shifted


def normalised(scores: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Scores (n, B, K) less the largest of their block, in place; the sums of their exponentials (n, B); and the
    probabilities (n, B, K)."""
    tops = np.empty(scores.shape[:2])
    kernels.iohmm.take_tops(scores, tops)
    probs = np.exp(scores)
    kernels.iohmm.normalise(probs, tops)
    return scores, tops, probs


class Fit:
    """The loss −Σ targets · log P of regressions at given weights, and its gradient: what L-BFGS asks for.

    chunks, targets : the compiled features of each chunk, and (n, B, K) for its positions
    """

    def __init__(
        self, regressions: Regressions, chunks: list[ChunkFeatures], targets: list[FloatArray], lanes: Lanes
    ) -> None:
        self.regressions, self.chunks, self.targets, self.lanes = regressions, chunks, targets, lanes

    def __call__(self, weights: FloatArray) -> tuple[float, FloatArray]:
        loaded = self.regressions.loaded(weights)
        n_features = self.regressions.index.n_weights
        losses = np.zeros(len(self.chunks))
        gradient: FloatArray = np.zeros(len(weights))
        sums = {}

        def work(lane: int, c: int) -> None:
            if lane not in sums:
                sums[lane] = (loaded.scorer.new_gradient(), np.zeros(len(weights) - n_features))
            into, bias = sums[lane]
            chunk, targets = self.chunks[c], self.targets[c]
            shifted, totals, probs = normalised(loaded.scores(chunk))
            losses[c] = float((targets.sum(axis=-1) * np.log(totals)).sum()) - float((targets * shifted).sum())
            kernels.iohmm.gradient(probs, targets)
            flat = probs.reshape(len(probs), -1)
            loaded.scorer.pull(chunk, flat, into)
            bias += flat.sum(axis=0)

        def finish(lane: int) -> None:
            if lane in sums:
                into, bias = sums.pop(lane)
                gradient[:n_features] += loaded.scorer.finish(into)
                gradient[n_features:] += bias

        self.lanes.run(work, len(self.chunks), finish)
        return float(losses.sum()), gradient
