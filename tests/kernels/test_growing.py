"""The tree kernel against the literal twin: the same splits, in the same order, with the same rows in every leaf."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.kernels import growing as fast
from hedgerow.reference import growing as slow


class Corpus(NamedTuple):
    """Random columns and gradients: what the kernel takes, and the streams as (column, offset) pairs."""

    bins: Any
    place: Any
    flat: Any
    first: Any
    words: Any
    streams: Any
    postings: Any
    posting_ptr: Any
    bits: int
    targets: Any


def make(seed: int) -> Corpus:
    rng = np.random.default_rng(seed)
    n_labels, lengths = int(rng.integers(2, 5)), rng.integers(1, 9, rng.integers(1, 8))
    n, gap, n_columns = int(lengths.sum()), int(rng.integers(0, 3)), int(rng.integers(1, 4))
    sequence = np.repeat(np.arange(len(lengths)), lengths)
    place = np.arange(n) + gap * (sequence + 1)
    size = n + gap * (len(lengths) + 1)
    kinds, n_bins = rng.integers(0, 2, n_columns), rng.integers(4, 7, n_columns)
    bins = np.repeat(n_bins - 1, size).reshape(n_columns, size).astype(np.uint8)
    for c in range(n_columns):
        values = rng.integers(0, n_bins[c] - 2, n)
        bins[c, place] = np.where(rng.random(n) < 0.1, n_bins[c] - 2, values)
    reads = np.array([(c, o) for c in range(n_columns) for o in range(-gap, gap + 1)]).T
    own = n_bins[reads[0]]
    streams = np.stack([*reads, np.cumsum(own) - own, own, kinds[reads[0]]]).astype(np.int64)
    first = np.zeros(n, dtype=bool)
    first[np.cumsum(lengths) - lengths] = True
    flat = np.full(size, -1, dtype=np.int32)
    flat[place] = np.arange(n)
    postings, ptr = post(bins, n_bins)
    targets = rng.integers(-50, 50, (n, n_labels)) if seed % 3 else rng.integers(-1, 2, (n, n_labels))  # many ties
    bits = int(n * n_labels).bit_length() + 1
    words = (targets.astype(np.int64) << bits) + 1
    words[first, 1:] = 0
    return Corpus(bins, place.astype(np.int64), flat, first, words, streams, postings, ptr, bits, targets)


def post(bins: Any, n_bins: Any) -> tuple[Any, Any]:
    """Padded places of each bin of each column, the last bin (outside) left out."""
    ptr = np.zeros((len(bins), int(n_bins.max()) + 1), dtype=np.int64)
    lists: list[Any] = []
    for c in range(len(bins)):
        for b in range(ptr.shape[1] - 1):
            ptr[c, b] = sum(map(len, lists))
            if b < n_bins[c] - 1:
                lists.append(np.flatnonzero(bins[c] == b))
        ptr[c, -1] = sum(map(len, lists))
    return np.concatenate(lists).astype(np.int32), ptr


def grow_fast(
    corpus: Corpus, max_leaves: int, shrinkage: float, room: int = 100, trunks: int = 3
) -> tuple[int, dict[str, Any]]:
    n, n_labels = corpus.words.shape
    n_bins = int(corpus.streams[3].sum())
    L = max_leaves
    work = {
        "trunk": np.empty((trunks, n), np.int64),
        "alive": np.empty((trunks, n), np.uint8),
        "rows": np.empty(room * n, np.int32),
        "weight": np.empty(room * n, np.int64),
        "slot": np.zeros(L, np.int64),
        "begin": np.zeros(L, np.int64),
        "end": np.zeros(L, np.int64),
        "total": np.zeros(L, np.int64),
        "gain": np.zeros(L),
        "split": np.zeros((L, 3), np.int64),
        "member": np.zeros((L, n_labels + 1), np.bool_),
        "hist": np.zeros((L, n_bins), np.int64),
        "labels": np.zeros((L, n_labels + 1), np.int64),
        "node": np.zeros(L, np.int64),
        "tree": np.zeros((2 * L, 5), np.int64),
    }
    n_leaves = fast.grow(*corpus[:8], L, corpus.bits, shrinkage, *work.values())
    return n_leaves, work


def write_out(corpus: Corpus) -> list[slow.Row]:
    """Every row (t, u) with its window, as the papers have them."""
    n, n_labels = corpus.words.shape
    rows = []
    for t in range(n):
        window = [int(corpus.bins[c, corpus.place[t] + o]) for c, o in zip(corpus.streams[0], corpus.streams[1])]
        if corpus.first[t]:
            rows.append(slow.Row(t, window, n_labels, int(corpus.targets[t, 0])))
        else:
            rows += [slow.Row(t, window, u, int(corpus.targets[t, u])) for u in range(n_labels)]
    return rows


def same_splits(node: slow.Node, tree: Any, i: int) -> None:
    if node.split is None:
        assert tree[i, 0] == slow.LEAF
        return
    assert tuple(tree[i, :3]) == node.split
    assert node.true is not None
    assert node.false is not None
    same_splits(node.true, tree, int(tree[i, 3]))
    same_splits(node.false, tree, int(tree[i, 4]))


@given(st.integers(0, 10_000), st.integers(2, 14), st.sampled_from([0.0, 1.0, 20.0]), st.sampled_from([1, 2, 6]))
def test_tree_is_that_of_the_written_out_rows(seed: int, max_leaves: int, shrinkage: float, trunks: int) -> None:
    corpus = make(seed)
    n_leaves, work = grow_fast(corpus, max_leaves, shrinkage, trunks=trunks)
    n_labels = corpus.words.shape[1]
    kinds, n_bins = corpus.streams[4].tolist(), corpus.streams[3].tolist()
    root, leaves = slow.grow(write_out(corpus), kinds, n_bins, n_labels, max_leaves, shrinkage)
    assert n_leaves == len(leaves)
    same_splits(root, work["tree"], 0)
    for i, leaf in enumerate(leaves):
        count = int(work["total"][i] & ((1 << corpus.bits) - 1))
        assert count == len(leaf.rows)
        assert (int(work["total"][i]) - count) >> corpus.bits == sum(row.target for row in leaf.rows)
        slot = work["slot"][i]
        run = work["rows"][work["begin"][i] : work["end"][i]] if slot < 0 else np.flatnonzero(work["alive"][slot])
        assert np.all(np.diff(run) > 0)
        assert run.tolist() == sorted({row.position for row in leaf.rows})
        assert {row.previous for row in leaf.rows} <= set(np.flatnonzero(work["member"][i]).tolist())


@pytest.mark.parametrize("seed", range(5))
def test_leaves_share_out_all_rows(seed: int) -> None:
    corpus = make(seed)
    n_leaves, work = grow_fast(corpus, 12, 1.0)
    assert work["total"][:n_leaves].sum() == corpus.words.sum()


def test_small_arena_is_reported() -> None:
    corpus = make(1)
    assert grow_fast(corpus, 12, 1.0)[0] > 1
    assert grow_fast(corpus, 12, 1.0, room=0)[0] == -1


def test_planted_split_is_found() -> None:
    corpus = make(7)
    c, o = int(corpus.streams[0, 0]), int(corpus.streams[1, 0])
    value = corpus.bins[c, corpus.place + o]
    wanted = int(np.bincount(value).argmax())
    if (value == wanted).all():
        pytest.skip("one value everywhere")
    targets = np.where(value == wanted, 40, -40)[:, None] * np.ones_like(corpus.targets)
    words = (targets.astype(np.int64) << corpus.bits) + 1
    words[corpus.first, 1:] = 0
    streams = corpus.streams.copy()
    streams[4] = fast.CODES
    _, work = grow_fast(corpus._replace(words=words, targets=targets, streams=streams), 2, 0.0)
    stream, value_found, rule = work["tree"][0, :3]
    true = corpus.bins[streams[0, stream], corpus.place + streams[1, stream]] == value_found
    assert rule == fast.EQUAL
    assert len(set(targets[true, 0].tolist())) == 1
    assert len(set(targets[~true, 0].tolist())) == 1
