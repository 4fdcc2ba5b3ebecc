"""The corpora that the tree benchmarks run on: symbols and labels as flat arrays, from a file or drawn with a seed."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Corpus:
    """One column of symbols 0 … V−1 (N,), labels 0 … K−1 (N,), and where the sequences start, offsets (S+1,)."""

    symbols: Ints
    labels: Ints
    offsets: Ints

    @property
    def n_positions(self) -> int:
        return len(self.symbols)

    @property
    def n_labels(self) -> int:
        return int(self.labels.max()) + 1

    def first(self) -> npt.NDArray[np.bool_]:
        """bool (N,): where a sequence starts."""
        marks = np.zeros(self.n_positions, dtype=bool)
        marks[self.offsets[:-1]] = True
        return marks

    def head(self, n_sequences: int) -> Corpus:
        """The first sequences, for compiling kernels before the clock runs."""
        n = int(self.offsets[n_sequences])
        return Corpus(self.symbols[:n], self.labels[:n], self.offsets[: n_sequences + 1])


@dataclass(frozen=True)
class Case:
    """A table of the benchmark: its size, what hedgerow's share of LightGBM's time should be at most, and for how long
    both are run: so many repeats at most, iterations, and iterations whose trees predict."""

    n_positions: int
    n_labels: int
    width: int  # the whole window
    n_symbols: int
    trees: float
    iteration: float
    repeats: int = 5
    iterations: int = 25
    predicted: int = 100


@dataclass(frozen=True)
class Setup:
    """How a system runs. With one thread the clock is that of the processor, which other work disturbs less."""

    lanes: Any
    threads: int
    l2_regularization: float = 20.0
    max_leaf_nodes: int = 100

    def clock(self) -> float:
        return time.process_time() if self.threads == 1 else time.perf_counter()


CASES = {
    "protein": Case(18_000, 3, 11, 20, trees=0.35, iteration=0.4),
    "many-labels": Case(24_000, 20, 5, 26, trees=0.12, iteration=0.2, repeats=2, iterations=8, predicted=8),
    "long": Case(160_000, 4, 1, 24, trees=0.45, iteration=0.5, repeats=3, iterations=12, predicted=12),
}


def load(name: str) -> tuple[str, Corpus]:
    """What the corpus of a case is, in words, and the corpus."""
    folder = os.environ.get("HEDGEROW_DATA")
    if name == "protein" and folder and (Path(folder) / "protein").is_dir():
        return "proteins of Qian and Sejnowski", _proteins()
    case = CASES[name]
    return "made", make(case.n_positions, case.n_labels, case.width, case.n_symbols)


def _proteins() -> Corpus:
    from reproduction.datasets import load_protein

    X, y, _, _ = load_protein()
    letters, structures = (np.concatenate(values) for values in (X, y))
    symbols, labels = (np.unique(values, return_inverse=True)[1] for values in (letters, structures))
    return Corpus(symbols, labels, np.cumsum([0, *map(len, X)]))


def make(n_positions: int, n_labels: int, width: int, n_symbols: int, *, length: int = 160, seed: int = 0) -> Corpus:
    """Labels drawn from a chain whose scores depend on the window and on the previous label, and on both at once.

    A position scores each label by effects of the symbols at every offset (weaker further out), of the previous label,
    and of the pair (symbol at the position, previous label), so that trees find interactions down to the last leaf.
    """
    rng = np.random.default_rng(seed)
    n_sequences = max(1, n_positions // length)
    half = width // 2
    symbols = rng.integers(0, n_symbols, (n_sequences, length))
    padded = np.full((n_sequences, length + 2 * half), n_symbols)
    padded[:, half : half + length] = symbols
    fade = 1.0 / (1.0 + np.abs(np.arange(-half, half + 1)))
    by_symbol = rng.normal(size=(width, n_symbols + 1, n_labels)) * fade[:, None, None]
    by_label = rng.normal(size=(n_labels + 1, n_labels))
    by_pair = rng.normal(size=(n_labels + 1, n_symbols, n_labels))
    labels = np.empty((n_sequences, length), dtype=np.int64)
    before = np.full(n_sequences, n_labels)
    for t in range(length):
        scores = by_label[before] + by_pair[before, symbols[:, t]]
        for o in range(width):
            scores += by_symbol[o, padded[:, t + o]]
        before = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
        labels[:, t] = before
    return Corpus(symbols.ravel(), labels.ravel(), length * np.arange(n_sequences + 1))


def windows(corpus: Corpus, width: int) -> Ints:
    """(N, width): the symbols around each position, from 1; 0 is outside the sequence."""
    half = width // 2
    n = corpus.n_positions
    sequence = np.repeat(np.arange(len(corpus.offsets) - 1), np.diff(corpus.offsets))
    found = np.zeros((n, width), dtype=np.int64)
    for column, offset in enumerate(range(-half, half + 1)):
        place = np.clip(np.arange(n) + offset, 0, n - 1)
        inside = (place == np.arange(n) + offset) & (sequence[place] == sequence)
        found[:, column] = np.where(inside, corpus.symbols[place] + 1, 0)
    return found


def to_sequences(corpus: Corpus) -> tuple[Any, list[Ints]]:
    """X and y as hedgerow takes them: one column of symbols by name, and an array of labels for each sequence."""
    from hedgerow.data.sequences import Sequences

    names = np.array([f"s{i}" for i in range(int(corpus.symbols.max()) + 1)], dtype=object)
    X = Sequences({"symbol": names[corpus.symbols]}, corpus.offsets, {"symbol": "categorical"})
    return X, np.split(corpus.labels, corpus.offsets[1:-1])
