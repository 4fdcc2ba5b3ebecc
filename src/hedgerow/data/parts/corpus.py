"""A corpus whose parts lie elsewhere: its schema, the lengths of its sequences, and a way to ask every part.

It stands in for a `Dataset` where a fit is prepared and led. Whoever needs the data themselves asks the parts, and adds
up what they say in their order. The sequences of the corpus come in the order of the parts.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np

from hedgerow.data.dataset import Column, Dataset, Schema, Vocabulary
from hedgerow.data.encoding import encode
from hedgerow.data.imputation import (
    Imputation,
    check_names,
    check_values,
    count_values,
    fill,
    learn_imputation,
    stored_columns,
)
from hedgerow.data.labels import without_labels
from hedgerow.data.parts.merging import (
    Averages,
    Part,
    Seen,
    check_known,
    check_weighted,
    merge,
    recode,
    see,
    standardise,
)
from hedgerow.data.settling import by_weight
from hedgerow.data.windows import windowed
from hedgerow.errors import InputError, placed
from hedgerow.legend import INDEX, AnyArray, FloatArray, IndexArray


class Piece(NamedTuple):
    """Some sequences of a part, and what is to be made of them."""

    part: int
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class Engine(Protocol):
    """Who has the parts, each a `Part`."""

    @property
    def n_parts(self) -> int:
        """How many there are."""

    @property
    def n_members(self) -> int:
        """Into how many runs a corpus is cut for training, at most."""

    @property
    def n_threads(self) -> int:
        """How many threads a member may use."""

    @property
    def memory(self) -> float:
        """How many bytes a member may use, inf where nothing is said."""

    def each(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """function(part, *arguments of the part) of every part."""

    def pool(self, members: Sequence[Sequence[Piece]], make: Callable[..., Any], given: Sequence[Any]) -> Any:
        """A pool of members make(what is given of it, its pieces): those of one member come in their order."""


@dataclass(frozen=True, eq=False)
class SharedCorpus:
    """Sequences of the parts of an engine, by one schema.

    chosen : of each part, the numbers of its sequences that belong here
    offsets : int64[S+1], where they begin and end
    hidden : codes of labels that are taken for unknown
    weight_seq : float64[S], or None; parts that are asked have their own
    filled : the schema that users' data have, and what is filled in where they have gaps, by which `schema` is the one
        with flags; None where nothing is
    """

    engine: Engine
    schema: Schema
    chosen: tuple[IndexArray, ...]
    offsets: IndexArray
    hidden: tuple[int, ...] = ()
    weight_seq: FloatArray | None = None
    filled: tuple[Schema, Imputation] | None = None

    @classmethod
    def of(cls, engine: Engine, chosen: Sequence[IndexArray] | None, window: Any, labels: Any = None) -> SharedCorpus:
        """Learn the schema from these sequences, or from all."""
        seen = engine.each(see, [(one,) for one in ([None] * engine.n_parts if chosen is None else chosen)])
        corpus = cls._with(engine, windowed(merge(seen, labels), window), seen, chosen)
        if not corpus.varied:
            return replace(corpus, schema=standardise(corpus.schema, corpus.each_with))
        columns = [by_weight(corpus.together(column)).columns[0] for column in corpus.schema.columns]
        return replace(corpus, schema=replace(corpus.schema, columns=tuple(columns)))

    @classmethod
    def by(cls, engine: Engine, schema: Schema) -> SharedCorpus:
        """All sequences by a schema that is known."""
        seen = engine.each(see, [(None,)] * engine.n_parts)
        check_known(seen, schema)
        return cls._with(engine, schema, seen, None)

    @classmethod
    def _with(cls, engine: Engine, schema: Schema, seen: Sequence[Seen], chosen: Any) -> SharedCorpus:
        check_weighted(seen)
        offsets = np.concatenate([[0], np.cumsum(np.concatenate([one.lengths for one in seen]))]).astype(INDEX)
        weights = None if seen[0].weights is None else np.concatenate([one.weights for one in seen])
        kept = tuple(np.arange(len(one.lengths)) for one in seen) if chosen is None else tuple(chosen)
        return cls(engine, schema, kept, offsets, weight_seq=weights)

    def __len__(self) -> int:
        return self.n_sequences

    @property
    def n_sequences(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_positions(self) -> int:
        return int(self.offsets[-1])

    @property
    def n_labels(self) -> int:
        return len(self.schema.labels)

    @cached_property
    def firsts(self) -> IndexArray:
        """The number of the first sequence of each part, and of all."""
        return np.cumsum([0, *map(len, self.chosen)])

    @cached_property
    def varied(self) -> bool:
        """Whether some sequences count more than others, as `Dataset.spread_weights` has it."""
        return self.weight_seq is not None and bool((self.weight_seq != self.weight_seq[0]).any())

    def nothing(self) -> Dataset:
        """A Dataset of this schema without sequences."""
        none = encode(self.schema, [], [], may_be_empty=True)
        return none if self.weight_seq is None else replace(none, weight_seq=np.empty(0))

    # ------------------------------------------------------------------------------------------------ asking parts

    def each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """function(dataset, *arguments) of every part, as a Dataset by this schema."""
        return self.each_with(function, [arguments] * self.engine.n_parts)

    def each_with(self, function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]] | None = None) -> list[Any]:
        """The same, with arguments of its own for every part."""
        given = [()] * self.engine.n_parts if arguments is None else arguments
        return self.engine.each(on_part, [(self._how(function), *place) for place in zip(self.chosen, given)])

    def _how(self, function: Callable[..., Any]) -> How:
        own, imputation = (self.schema, None) if self.filled is None else self.filled
        return How(function, own, self.hidden, self.weight_seq is not None, imputation)

    def each_of(self, function: Callable[..., Any], sequences: IndexArray, *arrays: AnyArray) -> list[Any]:
        """function(dataset, sequences, *arrays) of some sequences, by their numbers, which rise: each part has its own
        of these, and of arrays that go with them."""
        runs = list(itertools.pairwise(np.searchsorted(sequences, self.firsts)))
        own = [(sequences[a:b] - first, *(array[a:b] for array in arrays)) for (a, b), first in zip(runs, self.firsts)]
        return self.each_with(function, own)

    def added(self, function: Callable[[Dataset], Any], *arguments: Any) -> Any:
        """The sum of what parts give: of counts, which are exact in any order."""
        return sum(self.each(function, *arguments))

    def together(self, *columns: Column) -> Dataset:
        """All sequences in one place with some of their columns, or with none: labels and weights."""
        schema = replace(self.schema, columns=columns, attributes=Vocabulary([]), attribute_offsets=())
        return join(replace(self, schema=schema, filled=None).each(whole_part))

    def require_numbers(self) -> None:
        """Refuse missing numbers, as a Dataset does."""
        self.each(Dataset.require_numbers)

    # ------------------------------------------------------------------------------------------------ other corpora

    def take(self, sequences: IndexArray) -> SharedCorpus:
        """Some of the sequences, by number, rising."""
        lengths, parts = np.diff(self.offsets)[sequences], np.searchsorted(self.firsts, sequences, side="right") - 1
        chosen = [own[sequences[parts == p] - self.firsts[p]] for p, own in enumerate(self.chosen)]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(INDEX)
        weights = None if self.weight_seq is None else self.weight_seq[sequences]
        return replace(self, chosen=tuple(chosen), offsets=offsets, weight_seq=weights)

    def fill(self, imputation: Imputation) -> SharedCorpus:
        """The same sequences with their gaps filled, as `Imputation.apply` fills them."""
        return replace(self, schema=imputation.extend(self.schema), filled=(self.schema, imputation))

    def narrowed(self) -> SharedCorpus:
        """The same sequences by the schema that is learnt of them alone."""
        learnt = SharedCorpus.of(self.engine, self.chosen, self.schema.window, self.schema.labels)
        return replace(self, schema=learnt.schema)

    # ------------------------------------------------------------------------------------------------ members

    def pool(
        self, plan: IndexArray, function: Callable[..., Any], arguments: tuple[Any, ...], make: Any, *given: Any
    ) -> Any:
        """A pool of members that have a run of the chunks of a plan each: make(*given, plan of its own, pieces), where
        pieces are function(dataset, *arguments) of the sequences in each part."""
        cuts = share_out(np.diff(self.offsets[plan]), self.engine.n_members)
        members, own = [], []
        for a, b in itertools.pairwise(cuts):
            members.append(list(self._pieces(np.arange(plan[a], plan[b]), function, arguments)))
            own.append((*given, plan[a : b + 1] - plan[a]))
        return self.engine.pool(members, make, own)

    def lanes_pool(
        self, lanes: Sequence[Sequence[tuple[int, int]]], function: Callable[..., Any], make: Any, *given: Any
    ) -> Any:
        """A pool of members that have some lanes each, runs of sequences that need not follow each other."""
        sizes = [sum(int(self.offsets[b] - self.offsets[a]) for a, b in lane) for lane in lanes]
        cuts = share_out(np.array(sizes), self.engine.n_members)
        members, own = [], []
        for a, b in itertools.pairwise(cuts):
            rows = [np.concatenate([np.arange(*run) for run in lane]) for lane in lanes[a:b]]
            members.append([piece for numbers in rows for piece in self._pieces(numbers, function, ())])
            own.append((*given, [[last - first for first, last in lane] for lane in lanes[a:b]]))
        return self.engine.pool(members, make, own)

    def _pieces(self, numbers: IndexArray, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Iterator[Piece]:
        """Sequences by their numbers, which rise, as pieces of the parts."""
        for p, own in enumerate(self.chosen):
            begin, end = np.searchsorted(numbers, self.firsts[p : p + 2])
            if begin < end:
                yield Piece(p, on_part, (self._how(function), own[numbers[begin:end] - self.firsts[p]], arguments))


def learn_shared_imputation(corpus: SharedCorpus, numbers: str) -> Imputation:
    """As `learn_imputation` of the whole corpus, with a flag for every column. numbers : "mean" or "median"

    Where some sequences count more, and for medians, one column after the other is brought together.
    """
    nothing = corpus.nothing()
    check_names(nothing)
    check_values(nothing, corpus.added(count_values))
    columns = [column for column, _ in stored_columns(nothing)]
    measured = [column for column in columns if column.kind == "numeric"]
    if numbers == "mean" and not corpus.varied:
        found = Averages(corpus.each_with)
        middles = [scale * mean for scale, mean in zip(found.scales, found.means)]
    else:
        alone = (learn_imputation(corpus.together(column), numbers=numbers) for column in measured)
        middles = [one.numbers[column.name] for column, one in zip(measured, alone)]
    known = {column.name: middle for column, middle in zip(measured, middles, strict=True)}
    return Imputation({}, known, tuple(column.name for column in columns))


def share_out(sizes: IndexArray, n_members: int) -> list[int]:
    """Cut a row of things of these sizes into at most so many runs of about the same size, none of them empty."""
    ends = np.cumsum(sizes)
    goals = ends[-1] * np.arange(1, n_members) / n_members
    cuts = np.searchsorted(ends - sizes / 2, goals)
    return sorted({0, len(sizes), *cuts.tolist()})


class How(NamedTuple):
    """What to do with sequences of a part. weighted : whether they have their weights"""

    function: Callable[..., Any]
    schema: Schema
    hidden: tuple[int, ...]
    weighted: bool
    imputation: Imputation | None


def on_part(learnt: Part, how: How, chosen: IndexArray, arguments: tuple[Any, ...]) -> Any:
    """function(dataset, *arguments) of some sequences of a part; errors name it, and them as they were given in it."""
    dataset = recode(learnt.dataset.take(chosen), how.schema)
    if not how.weighted:
        dataset = replace(dataset, weight_seq=None)
    if how.hidden:
        assert dataset.labels is not None
        dataset = without_labels(dataset, np.isin(dataset.labels, how.hidden))
    try:
        return how.function(fill(how.imputation, dataset), *arguments)
    except InputError as error:
        if error.sequence is None:
            raise
        given = chosen if learnt.kept is None else learnt.kept[chosen]
        raise placed(error, partition=learnt.number, sequence=int(given[error.sequence])) from None


def whole_part(dataset: Dataset) -> Dataset:
    """A piece that is a Dataset."""
    return dataset


def join(pieces: Sequence[Dataset]) -> Dataset:
    """Sequences of one schema, end to end, as one corpus."""
    if len(pieces) == 1:
        return pieces[0]
    first, gap = pieces[0], pieces[0].schema.gap
    offsets = join_ends([piece.offsets for piece in pieces])
    shifts = np.cumsum([0, *(len(piece.attr_ptr) - 1 - gap for piece in pieces[:-1])])

    def along(name: str, skip: int) -> AnyArray:
        own = [getattr(piece, name) for piece in pieces]
        return np.concatenate([own[0], *(array[:, skip:] for array in own[1:])], axis=1)

    def values(name: str, otherwise: Any) -> Any:
        own = [getattr(piece, name) for piece in pieces]
        if all(array is None for array in own):
            return None
        return np.concatenate([otherwise(piece) if a is None else a for a, piece in zip(own, pieces)])

    counts = [np.diff(piece.attr_ptr)[gap * (j > 0) :] for j, piece in enumerate(pieces)]
    return replace(
        first,
        offsets=offsets,
        start=np.concatenate([piece.start + shift for piece, shift in zip(pieces, shifts)]),
        codes=along("codes", gap),
        numeric=along("numeric", gap),
        attr_ptr=np.concatenate([[0], np.cumsum(np.concatenate(counts))]).astype(INDEX),
        attr_id=np.concatenate([piece.attr_id for piece in pieces]),
        attr_val=values("attr_val", lambda piece: np.ones(len(piece.attr_id))),
        seq_codes=along("seq_codes", 0),
        seq_numeric=along("seq_numeric", 0),
        labels=values("labels", None),
        allowed=values("allowed", lambda piece: np.ones((piece.n_positions, piece.n_labels), dtype=bool)),
        weight_seq=values("weight_seq", None),
    )


def join_ends(offsets: Sequence[IndexArray]) -> IndexArray:
    """Offsets of corpora, one after the other."""
    return np.concatenate([[0], np.cumsum(np.concatenate([np.diff(own) for own in offsets]))]).astype(INDEX)
