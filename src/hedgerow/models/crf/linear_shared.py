"""Training of a LinearCRF on a corpus whose parts lie elsewhere: which weights there are, the loss and its gradient,
and the score of held-out sequences, to the bits that one process gives.

A member has whole lanes: the sums of a lane have one order, and what the lanes give is added up in theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hedgerow.chain.objectives.result import Objective
from hedgerow.chain.structure.states import StateSpace
from hedgerow.data.dataset import Dataset
from hedgerow.data.parts.corpus import SharedCorpus, join, whole_part
from hedgerow.data.parts.pairwise import Range, SharedSum, answer
from hedgerow.errors import InputError
from hedgerow.estimators.validation import ChainValidation, Measure
from hedgerow.estimators.values import LOG_LIKELIHOOD
from hedgerow.legend import CODE, AnyArray, CodeArray, FloatArray, IndexArray
from hedgerow.linear.chain import ChainLayout, Evaluation, LinearChain
from hedgerow.linear.index import Group, Streams, WeightIndex, group_streams, make_index
from hedgerow.models.crf.linear_layout import Statistics, observed_labels, weighed_arcs
from hedgerow.parallel import Lanes, count_lanes, plan_chunks
from hedgerow.training.pool import Operation, Pool


def lay_out_shared(
    corpus: SharedCorpus, space: StateSpace, *, transitions: str, pairs: str, min_frequency: float, order: int
) -> tuple[ChainLayout, Statistics]:
    """As `lay_out`, of all parts."""
    if corpus.varied and min_frequency > 0:
        hint = "Leave one of them out, or fit the ordinary LinearCRF."
        raise InputError("⟦min_frequency⟧ is not supported with weights of sequences and Dask", hint=hint)
    K, streams = corpus.n_labels, Streams.of(corpus.schema)
    found = corpus.each(_count)
    groups = [_merge(parts, K) for parts in zip(*(groups for groups, _ in found))]
    nodes, totals = make_index(groups, streams, K, min_frequency=min_frequency, all_pairs=pairs == "all")
    frequency, square = _statistics(corpus, nodes, totals)
    arc_from, arc_to = weighed_arcs(corpus, space, transitions, min_frequency)
    if order != 1:
        arc_from, arc_to = arc_from[:0], arc_to[:0]
    n_arcs, n_known = len(arc_from), sum(n for _, n in found)
    layout = ChainLayout(nodes, arc_from, arc_to, space)
    often = np.full(n_arcs, max(n_known, 1) / K)
    return layout, Statistics(np.append(frequency, often), np.append(square, np.ones(n_arcs)))


def _count(dataset: Dataset) -> tuple[list[Group], int]:
    """How often each label is seen with each feature of a part, stream by stream; and the labels that are seen."""
    where, labels = observed_labels(dataset)
    streams = Streams.of(dataset.schema)
    return list(group_streams(dataset, streams, where, labels, dataset.n_labels, None)), len(where)


def _merge(parts: Sequence[Group], n_outputs: int) -> Group:
    """The pairs of one stream in all parts: counts, which are whole numbers."""
    n_rows = len(parts[0][0]) - 1
    rows = [np.repeat(np.arange(n_rows), np.diff(row_ptr)) for row_ptr, _, _ in parts]
    keys = np.concatenate([row * n_outputs + slot for row, (_, slot, _) in zip(rows, parts)])
    every, which = np.unique(keys, return_inverse=True)
    totals: FloatArray = np.zeros(len(every))
    np.add.at(totals, which, np.concatenate([total for _, _, total in parts]))
    row_ptr: IndexArray = np.searchsorted(every, n_outputs * np.arange(n_rows + 1)).astype(np.int64)
    slots: CodeArray = (every % n_outputs).astype(CODE)
    return row_ptr, slots, totals


def _statistics(corpus: SharedCorpus, index: WeightIndex, totals: FloatArray) -> tuple[FloatArray, FloatArray]:
    """As `weight_statistics`: frequency and mean square of the feature of each slot."""
    streams, rows = index.streams, index.slot_rows()
    frequency: FloatArray = np.bincount(rows, weights=totals, minlength=streams.n_rows).astype(np.float64)
    square = np.ones(streams.n_rows)
    seen: list[list[tuple[Any, ...]]] = corpus.each(_valued)
    plans = [SharedSum([one[2] for one in parts]) for parts in zip(*seen)]
    wanted = [([plan.wanted[p] for plan in plans],) for p in range(len(seen))]
    squares = corpus.each_with(_squares, wanted)
    for s, parts in enumerate(zip(*seen)):
        base, n_rows = parts[0][:2]
        if not any(one[6] for one in parts):
            continue
        if n_rows == 1:
            count = np.array([sum(one[3] for one in parts)])
            total = np.array([plans[s].total([own[s] for own in squares])])
        else:
            codes, values = (np.concatenate([one[j] for one in parts]) for j in (4, 5))
            count = np.bincount(codes[values != 0], minlength=n_rows)
            total = np.bincount(codes, weights=values**2, minlength=n_rows)
        known = np.flatnonzero(count)
        frequency[base + known] = count[known]
        square[base + known] = np.where(total[known] > 0, total[known] / count[known], 1.0)
    return np.maximum(frequency, 1.0)[rows], square[rows]


def _observed(dataset: Dataset) -> Any:
    """The streams of a part that may have values other than 1: first row, rows, codes, values, and whether they do."""
    where, _ = observed_labels(dataset)
    streams = Streams.of(dataset.schema)
    numbers = {*streams.num_base.tolist(), *streams.seq_num_base.tolist()}
    booleans = _boolean_bases(dataset, streams)
    for base, n_rows, which, codes, values in streams.observed_at(dataset, where):
        if base in numbers or base in booleans:
            yield base, n_rows, codes, values, True
        elif len(streams.attr_base) and base >= streams.attr_base[0]:
            own = dataset.attr_val is not None
            yield base, n_rows, codes, values if own else np.ones(len(which)), own


def _boolean_bases(dataset: Dataset, streams: Streams) -> set[int]:
    """The first rows of streams of flags, whose values are 0 and 1."""
    of, constant = (
        dataset.schema.of("categorical", "boolean"),
        dataset.schema.of("categorical", "boolean", constant=True),
    )
    bases = [(of[c], base) for c, base in zip(streams.column, streams.base)]
    bases += [(constant[c], base) for c, base in zip(streams.seq_column, streams.seq_base)]
    return {int(base) for column, base in bases if column.kind == "boolean"}


def _valued(dataset: Dataset) -> list[tuple[Any, ...]]:
    """Of each such stream: first row, rows, how many values are summed here, how many are not 0, and else
    codes and values; and whether it has values."""
    none: AnyArray = np.empty(0, dtype=np.int64)
    found: list[tuple[Any, ...]] = []
    for base, n_rows, codes, values, own in _observed(dataset):
        if n_rows == 1:
            found.append((base, 1, len(values), int(np.count_nonzero(values)), none, none, own))
        else:
            found.append((base, n_rows, 0, 0, codes, values, own))
    return found


def _squares(dataset: Dataset, wanted: Sequence[Sequence[Range]]) -> list[Any]:
    return [answer(np.square(values), own) for (_, _, _, values, _), own in zip(_observed(dataset), wanted)]


# ------------------------------------------------------------------------------------------------ the loss


class LinearMember:
    """Some lanes of the corpus. Its methods are the operations of a pool."""

    def __init__(
        self,
        layout: ChainLayout,
        objective: Objective,
        n_jobs: int,
        lanes: Sequence[Sequence[int]],
        pieces: Sequence[Dataset],
    ) -> None:
        """lanes : of each lane the sequences of its chunks; pieces : the sequences of all, lane by lane"""
        self.lanes = Lanes(n_jobs, len(lanes)).__enter__()  # for as long as it lives
        whole, first = join(pieces), 0
        self.evaluations = []
        for sizes in lanes:
            plan = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
            part = whole.take(np.arange(first, first + int(plan[-1])))
            alone = Lanes(1, 1).__enter__()
            self.evaluations.append(Evaluation(LinearChain(layout), part, objective, alone, plan))
            first += int(plan[-1])

    def evaluate(self, weights: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """The losses of the chunks of each lane, and its gradient."""
        found: list[Any] = [None] * len(self.evaluations)

        def work(lane: int, j: int) -> None:
            _, gradient = self.evaluations[j](weights)
            found[j] = self.evaluations[j].losses.copy(), gradient

        self.lanes.run(work, len(found))
        return found


class SharedEvaluation:
    """The loss of a shared corpus and its gradient, as `Evaluation` gives them."""

    def __init__(self, layout: ChainLayout, corpus: SharedCorpus, objective: Objective) -> None:
        plan = layout.plan(corpus.offsets)
        self.n_evaluations, self.n_chunks = 0, len(plan) - 1
        self.n_weights, self.n_lanes = layout.n_weights, count_lanes(layout.n_weights, self.n_chunks)
        chunks = [np.arange(lane, self.n_chunks, self.n_lanes) for lane in range(self.n_lanes)]
        lanes = [[(int(plan[c]), int(plan[c + 1])) for c in own] for own in chunks]
        self.pool: Pool = corpus.lanes_pool(lanes, whole_part, LinearMember, layout, objective, corpus.engine.n_threads)

    def __call__(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """The loss and its gradient with respect to the weights."""
        self.n_evaluations += 1
        losses, total = np.zeros(self.n_chunks), np.zeros(self.n_weights)
        answers = self.pool.call([Operation("evaluate", (weights,))], [])
        for lane, (own, gradient) in enumerate(one for (of_member,) in answers for one in of_member):
            losses[lane :: self.n_lanes] = own
            total += gradient
        return float(losses.sum()), total


# ------------------------------------------------------------------------------------------------ held-out sequences


class ValidationMember:
    """A run of the held-out sequences."""

    def __init__(
        self, layout: ChainLayout, named: tuple[Any, str, int, Any], n_jobs: int, plan: Any, pieces: Any
    ) -> None:
        """named : scoring, decoder, width of a beam, and tilt"""
        self.validation = ChainValidation(layout, Measure(join(pieces), *named), n_jobs)

    def measure(self, weights: FloatArray) -> AnyArray:
        """The log-probabilities of its sequences, or which of its labels are right."""
        measure = self.validation.measure
        found = np.concatenate(self.validation.parts(weights))
        return found if measure.score is None else (found == measure.held_out.labels)[measure.known]


class SharedValidation:
    """Weights of a linear chain in, score on the shared held-out sequences out, as `ChainValidation` gives it."""

    def __init__(self, layout: ChainLayout, corpus: SharedCorpus, named: tuple[Any, str, int, Any]) -> None:
        self.scoring, plan = named[0], plan_chunks(corpus.offsets)
        given = layout, named, corpus.engine.n_threads
        self.pool: Pool = corpus.pool(plan, whole_part, (), ValidationMember, *given)

    def __call__(self, weights: FloatArray) -> float:
        answers = self.pool.call([Operation("measure", (weights,))], [])
        values = np.concatenate([found for (found,) in answers])
        return float(values.sum()) if self.scoring == LOG_LIKELIHOOD else float(values.mean())
