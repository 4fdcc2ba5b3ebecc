"""Bob Jenkins' hash lookup3 of 2006 (hashlittle, with the seed 0), a word at a time."""

from __future__ import annotations

_WORD = 2**32


def lookup3(key: bytes) -> int:
    """The hash of a key that is not empty."""
    a = b = c = (0xDEADBEEF + len(key)) % _WORD
    while len(key) > 12:
        a, b, c = _added(a, b, c, key[:12])
        a, c = _step(a, c, b, 4)
        b, a = _step(b, a, c, 6)
        c, b = _step(c, b, a, 8)
        a, c = _step(a, c, b, 16)
        b, a = _step(b, a, c, 19)
        c, b = _step(c, b, a, 4)
        key = key[12:]
    a, b, c = _added(a, b, c, key)
    c = _last(c, b, 14)
    a = _last(a, c, 11)
    b = _last(b, a, 25)
    c = _last(c, b, 16)
    a = _last(a, c, 4)
    b = _last(b, a, 14)
    return _last(c, b, 24)


def _added(a: int, b: int, c: int, block: bytes) -> tuple[int, int, int]:
    """The state after up to twelve bytes, those that are missing being zeros."""
    block = block.ljust(12, b"\0")
    x, y, z = (int.from_bytes(block[i : i + 4], "little") for i in (0, 4, 8))
    return (a + x) % _WORD, (b + y) % _WORD, (c + z) % _WORD


def _turned(x: int, k: int) -> int:
    return (x << k | x >> (32 - k)) % _WORD


def _step(x: int, y: int, z: int, k: int) -> tuple[int, int]:
    """x ← (x − y) xor y turned by k, then y ← y + z."""
    return ((x - y) % _WORD) ^ _turned(y, k), (y + z) % _WORD


def _last(x: int, y: int, k: int) -> int:
    return ((x ^ y) - _turned(y, k)) % _WORD
