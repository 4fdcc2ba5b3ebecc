"""Corpora for TreeCRF as a user has them, as a Dataset and with every window written out; and the engine on them."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from hypothesis import strategies as st

from hedgerow import TreeCRF
from hedgerow.chain.objectives.log_likelihood import log_likelihood
from hedgerow.chain.potentials import Truth
from hedgerow.data.encoding import learn
from hedgerow.legend import FIRST_VALUE, MISSING, OUTSIDE
from hedgerow.parallel import Lanes
from hedgerow.training.boosting.chain import Booster
from hedgerow.trees.binning import bin_dataset, learn_binning
from hedgerow.trees.growing import Grower
from tests.reference import tree_crf
from tests.reference.growing import CODES, ORDERED

WORDS, TONES, SIZE, DEPTH = "word", "tone", "size", "depth"
KINDS = {WORDS: "categorical", TONES: "categorical", SIZE: "numeric", DEPTH: "numeric"}


@dataclasses.dataclass(frozen=True)
class Raw:
    """Sequences of dicts, as a user has them, their labels, and the window (before, after)."""

    X: list[list[dict[str, Any]]]
    y: list[list[int]]
    window: tuple[int, int]


def make_raw(rng, n_labels, lengths, window, names) -> Raw:
    """Few values, so that gains tie; None and NaN; every label at least once."""
    n = sum(lengths)
    labels = np.concatenate([rng.permutation(n_labels), rng.integers(n_labels, size=n)])[:n]
    rng.shuffle(labels)
    draw = {
        WORDS: lambda: [None, "a", "b", "c", "d"][rng.integers(5)],
        TONES: lambda: ["high", "low"][rng.integers(2)],
        SIZE: lambda: [np.nan, -1.5, 0.0, 0.25, 7.0][rng.integers(5)],
        DEPTH: lambda: float(np.round(rng.normal(), 1)),
    }
    items = [{name: draw[name]() for name in names} for _ in range(n)]
    ends = np.cumsum(lengths)
    parts = [(int(end - length), int(end)) for length, end in zip(lengths, ends)]
    return Raw([items[a:b] for a, b in parts], [labels[a:b].tolist() for a, b in parts], window)


@st.composite
def raws(draw) -> Raw:
    n_labels = draw(st.integers(2, 4))
    lengths = draw(st.lists(st.sampled_from([1, 1, 2, 3, 8]), min_size=4, max_size=9))
    names = draw(st.sampled_from([(WORDS,), (SIZE,), (WORDS, SIZE), (WORDS, TONES, SIZE), (TONES, SIZE, DEPTH)]))
    window = draw(st.sampled_from([(0, 0), (1, 1), (0, 1), (2, 0)]))
    return make_raw(np.random.default_rng(draw(st.integers(0, 2**32 - 1))), n_labels, lengths, window, names)


def kinds_of(raw: Raw) -> dict[str, str]:
    return {name: KINDS[name] for name in raw.X[0][0]}


def to_dataset(raw: Raw):
    return learn(raw.X, raw.y, columns=kinds_of(raw), window=raw.window)


def fit_estimator(raw: Raw, version: str, **parameters) -> TreeCRF:
    return TreeCRF.paper(version, columns=kinds_of(raw), window=raw.window, **parameters).fit(raw.X, raw.y)


def to_corpus(raw: Raw, twin=tree_crf) -> tree_crf.Corpus:
    """The windows written out by hand: a code for each word, the rank of each number among those there are.

    The order of the columns and of the words is the encoder's choice, and decides ties: both are read off the schema.
    """
    schema = to_dataset(raw).schema
    columns = schema.of("categorical") + schema.of("numeric")
    columns = [column for column in columns if column.name in KINDS]
    items = [item for sequence in raw.X for item in sequence]
    bins, outside, kinds, n_bins = [], [], [], []
    for column in columns:
        values = [item[column.name] for item in items]
        if column.kind == "categorical":
            known = column.vocabulary.names()
            bins.append([MISSING if v is None else FIRST_VALUE + known.index(v) for v in values])
            outside.append(OUTSIDE)
            kinds.append(CODES)
            n_bins.append(FIRST_VALUE + len(known))
        else:
            known = sorted({v for v in values if v == v})
            top = max(1, len(known))
            bins.append([known.index(v) if v == v else top for v in values])
            outside.append(top + 1)
            kinds.append(ORDERED)
            n_bins.append(top + 2)
    reads = [(c, o) for c in range(len(columns)) for o in range(-raw.window[0], raw.window[1] + 1)]
    offsets = np.concatenate([[0], np.cumsum([len(labels) for labels in raw.y])])
    return twin.Corpus(
        windows=twin.write_windows(bins, outside, reads, offsets),
        labels=np.concatenate(raw.y).astype(np.int32),
        offsets=offsets,
        n_labels=len(set(np.concatenate(raw.y).tolist())),
        kinds=[kinds[c] for c, _ in reads],
        n_bins=[n_bins[c] for c, _ in reads],
    )


def random_corpus(rng, n_labels, lengths) -> tree_crf.Corpus:
    return to_corpus(make_raw(rng, n_labels, lengths, (1, 1), (WORDS, SIZE)))


def random_potentials(rng, corpus: tree_crf.Corpus):
    potentials = np.zeros((corpus.n_labels, len(corpus.windows), corpus.n_labels + 1))
    for t, previous in corpus.pairs():
        potentials[:, t, previous] = rng.normal(size=corpus.n_labels)
    return potentials


class Engine:
    """The booster with the reference's layout. A change of its signature is a change here, and nowhere else."""

    def __init__(self, raw: Raw, *, max_leaf_nodes, l2_regularization, learning_rate=1.0):
        self._dataset = to_dataset(raw)
        data = bin_dataset(learn_binning(self._dataset), self._dataset, postings=True)
        K = self._dataset.n_labels
        options = {"max_leaf_nodes": max_leaf_nodes, "l2_regularization": l2_regularization}
        self._booster = Booster(self._dataset, data, Lanes(None, 1), learning_rate=learning_rate, **options)
        self._learning_rate = learning_rate
        self._shape = K, self._dataset.n_positions, K + 1
        self.one = Grower(data, K, **options).one
        self.grouped = data.grouped

    def evaluate(self, objective=log_likelihood):
        """The objective (greater is better), and the targets of the next trees, (K, N, K+1)."""
        loss = self._booster.evaluate(objective)
        targets = np.zeros(self._shape)
        for shard in self._booster.shards:
            labels = self._dataset.labels[shard.begin : shard.end]
            if objective is log_likelihood:
                nodes, edges = self._from_messages(shard, labels)
            else:
                found = objective(shard.potentials(), Truth(labels))
                nodes, edges = found.node_gradient, found.edge_gradient
            starts = shard.offsets[:-1]
            targets[:, shard.begin : shard.end, :-1] = -edges
            targets[:, shard.begin + starts] = 0.0
            targets[:, shard.begin + starts, -1] = -nodes[starts].T
        return -loss, targets

    def _from_messages(self, shard, labels):
        """The gradient of the likelihood, (n, K) and (K, n, K), to the bit as the booster makes it from messages."""
        (alpha, ahead), (K, n, _) = shard.messages, shard.edge_exps.shape
        truth = np.eye(K)[labels]
        edges = np.zeros((K, n, K))
        for k in range(K):
            products = alpha[:-1] * shard.edge_exps[k, 1:] * ahead[1:, k, None]
            edges[k, 1:] = products - truth[1:, k, None] * truth[:-1]
        return ahead - truth, edges  # of nodes at first positions

    def step(self):
        """The trees of the next iteration: (nodes, leaf values before the learning rate) for each label."""
        return [(tree.nodes, tree.values / self._learning_rate) for tree in self._booster.step()]

    def potentials(self):
        """The scores that training holds, (K, N, K+1)."""
        found = np.zeros(self._shape)
        for shard in self._booster.shards:
            found[:, shard.begin : shard.end, :-1] = shard.potentials().edges.scores_to
            found[:, shard.begin + shard.offsets[:-1], -1] = shard.start_scores
        return found
