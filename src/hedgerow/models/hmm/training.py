"""Training of a hidden Markov model: counts where labels are known, expectation-maximisation where they are not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from hedgerow.chain.inference import Workspace
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.dataset import Dataset
from hedgerow.data.labels import allowed_labels
from hedgerow.estimators.codec.arrays import LARGEST
from hedgerow.estimators.codec.steps import refuse
from hedgerow.legend import FloatArray
from hedgerow.models.hmm import moves as hmm_moves
from hedgerow.models.hmm.emissions import EmissionCounts, Emissions, Spread
from hedgerow.models.hmm.moves import Moves, MoveScores
from hedgerow.parallel import Lanes, count_lanes, cut_chunks
from hedgerow.training.checkpoint import restore, restoring, state_of
from hedgerow.training.monitor import Monitor


class Parameters(NamedTuple):
    """log P of labels and of what is seen with them."""

    moves: MoveScores
    emissions: Emissions


@dataclass
class Counts:
    """Moves (H, K) and emissions, as they were seen or as they are expected."""

    KEPT: ClassVar[tuple[str, ...]] = ("moves", "emissions")

    moves: FloatArray
    emissions: EmissionCounts

    def check(self) -> None:
        """Refuse counts of a checkpoint that nothing can be counted by."""
        seen = self.emissions
        for counts in (self.moves, seen.codes, seen.attributes, seen.numbers[::2]):
            if not np.all((counts >= 0.0) & (counts < LARGEST)):
                refuse("counts are below 0, or too large")

    def plus(self, other: Counts) -> Counts:
        return Counts(self.moves + other.moves, self.emissions.plus(other.emissions))


def make_potentials(
    parameters: Parameters, space: StateSpace, dataset: Dataset, first: int, last: int
) -> ChainPotentials:
    """log P(x_t | label) as node scores, log P(label | labels before) as edges: log Z is log P(x)."""
    rows = slice(int(dataset.offsets[first]), int(dataset.offsets[last]))
    nodes = parameters.emissions.scores(dataset, rows)
    offsets = dataset.offsets[first : last + 1] - dataset.offsets[first]
    potentials = ChainPotentials(nodes, offsets, parameters.moves.edges, sequence_base=first)
    start = parameters.moves.start
    if start is None and not space.start.all():
        start = space.start_scores
    potentials.add_start_end(start, None if space.end.all() else space.end_scores)
    return potentials


class HMMTraining:
    """One fit. Sequences whose labels are all known are counted once; the others are gone through in each iteration."""

    def __init__(self, dataset: Dataset, moves: Moves, space: StateSpace, smoothing: float) -> None:
        assert dataset.labels is not None
        self.moves, self.space, self.smoothing = moves, space, smoothing
        self.schema = dataset.schema
        weights = np.ones(len(dataset)) if dataset.weight_seq is None else dataset.weight_seq
        self.spread = Spread.of(dataset, np.repeat(weights, np.diff(dataset.offsets)))
        open_ = np.logical_or.reduceat(dataset.labels < 0, dataset.offsets[:-1])
        self.partial = dataset.take(np.flatnonzero(open_)) if open_.any() else None
        self.partial_weights = weights[open_]
        whole = np.flatnonzero(~open_)
        self.counted = self._known(dataset.take(whole), weights[whole]) if len(whole) else self._nothing()
        start = (
            self.counted if self.partial is None else self.counted.plus(self._known(self.partial, self.partial_weights))
        )
        self.added = moves.added(start.moves, smoothing)
        self.start = self.maximise(start)
        if self.partial is not None and smoothing < 1.0:
            # What the known labels do not show must stay possible at first: an unknown one may have been it.
            self.start = Parameters(
                hmm_moves.estimate(moves, start.moves + moves.added(start.moves, 1.0)),
                start.emissions.estimate(self.schema, self.spread, 1.0),
            )

    def _nothing(self) -> Counts:
        return Counts(np.zeros(self.moves.legal.shape), EmissionCounts.zeros(self.schema))

    def _known(self, dataset: Dataset, weights: FloatArray) -> Counts:
        """What labels that are known show."""
        labels = dataset.labels
        assert labels is not None
        counts = Counts(self.moves.known(dataset, weights), EmissionCounts.zeros(self.schema))
        for chunk in cut_chunks(dataset.offsets):
            probs = (labels[chunk.rows][:, None] == np.arange(dataset.n_labels)).astype(np.float64)
            probs *= np.repeat(weights[chunk.first : chunk.last], np.diff(chunk.offsets))[:, None]
            counts.emissions.add(dataset, chunk.rows, probs, self.spread)
        return counts

    def maximise(self, counts: Counts) -> Parameters:
        """The parameters under which counts, and what smoothing adds to them, are most probable."""
        return Parameters(
            hmm_moves.estimate(self.moves, counts.moves + self.added),
            counts.emissions.estimate(self.schema, self.spread, self.smoothing),
        )

    def loss(self, parameters: Parameters, log_partition: float = 0.0) -> float:
        """−log P of all that is known, less what smoothing adds. `log_partition` is log P of the partial sequences."""
        moves = hmm_moves.log_likelihood(parameters.moves, self.counted.moves + self.added)
        emissions = self.counted.emissions.log_likelihood(parameters.emissions, self.spread, self.smoothing)
        return -(moves + emissions + log_partition)

    def run(self, monitor: Monitor, n_jobs: int | None) -> Parameters:
        """The best parameters; without unknown labels those of the counts."""
        parameters = self.start
        if self.partial is None:
            monitor.begin(self.loss(parameters))
            monitor.finish("converged")
            return parameters
        n_chunks = len(cut_chunks(self.partial.offsets))
        size = self.moves.legal.size + self.counted.emissions.codes.size + self.counted.emissions.attributes.size
        with Lanes(n_jobs, count_lanes(size, n_chunks)) as lanes:
            saved, before = monitor.resume(), self._nothing()
            if saved is not None:  # the counts that the last parameters were made from
                with restoring():
                    restore(before, before.KEPT, saved)
                    before.check()
                parameters = self.maximise(self.counted.plus(before))
            if monitor.done:
                return parameters
            counts, value = self.expect(parameters, lanes)
            if saved is None:
                monitor.begin(self.loss(parameters, value))

            def state(ended: bool) -> dict[str, Any]:
                return state_of(before, before.KEPT)

            while True:
                before, parameters = counts, self.maximise(self.counted.plus(counts))
                counts, value = self.expect(parameters, lanes)
                if monitor.step(self.loss(parameters, value), state=state):
                    return parameters

    def expect(self, parameters: Parameters, lanes: Lanes) -> tuple[Counts, float]:
        """The counts that the partial sequences are expected to have, and log P of what is known of them."""
        assert self.partial is not None
        data, weights, chunks = self.partial, self.partial_weights, cut_chunks(self.partial.offsets)
        values = np.zeros(len(chunks))
        total, of_lanes = self._nothing(), {}

        def work(lane: int, c: int) -> None:
            chunk = chunks[c]
            if lane not in of_lanes:
                of_lanes[lane] = (self._nothing(), Workspace())
            counts, workspace = of_lanes[lane]
            potentials = make_potentials(parameters, self.space, data, chunk.first, chunk.last)
            mask = allowed_labels(data, chunk.rows)
            if mask is not None:
                potentials = potentials.restrict(mask)
            shares = weights[chunk.first : chunk.last]
            logs, probs, moves = self.moves.expected(potentials, shares, workspace)
            values[c] = float((logs * shares).sum())
            counts.moves += moves
            probs = probs * np.repeat(shares, np.diff(potentials.offsets))[:, None]
            counts.emissions.add(data, chunk.rows, probs, self.spread)

        def finish(lane: int) -> None:
            if lane in of_lanes:
                counts = of_lanes.pop(lane)[0]
                total.moves += counts.moves
                total.emissions = total.emissions.plus(counts.emissions)

        lanes.run(work, len(values), finish)
        return total, float(values.sum())
