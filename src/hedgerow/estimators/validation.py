"""The score on held-out sequences after each iteration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from hedgerow.chain.decoding import find_decoder
from hedgerow.chain.inference import log_probability
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.data.dataset import Dataset
from hedgerow.data.labels import allowed_labels
from hedgerow.errors import InputError
from hedgerow.estimators.base import label_lists
from hedgerow.estimators.scored import log_share
from hedgerow.estimators.values import BEAM_WIDTH, LOG_LIKELIHOOD, score_labels
from hedgerow.legend import AnyArray, FloatArray
from hedgerow.linear.chain import ChainLayout, LinearChain
from hedgerow.parallel import Chunk, over_chunks


class Measure:
    """How good potentials are on held-out sequences, chunk by chunk: greater is better.

    Positions without a label do not count. `parts` are what `chunk` gave for all chunks, in order. tilt : of decoders
    """

    def __init__(
        self, held_out: Dataset, scoring: Any, decoder: str, beam_width: int = BEAM_WIDTH, tilt: Any = None
    ) -> None:
        assert held_out.labels is not None
        self.held_out = held_out
        self.scoring = scoring
        self.known = held_out.labels >= 0
        self.score: Callable[[AnyArray, AnyArray], float] | None = None
        if scoring != LOG_LIKELIHOOD:  # which asks for no labels
            self.score = score_labels(scoring, replace(held_out, labels=None))
            self.decode = find_decoder(decoder, beam_width, tilt)
            self.truth = label_lists(held_out.schema, held_out.labels, held_out.offsets)

    def chunk(self, potentials: ChainPotentials, rows: slice) -> AnyArray:
        """What the chunk with these flat positions adds: labels (n,), or log-probabilities (s,)."""
        if self.score is None:
            if self.known[rows].all():
                assert self.held_out.labels is not None
                return log_probability(potentials, self.held_out.labels[rows])
            return log_share(potentials, allowed_labels(self.held_out, rows))
        return self.decode(potentials, None)

    def total(self, parts: list[AnyArray]) -> float:
        values = np.concatenate(parts)
        if self.score is None:
            score = float(values.sum())
        elif self.scoring == "accuracy" and self.known.any():  # as the metric says, without lists of names
            score = float((values == self.held_out.labels)[self.known].mean())
        else:
            score = self._by_labels(label_lists(self.held_out.schema, values, self.held_out.offsets))
        if np.isnan(score):
            raise InputError(f"⟦scoring={self.scoring!r}⟧ gave {score} on the held-out sequences")
        return score

    def _by_labels(self, predicted: AnyArray) -> float:
        assert self.score is not None
        try:
            return float(self.score(self.truth, predicted))
        except InputError as error:
            raise InputError(f"⟦scoring={self.scoring!r}⟧ cannot score ⟦y_val⟧: {error}") from error


class ChainValidation:
    """Weights of a linear chain in, score on the held-out sequences out."""

    def __init__(self, layout: ChainLayout, measure: Measure, n_jobs: int | None) -> None:
        self.chain = LinearChain(layout)
        self.measure, self.n_jobs = measure, n_jobs

    def __call__(self, weights: FloatArray) -> float:
        return self.measure.total(self.parts(weights))

    def parts(self, weights: FloatArray) -> list[AnyArray]:
        """What `Measure.chunk` gives for each chunk, in order."""
        self.chain.load(weights)
        return over_chunks(self._chunk, self.measure.held_out.offsets, self.n_jobs)

    def _chunk(self, chunk: Chunk) -> AnyArray:
        features = self.chain.compile(self.measure.held_out, chunk.first, chunk.last)
        return self.measure.chunk(self.chain.potentials(features), chunk.rows)
