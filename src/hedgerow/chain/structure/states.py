"""StateSpace: which labels may start a sequence, follow each other, and end it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import AnyArray, BoolArray, FloatArray, IndexArray


@dataclass(frozen=True, slots=True)
class StateSpace:
    """The legal moves of a chain, from label to label. Which longer runs of labels count is a matter of `Histories`.

    start : bool (K,), labels that may come first
    transitions : bool (K, K) [from, to], labels that may follow each other
    end : bool (K,), labels that may come last
    start_scores, edge_scores, end_scores : the same as scores, 0 where it is legal and −inf elsewhere
    """

    start: BoolArray
    transitions: BoolArray
    end: BoolArray
    start_scores: FloatArray = field(init=False, repr=False, compare=False)
    edge_scores: FloatArray = field(init=False, repr=False, compare=False)
    end_scores: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        K = len(self.start)
        if self.transitions.shape != (K, K) or self.start.shape != (K,) or self.end.shape != (K,):
            shapes = f"{self.start.shape}, {self.transitions.shape} and {self.end.shape}"
            raise InputError(f"start, transitions and end of shapes {shapes} do not fit together")
        object.__setattr__(self, "start_scores", np.where(self.start, 0.0, -np.inf))
        object.__setattr__(self, "edge_scores", np.where(self.transitions, 0.0, -np.inf))
        object.__setattr__(self, "end_scores", np.where(self.end, 0.0, -np.inf))

    @property
    def n_labels(self) -> int:
        return len(self.start)

    @classmethod
    def full(cls, n_labels: int) -> StateSpace:
        """Everything is legal."""
        ends = np.ones(n_labels, dtype=bool)
        return cls(ends, np.ones((n_labels, n_labels), dtype=bool), ends.copy())

    @classmethod
    def observed(cls, labels: AnyArray, offsets: IndexArray, n_labels: int) -> StateSpace:
        """What occurs in labelled sequences: labels (N,), −1 where unknown, and offsets (S+1,)."""
        labels = np.asarray(labels)
        start, end = np.zeros(n_labels, dtype=bool), np.zeros(n_labels, dtype=bool)
        arcs = np.zeros((n_labels, n_labels), dtype=bool)
        begins, ends = np.asarray(offsets)[:-1], np.asarray(offsets)[1:]
        filled = begins < ends
        firsts, lasts = labels[begins[filled]], labels[ends[filled] - 1]
        start[firsts[firsts >= 0]] = True
        end[lasts[lasts >= 0]] = True
        inner = np.ones(len(labels), dtype=bool)
        inner[begins[filled]] = False
        rows = np.flatnonzero(inner)
        rows = rows[(labels[rows] >= 0) & (labels[rows - 1] >= 0)]
        arcs[labels[rows - 1], labels[rows]] = True
        return cls(start, arcs, end)

    @classmethod
    def from_scheme(cls, label_names: Sequence[str], scheme: str) -> StateSpace:
        """The legality of a chunk encoding, from the names of labels: 'B-NP', 'I_NP', 'O', or plain 'B', 'I', 'O'.

        scheme : "iob1", "iob2" (or "bio"), "bioes" (or "iobes", "bilou")
        """
        return cls(*legal_moves(label_names, scheme))

    def forbid(self, pairs: Iterable[tuple[int, int]]) -> StateSpace:
        """The same without these transitions, pairs (from, to)."""
        arcs = self.transitions.copy()
        for u, v in pairs:
            if not (0 <= u < self.n_labels and 0 <= v < self.n_labels):
                raise InputError(f"the transition ({u}, {v}) is not between labels 0 … {self.n_labels - 1}")
            arcs[u, v] = False
        return replace(self, transitions=arcs)

    def intersect(self, other: StateSpace) -> StateSpace:
        """What is legal in both."""
        if other.n_labels != self.n_labels:
            raise InputError(f"{self.n_labels} and {other.n_labels} labels do not fit together")
        return StateSpace(self.start & other.start, self.transitions & other.transitions, self.end & other.end)

    def is_full(self) -> bool:
        """Whether nothing is illegal."""
        return bool(self.start.all() and self.transitions.all() and self.end.all())


# ------------------------------------------------------------------------------------------------ chunk encodings


_ALIASES = {"iob1": "iob1", "iob2": "iob2", "bio": "iob2", "bioes": "bioes", "iobes": "bioes", "bilou": "bioes"}
_TAGS = {"iob1": "BIO", "iob2": "BIO", "bioes": "BIOESLU"}
_SAME_TAG = {"L": "E", "U": "S"}


def legal_moves(label_names: Sequence[str], scheme: str) -> tuple[BoolArray, BoolArray, BoolArray]:
    """What a chunk encoding allows: start (K,), transitions (K, K) [from, to] and end (K,), all bool.

    A label is a tag and a kind: 'B-NP' begins a noun phrase, 'I-NP' is inside one, 'O' is outside of all.

        iob1    B only where a chunk follows another of its kind directly; I everywhere else in a chunk
        iob2    B at the first position of every chunk, I at the others; also called bio
        bioes   B … I … E for chunks of several positions, S for those of one; also called iobes, and bilou with L for E
                and U for S
    """
    if scheme not in _ALIASES:
        raise InputError(f"there is no scheme {scheme!r}", hint=f"Known are: {', '.join(_ALIASES)}")
    scheme = _ALIASES[scheme]
    labels = [_split(str(name), scheme) for name in label_names]
    outside = ("O", "")  # before the first position and after the last one it is as outside a chunk
    start = np.array([_may_follow(outside, label, scheme) for label in labels], dtype=bool)
    end = np.array([_may_follow(label, outside, scheme) for label in labels], dtype=bool)
    arcs = np.array([[_may_follow(u, v, scheme) for v in labels] for u in labels], dtype=bool)
    return start, arcs.reshape(len(labels), len(labels)), end


def _split(name: str, scheme: str) -> tuple[str, str]:
    """A label as (tag, kind); the kind is empty for 'O' and for plain tags."""
    tag, separator, kind = name[:1], name[1:2], name[2:]
    fits = tag != "" and tag in _TAGS[scheme]
    plain = len(name) == 1
    named = separator != "" and separator in "-_" and kind != "" and tag != "O"
    if not (fits and (plain or named)):
        hint = f"Labels are 'O', or one of {', '.join(_TAGS[scheme].replace('O', ''))}, alone or as in 'B-NP'"
        raise InputError(f"the label {name!r} does not fit the scheme {scheme!r}", hint=hint)
    return _SAME_TAG.get(tag, tag), kind


def _may_follow(before: tuple[str, str], after: tuple[str, str], scheme: str) -> bool:
    (tag, kind), (next_tag, next_kind) = before, after
    if scheme == "iob1":
        # I begins a chunk or goes on with one; B parts it from the one before, of the same kind
        return next_tag != "B" or (tag in "BI" and kind == next_kind)
    if scheme == "iob2":
        return next_tag != "I" or (tag in "BI" and kind == next_kind)
    if tag in "BI":
        return next_tag in "IE" and kind == next_kind
    return next_tag in "BSO"
