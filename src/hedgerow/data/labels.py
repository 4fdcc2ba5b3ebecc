"""y as integer codes (labels are str, int or bool, None is unlabelled, a set says which labels are allowed), and the
weights of sequences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain
from typing import Any, NamedTuple, NoReturn

import numpy as np

from hedgerow.data.dataset import Dataset, Label
from hedgerow.data.rows import NUMBERS
from hedgerow.data.sequences import take_sequences
from hedgerow.errors import InputError, among, quoted, shown
from hedgerow.legend import CODE, UNLABELLED, BoolArray, CodeArray, FloatArray, IndexArray

SETS = (set, frozenset)
LEAST_WEIGHT = 1e-12  # that the largest weight may have
_PLAIN: dict[str, Any] = {"str": str, "int": int, "bool": bool}
_ONE_TYPE = ({str}, {int}, {bool})


class CodedLabels(NamedTuple):
    """The labels of a corpus by their codes.

    codes : int32[N], UNLABELLED for None and for a set of several labels
    allowed : bool[N, K], all labels where there is no set; None where there is no set at all
    """

    codes: CodeArray
    allowed: BoolArray | None


def learn_labels(
    y: Any, offsets: IndexArray, *, classes: Any = None, known: tuple[Label, ...] = ()
) -> tuple[tuple[Label, ...], CodedLabels | None]:
    """The labels known before, those that `classes` announces and those of y, sorted; and y by their codes."""
    if y is None and classes is None:
        return known, None
    flat = [] if y is None else _flatten(y, offsets)
    names = _merge_labels(known, classes, flat, offsets)
    codes = {label: k for k, label in enumerate(names)}
    return names, None if y is None else _encode(flat, offsets, codes)


def learn_part_labels(y: Any, offsets: IndexArray) -> tuple[tuple[Label, ...], CodedLabels]:
    """As `learn_labels`, of a part of a corpus, which need not have a label.

    Where no set says which labels are allowed, the row of `allowed` is False: others may come with other parts, and a
    set of all labels that this part has does not allow those.
    """
    if y is None:
        raise InputError("y is missing", hint="fit needs the labels of the training sequences.")
    flat = _flatten(y, offsets)
    if all(label is None for label in flat):
        return (), CodedLabels(np.full(len(flat), UNLABELLED, dtype=CODE), None)
    names = _merge_labels((), None, flat, offsets)
    coded = _encode(flat, offsets, {label: k for k, label in enumerate(names)})
    if coded.allowed is not None:
        coded.allowed[[not isinstance(value, SETS) for value in flat]] = False
    return names, coded


def encode_labels(y: Any, offsets: IndexArray, codes: dict[Label, int]) -> CodedLabels:
    """y by the codes of labels seen in training."""
    return _encode(_flatten(y, offsets), offsets, codes)


def is_iterable(value: Any) -> bool:
    """Whether a loop over the value works; NumPy's arrays without dimensions only look like it."""
    return isinstance(value, Iterable) and not (isinstance(value, np.ndarray) and value.ndim == 0)


def _flatten(y: Iterable[Any], offsets: IndexArray, *, name: str = "y") -> list[Any]:
    """All labels in one list, checked against the lengths of X. `name` is what errors call y."""
    hint = f"{name} has one list per sequence; flat arrays go with ⟦lengths=⟧."
    if isinstance(y, (str, bytes, Mapping, Set)) or not is_iterable(y):
        raise InputError(f"{name} is of type {type(y).__name__}", hint=hint)
    sequences = [_listed(labels, i, name, hint) for i, labels in enumerate(y)]
    lengths = np.diff(offsets).tolist()
    if len(sequences) != len(lengths):
        raise InputError(f"X has {len(lengths)} sequences and {name} has {len(sequences)}")
    for i, (labels, length) in enumerate(zip(sequences, lengths)):
        if len(labels) != length:
            raise InputError(f"X has {length} positions and {name} has {len(labels)}", sequence=i)
    return list(chain.from_iterable(sequences))


def _listed(labels: Any, i: int, name: str, hint: str) -> Sequence[Any]:
    if isinstance(labels, (list, tuple)):
        return labels
    if isinstance(labels, np.ndarray) and labels.ndim == 1:
        return list(labels.tolist())
    wrong = isinstance(labels, (str, bytes, Mapping, Set, np.ndarray)) or hasattr(labels, "columns")
    if wrong or not hasattr(labels, "__len__") or not is_iterable(labels):
        raise InputError(f"{name} has {quoted(labels)} here, not a list", hint=hint, sequence=i)
    return list(labels)


def _distinct(flat: list[Any], offsets: IndexArray) -> tuple[Label, ...]:
    """The distinct labels, sorted; labels that stand only in sets count too."""
    _check_types(flat, offsets)
    if set(map(type, flat)) & set(SETS):
        labels = set(chain.from_iterable(value if isinstance(value, SETS) else (value,) for value in flat))
    else:
        labels = set(flat)
    labels.discard(None)
    if not labels:
        raise InputError("y has no label at all", hint="At least one position must be labelled.")
    plain = _PLAIN[_kind(next(iter(labels)))]  # not np.str_ or np.int64: they print badly
    distinct: list[Any] = sorted(map(plain, labels))
    if plain is int:
        _check_range(distinct[0], distinct[-1], flat, offsets)
    return tuple(distinct)


def _merge_labels(known: tuple[Label, ...], classes: Any, flat: list[Any], offsets: IndexArray) -> tuple[Label, ...]:
    """The labels known before, those that `classes` announces and those of y, sorted."""
    known = (*known, *_announced(classes, known))
    first = next((t for t, value in enumerate(flat) if value is not None), None)
    distinct: tuple[Any, ...] = () if known and first is None else _distinct(flat, offsets)
    if known and first is not None and type(distinct[0]) is not type(known[0]):
        _refuse(*_beside(flat[first], known[0]), first, offsets)
    return tuple(sorted({*known, *distinct}))


def _announced(classes: Any, known: tuple[Label, ...]) -> list[Label]:
    """The labels of `classes`, as str or int."""
    if classes is None:
        return []
    hint = "Give the labels to come in a list, all str, all int or all bool."
    if isinstance(classes, (str, bytes, Mapping)) or not is_iterable(classes):
        raise InputError(f"classes is {classes!r}", hint=hint)
    labels: list[Label] = []
    for label in classes:
        kind = _kind(label)
        if kind == "other" or (kind == "int" and not -(2**63) <= label < 2**63):
            raise InputError(f"classes holds {label!r}", hint=hint)
        labels.append(_PLAIN[kind](label))
        if _kind((*known, *labels)[0]) != kind:
            what, hint = _beside(label, (*known, *labels)[0])
            raise InputError(what, hint=hint)
    return labels


def _beside(label: Any, known: Label) -> tuple[str, str]:
    return f"the label {label!r} stands beside the label {known!r}", "Labels are all str, all int or all bool."


def _check_range(least: Any, largest: Any, flat: list[Any], offsets: IndexArray) -> None:
    """Refuse integers that do not fit the dtype of `classes_`."""
    limits = np.iinfo(np.int64)
    for label in (least, largest):
        if not limits.min <= label <= limits.max:
            places = (t for t, value in enumerate(flat) if label in (value if isinstance(value, SETS) else (value,)))
            hint = "Labels that are integers fit 64 bits; give larger ones as str."
            _refuse(f"the label {label} is too large", hint, next(places), offsets)


def _check_types(flat: list[Any], offsets: IndexArray) -> None:
    """Refuse what is no label, and str beside int. The types tell, not the values: True equals 1."""
    if set(map(type, flat)) - {type(None)} in _ONE_TYPE:
        return
    first = ""
    for t, value in enumerate(flat):
        if value is None:
            continue
        members = value if isinstance(value, SETS) else (value,)
        if not members:
            _refuse("the set of allowed labels is empty", "None allows every label.", t, offsets)
        for label in members:
            first = first or _kind(label)
            if _kind(label) == "other" or _kind(label) != first:
                hint = "Labels are all str, all int or all bool; None is unlabelled, a set gives the allowed labels."
                _refuse(f"the label {label!r} is of type {type(label).__name__}", hint, t, offsets)


def _kind(label: Any) -> str:
    if isinstance(label, str):
        return "str"
    if isinstance(label, (bool, np.bool_)):
        return "bool"
    whole = isinstance(label, (float, np.floating)) and float(label).is_integer()  # as frames have integers with a gap
    return "int" if whole or isinstance(label, (int, np.integer)) else "other"


def _encode(flat: list[Any], offsets: IndexArray, codes: dict[Label, int]) -> CodedLabels:
    _check_types(flat, offsets)
    types = set(map(type, flat)) - {type(None), *SETS}
    if types and (bool in types or np.bool_ in types) != isinstance(next(iter(codes), None), bool):  # True equals 1
        t = next(t for t, label in enumerate(flat) if type(label) in types)
        _refuse(*_beside(flat[t], next(iter(codes))), t, offsets)
    try:
        return CodedLabels(np.fromiter(map(codes.__getitem__, flat), dtype=CODE, count=len(flat)), None)
    except (KeyError, TypeError):
        pass  # None, a set, or a label that is not known: look at each
    labels = np.full(len(flat), UNLABELLED, dtype=CODE)
    has_sets = any(isinstance(value, SETS) for value in flat)
    allowed = np.ones((len(flat), len(codes)), dtype=bool) if has_sets else None
    for t, value in enumerate(flat):
        if value is None:
            continue
        members = value if isinstance(value, SETS) else (value,)
        numbers = [_code(label, t, offsets, codes) for label in members]
        if isinstance(value, SETS) and allowed is not None:
            allowed[t] = False
            allowed[t, numbers] = True
        if len(numbers) == 1:
            labels[t] = numbers[0]
    return CodedLabels(labels, allowed)


def _code(label: Any, t: int, offsets: IndexArray, codes: dict[Label, int]) -> int:
    if label not in codes:
        what = f"the label {label!r} is not one of those seen in training"
        _refuse(what, f"Known labels: {shown(list(codes))}.", t, offsets)
    return codes[label]


def allowed_labels(dataset: Dataset, rows: slice) -> BoolArray | None:
    """The labels that are possible at some positions, (n, K); None where any is."""
    if dataset.labels is None:
        return None
    labels = dataset.labels[rows]
    known = labels != UNLABELLED
    if dataset.allowed is not None:
        mask = dataset.allowed[rows].copy()
    elif known.any():
        mask = np.ones((len(labels), dataset.n_labels), dtype=bool)
    else:
        return None
    mask[known] = np.arange(dataset.n_labels) == labels[known, None]
    return mask


def without_labels(dataset: Dataset, hidden: BoolArray) -> Dataset:
    """The corpus, as if the labels of these positions were not known. hidden : (N,)"""
    assert dataset.labels is not None
    labels = np.where(hidden, UNLABELLED, dataset.labels).astype(CODE)
    allowed = None if dataset.allowed is None else dataset.allowed | hidden[:, None]
    return replace(dataset, labels=labels, allowed=allowed)


def is_label(value: Any) -> bool:
    """Whether a value is of a type that labels have."""
    return isinstance(value, (str, int, np.integer))


def _refuse(what: str, hint: str, t: int, offsets: IndexArray) -> NoReturn:
    raise among(InputError(what, hint=hint), offsets, t)


# ------------------------------------------------------------------------------------------------ weights


def with_weights(dataset: Dataset, sample_weight: Any) -> Dataset:
    """The corpus with weights of its sequences; or, by weights of positions, without the labels of weight 0."""
    if sample_weight is None:
        return dataset
    weights, dropped = _sequence_weights(sample_weight, dataset.offsets)
    if dropped is None or dataset.labels is None:
        return replace(dataset, weight_seq=weights)
    return without_labels(dataset, dropped)


def counted(sample_weight: Any, *given: Any) -> tuple[IndexArray | None, list[Any]]:
    """The numbers of the sequences that count, and the weights and what else is given for every sequence without the
    others: nothing is learnt of a sequence of weight 0. None where all count.

    What is wrong with the weights `with_weights` says.
    """
    whole = [sample_weight, *given]
    if sample_weight is None or isinstance(sample_weight, (str, bytes, Mapping, Set)) or not is_iterable(sample_weight):
        return None, whole
    whole = [list(one) if hasattr(one, "__next__") else one for one in whole]
    weights = list(whole[0])
    plain = all(isinstance(weight, NUMBERS) for weight in weights)
    if not plain or all(weight != 0 for weight in weights) or not any(weights):
        return None, whole
    kept = np.flatnonzero(np.array(weights, dtype=object) != 0)
    sizes = {len(one) for one in whole[1:] if one is not None and hasattr(one, "__len__")}
    if sizes - {len(weights)}:
        return None, whole
    return kept, [None if one is None else take_sequences(one, kept) for one in whole]


def check_largest(weights: FloatArray) -> None:
    """Refuse weights that are all too small, or some too large, to compute with beside a penalty of about 1."""
    largest = float(weights.max(initial=1.0 if not len(weights) else 0.0))
    if not LEAST_WEIGHT <= largest <= 1.0 / LEAST_WEIGHT:
        hint = f"The largest is from {LEAST_WEIGHT:g} to {1 / LEAST_WEIGHT:g}: divide them by their mean."
        raise InputError(f"the largest sample_weight is {largest:g}", hint=hint)


def _sequence_weights(given: Any, offsets: IndexArray) -> tuple[FloatArray | None, BoolArray | None]:
    """Weights of the sequences, float64[S]; or, where arrays are given, bool[N]: the positions of weight 0."""
    hint = "Give one weight per sequence, or a list with one array per sequence."
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
        check_largest(np.array(weights, dtype=np.float64))
        return np.array(weights, dtype=np.float64), None
    flat = _flatten(weights, offsets, name="sample_weight")
    bad = next((t for t, weight in enumerate(flat) if not isinstance(weight, NUMBERS) or weight not in (0, 1)), None)
    if bad is not None:
        hint = "The weight of a position is 0 (unlabelled) or 1; other weights are of whole sequences."
        _refuse(f"sample_weight is {flat[bad]!r}", hint, bad, offsets)
    return None, np.array(flat) == 0
