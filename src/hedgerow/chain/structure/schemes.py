"""The legality of chunk encodings, derived from the names of labels.

A label is a tag and a kind: 'B-NP' begins a noun phrase, 'I-NP' is inside one, 'O' is outside of all.

    iob1    B only where a chunk follows another of its kind directly; I everywhere else in a chunk
    iob2    B at the first position of every chunk, I at the others; also called bio
    bioes   B … I … E for chunks of several positions, S for those of one; also called iobes, and bilou with L for E
            and U for S
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hedgerow.errors import InputError
from hedgerow.legend import BoolArray

_ALIASES = {"iob1": "iob1", "iob2": "iob2", "bio": "iob2", "bioes": "bioes", "iobes": "bioes", "bilou": "bioes"}
_TAGS = {"iob1": "BIO", "iob2": "BIO", "bioes": "BIOESLU"}
_SAME_TAG = {"L": "E", "U": "S"}


def legal_moves(label_names: Sequence[str], scheme: str) -> tuple[BoolArray, BoolArray, BoolArray]:
    """start (K,), arcs (K, K) [from, to] and end (K,) of a scheme."""
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
