"""What the letters of a word tell without a dictionary: capitals, digits, dashes, numerals, Greek names, bases."""

from __future__ import annotations

import re

import numpy as np

from hedgerow.data.sequences import Sequences
from hedgerow.legend import AnyArray

_GREEK = "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|kappa|lambda|mu|nu|sigma|tau|phi|chi|psi|omega"

# Every entry says yes or no to a word. Most are of the kind that Settles (2004) names; the expressions are our own.
ORTHOGRAPHY: dict[str, re.Pattern[str]] = {
    name: re.compile(expression)
    for name, expression in {
        "first letter is a capital": r"[A-Z].*",
        "capital, then small letters": r"[A-Z][a-z]+",
        "all capitals": r"[A-Z]{2,}",
        "one capital": r"[A-Z]",
        "capitals and small letters mixed": r"[A-Za-z]*([a-z][A-Z]|[A-Z]{2}[a-z])[A-Za-z]*",
        "small letters": r"[a-z]+",
        "capitals with a plural s": r"[A-Z]{2,}s",
        "has a digit": r".*\d.*",
        "one digit": r"\d",
        "two digits": r"\d\d",
        "whole number": r"\d+",
        "decimal number": r"\d+[.,]\d+",
        "letters and digits": r"(?=.*[A-Za-z])(?=.*\d)[A-Za-z\d]+",
        "capitals, then digits": r"[A-Z]+-?\d+",
        "digits, then letters": r"\d+-?[A-Za-z]+",
        "has a dash": r".*-.*",
        "starts with a dash": r"-.+",
        "ends with a dash": r".+-",
        "has two dashes": r".*-.*-.*",
        "has a slash": r".*/.*",
        "has a bracket": r".*[()\[\]].*",
        "has an apostrophe": r".*'.*",
        "has a plus": r".*\+.*",
        "has a full stop inside": r".*\w\.\w.*",
        "one sign": r"[^A-Za-z\d]",
        "Roman numeral": r"(?=.)M{0,3}(C[MD]|D?C{0,3})(X[CL]|L?X{0,3})(I[XV]|V?I{0,3})",
        "Greek letter": rf"(?i:{_GREEK})",
        "has a Greek letter": rf"(?i:(.*[^a-z])?({_GREEK})([^a-z].*)?)",
        "sequence of bases": r"[ACGTU]{3,}",
        "ends in -ase or -in": r"(?i:.*[a-z]{2}(ase|in)s?)",
        "ends in -cyte, -blast or -phage": r"(?i:.*(cyte|blast|phage)s?)",
    }.items()
}


def entity_features(X: Sequences) -> Sequences:
    """The corpus with one more column, "orthography": the names of the expressions that match the whole "word".

    `ORTHOGRAPHY` has the 31 of them. The words around are left to the window of a model: `window={"word": 2}`.
    """
    words, offsets, constants = X.compact()
    found = {word: word_shape(word) for word in dict.fromkeys(words["word"].tolist())}
    column: AnyArray = np.empty(len(words["word"]), dtype=object)
    for t, word in enumerate(words["word"].tolist()):
        column[t] = found[word]
    return Sequences({**words, "orthography": column}, offsets, {**X.kinds, "orthography": "attributes"}, constants)


def word_shape(word: str) -> list[str]:
    """The names of the expressions of ORTHOGRAPHY that match the whole word."""
    return [name for name, expression in ORTHOGRAPHY.items() if expression.fullmatch(word)]
