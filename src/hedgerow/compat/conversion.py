"""A model of CRFsuite as a LinearCRF, and a LinearCRF as a model of CRFsuite."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow import persistence
from hedgerow.chain.structure.states import StateSpace
from hedgerow.compat.model_files import CRFsuiteModel, read_model, write_model
from hedgerow.data.dataset import Label, Schema, Vocabulary
from hedgerow.errors import InputError, ModelFileError
from hedgerow.legend import CODE, FLOAT, INDEX, IndexArray
from hedgerow.linear.chain import ChainLayout
from hedgerow.linear.index import Streams, WeightIndex, row_names
from hedgerow.models.crf.linear import LinearCRF

MOST_LABELS = 1 << 14  # the table of transitions has a cell for every two of them


def load(path: str | os.PathLike[str]) -> LinearCRF:
    """The LinearCRF that a model file of CRFsuite describes. `hedgerow.load` calls it for such files."""
    return read_file(path)[1]


def read_file(path: str | os.PathLike[str]) -> tuple[CRFsuiteModel, LinearCRF]:
    """What a model file of CRFsuite says, as it stands and as a LinearCRF."""
    return read_content(Path(path).read_bytes(), os.fspath(path))


def read_content(content: bytes, name: str) -> tuple[CRFsuiteModel, LinearCRF]:
    """The same of the content of a file, which errors call by this name."""
    try:
        source = read_model(content)
        return source, to_linear(source)
    except ModelFileError as error:
        raise ModelFileError(f"{name}: the file is not a sound CRFsuite model: {error}") from error


def write_file(path: str | os.PathLike[str], model: LinearCRF, labels: Sequence[Label] | None = None) -> None:
    """Write a LinearCRF as a model file of CRFsuite; `labels` gives the order that CRFsuite shall number them in."""
    persistence.replace_file(path, [write_model(from_linear(model, labels))])


def check_place(path: str | os.PathLike[str], labels: Iterable[Any]) -> None:
    """Refuse, before anything is trained, a file that could not be written: one in no folder, or of labels that are
    numbers."""
    folder = os.path.dirname(os.path.realpath(path))
    if not os.path.isdir(folder):
        raise InputError("there is no such folder", path=folder)
    for label in labels:
        if isinstance(label, (int, np.integer)):
            raise InputError(f"the label {label!r} is not text, and CRFsuite's are", hint="Use str labels.")


def to_linear(source: CRFsuiteModel) -> LinearCRF:
    """The same model: every attribute of CRFsuite is one of the LinearCRF, and there are no columns."""
    names = sorted(source.labels)
    K, n_rows = len(names), len(source.attributes)
    if K > MOST_LABELS:
        raise ModelFileError(f"it has {K:,} labels, and {MOST_LABELS:,} are the most")
    places = {name: k for k, name in enumerate(names)}
    code: IndexArray = np.array([places[name] for name in source.labels], dtype=INDEX)
    schema = Schema((), Vocabulary(source.attributes), (0,), tuple(names))

    slots = np.lexsort((code[source.state_to], source.state_from))
    row_ptr = np.concatenate([[0], np.cumsum(np.bincount(source.state_from, minlength=n_rows))]).astype(INDEX)
    nodes = WeightIndex(Streams.of(schema), K, row_ptr, code[source.state_to[slots]].astype(CODE))
    moves = np.lexsort((code[source.move_to], code[source.move_from]))
    arcs = (code[source.move_from[moves]], code[source.move_to[moves]])

    model = LinearCRF(window=0, decoder="viterbi", transitions="observed")
    model.schema_, model.classes_, model.layout_ = schema, schema.classes, ChainLayout(nodes, *arcs, StateSpace.full(K))
    model.weights_ = np.concatenate([source.state[slots], source.move[moves]]).astype(FLOAT)
    model.weights_.flags.writeable = False
    model.imputation_, model.tilt_, model.temperature_ = None, None, 1.0
    model.n_iter_ = model.best_iteration_ = model.n_sequences_ = 0
    model.loss_, model.outcome_, model.history_ = 0.0, "read from a CRFsuite model", []
    model.metadata_ = {}
    return model


def from_linear(model: LinearCRF, labels: Sequence[Label] | None = None) -> CRFsuiteModel:
    """What a model file of CRFsuite says of a LinearCRF that knows nothing which CRFsuite does not. As in CRFsuite,
    weights of 0 are left out, and attributes without a weight."""
    _check(model)
    schema, layout = model.schema_, model.layout_
    order: Any = schema.labels if labels is None else labels
    number = {label: i for i, label in enumerate(order)}
    code: IndexArray = np.array([number[label] for label in schema.labels], dtype=INDEX)
    weights = model.weights_ / model.temperature_
    nodes, arcs, _ = layout.split(weights)
    kept, moved = np.flatnonzero(nodes), np.flatnonzero(arcs)
    rows, attribute = np.unique(layout.nodes.slot_rows()[kept], return_inverse=True)
    every = row_names(schema)
    names = [every[row] for row in rows.tolist()]
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise InputError(f"two features are {twice!r:.80} in CRFsuite", hint="Rename one of their keys.")
    return CRFsuiteModel(
        list(order),
        names,
        attribute.astype(INDEX),
        code[layout.nodes.slot_label[kept]],
        nodes[kept],
        code[layout.arc_from[moved]],
        code[layout.arc_to[moved]],
        arcs[moved],
    )


def _check(model: LinearCRF) -> None:
    """Refuse what a model file of CRFsuite cannot hold."""
    schema, layout = model.schema_, model.layout_
    windows = [schema.attribute_offsets, *(column.offsets for column in schema.columns)]
    measured = any(column.center != 0.0 or column.spread != 1.0 for column in schema.columns)
    whole = any(column.constant for column in schema.columns)
    for found, what in (
        (any(offsets != (0,) for offsets in windows), "a window"),
        (bool(schema.features), "derived features"),
        (whole, "features of the whole sequence"),
        (measured, "columns that are standardised"),
        (model.imputation_ is not None, "gaps that are filled in"),
        (model.induced_ is not None, "features that were induced"),
        (layout.histories is not None, f"order {model.order}"),
        (layout.pairs is not None, "weights of label pairs by feature"),
        (not layout.space.is_full(), "forbidden transitions"),
        (getattr(model, "tilt_", None) is not None, "class weights"),
    ):
        if found:
            hint = "Save it as a .hedgerow file, or train it with hedgerow.compat.CRF."
            raise InputError(f"the model has {what}, which CRFsuite's files cannot hold", hint=hint)
