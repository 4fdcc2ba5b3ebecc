"""The exact search of slack-rescaled margins: the labeling with the largest Δ(y) (1 − truth + score(y)), Δ whole.

A Viterbi pass with μ added to the score for each unit of cost gives D(μ) = max_y score(y) + μ Δ(y). So no labeling of
cost h scores more than D(μ) − μ h, and its value is at most h (1 − truth + D(μ) − μ h). A few passes find the concave
hull of the best scores by cost around the largest bound. Most sequences end there: a labeling that was found has the
largest bound of all. For the others the answer may lie under the hull, and the best score is searched for each cost
whose bound exceeds the best value found.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.edges.tables import tables_of
from hedgerow.chain.inference import best_labelings, position_scores
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.chain.workspace import run_slices, slices
from hedgerow.errors import InputError
from hedgerow.legend import CODE, INDEX, AnyArray, BoolArray, FloatArray, IndexArray

_MAX_ROUNDS = 60  # each halves nothing for certain; the full search takes over
_MAX_NUMBERS = 50_000_000
_MAX_STEPS = 5_000_000_000


class _Search:
    """The state of a chunk of s sequences.

    potentials, costs : the scores, and (n, K) what each label costs
    truth : (s,), the scores of the truth
    values, heights, labels : (s,), (s,), (n,): the best value so far, its cost Δ, its labeling; 0, 0 and the truth
    begins, sizes : (s,), where the bounds of a sequence start, for the costs 0 … its largest, and how many they are
    bounds : upper bounds of the value at each cost
    tolerance : (s,), by how much a value may be rounded
    points : the costs and scores of the labelings of each round, (s,) each, NaN where a sequence had no part in it
    """

    def __init__(self, potentials: ChainPotentials, costs: FloatArray, labels: AnyArray, scores: FloatArray) -> None:
        """With the true labels (n,) and their scores (s,)."""
        self.potentials = replace(potentials, edges=potentials.edges.with_scores())  # each pass needs them
        self.costs, self.truth, self.labels = costs, scores, labels.astype(CODE)
        self.sizes = np.add.reduceat(costs.max(axis=1), potentials.offsets[:-1]).astype(INDEX) + 1
        self.begins: IndexArray = np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(INDEX)
        if self.sizes.sum() > _MAX_NUMBERS:
            most = int(self.sizes.max()) - 1
            what = f"the costs of one labeling go up to {most:,}, too many to list for slack_margin"
            raise InputError(what, hint="Give smaller costs, or use the objective 'margin'.")
        self.bounds: FloatArray = np.full(int(self.sizes.sum()), np.inf)
        self.values, self.heights, self.tolerance = np.zeros((3, potentials.n_sequences))
        self.points: list[tuple[FloatArray, FloatArray]] = []


def steepest_labelings(
    potentials: ChainPotentials, costs: FloatArray, truth: AnyArray, scores: FloatArray
) -> tuple[AnyArray, FloatArray, FloatArray]:
    """The labels (n,) with the largest Δ (1 − truth + score), that value (s,) and Δ (s,); the truth where none is
    above 0.

    costs (n, K), whole numbers, 0 for the truth (n,) with its scores (s,). Of equal ones any, but always the same.
    """
    state = _Search(potentials, costs, truth, scores)
    active = np.arange(potentials.n_sequences)
    slopes = np.zeros(len(active))
    stuck: list[int] = []
    for rounds in range(_MAX_ROUNDS):
        tallest, place = _pass(state, active, slopes)
        left = tallest > state.values[active] + state.tolerance[active]
        if rounds == 0:  # beyond the labeling of this slope no bound is above 0
            slopes = 1.0 - scores + state.points[0][1]
            continue
        active, place = active[left], place[left]
        if not len(active):
            break
        slopes, closed = _chords(state, active, place)
        stuck.extend(active[closed])
        active, slopes = active[~closed], slopes[~closed]
    for i in [*stuck, *active]:
        _search_costs(state, int(i))
    return state.labels, state.values, state.heights


def _pass(state: _Search, active: IndexArray, slopes: FloatArray) -> tuple[FloatArray, IndexArray]:
    """Viterbi with slopes for the costs of some sequences: note what it finds, and lower their bounds.

    Return the largest bound of each and the cost that has it.
    """
    part, rows = state.potentials.take(active)
    costs = state.costs[rows]
    added = np.repeat(slopes, np.diff(part.offsets))[:, None] * costs
    labelings, _ = best_labelings(replace(part, node_scores=part.node_scores + added))
    starts = part.offsets[:-1]
    scores = np.add.reduceat(position_scores(part, labelings), starts)
    heights = np.add.reduceat(costs[np.arange(len(rows)), labelings], starts)
    noted = np.full(len(state.values), np.nan), np.full(len(state.values), np.nan)
    noted[0][active], noted[1][active] = heights, scores
    state.points.append(noted)
    size = 1.0 + np.abs(scores) + np.abs(state.truth[active])
    state.tolerance[active] = np.maximum(state.tolerance[active], 1e-12 * state.sizes[active] * size)
    values = heights * (1.0 - state.truth[active] + scores)
    better = values > state.values[active]
    state.values[active[better]], state.heights[active[better]] = values[better], heights[better]
    chosen = np.repeat(better, np.diff(part.offsets))
    state.labels[rows[chosen]] = labelings[chosen]
    rests = 1.0 - state.truth[active] + scores + slopes * heights
    tallest, place = np.empty(len(active)), np.empty(len(active), dtype=INDEX)
    lines = state.sizes[active], state.begins[active], slopes, rests
    kernels.slack.tighten(*lines, state.bounds, tallest, place)
    return tallest, place


def _chords(state: _Search, active: IndexArray, place: IndexArray) -> tuple[FloatArray, BoolArray]:
    """For some sequences: the slope of the line through the points on both sides of the cost `place`, and whether a
    pass with that slope is behind us, so that nothing of the hull is left to find there."""
    heights = np.array([point[0][active] for point in state.points])
    scores = np.array([point[1][active] for point in state.points])
    columns = np.arange(len(active))
    below = np.argmax(np.where(heights <= place, heights, -np.inf), axis=0)
    above = np.argmin(np.where(heights > place, heights, np.inf), axis=0)
    rise = heights[above, columns] - heights[below, columns]
    slopes: FloatArray = (scores[below, columns] - scores[above, columns]) / rise
    reached = 1.0 - state.truth[active] + scores[below, columns] - slopes * (place - heights[below, columns])
    bounds = state.bounds[state.begins[active] + place]
    closed: BoolArray = bounds <= place * reached + state.tolerance[active]
    return slopes, closed


def _search_costs(state: _Search, i: int) -> None:
    """The best labeling of sequence i over all costs whose bound exceeds the best value, kept if it is better."""
    bounds = state.bounds[state.begins[i] : state.begins[i] + state.sizes[i]]
    open_costs = np.flatnonzero(bounds > state.values[i] + state.tolerance[i])
    if not len(open_costs):
        return
    lowest, highest = int(open_costs[0]), int(open_costs[-1])
    one, rows = state.potentials.sequence(i), state.potentials.rows(i)
    costs, unfolded = state.costs[rows].astype(INDEX), one.edges.unfolded(one)
    if unfolded is not None:
        one, costs = unfolded.chain, unfolded.moves.spread(costs).astype(INDEX)
    n, K = one.node_scores.shape
    numbers, steps = n * K * (highest + 1), n * K * K * (highest + 1)
    if numbers > _MAX_NUMBERS or steps > _MAX_STEPS:
        what = f"the exact search of slack_margin over {n} positions and {K} labels is too large: {numbers:.1e} numbers"
        hint = "Use ⟦objective='margin'⟧, or cut long sequences"
        raise InputError(what, hint=hint, sequence=state.potentials.sequence_number(i))
    reached = np.cumsum(costs.max(axis=1))
    least = np.maximum(lowest - (reached[-1] - reached), 0)
    most = np.minimum(reached, highest)
    best, scores = np.empty((n, K, highest + 1)), tables_of(one).scores_to
    given = one.node_scores, scores, costs, least, most, best
    run_slices(kernels.slack.search, n, K * K * (highest + 1), *given)
    values = np.arange(1, highest + 1) * (1.0 - state.truth[i] + best[-1, :, 1:].max(axis=0))
    h = int(np.argmax(values)) + 1
    if values[h - 1] <= state.values[i]:
        return
    labels, label, left = np.empty(n, dtype=CODE), int(np.argmax(best[-1, :, h])), h
    for t0, t1 in slices(n, K, back=True):
        label, left = kernels.slack.trace(scores, costs, best, label, left, labels, t0, t1)
    state.labels[rows] = labels if unfolded is None else unfolded.moves.last[labels]
    state.values[i], state.heights[i] = values[h - 1], h
