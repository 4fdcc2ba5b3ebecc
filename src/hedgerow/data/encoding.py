"""One encoder to one Dataset: `learn` at training, `encode` at prediction, for every shape of input."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from hedgerow.data.coder import Coder
from hedgerow.data.dataset import (
    Dataset,
    Schema,
    Window,
    locate,
    window_offsets,
)
from hedgerow.data.labels import encode_labels, flatten_labels, learn_labels
from hedgerow.data.learner import Learner
from hedgerow.data.reading import Reader
from hedgerow.data.rows import Block, Field, blocks
from hedgerow.data.sequences import KINDS, Kind, Sequences
from hedgerow.errors import InputError
from hedgerow.legend import CODE, INDEX, AnyArray, FloatArray, IndexArray


def learn(
    X: Any,
    y: Any = None,
    *,
    columns: Mapping[str, str] | None = None,
    window: Window = 0,
    lengths: Any = None,
    sample_weight: Any = None,
) -> Dataset:
    """Encode a training corpus and learn its schema: columns, vocabularies, labels."""
    declared = _check_declared(columns)
    window_offsets(window, "*")
    reader = Learner(declared)
    offsets, y = _read(reader, X, y, lengths)
    _check_window_names(window, [*reader.builders, *reader.constants])
    flat = None if y is None else flatten_labels(y, offsets)
    labels = () if flat is None else learn_labels(flat, offsets)
    return _with_labels(reader.finish(offsets, window, labels), flat, sample_weight)


def encode(schema: Schema, X: Any, y: Any = None, *, lengths: Any = None, sample_weight: Any = None) -> Dataset:
    """Encode a corpus by a schema learnt before. Attributes and values that it does not know are ignored."""
    reader = Coder(schema)
    offsets, y = _read(reader, X, y, lengths)
    flat = None if y is None else flatten_labels(y, offsets)
    return _with_labels(reader.finish(offsets), flat, sample_weight)


def _read(reader: Reader, X: Any, y: Any, lengths: Any) -> tuple[IndexArray, Any]:
    """Feed X to the reader in blocks; return the offsets of its sequences, and y cut like X."""
    if lengths is not None:
        from hedgerow.data.readers.arrays import split_lengths

        X, y = split_lengths(X, lengths, y)
    for block in _blocks(X):
        reader.add(block)
    if not reader.lengths:
        raise InputError("X has no sequences", hint="Give at least one sequence.")
    return np.concatenate([[0], np.cumsum(reader.lengths)]).astype(INDEX), y


def _blocks(X: Any) -> Iterable[Block]:
    if isinstance(X, Sequences):
        return [_columnar_block(X)]
    if isinstance(X, (str, bytes)):
        raise InputError("X is a str", hint="X is a list of sequences.")
    if isinstance(X, Mapping):
        raise InputError("X is a dict", hint="X is a list of sequences, a sequence a list of positions.")
    if hasattr(X, "columns") and hasattr(X, "shape") and not isinstance(X, np.ndarray):
        raise InputError(
            "X is one data frame",
            hint='Cut it into sequences: X, y = hedgerow.sequences(frame, by="sentence", label="tag").',
        )
    if (isinstance(X, np.ndarray) and X.ndim == 2) or hasattr(X, "tocsr"):
        raise InputError(
            "X is one 2-D array",
            hint="Give a list of arrays (one a sequence), a 3-D array, or lengths= with the flat array.",
        )
    if not isinstance(X, Iterable):
        raise InputError(f"X is of type {type(X).__name__}", hint="X is a list of sequences.")
    return blocks(X)


def _columnar_block(X: Sequences) -> Block:
    columns, offsets, constants = X.compact()
    lengths = np.diff(offsets).tolist()
    if 0 in lengths:
        raise InputError("is empty", hint="Leave out sequences without positions.", sequence=lengths.index(0))
    block = Block(lengths)
    block.fields = [Field(name, None, values, X.kinds[name]) for name, values in columns.items()]
    block.constant_fields = [Field(name, None, values, X.kinds[name]) for name, values in constants.items()]
    return block


def _check_declared(columns: Mapping[str, str] | None) -> dict[str, Kind]:
    for name, kind in (columns or {}).items():
        if kind not in KINDS:
            raise InputError(f"is declared {kind!r}", hint=f"Kinds are {', '.join(KINDS)}.", column=name)
    return dict(columns or {})  # type: ignore[arg-type]


def _check_window_names(window: Window, names: list[str]) -> None:
    if isinstance(window, Mapping):
        for name in window:
            window_offsets(window, name)
            if name not in ("*", *names):
                raise InputError(
                    "has a window and is not in the data",
                    hint=f"Columns: {', '.join(names[:10])}.",
                    column=name,
                )


def _with_labels(dataset: Dataset, flat: list[Any] | None, sample_weight: Any) -> Dataset:
    labels = allowed = None
    if flat is not None:
        labels, allowed = encode_labels(flat, dataset.offsets, dataset.schema.label_codes)
    weights, dropped = _sequence_weights(sample_weight, dataset.offsets)
    if dropped is not None and labels is not None:
        labels = np.where(dropped, CODE(-1), labels)
        if allowed is not None:
            allowed[dropped] = True
    fields = {name: getattr(dataset, name) for name in dataset.__dataclass_fields__}
    return Dataset(**fields | {"labels": labels, "allowed": allowed, "weight_seq": weights})


def _sequence_weights(given: Any, offsets: IndexArray) -> tuple[FloatArray | None, AnyArray | None]:
    """Weights of the sequences; or, where arrays of 0 and 1 are given, which positions count as unlabelled."""
    if given is None:
        return None, None
    n_sequences = len(offsets) - 1
    if len(given) != n_sequences:
        cause = "a flat array of all positions" if len(given) == offsets[-1] else "of another corpus"
        raise InputError(
            f"sample_weight has {len(given)} entries for {n_sequences} sequences ({cause}?)",
            hint="Give one weight a sequence, or a list with one array a sequence.",
        )
    if all(np.ndim(weight) == 0 for weight in given):
        weights = np.asarray(given, dtype=np.float64)
        bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
        if len(bad):
            raise InputError(f"sample_weight is {weights[bad[0]]}, not ≥ 0", sequence=int(bad[0]))
        return weights, None
    flat = np.asarray(flatten_labels(given, offsets), dtype=np.float64)
    bad = np.flatnonzero((flat != 0) & (flat != 1))
    if len(bad):
        sequence, position = locate(offsets, int(bad[0]))
        raise InputError(
            f"the weight of a position is {flat[bad[0]]}",
            hint="For the likelihood it is 0 (unlabelled) or 1; other weights are given a sequence.",
            sequence=sequence,
            position=position,
        )
    return None, flat == 0
