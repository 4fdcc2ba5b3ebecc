"""A list of distinct strings that costs its bytes: UTF-8 and offsets, with a dict only while somebody looks up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hedgerow.legend import INDEX, IndexArray


class Vocabulary:
    """Distinct strings in a fixed order. `utf8` is uint8[bytes], `ends` int64[V]: string i ends at ends[i]."""

    def __init__(self, names: Sequence[str]) -> None:
        joined = "".join(names)
        data = joined.encode("utf-8", "surrogatepass")
        if len(data) == len(joined):  # all ASCII: characters are bytes
            sizes = np.fromiter(map(len, names), dtype=INDEX, count=len(names))
        else:
            encoded = (len(name.encode("utf-8", "surrogatepass")) for name in names)
            sizes = np.fromiter(encoded, dtype=INDEX, count=len(names))
        self.utf8: npt.NDArray[np.uint8] = np.frombuffer(data, dtype=np.uint8)
        self.ends: IndexArray = np.cumsum(sizes, dtype=INDEX)
        self._lookup: dict[str, int] | None = None

    @classmethod
    def from_arrays(cls, utf8: npt.NDArray[np.uint8], ends: IndexArray) -> Vocabulary:
        """The vocabulary that these two arrays hold; ValueError where they do not fit together."""
        made = cls.__new__(cls)
        made.utf8, made.ends, made._lookup = utf8, ends, None
        fits = (ends[-1] if len(ends) else 0) == len(utf8) and np.all(ends >= 0)
        if not fits or np.any(ends[1:] < ends[:-1]):  # differences could wrap
            raise ValueError("the offsets of a vocabulary do not fit its text")
        made.names()
        return made

    def extended(self, names: Sequence[str]) -> Vocabulary:
        """This vocabulary and more strings, none of which it has. The lookup is handed on, not built again."""
        made = Vocabulary(names)
        made._lookup = self.lookup.copy()
        made._lookup.update(zip(names, range(len(self), len(self) + len(names))))
        before = int(self.ends[-1]) if len(self) else 0
        made.utf8 = np.concatenate([self.utf8, made.utf8])
        made.ends = np.concatenate([self.ends, made.ends + before])
        return made

    def __len__(self) -> int:
        return len(self.ends)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return np.array_equal(self.utf8, other.utf8) and np.array_equal(self.ends, other.ends)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} strings)"

    def __getstate__(self) -> dict[str, object]:
        return {"utf8": self.utf8, "ends": self.ends, "_lookup": None}

    def names(self) -> list[str]:
        """All strings, in order."""
        text = self.utf8.tobytes()
        ends = self.ends.tolist()
        if text.isascii():
            whole = text.decode("ascii")
            return [whole[begin:end] for begin, end in zip([0, *ends], ends)]
        return [text[begin:end].decode("utf-8", "surrogatepass") for begin, end in zip([0, *ends], ends)]

    @property
    def lookup(self) -> dict[str, int]:
        """String to place in the order. Built at the first use and kept; never pickled."""
        if self._lookup is None:
            self._lookup = {name: i for i, name in enumerate(self.names())}
        return self._lookup
