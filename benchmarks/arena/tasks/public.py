"""Tasks of public data with few columns: proteins, words, letters, chorales, homes, lines of papers, genes."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.arena.tasks.chorales import load_chorales
from benchmarks.arena.tasks.homes import load_home
from benchmarks.arena.tasks.task import SEEDS, TASKS, Asked, Part, Task, fixed, in_turn, join
from hedgerow.data.sequences import Sequences
from reproduction.datasets import (
    line_features,
    load_genes,
    load_header_lines,
    load_hyphen_windows,
    load_letters,
    load_nettalk,
    load_paper_lines,
    load_protein,
)

N_WORDS = 1_000
N_CHORALES = 40
LETTERS_TRAIN, LETTERS_TEST = 0, 1  # folds
DOCUMENT_FOLDS = 5
LONGEST_GENE = 6_000


@TASKS.add("protein")
def protein(asked: Asked) -> Task:
    """Secondary structure of proteins; the window of the thesis, 11 residues."""
    X, y, X_test, y_test = load_protein(asked.place("protein"))
    n, m = asked.size(len(X), 30), asked.size(len(X_test), 10)
    return Task([*X[:n], *X_test[:m]], [*y[:n], *y_test[:m]], fixed(n, m), window=5)


@TASKS.add("hyphenation")
def hyphenation(asked: Asked) -> Task:
    """Where a word may be broken; the columns are the window of six letters already."""
    X, y, X_test, y_test = load_hyphen_windows(asked.place("hyphen"))
    n, m = asked.size(len(X), 300), asked.size(len(X_test), 150)
    return Task(join(X[:n], X_test[:m]), [*y[:n], *y_test[:m]], fixed(n, m))


@TASKS.add("stress")
def stress(asked: Asked) -> Task:
    """The stress of the letters of NETtalk's words."""
    return _nettalk(asked, "stress")


@TASKS.add("phonemes")
def phonemes(asked: Asked) -> Task:
    """The phonemes of NETtalk's words."""
    return _nettalk(asked, "phoneme")


@TASKS.add("pairs")
def pairs(asked: Asked) -> Task:
    """Phoneme and stress as one label: some 125 of them."""
    return _nettalk(asked, "both")


def _nettalk(asked: Asked, label: Any) -> Task:
    """Words drawn by the seed, as `reproduction.problems` draws them; Sejnowski and Rosenberg's window of 7 letters."""
    X, labels = load_nettalk(asked.place("nettalk"), label=label)
    stresses = labels if label != "phoneme" else load_nettalk(asked.place("nettalk"))[1]
    known = [i for i, own in enumerate(stresses) if None not in own]
    n, m = asked.size(N_WORDS, 150), asked.size(N_WORDS, 100)
    drawn = [np.random.default_rng(seed).permutation(len(known)) for seed in {asked.seed, *range(SEEDS)}]
    tested = np.unique(np.concatenate([order[N_WORDS : 2 * N_WORDS] for order in drawn]))
    order = np.random.default_rng(asked.seed).permutation(len(known))
    part = Part(np.sort(order[:n]), np.sort(order[N_WORDS : N_WORDS + m]))
    y = [list(labels[i]) for i in known]
    return Task([X[i] for i in known], y, [part], window=3, tested=tested)


@TASKS.add("letters")
def letters(asked: Asked) -> Task:
    """Handwritten words, 128 pixels a letter: one fold trains; all others are the test, of the quick arena one."""
    pixels, y, folds = load_letters(asked.place("letters"))
    flat = np.concatenate(pixels).astype(bool)
    names = [f"pixel {j}" for j in range(flat.shape[1])]
    offsets = np.cumsum([0, *map(len, pixels)])
    X = Sequences({name: flat[:, j] for j, name in enumerate(names)}, offsets, dict.fromkeys(names, "boolean"))
    train = np.flatnonzero(folds == LETTERS_TRAIN)
    test = np.flatnonzero(folds == LETTERS_TEST if asked.quick else folds != LETTERS_TRAIN)
    if asked.quick:
        train, test = train[:150], test[:100]
    return Task(X, y, [Part(train, test)], tested=np.flatnonzero(folds != LETTERS_TRAIN))


@TASKS.add("chorales")
def chorales(asked: Asked) -> Task:
    """Chords of Bach's chorales: the first 40 train, the last 20 test; an event and the one on either side."""
    X, y = load_chorales(asked.place("bach"))
    n, m = asked.size(N_CHORALES, 12), asked.size(len(y) - N_CHORALES, 6)
    part = Part(np.arange(n), np.arange(N_CHORALES, N_CHORALES + m))
    return Task(X, y, [part], window=1)


@TASKS.add("home A")
def home_a(asked: Asked) -> Task:
    """Minutes of home A: a day is tested by a model of all the others."""
    return _home(asked, "A")


@TASKS.add("home B")
def home_b(asked: Asked) -> Task:
    """Minutes of home B: a day is tested by a model of all the others."""
    return _home(asked, "B")


def _home(asked: Asked, house: str) -> Task:
    X, y = load_home(asked.place("homes"), house)
    parts = in_turn(len(y), None, asked.seed)
    if asked.quick:
        parts = [Part(part.train[:10], part.test) for part in parts[:1]]
    return Task(X, y, parts, tested=np.arange(1, len(y), 2))


@TASKS.add("lines of papers")
def lines_of_papers(asked: Asked) -> Task:
    """What the lines of whole papers are part of; a line alone, as the FAQs' lines in the thesis."""
    return _documents(asked, *load_paper_lines(asked.place("parscit")), quick=(16, 100))


@TASKS.add("heads of papers")
def heads_of_papers(asked: Asked) -> Task:
    """What the lines of the heads of papers tell; a line alone."""
    return _documents(asked, *load_header_lines(asked.place("parscit")), quick=(80, 100))


def _documents(asked: Asked, lines: list[list[str]], y: list[list[str]], quick: tuple[int, int]) -> Task:
    if asked.quick:
        lines, y = ([rows[: quick[1]] for rows in part[: quick[0]]] for part in (lines, y))
    parts = in_turn(len(y), asked.size(DOCUMENT_FOLDS, 2), asked.seed)
    return Task(line_features(lines), y, parts[:1] if asked.quick else parts, tested=np.arange(1, len(y), 2))


@TASKS.add("genes")
def genes(asked: Asked) -> Task:
    """Bases of human genes of at most 6,000 bases, 40 to train and 40 to test; 15 bases around a position."""
    X, y, X_test, y_test = load_genes(asked.place("genes"))
    n, longest = asked.size(40, 12), asked.size(LONGEST_GENE, 2_000)
    short = [np.flatnonzero(own.lengths <= longest)[:n] for own in (X, X_test)]
    labels = [*(y[i] for i in short[0]), *(y_test[i] for i in short[1])]
    return Task(join(X[short[0]], X_test[short[1]]), labels, fixed(n, n), window=7)
