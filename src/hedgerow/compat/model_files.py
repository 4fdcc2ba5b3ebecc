"""CRFsuite's model files: the bytes, and what they say. No count or place of a file is used before it was checked.

The file, all numbers little-endian: a header of 48 bytes ("lCRF", the size, "FOMC", the version, the numbers of
features (which CRFsuite leaves 0), labels and attributes, and the places of the five parts); "FEAT", records of a kind,
a source, a target label and a weight; two databases with the names of labels and attributes (`cqdb`); and "LFRF" and
"AFRF", which list the features of each label and of each attribute.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.compat.cqdb import read_names, write_names
from hedgerow.data.dataset import Label
from hedgerow.errors import InputError, ModelFileError
from hedgerow.legend import INDEX, AnyArray, FloatArray, IndexArray

MAGIC = b"lCRF"
_HEADER = struct.Struct("<4sI4s9I")
_NAMES = (
    *("magic", "size", "type", "version", "num_features", "num_labels", "num_attrs"),
    *("off_features", "off_labels", "off_attrs", "off_labelrefs", "off_attrrefs"),
)
_CHUNK = struct.Struct("<4s2I")  # name, size, number of entries
_FEATURE = np.dtype([("kind", "<u4"), ("source", "<u4"), ("target", "<u4"), ("weight", "<f8")])
_VERSION = 100
_STATE, _TRANSITION = 0, 1


@dataclass(frozen=True)
class CRFsuiteModel:
    """What a model file of CRFsuite says.

    labels, attributes : their names, in the order of their numbers
    state_from, state_to, state : attribute, label and weight of the state features
    move_from, move_to, move : label before, label and weight of the transitions
    """

    labels: Sequence[Any]
    attributes: Sequence[str]
    state_from: IndexArray
    state_to: IndexArray
    state: FloatArray
    move_from: IndexArray
    move_to: IndexArray
    move: FloatArray


# ------------------------------------------------------------------------------------------------ from bytes


def read_model(content: bytes) -> CRFsuiteModel:
    """What the bytes of a model file say; a ModelFileError where they are not whole and sound."""
    data = memoryview(content)
    if len(data) < _HEADER.size or bytes(data[:4]) != MAGIC:
        raise ModelFileError("it does not begin as a CRFsuite model does")
    _, size, kind, version, _, n_labels, n_attributes, *places = _HEADER.unpack_from(data)
    if size != len(data):
        raise ModelFileError(f"it should have {size:,} bytes and has {len(data):,}")
    if kind != b"FOMC" or version != _VERSION:
        raise ModelFileError(f"it is of the kind {kind!r}, version {version}, and not {b'FOMC'!r}, version {_VERSION}")
    if not n_labels:
        raise ModelFileError("it has no labels")
    features_at, labels_at, attributes_at, of_labels_at, of_attributes_at = places
    labels = read_names(_from(data, labels_at, "labels"), n_labels, "labels")
    attributes = read_names(_from(data, attributes_at, "attributes"), n_attributes, "attributes")
    features = _read_features(_from(data, features_at, "features"), n_labels, n_attributes)
    state, move = features["kind"] == _STATE, features["kind"] == _TRANSITION
    _check_references(data, of_labels_at, b"LFRF", n_labels, np.flatnonzero(move), features["source"])
    _check_references(data, of_attributes_at, b"AFRF", n_attributes, np.flatnonzero(state), features["source"])
    parts = (features[chosen][name] for chosen in (state, move) for name in ("source", "target", "weight"))
    kinds = (INDEX, INDEX, np.float64) * 2
    return CRFsuiteModel(labels, attributes, *(part.astype(kind) for part, kind in zip(parts, kinds)))


def read_header(content: bytes) -> dict[str, str | int]:
    """The header of a sound file, by CRFsuite's names."""
    values = (part.decode() if isinstance(part, bytes) else part for part in _HEADER.unpack_from(content))
    return dict(zip(_NAMES, values))


def _from(data: memoryview, place: int, what: str) -> memoryview:
    if not _HEADER.size <= place < len(data):
        raise ModelFileError(f"the {what} should begin at byte {place:,} of {len(data):,}")
    return data[place:]


def _chunk(data: memoryview, name: bytes, entry_bytes: int) -> tuple[int, int]:
    """The size and the number of entries of the chunk that the data begins with."""
    if len(data) < _CHUNK.size or bytes(data[:4]) != name:
        raise ModelFileError(f"there is no {name.decode()} where it should be")
    _, size, n_entries = _CHUNK.unpack_from(data)
    if not _CHUNK.size <= size <= len(data) or n_entries > (size - _CHUNK.size) // entry_bytes:
        raise ModelFileError(f"{name.decode()} should take {size:,} bytes with {n_entries:,} entries and cannot")
    return size, n_entries


def _read_features(data: memoryview, n_labels: int, n_attributes: int) -> AnyArray:
    _, n_features = _chunk(data, b"FEAT", _FEATURE.itemsize)
    features = np.frombuffer(data, _FEATURE, n_features, _CHUNK.size)
    kinds = features["kind"]
    if np.any(kinds > _TRANSITION):
        raise ModelFileError("a feature is neither one of an attribute nor a transition")
    n_sources = np.where(kinds == _STATE, n_attributes, n_labels)
    if np.any(features["source"] >= n_sources) or np.any(features["target"] >= n_labels):
        raise ModelFileError("a feature has a label or an attribute that there is not")
    if not np.all(np.isfinite(features["weight"])):
        raise ModelFileError("a weight is not a finite number")
    keys = (kinds.astype(INDEX) * max(n_labels, n_attributes) + features["source"]) * n_labels + features["target"]
    if len(np.unique(keys)) < len(keys):
        raise ModelFileError("a feature has two weights")
    return features


def _check_references(
    data: memoryview, place: int, name: bytes, n_sources: int, features: IndexArray, sources: AnyArray
) -> None:
    """CRFsuite finds the features of a source by these lists: each must be there once, with its own source."""
    chunk = _from(data, place, f"lists {name.decode()}")
    size, n_lists = _chunk(chunk, name, 4)
    if n_lists < n_sources:
        raise ModelFileError(f"{name.decode()} has {n_lists:,} lists and not {n_sources:,}")
    begins = np.frombuffer(chunk, "<u4", n_sources, _CHUNK.size).tolist()
    found, n_left = [np.empty(0, "<u4")], len(features)
    for begin in begins:
        if not place <= begin <= place + size - 4:
            raise ModelFileError(f"a list of {name.decode()} lies outside")
        n_listed = int.from_bytes(data[begin : begin + 4], "little")
        n_left -= n_listed
        if n_left < 0 or n_listed > (place + size - begin - 4) // 4:
            raise ModelFileError(f"the lists of {name.decode()} are longer than they can be")
        found.append(np.frombuffer(data, "<u4", n_listed, begin + 4))
    listed = np.concatenate(found)
    owners = np.repeat(np.arange(n_sources), [len(part) for part in found[1:]])
    if not np.array_equal(np.sort(listed), features) or np.any(sources[listed] != owners):
        raise ModelFileError(f"the lists of {name.decode()} do not fit the features")


# ------------------------------------------------------------------------------------------------ to bytes


def write_model(model: CRFsuiteModel) -> bytes:
    """The bytes of a file that CRFsuite opens."""
    n_labels, n_attributes, n_state = len(model.labels), len(model.attributes), len(model.state)
    features = np.zeros(n_state + len(model.move), _FEATURE)
    features["kind"][n_state:] = _TRANSITION
    for name, state, move in (
        ("source", model.state_from, model.move_from),
        ("target", model.state_to, model.move_to),
        ("weight", model.state, model.move),
    ):
        features[name] = np.concatenate([state, move])
    table = _CHUNK.pack(b"FEAT", _CHUNK.size + features.nbytes, len(features)) + features.tobytes()
    parts = [table, write_names(model.labels, "labels"), write_names(model.attributes, "attributes")]
    places = [_HEADER.size]
    for part in parts:
        places.append(places[-1] + len(part))
    padding = -places[-1] % 4
    parts.append(bytes(padding))
    places[-1] += padding
    # CRFsuite counts two more lists, of a start and an end that no feature has.
    parts.append(_write_lists(b"LFRF", places[-1], n_labels, model.move_from, n_state, n_absent=2))
    places.append(places[-1] + len(parts[-1]))
    parts.append(_write_lists(b"AFRF", places[-1], n_attributes, model.state_from, 0))
    size = places[-1] + len(parts[-1])
    if size >= 2**32:
        raise InputError(f"the model takes {size:,} bytes, and a CRFsuite model has room for 4 GB")
    header = _HEADER.pack(MAGIC, size, b"FOMC", _VERSION, 0, n_labels, n_attributes, *places)
    return b"".join([header, *parts])


def _write_lists(name: bytes, place: int, n_lists: int, sources: IndexArray, first: int, n_absent: int = 0) -> bytes:
    """For each source how many features it has, and which, numbered from `first` on; lists that are absent follow."""
    counts = np.bincount(sources, minlength=n_lists)
    heads = np.cumsum(counts) - counts + np.arange(n_lists)  # each list begins with its length
    words: IndexArray = np.zeros(n_lists + len(sources), dtype=INDEX)
    words[heads] = counts
    order = np.argsort(sources, kind="stable")
    words[np.arange(len(sources)) + sources[order] + 1] = first + order
    places = np.concatenate([place + _CHUNK.size + 4 * (n_lists + n_absent + heads), np.zeros(n_absent, INDEX)])
    lists = np.concatenate([places, words])
    size = _CHUNK.size + 4 * len(lists)
    return _CHUNK.pack(name, size % 2**32, n_lists + n_absent) + (lists % 2**32).astype("<u4").tobytes()


# ------------------------------------------------------------------------------------------------ in words


@dataclass(frozen=True)
class ParsedDump:
    """What a model holds.

    header : name to value, all text, of the file's header
    labels, attributes : name to number, as text
    transitions : (from, to) to weight; state_features : (attribute, label) to weight
    """

    header: dict[str, str]
    labels: dict[Label, str]
    attributes: dict[str, str]
    transitions: dict[tuple[Label, Label], float]
    state_features: dict[tuple[str, Label], float]


def describe(source: CRFsuiteModel) -> ParsedDump:
    """A model as `Tagger.info` gives it. Weights are not rounded, as python-crfsuite's are."""
    labels, attributes = source.labels, source.attributes
    header = {name: str(value) for name, value in read_header(write_model(source)).items()}
    for name in header:
        if name.startswith("off_"):
            header[name] = f"0x{int(header[name]):X}"
    moves = zip(source.move_from.tolist(), source.move_to.tolist(), source.move.tolist())
    states = zip(source.state_from.tolist(), source.state_to.tolist(), source.state.tolist())
    return ParsedDump(
        header,
        {name: str(number) for number, name in enumerate(labels)},
        {name: str(number) for number, name in enumerate(attributes)},
        {(labels[u], labels[v]): weight for u, v, weight in moves},
        {(attributes[a], labels[v]): weight for a, v, weight in states},
    )


def dumped(source: CRFsuiteModel) -> str:
    """A model as `crfsuite dump` writes it."""
    return "".join(f"{line}\n" for line in _lines(describe(source)))


def _lines(info: ParsedDump) -> Iterator[str]:
    yield from _block("FILEHEADER", (f"{name}: {value}" for name, value in info.header.items()))
    yield from _block("LABELS", (f"{number:>5}: {name}" for name, number in info.labels.items()))
    yield from _block("ATTRIBUTES", (f"{number:>5}: {name}" for name, number in info.attributes.items()))
    for title, kind, weights in (("TRANSITIONS", 1, info.transitions), ("STATE_FEATURES", 0, info.state_features)):
        yield from _block(title, (f"({kind}) {u} --> {v}: {weight:f}" for (u, v), weight in weights.items()))


def _block(title: str, lines: Iterator[str]) -> Iterator[str]:
    yield f"{title} = {{"
    yield from (f"  {line}" for line in lines)
    yield from ("}", "")
