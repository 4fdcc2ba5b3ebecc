"""Training of a LinearCRF in rounds, between which it gets new features: conjunctions of those that the data has."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hedgerow.chain.inference import marginals, node_marginals
from hedgerow.data.dataset import Dataset, Schema
from hedgerow.estimators.prepare import Prepared
from hedgerow.estimators.validation import ChainValidation, Measure
from hedgerow.estimators.values import random_generator
from hedgerow.legend import CODE, INDEX, FloatArray, IndexArray
from hedgerow.linear.chain import ChainLayout, LinearChain
from hedgerow.linear.conjunctions import Conjunctions, list_atoms
from hedgerow.linear.index import Streams, WeightIndex, row_names
from hedgerow.models.crf.linear_layout import Statistics
from hedgerow.models.crf.linear_training import LinearTraining, Plan, max_iterations
from hedgerow.parallel import Chunk, over_chunks
from hedgerow.training.induction import Outputs, Search
from hedgerow.training.monitor import ENDED_EARLY, Monitor, Step, Trained

if TYPE_CHECKING:
    from hedgerow.models.crf.linear import LinearCRF


class Induced(NamedTuple):
    """A model after some rounds. step : the iteration that its weights are of"""

    conjunctions: Conjunctions
    layout: ChainLayout
    weights: FloatArray
    step: Step


class _Corpus:
    """A corpus, the atoms of its positions, the places of each atom, and the conjunctions that hold at positions."""

    def __init__(self, dataset: Dataset, conjunctions: Conjunctions) -> None:
        self.dataset, self.atoms = dataset, list_atoms(dataset)
        self.places = self.atoms.by_number(Streams.of(dataset.schema).n_rows)
        self.held = conjunctions.held(self.atoms, self.places)

    def add(self, more: Conjunctions, n_before: int) -> Dataset:
        """Find where more conjunctions hold; the corpus as one of these alone."""
        held = more.held(self.atoms, self.places)
        self.held = self.held.joined(held, n_before)
        return more.apply(self.dataset, held)

    def seen(self, conjunctions: Conjunctions) -> Dataset:
        return conjunctions.apply(self.dataset, self.held)


class Rounds:
    """Some iterations, new features, more iterations; and what is known after each round.

    best : the model that held-out sequences like best so far; None where there are none
    """

    def __init__(self, model: LinearCRF, ready: Prepared) -> None:
        assert model.induction is not None
        self.model, self.ready, self.settings, self.plan = model, ready, model.induction, Plan.of(model)
        self.most = max_iterations(model.max_iter, self.plan.trainer.name)
        self.draw = random_generator(model.random_state)
        self.n_rounds, self.going_on = 0, True
        self.last: Induced | None = None
        self.best: Induced | None = None
        self.history: list[Step] = []
        rows = np.unique(list_atoms(ready.dataset).numbers).tolist() if self.settings.start == "features" else []
        names = row_names(ready.dataset.schema)
        self.conjunctions = Conjunctions.of(ready.dataset.schema, [(), *((row,) for row in rows)], names)
        self.corpus = _Corpus(ready.dataset, self.conjunctions)
        self.held_out = None if ready.held_out is None else _Corpus(ready.held_out, self.conjunctions)
        self.laid_out = self._lay_out(self.corpus.seen(self.conjunctions))

    def _lay_out(self, seen: Dataset) -> tuple[ChainLayout, Statistics]:
        return self.model._lay_out(seen, self.ready.space, ("*",) if self.settings.on == "pairs" else None)

    def run(self) -> tuple[Induced, Trained[FloatArray]]:
        """Train; what is kept, and how it went."""
        outcome = self._train_some()
        while outcome is None:
            self._add_features()
            outcome = self._train_some()
        kept = self.last if self.best is None else self.best
        assert kept is not None
        return kept, Trained(kept.weights, self.history, len(self.history), kept.step, outcome)

    def _train_some(self) -> str | None:
        """The iterations of a round, or all that are left after the last; why training ended, where it did."""
        model, settings, (layout, statistics) = self.model, self.settings, self.laid_out
        part, is_last = self.corpus.seen(self.conjunctions), self.n_rounds == settings.max_rounds or not self.going_on
        if self.n_rounds < len(settings.proportions) and not is_last:
            part = part.take(self._drawn(settings.proportions[self.n_rounds]))
        left = self.most - len(self.history)
        monitor, weights = LinearTraining(
            model, self.plan, part, layout, statistics, self._validation(layout)
        ).train_round(
            None if self.last is None else _carried(self.last, layout),
            self.history if self.last is not None else None,
            max_iter=left if is_last else min(settings.every, left),
            patience=model.n_iter_no_change if is_last else left + 1,
        )
        self._note(monitor, layout, weights)
        if is_last or len(self.history) >= self.most or monitor.outcome in ENDED_EARLY:
            return monitor.outcome
        waited = 0 if self.best is None else len(self.history) - self.best.step.iteration
        return "early_stopping" if waited >= model.n_iter_no_change else None

    def _note(self, monitor: Monitor, layout: ChainLayout, weights: FloatArray) -> None:
        """Keep what a round gave. The next one goes on from its last weights, whatever held-out sequences say."""
        self.history, self.n_rounds = monitor.history, self.n_rounds + 1
        step = monitor.history[-1] if monitor.n_iter else monitor.kept
        self.last = Induced(self.conjunctions, layout, weights, step)
        best = self.best.step.score if self.best is not None else None
        found, own = monitor.best_step, monitor.best_weights
        if found is not None and own is not None and (best is None or (found.score or 0.0) >= best):
            self.best = Induced(self.conjunctions, layout, own, found)

    def _validation(self, layout: ChainLayout) -> ChainValidation | None:
        if self.held_out is None:
            return None
        model, held_out = self.model, self.held_out.seen(self.conjunctions)
        decoder = model._decoder_name(held_out.schema.labels)
        return ChainValidation(layout, Measure(held_out, model._scoring(), decoder, model.beam_width), model.n_jobs)

    def _drawn(self, share: float) -> IndexArray:
        """The sequences that train in a round."""
        n = self.ready.dataset.n_sequences
        return np.sort(self.draw.permutation(n)[: max(1, round(share * n))]).astype(INDEX)

    def _add_features(self) -> None:
        """The conjunctions by which the likelihood would rise most, of candidates at positions that are hard."""
        assert self.last is not None
        seen = self.corpus.seen(self.conjunctions)
        where, outputs = outputs_of(self.last, seen, self.model.n_jobs, pairs=self.settings.on == "pairs")
        hard = np.flatnonzero(outputs.probs[np.arange(len(where)), outputs.truth] < self.settings.threshold)
        atoms, held = self.corpus.atoms.at(where[hard]), self.corpus.held.at(where[hard])
        search = Search(self.conjunctions, atoms, held, outputs.at(hard))
        found = search.best(int(self.settings.n_features), float(self.model.l2))
        self.going_on = bool(found)
        if not found:
            return
        old = self.conjunctions
        more, n_before = Conjunctions.of(old.schema, found, old.names), len(old)
        self.conjunctions = self.conjunctions.extended(found)
        fresh = self._lay_out(self.corpus.add(more, n_before))
        self.laid_out = join_layouts(self.laid_out, fresh, self.conjunctions.seen)
        if self.held_out is not None:
            self.held_out.add(more, n_before)


def join_layouts(
    old: tuple[ChainLayout, Statistics], fresh: tuple[ChainLayout, Statistics], schema: Schema
) -> tuple[ChainLayout, Statistics]:
    """The layout of conjunctions, and of more that are numbered after them. What is no conjunction's is the old one's.

    schema : of all of them
    """

    def join(one: WeightIndex, more: WeightIndex) -> WeightIndex:
        pointers = np.concatenate([one.row_ptr, more.row_ptr[1:] + one.n_weights])
        labels = np.concatenate([one.slot_label, more.slot_label])
        return WeightIndex(Streams.of(schema), one.n_outputs, pointers, labels)

    (layout, known), (more, new) = old, fresh
    pairs = None if layout.pairs is None or more.pairs is None else join(layout.pairs, more.pairs)
    joined = replace(layout, nodes=join(layout.nodes, more.nodes), pairs=pairs)
    columns = zip((known.frequency, known.squares), (new.frequency, new.squares))
    both = ((*layout.split(a), *more.split(b)) for a, b in columns)  # of nodes, transitions and pairs, old and new
    return joined, Statistics(*(np.concatenate([one[i] for i in (0, 3, 1, 2, 5)]) for one in both))


def outputs_of(model: Induced, seen: Dataset, n_jobs: int | None, *, pairs: bool) -> tuple[IndexArray, Outputs]:
    """What a model says of the positions whose label is known, or whose label and the one before it are; and where
    these are."""
    chain, K, labels = LinearChain(model.layout), model.layout.n_labels, seen.labels
    assert labels is not None
    chain.load(model.weights)

    def probabilities(chunk: Chunk) -> FloatArray:
        potentials = chain.potentials(chain.compile(seen, chunk.first, chunk.last))
        if not pairs:
            return node_marginals(potentials)
        edges = marginals(potentials).edges  # [to, t, from]
        return np.ascontiguousarray(edges.transpose(1, 0, 2)).reshape(-1, K * K)

    probs = np.concatenate(over_chunks(probabilities, seen.offsets, n_jobs))
    known, truth = labels >= 0, labels
    if pairs:
        before = np.roll(labels, 1)
        before[seen.offsets[:-1]] = -1
        known, truth = known & (before >= 0), labels * CODE(K) + before
    where = np.flatnonzero(known)
    weights = np.ones(len(seen)) if seen.weight_seq is None else seen.weight_seq
    of_positions = np.repeat(weights, np.diff(seen.offsets))
    return where, Outputs(probs[where], truth[where], of_positions[where])


def _carried(before: Induced, layout: ChainLayout) -> FloatArray:
    """The weights of the last round in a layout with more conjunctions: rows keep their numbers, so that slots of new
    ones come after those of the old."""
    start: FloatArray = np.zeros(layout.n_weights)
    for new, old in zip(layout.split(start), before.layout.split(before.weights)):
        new[: len(old)] = old
    return start
