"""Features of words, ready made: columns of texts that are made once for each distinct word, and never a dict a token.

What stands around a word is not copied into columns: a window reads a column at the positions beside (`word_window`).
Pairs of neighbours are columns of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np

from hedgerow.data.readers.columns import objects
from hedgerow.data.readers.expansion import Command, Rule, expand
from hedgerow.data.rows import recognise
from hedgerow.data.sequences import Kind, Sequences
from hedgerow.errors import InputError, shown
from hedgerow.legend import INDEX, AnyArray, IndexArray

WordKind = Literal["ner", "pos", "chunk"]
_NAMES = ("token", "word", "form", "text")  # of a column of words
_RUNS = re.compile(r"(.)\1+")


class Words(Sequences):
    """Sequences that have their features of words."""


def _affix(word: str, *, size: int) -> str | None:
    """The first or the last letters, in lower case, of a word that has more."""
    if len(word) <= abs(size):
        return None
    return (word[:size] if size > 0 else word[size:]).lower()


def word_shape(word: str) -> str:
    """The word with X, x and 0 for upper case, lower case and digits: "McDonald-2" is "XxXxxxxx-0"."""
    return "".join("X" if c.isupper() else "x" if c.isalpha() else "0" if c.isdigit() else c for c in word)


_FUNCTIONS: dict[str, Callable[[str], str | None]] = {
    "word": str,
    "lower": str.lower,
    "shape": word_shape,
    "short": lambda word: _RUNS.sub(r"\1", word_shape(word)),  # runs of one letter as one: "XxXx-0"
    **{f"prefix{n}": partial(_affix, size=n) for n in (1, 2, 3, 4)},
    **{f"suffix{n}": partial(_affix, size=-n) for n in (1, 2, 3, 4)},
}


_BESIDE = ((-2, -2), (-1, -1), (1, 1), (2, 2))


class _Recipe(NamedTuple):
    """What is made for a task.

    reach : function → how far a window reaches
    joined : runs of neighbours of a column that are one value: (column, first, last)
    beside : the same of every other column of text that comes with the words, and its neighbours
    """

    reach: Mapping[str, int]
    joined: tuple[tuple[str, int, int], ...]
    beside: tuple[tuple[int, int], ...] = (*_BESIDE, (-1, 0), (0, 1))


_AFFIXES = ("prefix2", "prefix3", "prefix4", "suffix2", "suffix3", "suffix4")
RECIPES: dict[str, _Recipe] = {
    "ner": _Recipe(
        {"lower": 2, "shape": 0, "short": 1, **dict.fromkeys(_AFFIXES, 0), "suffix3": 1},
        (("lower", -1, 0), ("lower", 0, 1), ("short", -1, 1)),
    ),
    "pos": _Recipe(
        {"word": 0, "lower": 2, "short": 1, "prefix1": 0, "suffix1": 0, **dict.fromkeys(_AFFIXES, 0), "suffix3": 1},
        (("lower", -1, 0), ("lower", 0, 1)),
    ),
    "chunk": _Recipe(
        {"lower": 2, "short": 0, "suffix2": 0, "suffix3": 0},
        (("lower", -1, 0), ("lower", 0, 1)),
        (*_BESIDE, (-2, -1), (-1, 0), (0, 1), (1, 2), (-2, 0), (-1, 1), (0, 2)),
    ),
}


def word_window(kind: str) -> dict[str, int]:
    """The window that goes with the features of a kind: those of runs of words have their neighbours in them."""
    return {name: reach for name, reach in RECIPES[kind].reach.items() if reach} | {"*": 0}


def word_kind(features: Any) -> str | None:
    """The kind of features of words among what `features=` is given, if there is one."""
    given = [features] if isinstance(features, str) else features if isinstance(features, (list, tuple)) else []
    kinds = [one for one in given if isinstance(one, str) and one in RECIPES]
    if len(kinds) > 1:
        raise InputError(f"⟦features⟧ has {shown(kinds)}", hint="Features of words are of one kind.")
    return kinds[0] if kinds else None


def word_features(
    tokens: Any, kind: WordKind = "ner", *, column: str | None = None, clusters: Mapping[str, str] | None = None
) -> Sequences:
    """Columns of features of words, for tasks such as entities, parts of speech or chunks.

    Parameters
    ----------
    tokens : list of S lists of str; or Sequences with a column of words, whose other columns stay and are joined with
        their neighbours
    kind : "ner" (lower case, shapes, prefixes and suffixes, pairs of words), "pos" (the word itself and more of its
        endings) or "chunk" (few features of the word, and runs of up to three of the other columns, such as tags)
    column : the column of words of Sequences; by default "token", "word", "form", "text" or the first of text
    clusters : word → cluster, such as paths of Brown clusters: its first 4, 6, 10 and 20 letters become columns

    Returns
    -------
    Sequences, to be trained on with the `window` that `word_window(kind)` gives
    """
    if kind not in RECIPES:
        raise InputError(f"⟦kind⟧ is {kind!r}", hint=f"Choose one of {shown(list(RECIPES))}.")
    if isinstance(tokens, Words):
        if {name for name in tokens.kinds if name in _FUNCTIONS} != set(RECIPES[kind].reach):
            raise InputError(f"these are features of words, and not of kind {kind!r}", hint="Make them of the tokens.")
        return tokens
    recipe, (words, others, kinds, offsets, constants) = RECIPES[kind], _read(tokens, column)
    numbers: dict[Any, int] = {}
    codes: IndexArray = np.fromiter((numbers.setdefault(word, len(numbers)) for word in words), INDEX, len(words))
    distinct = list(numbers)
    made: dict[str, AnyArray] = {}
    for name in recipe.reach:
        function = _FUNCTIONS[name]
        made[name] = objects([None if word is None else function(word) for word in distinct])[codes]
    if clusters is not None:
        paths = [None if word is None else clusters.get(word, clusters.get(word.lower())) for word in distinct]
        for n in (4, 6, 10, 20):
            made[f"cluster{n}"] = objects([None if path is None else path[:n] for path in paths])[codes]
    texts = [name for name, of in kinds.items() if of == "categorical" and name in others]
    runs = [*recipe.joined, *((name, first, last) for name in texts for first, last in recipe.beside)]
    joined = _join(made | {name: others[name] for name in texts}, offsets, runs)
    clash = next((name for name in others if name in made or name in joined), None)
    if clash is not None:
        raise InputError("is the name of a feature of words", column=clash, hint="Rename the column.")
    of_words: dict[str, Kind] = dict.fromkeys([*made, *joined], "categorical")
    return Words(made | others | joined, offsets, kinds | of_words, constants)


def _join(columns: Mapping[str, AnyArray], offsets: IndexArray, runs: Sequence[tuple[str, int, int]]) -> dict[str, Any]:
    """Runs of neighbours in a column, as one text each."""
    names = list(columns)
    rules = []
    for name, first, last in runs:
        parts: list[str | Command] = []
        for row in range(first, last + 1):
            parts += [Command("value", row, names.index(name)), "/"]
        place = f"{first}" if first == last else f"{first}…{last}"
        rules.append(Rule(f"{name}[{place}]", tuple(parts[:-1]), unigram=True, bigram=False, line=0))
    plain = Sequences(columns, offsets, dict.fromkeys(names, "categorical"))
    return dict(expand(rules, plain).columns)


def _read(tokens: Any, column: str | None) -> tuple[Any, dict[str, AnyArray], dict[str, Kind], IndexArray, Any]:
    """The words, the other columns, kinds, offsets and constants."""
    if isinstance(tokens, Sequences):
        columns, offsets, constants = tokens.compact()
        texts = [name for name in columns if tokens.kinds[name] == "categorical"]
        named = column or next((name for name in _NAMES if name in texts), texts[0] if texts else None)
        if named not in texts:
            what = f"there is no column {named!r} of words" if named else "there is no column of words"
            raise InputError(what, hint=f"Columns are {shown(list(columns))}.")
        words = columns.pop(named)
        return words.tolist(), columns, {n: k for n, k in tokens.kinds.items() if n != named}, offsets, constants
    hint = "Features of words are of lists of tokens, or of columns with one of words."
    if isinstance(tokens, (str, bytes, Mapping)) or not hasattr(tokens, "__iter__"):
        raise InputError(f"X is of type {type(tokens).__name__}", hint=hint)
    rows = [one if isinstance(one, (list, tuple)) else _listed(one, i) for i, one in enumerate(tokens)]
    for i, row in enumerate(rows):
        if not row:
            raise InputError("is empty", hint="Leave out sequences without positions.", sequence=i)
        bad = next((t for t, word in enumerate(row) if word is not None and not isinstance(word, str)), None)
        if bad is not None:
            raise InputError(f"a position is of type {type(row[bad]).__name__}", hint=hint, sequence=i, position=bad)
    offsets = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(INDEX)
    return list(chain.from_iterable(rows)), {}, {}, offsets, {}


def _listed(one: Any, i: int) -> Sequence[Any]:
    if isinstance(one, np.ndarray) and one.ndim == 1:
        return list(one.tolist())
    recognise(one, i)  # which says what is wrong with a text or a number
    raise InputError(f"is of type {type(one).__name__}", hint="Features of words are of lists of tokens.", sequence=i)
