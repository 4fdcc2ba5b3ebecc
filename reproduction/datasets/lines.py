"""What can be told from a line of a document without reading it: its size, its shape and its place."""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Sequence

import numpy as np

from hedgerow.data.sequences import Kind, Sequences
from hedgerow.legend import AnyArray

# Words that begin a part of a paper, or a line of its head.
_KEYWORDS = frozenset(
    (
        "abstract", "acknowledgements", "acknowledgments", "acm", "algorithm", "appendix", "author", "bibliography",
        "categories", "conclusion", "conclusions", "copyright", "definition", "department", "dept", "email", "example",
        "fig", "figure", "general", "in", "introduction", "journal", "keywords", "lemma", "permission", "proc",
        "proceedings", "proof", "proposition", "references", "school", "table", "theorem", "university",
    )
)  # fmt: skip

# Every entry says yes or no to a line of text.
_TESTS: dict[str, Callable[[str], object]] = {
    "starts with a capital": re.compile(r"[A-Z]").match,
    "starts with a small letter": re.compile(r"[a-z]").match,
    "starts with a digit": re.compile(r"\d").match,
    "starts with a section number": re.compile(r"(\d{1,2}|[IVX]{1,4})\.?\s+[A-Z]").match,
    "starts with a subsection number": re.compile(r"(\d{1,2}|[A-Z])\.\d{1,2}\.?\s+\S").match,
    "starts with a subsubsection number": re.compile(r"\d{1,2}\.\d{1,2}\.\d{1,2}\.?\s+\S").match,
    "starts with a list number": re.compile(r"(\(?[a-z\divx]{1,3}\)|\d{1,2}[.:)])\s").match,
    "starts with a bullet": re.compile(r"[•·◦▪∗*\-–—]\s").match,
    "starts with a bracketed number": re.compile(r"\[[^\]\s]{1,8}\]").match,
    "starts with punctuation": re.compile(r"[^\w\s]").match,
    "starts with a footnote mark": re.compile(r"(\d{1,2}|[∗*†‡§])[A-Z(h]").match,
    "names a figure first": re.compile(r"fig(ure|\.)\s*\d", re.IGNORECASE).match,
    "names a table first": re.compile(r"table\s*[\dIVX]", re.IGNORECASE).match,
    "ends with a full stop": re.compile(r"\.$").search,
    "ends with a hyphen": re.compile(r"\w-$").search,
    "ends with a comma": re.compile(r",$").search,
    "ends with a colon": re.compile(r":$").search,
    "ends with a question mark": re.compile(r"\?$").search,
    "ends with a bracketed number": re.compile(r"\(\d+[a-z]?\)\.?$").search,
    "is a number": re.compile(r"[\d.,\-–\s]+$").match,
    "is one character": re.compile(r".$").match,
    "is one word": re.compile(r"\S+$").match,
    "is in capitals": str.isupper,
    "is in title case": lambda line: _is_title(line),
    "has a tab": re.compile(r"\t").search,
    "has an at sign": re.compile(r"\S@\S").search,
    "has an address of the web": re.compile(r"https?\s?:|www\s?\.|ftp\s?:").search,
    "has a year": re.compile(r"\b(19|20)\d\d[a-z]?\b").search,
    "has a year in brackets": re.compile(r"[(\s](19|20)\d\d[a-z]?\)").search,
    "has a range of numbers": re.compile(r"\b\d{1,4}[-–]\d{1,4}\b").search,
    "has initials": re.compile(r"\b[A-Z]\.\s?(-?[A-Z]\.\s?)?[A-Z][a-z]").search,
    "has an equals sign": re.compile(r"[=≤≥≈<>∈]").search,
    "has a sign of mathematics": re.compile(r"[∑∏∫√∞∂±×→∀∃α-ωΑ-Ω|^\\]").search,
    "has a question mark": re.compile(r"\?").search,
    "has quotation marks": re.compile('["“”‘]').search,
    "has a word of copyright": re.compile(r"©|copyright|permission", re.IGNORECASE).search,
    "has a word of a place": re.compile(
        r"universit|department|dept\.|institute|laborator|school of|college", re.IGNORECASE
    ).search,
    "has a word of print": re.compile(
        r"proc\.|proceedings|pp\.|pages|vol\.|journal|conference|press|springer|acm|ieee", re.IGNORECASE
    ).search,
}

# Every entry measures a line of text.
_MEASURES: dict[str, Callable[[str], float]] = {
    "characters": len,
    "words": lambda line: len(line.split()),
    "tabs": lambda line: line.count("\t"),
    "share of digits": lambda line: _share(line, str.isdigit),
    "share of capitals": lambda line: _share(line, str.isupper),
    "share of letters": lambda line: _share(line, str.isalpha),
    "share of spaces": lambda line: _share(line, str.isspace),
    "letters a word": lambda line: len("".join(line.split())) / max(1, len(line.split())),
    "longest word": lambda line: max(map(len, line.split()), default=0),
}


def line_features(documents: Sequence[Sequence[str]]) -> Sequences:
    """Columns for every line of some documents: what kind of line it looks to be, whatever its words are.

    Booleans: how the line starts (capital, small letter, digit, the number of a section, a subsection, a
    subsubsection or a list item, bullet, bracketed number, other punctuation, footnote mark, the name of a figure or
    table), how it ends (full stop, hyphen, comma, colon, question mark, bracketed number), what it is as a whole (a
    number, one character, one word, capitals, title case) and what it holds (tab, @, address of the web, year, year
    in brackets, range of numbers, initials, equals sign, signs of mathematics, question mark, quotation marks, words
    of copyright, of a place, of print). Indentation is not among them: the text has lost it.

    Numbers: characters, words, tabs, the shares of digits, capitals, letters and spaces, letters a word, the longest
    word; the length as a share of the usual length in its document; its place in the document (0 first, 1 last), and
    the numbers of lines before and after it, at most 100.

    Categorical: the shape of the first word ("Aa", "9.9", "[9]" …), the first word where it is one of 35 that
    begin parts of papers ("abstract", "figure" …; else "other"), the last character where it is no letter or digit.
    """
    lines = [line for document in documents for line in document]
    columns: dict[str, AnyArray] = {
        name: np.array([bool(test(line)) for line in lines], dtype=bool) for name, test in _TESTS.items()
    }
    kinds: dict[str, Kind] = dict.fromkeys(columns, "boolean")
    numbers = {
        name: np.array([measure(line) for line in lines], dtype=np.float64) for name, measure in _MEASURES.items()
    }
    numbers |= {name: np.array(values, dtype=np.float64) for name, values in _places(documents).items()}
    words = {
        "shape of the first word": [_shape(line) for line in lines],
        "first word": [_first_word(line) for line in lines],
        "last character": [_last_character(line) for line in lines],
    }
    for name, values in words.items():
        columns[name] = np.array(values, dtype=object)
        kinds[name] = "categorical"
    columns |= numbers
    kinds |= dict.fromkeys(numbers, "numeric")
    offsets = np.cumsum([0, *(len(document) for document in documents)])
    return Sequences(columns, offsets, kinds)


def yes_and_no(X: Sequences) -> Sequences:
    """The columns of yes and no alone, as the FAQs' lines have."""
    names = [name for name, kind in X.kinds.items() if kind == "boolean"]
    columns, offsets, _ = X.compact()
    return Sequences({name: columns[name] for name in names}, offsets, dict.fromkeys(names, "boolean"))


def _places(documents: Sequence[Sequence[str]]) -> dict[str, list[float]]:
    """Where each line stands in its document, and how long it is for that document."""
    found: dict[str, list[float]] = {
        name: [] for name in ("place in the document", "lines before", "lines after", "length for the document")
    }
    for document in documents:
        n = len(document)
        usual = max(1.0, statistics.median(map(len, document))) if n else 1.0
        found["place in the document"] += [t / max(1, n - 1) for t in range(n)]
        found["lines before"] += [min(t, 100) for t in range(n)]
        found["lines after"] += [min(n - 1 - t, 100) for t in range(n)]
        found["length for the document"] += [len(line) / usual for line in document]
    return found


def _share(line: str, kind: Callable[[str], bool]) -> float:
    return sum(map(kind, line)) / max(1, len(line))


def _is_title(line: str) -> bool:
    """Whether every long word starts with a capital, and there are two of them."""
    long = [word for word in line.split() if len(word) > 3 and word[0].isalpha()]
    return len(long) > 1 and all(word[0].isupper() for word in long)


def _shape(line: str) -> str:
    """The first word with A, a and 9 for runs of capitals, small letters and digits; at most three characters."""
    word = line.split(maxsplit=1)[0] if line.split() else ""
    for pattern, sign in ((r"[^\W\d_a-z]+", "A"), (r"[a-z]+", "a"), (r"\d+", "9")):
        word = re.sub(pattern, sign, word)
    return word[:3]


def _first_word(line: str) -> str:
    found = re.match(r"[\W\d]*([A-Za-z]+)", line)
    word = found[1].lower() if found else ""
    return word if word in _KEYWORDS or not word else "other"


def _last_character(line: str) -> str:
    return line[-1] if line and not line[-1].isalnum() else ""
