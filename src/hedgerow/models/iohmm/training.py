"""Expectation-maximisation of an IOHMM: which states the labels speak for, then regressions on that, and again.

    P(y | x) = Σ_s P(s_1 | x_1) Π_t P(s_t | s_{t−1}, x_t) Π_t P(y_t | s_t, x_t)

Given the labels, the states are a chain with edges of their own at each position: forward-backward gives γ_t(j) and
ξ_t(i, j), the probabilities of states and of pairs of them. They are the targets of the regressions, which a few
steps of L-BFGS bring nearer. No step makes the expected log-likelihood smaller, so the likelihood never falls.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from hedgerow.chain.edges import PositionEdges
from hedgerow.chain.inference import marginals
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.data.dataset import Dataset
from hedgerow.data.labels import allowed_labels
from hedgerow.errors import InputError
from hedgerow.legend import BoolArray, FloatArray
from hedgerow.linear.index import Streams
from hedgerow.models.iohmm.regression import Fit, Loaded, Regressions
from hedgerow.parallel import Chunk, Lanes, cut_chunks
from hedgerow.training.checkpoint import fill, restoring
from hedgerow.training.memory import memory_limit
from hedgerow.training.monitor import Monitor, Trained
from hedgerow.training.whole.lbfgs import curvature_scale, lbfgs

STEPS = 5  # of L-BFGS in an iteration: more bring little before the states settle
A_WEIGHT = 80  # bytes: of L-BFGS, its gradient and its steps
JITTER = 0.5  # of the biases that a restart begins with: it tells apart states that begin with the same labels


class Weights(NamedTuple):
    """Of the transitions (n+1 regressions on n states; the first is the start), and of the outputs (n on K labels)."""

    moves: FloatArray
    outputs: FloatArray


class StateChain(NamedTuple):
    """A chunk of an IOHMM with what is known of its labels.

    potentials : of the states, with log P(known labels | state) as node scores: log Z is log P(known labels | x)
    label_logs : (m, n, K), log P(label | state), −inf for labels that are not allowed
    evidence : (m, n), log P(known label | state)
    """

    potentials: ChainPotentials
    label_logs: FloatArray
    evidence: FloatArray


def state_chain(
    move_logs: FloatArray, label_logs: FloatArray, offsets: Any, allowed: BoolArray | None, base: int = 0
) -> StateChain:
    """From log P of transitions (m, n+1, n) and of outputs (m, n, K); allowed bool (m, K), None for all labels."""
    if allowed is not None:
        label_logs = np.where(allowed[:, None, :], label_logs, -np.inf)
    evidence = np.logaddexp.reduce(label_logs, axis=2)
    nodes = evidence.copy()
    nodes[offsets[:-1]] += move_logs[offsets[:-1], 0]
    edges = PositionEdges.from_scores(move_logs[:, 1:].transpose(2, 0, 1))
    return StateChain(ChainPotentials(nodes, offsets, edges, sequence_base=base), label_logs, evidence)


class IOTraining:
    """One fit: the corpus with its compiled features, and the two sets of regressions."""

    def __init__(self, dataset: Dataset, n_states: int, l2: float) -> None:
        self.dataset, self.n_states, self.l2 = dataset, n_states, l2
        _check_memory(dataset, n_states)
        self.chunks = cut_chunks(dataset.offsets)
        self.moves, move_frequency = Regressions.of(dataset, n_states + 1, n_states)
        self.outputs, output_frequency = Regressions.of(dataset, n_states, dataset.n_labels)
        self.scales = (
            curvature_scale(move_frequency, np.ones_like(move_frequency), n_states, l2),
            curvature_scale(output_frequency, np.ones_like(output_frequency), dataset.n_labels, l2),
        )
        self.weights = np.ones(len(dataset)) if dataset.weight_seq is None else dataset.weight_seq
        zeros = Weights(np.zeros(self.moves.n_weights), np.zeros(self.outputs.n_weights))
        moves, outputs = self.moves.loaded(zeros.moves), self.outputs.loaded(zeros.outputs)
        self.move_chunks = [moves.scorer.compile(dataset, chunk.first, chunk.last) for chunk in self.chunks]
        self.output_chunks = [outputs.scorer.compile(dataset, chunk.first, chunk.last) for chunk in self.chunks]
        self.zeros = zeros

    def run(self, generators: list[np.random.RandomState], monitors: list[Monitor], lanes: Lanes) -> Trained[Weights]:
        """The best of several restarts, each with its generator. Ctrl-C ends the last one begun."""
        best: Trained[Weights] | None = None
        for generator, monitor in zip(generators, monitors):
            with monitor:
                weights = self.climb(generator, monitor, lanes)
            trained = monitor.trained(weights)
            if best is None or trained.best.loss < best.best.loss:
                best = trained
            if monitor.outcome == "interrupted":
                best = replace(best, outcome="interrupted")
                break
        assert best is not None
        return best

    def climb(self, generator: np.random.RandomState, monitor: Monitor, lanes: Lanes) -> Weights:
        """Expectation-maximisation from one start."""
        saved = monitor.resume()
        if saved is None:
            weights = self._maximise(self.zeros, self._first_targets(generator), lanes, steps=10 * STEPS)
            regressions = self.moves, self.outputs
            weights = Weights(*(_jittered(part, one, generator) for part, one in zip(weights, regressions)))
        else:
            weights = Weights(*(zeros.copy() for zeros in self.zeros))
            with restoring():
                for part, found in zip(weights, saved, strict=True):
                    fill(part, found)
            if monitor.done:
                return weights
        targets, loss = self.expect(weights, lanes)
        if saved is None:
            monitor.begin(loss)

        def state(ended: bool) -> list[FloatArray]:
            return list(weights)

        while True:
            weights = self._maximise(weights, targets, lanes, steps=STEPS)
            targets, loss = self.expect(weights, lanes)
            if monitor.step(loss, state=state):
                return weights

    def _first_targets(self, generator: np.random.RandomState) -> list[tuple[FloatArray, FloatArray]]:
        """Each label has states that stand for it, at first; with more labels than states, some share one."""
        n, K, data = self.n_states, self.dataset.n_labels, self.dataset
        period = min(n, K)
        stands = (np.arange(n)[:, None] - np.arange(K)) % period == 0  # (n, K)
        targets = []
        for chunk in self.chunks:
            offsets, spread = chunk.offsets, self._spread(chunk)
            mask = allowed_labels(data, chunk.rows)
            allowed = np.ones((int(offsets[-1]), data.n_labels), bool) if mask is None else mask
            states = (allowed.astype(np.float64) @ stands.T.astype(np.float64) > 0) * 1.0 + 0.05
            states *= generator.uniform(0.5, 1.5, size=states.shape)
            states /= states.sum(axis=1, keepdims=True)
            pairs = np.zeros((len(states), n + 1, n))
            pairs[1:, 1:] = states[:-1, :, None] * states[1:, None, :]
            pairs[offsets[:-1]] = 0.0
            pairs[offsets[:-1], 0] = states[offsets[:-1]]
            labels = allowed / allowed.sum(axis=1, keepdims=True)
            outputs = states[:, :, None] * labels[:, None, :]
            targets.append((pairs * spread, outputs * spread))
        return targets

    def _spread(self, chunk: Chunk) -> FloatArray:
        """(m, 1, 1): the weight of each position of a chunk."""
        return np.repeat(self.weights[chunk.first : chunk.last], np.diff(chunk.offsets))[:, None, None]

    def _maximise(
        self, weights: Weights, targets: list[tuple[FloatArray, FloatArray]], lanes: Lanes, *, steps: int
    ) -> Weights:
        """Weights that fit the targets better, or as well."""
        fits = (
            Fit(self.moves, self.move_chunks, [of_moves for of_moves, _ in targets], lanes),
            Fit(self.outputs, self.output_chunks, [of_outputs for _, of_outputs in targets], lanes),
        )
        better = []
        for fit, start, scale in zip(fits, weights, self.scales):
            quiet = Monitor(max_iter=steps, tol=0.0)  # not entered: Ctrl-C is for the monitor of the iterations
            better.append(lbfgs(fit, start, quiet, l2=self.l2, scale=scale))
        return Weights(*better)

    def expect(self, weights: Weights, lanes: Lanes) -> tuple[list[tuple[FloatArray, FloatArray]], float]:
        """The targets that the labels speak for under these weights; and the penalised loss of the weights."""
        moves, outputs = self.moves.loaded(weights.moves), self.outputs.loaded(weights.outputs)
        losses = np.zeros(len(self.chunks))
        targets: list[Any] = [None] * len(losses)

        def work(lane: int, c: int) -> None:
            chunk = self.chunks[c]
            offsets, spread, mask = chunk.offsets, self._spread(chunk), allowed_labels(self.dataset, chunk.rows)
            move_logs, label_logs = moves.log_probs(self.move_chunks[c]), outputs.log_probs(self.output_chunks[c])
            chain = state_chain(move_logs, label_logs, offsets, mask, chunk.first)
            posterior = marginals(chain.potentials)
            losses[c] = -float((posterior.log_partition * self.weights[chunk.first : chunk.last]).sum())
            pairs = np.zeros_like(move_logs)
            pairs[:, 1:] = posterior.edges.transpose(1, 2, 0)
            pairs[offsets[:-1]] = 0.0
            pairs[offsets[:-1], 0] = posterior.node_probs[offsets[:-1]]
            labels = label_shares(chain) * posterior.node_probs[:, :, None]
            targets[c] = (pairs * spread, labels * spread)

        lanes.run(work, len(losses))
        penalty = sum(float((part**2).sum()) for part in weights)
        return targets, float(losses.sum()) + self.l2 * penalty


def _check_memory(dataset: Dataset, n_states: int) -> None:
    """Refuse more states than this machine has memory for: each position has a target for every move and output, and
    each feature a weight."""
    width = n_states * (n_states + 1 + dataset.n_labels)
    n_features = Streams.of(dataset.schema).n_rows + 1
    needed = width * (8 * dataset.n_positions + A_WEIGHT * n_features)
    limit = memory_limit()
    if limit is not None and needed > limit:
        raise InputError(
            f"{n_states} states have {width:,} moves and outputs, for each of {dataset.n_positions:,} positions and "
            f"{n_features:,} features: {needed / 2**30:.1f} GB, and there are {limit / 2**30:.1f} GB of memory",
            hint="Use fewer states (⟦n_states⟧), or fewer features.",
        )


def label_shares(chain: StateChain) -> FloatArray:
    """(m, n, K), P(label | state, what is known of the label). A state that cannot give a known label has zeros."""
    shift = np.where(np.isfinite(chain.evidence), chain.evidence, 0.0)
    return np.exp(chain.label_logs - shift[:, :, None])


def _jittered(weights: FloatArray, regressions: Regressions, generator: np.random.RandomState) -> FloatArray:
    """A copy of the weights with noise added to the biases, which stand last."""
    n = regressions.n_blocks * regressions.n_outputs
    moved = weights.copy()
    moved[-n:] += JITTER * generator.standard_normal(n)
    return moved


def predicted_chain(moves: Loaded, outputs: Loaded, dataset: Dataset, chunk: Chunk) -> StateChain:
    """The chain of a chunk of a corpus to predict on; labels that the corpus has are known."""
    both = [one.log_probs(one.scorer.compile(dataset, chunk.first, chunk.last)) for one in (moves, outputs)]
    return state_chain(both[0], both[1], chunk.offsets, allowed_labels(dataset, chunk.rows), chunk.first)
