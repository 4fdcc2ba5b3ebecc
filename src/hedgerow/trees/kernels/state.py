"""What growing a tree reads, and the buffers that it works in.

The rows of the tree for a label are pairs (p, u): place p with previous label u, or with ⊥ where p is first in its
sequence. A node is (places × labels) ∩ rows. Gradient and weight of a row stand in one int64, its word: the gradient
as a fixed-point number above `bits` bits of weight. Sums of words are exact in any order.

Places are padded: column c at offset o is bins[c, p + o].

A leaf has an amount of each of its places. In a plain tree that is the word of the place: the sum of those of its rows
with u in the leaf. Where a missing value is none (`Gaps`) it is a number of parts, `whole` of them at the root, and the
place counts as parts/whole of its word. Such products need more bits than a word has. Sums therefore come in two forms:
words int64[·], or pairs int64[·, 2] of a gradient and a weight.

A leaf of many places is a trunk: it has no list of rows but a slot q, and trunk[q, p] is the amount of p, 0 where p is
not in it. A split that takes one value out of a trunk walks the postings of that value, not the trunk; any other split
turns it into a run. A run is a part of the arena (rows, amount), and is cut in place.
"""

from __future__ import annotations

from typing import NamedTuple

from hedgerow.legend import AnyArray

# Fields of a leaf: its trunk, or −1; its run; its row of `hist`, or −1; its run of the sparse histograms; its node;
# its gradient and weight.
SLOT, BEGIN, END, HISTOGRAM, LOW, HIGH, NODE, G, N = range(9)

# Fields of the split of a leaf: as those of a node, then the weight of the true side, and of all rows with a value.
TRUE_WEIGHT, KNOWN_WEIGHT = 3, 4

FALSE, TRUE, LOST = range(3)  # where a place goes; LOST where it has no value


class Columns(NamedTuple):
    """What trees split on.

    bins uint8[C, P] by place; blocks int64[C, 7], streams int64[6, ·] (fields: see `trees.nodes`), of which the last
    n_sparse are ITEMS; margin: places before the first offset of the first place; postings int32[], posting_ptr
    int64[C, 257]: places of each code; items int32[], item_ptr int64[G, P+1]: items at each place, by group;
    item_places int32[], item_place_ptr int64[G, ·]: places of each item
    """

    bins: AnyArray
    blocks: AnyArray
    margin: int
    streams: AnyArray
    n_sparse: int
    postings: AnyArray
    posting_ptr: AnyArray
    items: AnyArray
    item_ptr: AnyArray
    item_places: AnyArray
    item_place_ptr: AnyArray


class PlaceWords(NamedTuple):
    """places int32[R]; first uint8[P]; words int64[P, K], those of ⊥ in column 0 of a first place."""

    places: AnyArray
    first: AnyArray
    words: AnyArray


class Rules(NamedTuple):
    """When to split: at most so many leaves; the bits of a weight; λ and the least weight of a leaf in units of a
    weight, times `whole`; the share of features that a node may use, and the seed of that choice; the parts of a whole
    place (1 in a plain tree), and how many are too few for a row; whether codes and labels are split into two sets."""

    max_leaf_nodes: int
    bits: int
    l2_regularization: float
    least: int
    share: float
    seed: int
    whole: int
    few: int
    subsets: bool


class Buffers(NamedTuple):
    """trunk [Q, P]; the arena: rows int32[·], amount [·]; state uint8[n], the side of n rows; side uint8[256], of
    each bin; moved int64[3] or int32[3, whole+1]: see `share_amounts`; hist [H, B] sums; ratio float64[·] and order
    int64[·] of codes or labels; questions uint8[M, K+1]: where previous labels are histories, those that each of M > 0
    questions about one holds for.

    Of leaf i: leaf int64[9, L] (fields above); gain float64[L]; split int64[L, 5]; member uint8[L, K+1] and labels
    [L, K+1], its previous labels and their sums.
    """

    trunk: AnyArray
    rows: AnyArray
    amount: AnyArray
    state: AnyArray
    side: AnyArray
    moved: AnyArray
    hist: AnyArray
    ratio: AnyArray
    order: AnyArray
    below: AnyArray
    questions: AnyArray
    leaf: AnyArray
    gain: AnyArray
    split: AnyArray
    member: AnyArray
    labels: AnyArray


class Sparse(NamedTuple):
    """The histograms of sparse items, one after the other: ids int32[·] and sums [·]. One is made in scratch [Z], by
    item, with the items that it has in touched int32[Z]."""

    scratch: AnyArray
    touched: AnyArray
    ids: AnyArray
    sums: AnyArray


class Gaps(NamedTuple):
    """Where a missing value is none: pair int64[n, 2] of n rows; known int64[·, 2], lift float64[·] of the
    streams of a column (see `splits`).

    OUT  shares float64[2L]: of each split, how much of a place without a value goes to the true side
    """

    pair: AnyArray
    known: AnyArray
    lift: AnyArray
    shares: AnyArray


class Surrogates(NamedTuple):
    """votes int64[B, 2], voters int32[n]; of the best Q found for a split: rating float64[Q+1], stream int64[Q+1], ways
    uint8[Q+1, 32].

    OUT  kept int64[·, 2] (node, stream), kept_ways uint8[·, 32] (a bit for each bin that goes true)
    """

    votes: AnyArray
    voters: AnyArray
    rating: AnyArray
    stream: AnyArray
    ways: AnyArray
    kept: AnyArray
    kept_ways: AnyArray
