"""Search for a regular expression of a template in time that is bounded: templates travel in model files, and whoever
wrote one chose the expression.

Expressions are those that `templates.translate` makes: characters or sets of them, each once, perhaps, or any number of
times, and anchors. Python's engine tries the ways to match one after the other, which are as many as a power of the
length of the text with one factor per star. Where that may be too many, the same ways are tried here in the same
order, and none twice: a place in the expression and one in the text that once failed together always do.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

MOST_WAYS = 100_000  # that Python's engine may try

_START, _END = r"\A", r"\Z"
_ITEM = re.compile(r"(\[(?:\\.|[^\]\\])*\]|\\.|[^\\])(\*\?|\?)?", re.DOTALL)


def searcher(pattern: str) -> Callable[[str], tuple[int, int] | None]:
    """What finds the first place of an expression in a text: where it begins and ends, or None."""
    quick = re.compile(pattern).search
    stars, questions = pattern.count("*?"), pattern.count("?")

    def search(text: str) -> tuple[int, int] | None:
        if (1 + stars) * math.log(len(text) + 2) + (questions - stars) * math.log(2) > math.log(MOST_WAYS):
            return bounded_search(pattern, text)
        found = quick(text)
        return found.span() if found else None

    return search


def bounded_search(pattern: str, text: str) -> tuple[int, int] | None:
    """As `re.search`, in at most len(pattern) · len(text) steps."""
    anchored, ends = pattern.startswith(_START), pattern.endswith(_END)
    body = pattern[len(_START) if anchored else 0 : len(pattern) - len(_END) if ends else None]
    items = [(re.compile(found[1], re.DOTALL).match, found[2]) for found in _ITEM.finditer(body)]
    failed: set[tuple[int, int]] = set()
    for begin in range(1 if anchored else len(text) + 1):
        ahead = [(0, begin)]  # what is still to be tried, the next last
        while ahead:
            place = i, t = ahead.pop()
            if place in failed:
                continue
            failed.add(place)  # where it does not fail, all is done
            if i == len(items):
                if ends and t < len(text):
                    continue
                return begin, t
            match, repeat = items[i]
            here = t < len(text) and match(text, t) is not None
            if repeat == "*?":  # as few as can be: go on first
                ahead += [(i, t + 1)] * here + [(i + 1, t)]
            elif repeat == "?":
                ahead += [(i + 1, t)] + [(i + 1, t + 1)] * here
            elif here:
                ahead.append((i + 1, t + 1))
    return None
