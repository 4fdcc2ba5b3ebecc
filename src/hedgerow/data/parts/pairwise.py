"""NumPy's sum of an array that lies in parts, to the bit: the order of its additions, followed across the parts.

NumPy halves an array until at most 128 numbers are left (halves are multiples of eight) and adds up the halves. The sum
of a half is asked of the part that has it; numbers of a last piece that two parts share are asked for themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hedgerow.legend import FloatArray

_BLOCK = 128  # numbers that NumPy adds up without halving them

Range = tuple[int, int, bool]  # from, to (in a part), and whether the numbers themselves are wanted


class SharedSum:
    """How the sum of so many numbers of each part is made."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.ends = np.cumsum([0, *sizes]).tolist()
        self.wanted: list[list[Range]] = [[] for _ in sizes]
        self._steps: list[list[tuple[int, int]] | None] = []  # the answers that are pieces of a block; None: add two
        if self.ends[-1]:
            self._plan(0, self.ends[-1])

    def _plan(self, begin: int, end: int) -> None:
        """Post-order: what is pushed, and where two sums are added."""
        part = int(np.searchsorted(self.ends, begin, side="right")) - 1
        if end <= self.ends[part + 1]:
            self._steps.append([(part, self._want(part, begin, end, False))])
        elif end - begin <= _BLOCK:
            pieces = []
            while begin < end:
                part = int(np.searchsorted(self.ends, begin, side="right")) - 1
                stop = min(end, self.ends[part + 1])
                pieces.append((part, self._want(part, begin, stop, True)))
                begin = stop
            self._steps.append(pieces)
        else:
            half = (end - begin) // 2
            half -= half % 8
            self._plan(begin, begin + half)
            self._plan(begin + half, end)
            self._steps.append(None)

    def _want(self, part: int, begin: int, end: int, numbers: bool) -> int:
        self.wanted[part].append((begin - self.ends[part], end - self.ends[part], numbers))
        return len(self.wanted[part]) - 1

    def total(self, answers: Sequence[Sequence[FloatArray]]) -> float:
        """The sum, from what `answer` gave for each part."""
        stack: list[float] = []
        for step in self._steps:
            if step is None:
                last = stack.pop()
                stack[-1] += last
            else:
                stack.append(float(np.concatenate([answers[part][j] for part, j in step]).sum()))
        return stack[0] if stack else 0.0


def answer(numbers: FloatArray, wanted: Sequence[Range]) -> list[FloatArray]:
    """What a part gives: sums, as arrays of one number, and numbers themselves."""
    return [numbers[a:b].copy() if raw else np.array([numbers[a:b].sum()]) for a, b, raw in wanted]
