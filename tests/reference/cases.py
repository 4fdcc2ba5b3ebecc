"""Random chunks: sizes, several sequences, impossible labels and transitions, scores up to a thousand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from hedgerow.chain.edges import chain_from_scores
from hedgerow.chain.potentials import ChainPotentials


@dataclass(frozen=True)
class Case:
    node: np.ndarray
    edges: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray  # one legal labeling

    @property
    def arrays(self):
        return self.node, self.edges, self.offsets

    def potentials(self) -> ChainPotentials:
        return chain_from_scores(*self.arrays)


def make_case(rng, n_labels, lengths, *, scale=1.0, forbidden=0.0, per_position=False) -> Case:
    """A chunk in which the labeling `labels` is legal, whatever share of labels and transitions is forbidden."""
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    n = int(offsets[-1])
    labels = rng.integers(n_labels, size=n)
    node = scale * rng.normal(size=(n, n_labels))
    legal = rng.random((n, n_labels)) >= forbidden
    legal[np.arange(n), labels] = True
    shape = (n_labels, n, n_labels) if per_position else (n_labels, n_labels)
    edges = scale * rng.normal(size=shape)
    open_edges = rng.random(shape) >= forbidden
    inner = np.setdiff1d(np.arange(n), offsets)
    if per_position:
        open_edges[labels[inner], inner, labels[inner - 1]] = True
    else:
        open_edges[labels[inner - 1], labels[inner]] = True
    return Case(np.where(legal, node, -np.inf), np.where(open_edges, edges, -np.inf), offsets, labels)


@st.composite
def cases(draw, max_labels=5, max_length=7, max_sequences=4, per_position=None):
    """A Case. Its numbers come from a seed: Hypothesis searches over the shapes, which is where faults hide."""
    lengths = draw(st.lists(st.integers(1, max_length), min_size=1, max_size=max_sequences))
    form = draw(st.booleans()) if per_position is None else per_position
    return make_case(
        np.random.default_rng(draw(st.integers(0, 2**32 - 1))),
        draw(st.integers(1, max_labels)),
        lengths,
        scale=draw(st.sampled_from([0.0, 1.0, 30.0, 1000.0])),
        forbidden=draw(st.sampled_from([0.0, 0.0, 0.3, 0.8])),
        per_position=form,
    )
