"""One encoder to one Dataset: `learn` at training, `encode` at prediction, for every shape of input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import replace
from typing import Any

import numpy as np

from hedgerow.data.coder import Coder
from hedgerow.data.dataset import Dataset, Schema, Window, locate, window_offsets
from hedgerow.data.labels import encode_labels, flatten_labels, merge_labels
from hedgerow.data.learner import Learner
from hedgerow.data.reading import Reader
from hedgerow.data.rows import Block, Field, blocks
from hedgerow.data.sequences import KINDS, Kind, Sequences
from hedgerow.data.shapes import NUMBERS, is_iterable
from hedgerow.errors import InputError
from hedgerow.legend import UNLABELLED, BoolArray, FloatArray, IndexArray


def learn(
    X: Any,
    y: Any = None,
    *,
    columns: Mapping[str, str] | None = None,
    window: Window = 0,
    lengths: Any = None,
    sample_weight: Any = None,
    classes: Any = None,
) -> Dataset:
    """Encode a training corpus and learn its schema: columns, vocabularies, labels.

    Parameters
    ----------
    X : iterable of S sequences, each a list of dicts, of tokens or of attribute lists, a 2-D array, a data frame or an
        Item; or Sequences; or flat arrays with `lengths`. A generator is read once, a block at a time.
    y : iterable of S lists of labels, str or int; None is unlabelled, a set gives the allowed labels
    columns : mapping of column to "categorical", "numeric", "boolean" or "attributes"; "*" for all others
    window : half-width, pair (before, after), or mapping of column to one of these
    lengths : the lengths of the sequences where X and y are flat
    sample_weight : S weights ≥ 0, or S arrays of 0 (take the position as unlabelled) and 1
    classes : labels that may come later and need not be in y, all str or all int
    """
    declared = _check_declared(columns)
    for name in window if isinstance(window, Mapping) else ("*",):
        window_offsets(window, name)
    reader = Learner(declared, window)
    y = read_corpus(reader, X, y, lengths)
    offsets = reader.offsets()
    flat = None if y is None else flatten_labels(y, offsets)
    labels = () if flat is None and classes is None else merge_labels((), classes, flat or [], offsets)
    return with_labels(reader.finish(offsets, labels), flat, sample_weight)


def encode(
    schema: Schema,
    X: Any,
    y: Any = None,
    *,
    lengths: Any = None,
    sample_weight: Any = None,
    may_be_empty: bool = False,
) -> Dataset:
    """Encode a corpus by a schema learnt before. Attributes and values that it does not know are ignored.

    With `may_be_empty` an X without sequences is a Dataset without any, and not an error.
    """
    reader = Coder(schema)
    y = read_corpus(reader, X, y, lengths, may_be_empty=may_be_empty)
    offsets = reader.offsets()
    flat = None if y is None else flatten_labels(y, offsets)
    return with_labels(reader.finish(offsets), flat, sample_weight)


def read_corpus(reader: Reader, X: Any, y: Any, lengths: Any, *, may_be_empty: bool = False) -> Any:
    """Feed X to the reader in blocks; return y cut like X."""
    if lengths is not None:
        from hedgerow.data.readers.arrays import split_lengths

        X, y = split_lengths(X, lengths, y)
    for block in _blocks(X):
        reader.add(block)
    if not reader.lengths and not may_be_empty:
        raise InputError("X has no sequences", hint="Give at least one sequence.")
    return y


def _blocks(X: Any) -> Iterable[Block]:
    hint = "X is a list of sequences, a sequence a list of positions."
    if isinstance(X, Sequences):
        return [_columnar_block(X)] if len(X) else []
    if isinstance(X, (str, bytes, Mapping, Set)):
        raise InputError(f"X is a {type(X).__name__}", hint=hint)
    if (isinstance(X, np.ndarray) and X.ndim == 2) or hasattr(X, "tocsr"):
        hint = "Give a list of arrays (one a sequence), a 3-D array, or ⟦lengths=⟧ with the flat array."
        raise InputError("X is one 2-D array", hint=hint)
    if not isinstance(X, np.ndarray) and hasattr(X, "columns") and hasattr(X, "shape"):
        hint = 'Cut it into sequences: X, y = hedgerow.sequences(frame, by="sentence", label="tag").'
        raise InputError("X is one data frame", hint=hint)
    if not is_iterable(X):
        raise InputError(f"X is of type {type(X).__name__}", hint=hint)
    return blocks(X)


def _columnar_block(X: Sequences) -> Block:
    columns, offsets, constants = X.compact()
    lengths = np.diff(offsets).tolist()
    if 0 in lengths:
        raise InputError("is empty", hint="Leave out sequences without positions.", sequence=lengths.index(0))
    block = Block(lengths)
    block.fields = [Field(name, None, values, X.kinds[name]) for name, values in columns.items()]
    block.constants = [Field(name, None, values, X.kinds[name]) for name, values in constants.items()]
    block.matrix = list(columns) == [str(j) for j in range(len(columns))]  # as `split_lengths` names them
    return block


def _check_declared(columns: Mapping[str, str] | None) -> dict[str, Kind]:
    if columns is None:
        return {}
    if not isinstance(columns, Mapping):
        hint = 'Give a mapping of column to kind: ⟦columns={"length": "numeric"}⟧.'
        raise InputError(f"⟦columns⟧ is of type {type(columns).__name__}", hint=hint)
    for name, kind in columns.items():
        if kind not in KINDS:
            raise InputError(f"is declared {kind!r}", hint=f"Kinds are {', '.join(KINDS)}.", column=str(name))
    return dict(columns)  # type: ignore[arg-type]


def with_labels(dataset: Dataset, flat: list[Any] | None, sample_weight: Any) -> Dataset:
    """The dataset with labels, by its schema, and weights."""
    weights, dropped = _sequence_weights(sample_weight, dataset.offsets)
    if flat is None:
        return replace(dataset, weight_seq=weights)
    labels, allowed = encode_labels(flat, dataset.offsets, dataset.schema.label_codes)
    if dropped is not None:
        labels[dropped] = UNLABELLED
        if allowed is not None:
            allowed[dropped] = True
    return replace(dataset, labels=labels, allowed=allowed, weight_seq=weights)


def _sequence_weights(given: Any, offsets: IndexArray) -> tuple[FloatArray | None, BoolArray | None]:
    """Weights of the sequences, float64[S]; or, where arrays are given, bool[N]: the positions of weight 0."""
    if given is None:
        return None, None
    hint = "Give one weight a sequence, or a list with one array a sequence."
    if isinstance(given, (str, bytes, Mapping, Set)) or not is_iterable(given):
        raise InputError(f"sample_weight is of type {type(given).__name__}", hint=hint)
    weights, n_sequences = list(given), len(offsets) - 1
    if len(weights) != n_sequences:
        cause = "; it looks like a flat array of all positions" if len(weights) == offsets[-1] else ""
        raise InputError(f"sample_weight has {len(weights)} entries for {n_sequences} sequences{cause}", hint=hint)
    if all(isinstance(weight, NUMBERS) for weight in weights):
        bad = next((i for i, weight in enumerate(weights) if not 0 <= weight < np.inf), None)
        if bad is not None:
            hint = "Weights are finite numbers ≥ 0."
            raise InputError(f"sample_weight is {weights[bad]!r}", hint=hint, sequence=bad)
        if weights and not any(weights):
            raise InputError("every weight is 0", hint="Give at least one sequence a weight above 0.")
        return np.array(weights, dtype=np.float64), None
    flat = flatten_labels(weights, offsets, name="sample_weight")
    bad = next((t for t, weight in enumerate(flat) if not isinstance(weight, NUMBERS) or weight not in (0, 1)), None)
    if bad is not None:
        sequence, position = locate(offsets, bad)
        hint = "The weight of a position is 0 (unlabelled) or 1; other weights are given a sequence."
        raise InputError(f"sample_weight is {flat[bad]!r}", hint=hint, sequence=sequence, position=position)
    return None, np.array(flat) == 0
