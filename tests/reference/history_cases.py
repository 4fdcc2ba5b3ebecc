"""Random chains of histories: orders, unknown labels, forbidden transitions, unseen labels that back off or not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from hedgerow.chain.edges import HistoryEdges
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.chain.structure.histories import NOTHING, Histories
from hedgerow.chain.structure.states import StateSpace


def chain_from_arcs(node_scores, arc_scores, histories, offsets=None) -> ChainPotentials:
    """From plain arrays: node scores (n, K), and a score for each arc of the histories, (A,)."""
    nodes = np.ascontiguousarray(node_scores, dtype=float)
    cuts = np.array([0, len(nodes)]) if offsets is None else np.asarray(offsets)
    return ChainPotentials(nodes, cuts.astype(np.int64), HistoryEdges.from_scores(histories, arc_scores))


def tuples(histories):
    """The histories as the reference knows them, in the order of the states."""
    return [tuple(v for v in row if v != NOTHING) for row in histories.labels.tolist()]


def arc_numbers(histories):
    """The arcs as the reference knows them: (history, label) → number."""
    names = tuples(histories)
    return {(names[s], int(v)): a for a, (s, v) in enumerate(zip(histories.arc_state, histories.arc_label))}


@dataclass(frozen=True)
class Case:
    """A corpus that the histories were seen in, and a chunk with scores."""

    histories: Histories
    node: np.ndarray
    arc_scores: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray  # one legal labeling

    def potentials(self) -> ChainPotentials:
        return chain_from_arcs(self.node, self.arc_scores, self.histories, self.offsets)

    @property
    def arcs(self):
        return arc_numbers(self.histories)

    def sequences(self):
        """(node, arc_scores, arcs) of each sequence, as the reference takes them."""
        arcs = self.arcs
        scores = np.where(self.histories.legal, self.arc_scores, -np.inf)
        return [(self.node[b:e], scores, arcs) for b, e in zip(self.offsets, self.offsets[1:])]


def legal_labels(rng, space, length):
    """A random labeling over legal transitions; every label has one."""
    labels = [int(rng.integers(space.n_labels))]
    while len(labels) < length:
        labels.append(int(rng.choice(np.flatnonzero(space.transitions[labels[-1]]))))
    return labels


def make_case(rng, n_labels, order, lengths, *, scale=1.0, forbidden=0.0, unseen="back_off", n_seen=4, unknown=0.0):
    space = StateSpace.full(n_labels)
    arcs = rng.random((n_labels, n_labels)) >= forbidden
    arcs[np.arange(n_labels), rng.integers(n_labels, size=n_labels)] = True
    space = StateSpace(space.start, arcs, space.end)
    seen = [legal_labels(rng, space, int(rng.integers(1, 8))) for _ in range(n_seen)]
    labels = [legal_labels(rng, space, length) for length in lengths]
    if unseen == "forbidden":
        seen += labels  # so that there is a legal labeling
    corpus = np.concatenate([np.array(word) for word in seen]) if seen else np.zeros(0, dtype=int)
    if unseen == "back_off":
        corpus = np.where(rng.random(len(corpus)) < unknown, -1, corpus)
    ends = np.concatenate([[0], np.cumsum([len(word) for word in seen])]).astype(int)
    histories = Histories.observed(corpus, ends, n_labels, order, unseen=unseen, space=space)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    flat = np.concatenate(labels)
    node = scale * rng.normal(size=(len(flat), n_labels))
    possible = rng.random(node.shape) >= forbidden / 2
    possible[np.arange(len(flat)), flat] = True
    scores = scale * rng.normal(size=histories.n_arcs)
    return Case(histories, np.where(possible, node, -np.inf), scores, offsets, flat)


@st.composite
def cases(draw, max_labels=4, max_order=4, max_length=6, max_sequences=3):
    """A Case. Its numbers come from a seed: Hypothesis searches over the shapes, which is where faults hide."""
    lengths = draw(st.lists(st.integers(1, max_length), min_size=1, max_size=max_sequences))
    return make_case(
        np.random.default_rng(draw(st.integers(0, 2**32 - 1))),
        draw(st.integers(1, max_labels)),
        draw(st.integers(0, max_order)),
        lengths,
        scale=draw(st.sampled_from([0.0, 1.0, 30.0, 1000.0])),
        forbidden=draw(st.sampled_from([0.0, 0.0, 0.3, 0.8])),
        unseen=draw(st.sampled_from(["back_off", "back_off", "back_off", "forbidden"])),
        n_seen=draw(st.integers(0, 6)),
        unknown=draw(st.sampled_from([0.0, 0.3])),
    )
