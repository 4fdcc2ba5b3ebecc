"""The names of python-crfsuite over hedgerow: `from hedgerow.compat import pycrfsuite` for `import pycrfsuite`."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np

from hedgerow.compat import training_log
from hedgerow.compat.conversion import check_place, from_linear, read_content, to_linear
from hedgerow.compat.estimator import CRF
from hedgerow.compat.items import as_text, as_weights
from hedgerow.compat.model_files import CRFsuiteModel, ParsedDump, describe, dumped, write_model
from hedgerow.compat.training_log import LogParser
from hedgerow.compat.training_parameters import ALGORITHMS, ALIASES, Parameter
from hedgerow.data.dataset import Label
from hedgerow.data.rows import LISTS, NUMBERS, MixedTypesError
from hedgerow.data.sequences import described
from hedgerow.errors import InputError
from hedgerow.models.crf.linear import LinearCRF
from hedgerow.persistence import replace_file

__all__ = ["CRFSUITE_VERSION", "ItemSequence", "ParsedDump", "Tagger", "Trainer"]

CRFSUITE_VERSION = "0.12.2"  # whose files and parameters these are


class ItemSequence:
    """The attributes of a sequence, read once.

    Its items are dicts (of key to text, number, flag, list of texts, or a dict of these) or lists of texts.
    """

    def __init__(self, pyseq: Any) -> None:
        if isinstance(pyseq, ItemSequence) or type(pyseq).__name__ == "ItemSequence":
            pyseq = pyseq.items()
        if isinstance(pyseq, (str, bytes, Mapping)) or not isinstance(pyseq, Iterable):
            raise InputError(f"a sequence is {described(pyseq)}", hint="Give a list of dicts, or of lists of texts.")
        self._items = [_weights(t, item) for t, item in enumerate(pyseq)]

    def items(self) -> list[dict[str, float]]:
        """A dict of attribute to weight for each position."""
        return [item.copy() for item in self._items]

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return f"<ItemSequence of size {len(self)}>"


def _weights(t: int, item: Any) -> dict[str, float]:
    if isinstance(item, Iterable) and not isinstance(item, (str, bytes, Mapping, *LISTS)):
        item = list(item)
    (row,) = as_weights([item])
    good = isinstance(row, Mapping) and all(isinstance(key, str) for key in row)
    if not good or not all(isinstance(value, (*NUMBERS, bool)) and np.isfinite(value) for value in row.values()):
        hint = "Give a dict of key to text, number, flag, list of texts or dict of these; or a list of texts."
        raise InputError(f"an item is {item!r:.80}", hint=hint, position=t)
    return {key: float(value) for key, value in row.items()}


class Tagger:
    """Labels sequences by a model file of CRFsuite."""

    def __init__(self) -> None:
        self._source: CRFsuiteModel | None = None
        self._model: LinearCRF | None = None
        self._items: list[Any] = []
        self._probs: Any = None

    @classmethod
    def of(cls, source: CRFsuiteModel) -> Tagger:
        """The tagger of a model that is at hand."""
        tagger = cls()
        tagger._source, tagger._model = source, to_linear(source)
        return tagger

    def open(self, name: str | os.PathLike[str]) -> contextlib.closing[Tagger]:
        """Read a model file."""
        return self._open(Path(name).read_bytes(), os.fspath(name))

    def open_inmemory(self, value: bytes) -> contextlib.closing[Tagger]:
        """Read the content of a model file."""
        return self._open(value, "the bytes")

    def _open(self, content: bytes, name: str) -> contextlib.closing[Tagger]:
        self.close()
        self._source, self._model = read_content(content, name)
        return contextlib.closing(self)

    def close(self) -> None:
        """Forget the model."""
        self.__init__()  # type: ignore[misc]

    def labels(self) -> list[Label]:
        """The labels of the model."""
        return list(self._opened()[0].labels)

    def set(self, xseq: Any) -> None:
        """The sequence that the other methods are about."""
        self._opened()
        as_it_is = isinstance(xseq, list) and all(isinstance(item, dict) for item in xseq)
        self._items, self._probs = list(xseq) if as_it_is else ItemSequence(xseq).items(), None

    def tag(self, xseq: Any = None) -> list[Label]:
        """The most probable labels of a sequence, which is set; without one, of that which was set before."""
        self._opened()
        if xseq is not None:
            self.set(xseq)
        return list(self._ask("predict")) if self._items else []

    def probability(self, yseq: Any) -> float:
        """How probable a labeling of the sequence that was set is."""
        source, _ = self._opened()
        if not self._items:
            return 0.0
        labels = list(map(as_text, yseq))
        if len(labels) != len(self._items):
            raise InputError(f"the sequence has {len(self._items)} items, and there are {len(labels)} labels")
        for label in labels:
            _check_label(source, label)
        return float(np.exp(self._ask("log_probability", [labels])))

    def marginal(self, y: Label, pos: int) -> float:
        """How probable a label is at a position of the sequence that was set."""
        source, model = self._opened()
        if not self._items:
            return 0.0
        if not 0 <= pos < len(self._items):
            raise InputError(f"the position is {pos}, and the sequence has {len(self._items)} items")
        y = as_text(y)
        _check_label(source, y)
        if self._probs is None:
            self._probs = self._ask("predict_proba")
        return float(self._probs[pos, model.schema_.label_codes[y]])

    def _ask(self, method: str, *more: Any) -> Any:
        """What a method of the model gives of the sequence that was set."""
        ask = getattr(self._opened()[1], method)
        try:
            return ask([self._items], *more)[0]
        except MixedTypesError:  # of one key, or of keys and values that are bytes
            self._items = ItemSequence(self._items).items()
            return ask([self._items], *more)[0]

    def info(self) -> ParsedDump:
        """What the model holds."""
        return describe(self._dumpable())

    def dump(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write what the model holds as text, to a file or to standard output."""
        text = dumped(self._dumpable())
        if filename is None:
            sys.stdout.write(text)
        else:
            Path(filename).write_bytes(text.encode("utf-8", "surrogateescape"))

    def _dumpable(self) -> CRFsuiteModel:
        if self._source is None:
            raise RuntimeError("the tagger is closed: open a model first")
        return self._source

    def _opened(self) -> tuple[CRFsuiteModel, LinearCRF]:
        if self._source is None or self._model is None:
            raise InputError("the tagger has no model", hint="Open one first: tagger.open(path).")
        return self._source, self._model


def _check_label(source: CRFsuiteModel, label: Any) -> None:
    if label not in source.labels:
        raise InputError(f"{label!r:.80} is not a label of the model")


class Trainer:
    """Trains a model by the parameters of CRFsuite, and writes a file that CRFsuite reads, too.

    Messages come before and after training, not while it goes on. To see them, override `message`, or `on_start`,
    `on_featgen_end`, `on_prepared`, `on_iteration`, `on_optimization_end` and `on_end`.

    Parameters
    ----------
    algorithm : "lbfgs" (the default), "l2sgd", "ap", "pa" or "arow"
    params : dict of parameter to value, optional
    verbose : whether messages are printed
    """

    verbose: Any = True
    logparser: LogParser | None = None

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:  # as in python-crfsuite, __init__ need not be called
        trainer = super().__new__(cls)
        trainer._data = []
        Trainer.select(trainer, "lbfgs")
        return trainer

    def __init__(self, algorithm: str | None = None, params: Mapping[str, Any] | None = None, verbose: Any = True):
        self._data: list[tuple[ItemSequence, list[str], int]]
        self._values: dict[str, Any]
        if algorithm is not None:
            self.select(algorithm)
        if params is not None:
            self.set_params(params)
        self.verbose = verbose

    def append(self, xseq: Any, yseq: Any, group: int = 0) -> None:
        """Add a sequence and its labels; those of one group can be held out."""
        items, labels = ItemSequence(xseq), list(map(as_text, yseq))
        if len(items) != len(labels):
            raise InputError(f"the sequence has {len(items)} items, and there are {len(labels)} labels")
        for t, label in enumerate(labels):
            if not isinstance(label, str):
                raise InputError(f"the label {label!r:.80} is {described(label)}, not str", position=t)
        self._data.append((items, labels, int(group)))

    def clear(self) -> None:
        """Forget all sequences."""
        self._data.clear()

    def select(self, algorithm: str, type: str = "crf1d") -> None:
        """Choose the algorithm; its parameters have their defaults then."""
        name = ALIASES.get(algorithm.lower(), algorithm.lower())
        if name not in ALGORITHMS or type != "crf1d":
            hint = "Algorithms are lbfgs, l2sgd, ap, pa and arow; the type is crf1d."
            raise InputError(f"algorithm={algorithm!r}, type={type!r} is not known", hint=hint)
        self._algorithm = name
        self._values = {parameter: one.default for parameter, one in ALGORITHMS[name].items()}

    def params(self) -> list[str]:
        """The parameters of the algorithm."""
        return list(self._values)

    def get(self, name: str) -> Any:
        """The value of a parameter."""
        self._parameter(name)
        return self._values[name]

    def set(self, name: str, value: Any) -> None:
        """Give a parameter a value."""
        one = self._parameter(name)
        try:
            self._values[name] = one.read(value)
        except (TypeError, ValueError) as error:
            raise InputError(f"{name} is {value!r:.80}", hint=f"Its default is {one.default!r}.") from error

    def get_params(self) -> dict[str, Any]:
        """All parameters and their values."""
        return dict(self._values)

    def set_params(self, params: Mapping[str, Any]) -> None:
        """Give some parameters values."""
        for name, value in params.items():
            self.set(name, value)

    def help(self, name: str) -> str:
        """What a parameter means."""
        return self._parameter(name).help

    def _parameter(self, name: str) -> Parameter:
        if name not in self._values:
            hint = f"{self._algorithm} has {', '.join(self._values)}."
            raise InputError(f"there is no parameter {name!r:.80}", hint=hint)
        return ALGORITHMS[self._algorithm][name]

    def train(self, model: str | os.PathLike[str], holdout: int = -1) -> None:
        """Train on all sequences but those of the group `holdout`, which are scored at the end; write the model to a
        file, unless its name is empty."""
        if os.fspath(model):
            check_place(model, ())
        self.logparser = LogParser()
        self._say(training_log.before(self._algorithm, self._values))
        parts: tuple[list[Any], list[Any]] = ([], [])
        for items, labels, group in self._data:
            parts[0 <= holdout == group].append((items.items(), labels))
        train, held_out = ([[pair[i] for pair in part] for i in (0, 1)] for part in parts)
        crf = self._crf().fit(*train, *(held_out if parts[1] else ()))
        assert crf.model_ is not None
        source, steps = from_linear(crf.model_, crf.classes_), crf.training_log_.iterations
        n_features = len(source.state) + len(source.move)
        said = _accuracies(held_out[1], [crf.predict_single(items) for items in held_out[0]]) if parts[1] else ()
        self._say(training_log.during(self._algorithm, self._values, n_features, steps, tuple(said)))
        if os.fspath(model):
            replace_file(model, [write_model(source)])
        self._say(training_log.after(n_features, len(source.attributes), len(source.labels)))

    def _crf(self) -> CRF:
        """The estimator with these parameters. It goes through the data until the loss no longer falls where the
        iterations are not limited."""
        names = {long: short for short, long in ALIASES.items()}
        fields = {one.field: self._values[name] for name, one in ALGORITHMS[self._algorithm].items()}
        if "calibration_samples" in fields:
            fields["calibration_samples"] = int(fields["calibration_samples"])
        return CRF(algorithm=names.get(self._algorithm, self._algorithm), **fields)  # type: ignore[arg-type]

    def _say(self, messages: Iterator[str]) -> None:
        for message in messages:
            self.message(message)

    def message(self, message: str) -> None:
        """Take a message: the log parser reads it, and an event that it ends is handed on where `verbose` is true."""
        assert self.logparser is not None
        event = self.logparser.feed(message)
        if not self.verbose or event is None:
            return
        more = (self.logparser.last_iteration,) if event == "iteration" else ()
        getattr(self, f"on_{event}")(self.logparser.last_log, *more)

    def on_start(self, log: str) -> None:
        print(log, end="")

    on_featgen_end = on_prepared = on_optimization_end = on_end = on_start

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        print(log, end="")


def _accuracies(y: list[list[str]], predicted: list[list[Label]]) -> Iterator[str]:
    """What is said of held-out sequences."""
    pairs = [a == b for one, other in zip(y, predicted) for a, b in zip(one, other)]
    whole = [one == other for one, other in zip(y, predicted)]
    for name, right in (("Item", pairs), ("Instance", whole)):
        yield f"{name} accuracy: {sum(right)} / {len(right)} ({sum(right) / max(len(right), 1):.4f})\n"
