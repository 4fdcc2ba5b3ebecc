"""Hostile inputs by the thousand: files for every reader, and calls of the API. Each is drawn from a seed and a number,
so that one that fails can be drawn again.

    python -m tests.fuzz.inputs --readers 100000 --api 2000 --seed 7

A reader gives sequences or an InputError. A model that is fitted, and asked, gives labels that it knows and
probabilities that are numbers and add up to 1, or an InputError. Nothing else is raised, and nothing takes longer than
ten seconds. Model files are the matter of `tests/codec/mutants.py`; `make fuzz` runs both.
"""

from __future__ import annotations

import argparse
import io
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import hedgerow
from hedgerow.data.readers import read_conll, read_crfsuite, read_jsonl, read_table
from hedgerow.data.readers.templates import Template
from hedgerow.errors import HedgerowError

from .clock import limited

Draw = Callable[[np.random.Generator], None]


class Insane(Exception):
    """An answer that is none."""


# ------------------------------------------------------------------------------------------------ readers

SEEDS = {
    "conll": b"He PRP B-NP\nreckons VBZ B-VP\n\n-DOCSTART- x x\n# c d\nthe\tDT\tB-NP\n",
    "csv": b's,label,w,n\n1,a,"x, y",1.5\n1,b,,\n2,a,true,1e3\n',
    "tsv": b"s\tlabel\tw\n1\ta\tx\n2\tb\t\n",
    "jsonl tokens": b'{"tokens": ["a", null], "labels": ["x", ["x", "y"]]}\n{"tokens": [["b", "c"]]}\n',
    "jsonl features": b'{"features": [{"w": "a", "n": 1.5, "t": ["p"], "d": {"e": true}}], "labels": ["x"]}\n',
    "jsonl columns": b'{"columns": {"w": ["a", "b"], "c": "de", "n": [1, NaN]}, "labels": [1, null]}\n',
    "crfsuite": b"x\tw=a:2\tb\\:c\n\ny\tw=b:-1e5\n",
    "template": b'U00:%x[-1,0]/%X[0,1]\nU01:%t[0,0,"^\\u.*\\d?$"]\nB\n*:%m[1,0,"a*b"] # c\n',
}
PIECES = (
    *(
        b"\n",
        b"\r",
        b"\r\n",
        b"\t",
        b" ",
        b",",
        b'"',
        b"'",
        b"\\",
        b":",
        b"=",
        b"[",
        b"]",
        b"{",
        b"}",
        b"%x[",
        b"*",
        b"?",
    ),
    *(b"\0", b"\xff", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\xed\xa0\x80", b"\x1b[31m", b"\\ud800", b"\xc2\xa0", b"NaN"),
    *(b"Infinity", b"1e999", b"-0", b"9" * 400, b"null", b"true", b"-DOCSTART-", b"#", b"@", b"\n\n", b"label", b"1_0"),
)


def change(rng: np.random.Generator, data: bytes) -> bytes:
    """A file with some pieces put in, taken out, doubled, moved or overwritten."""
    for _ in range(int(rng.integers(1, 4))):
        i, j = sorted(int(k) for k in rng.integers(len(data) + 1, size=2))
        piece = PIECES[int(rng.integers(len(PIECES)))]
        match int(rng.integers(6)):
            case 0:
                data = data[:i] + piece + data[i:]
            case 1:
                data = data[:i] + data[min(j, i + 9) :]
            case 2:
                data = data[:j] + data[i:j] * int(rng.integers(1, 4)) + data[j:]
            case 3:
                data = data[:i] + bytes(rng.integers(256, size=3, dtype=np.uint8)) + data[i + 3 :]
            case 4:
                data = data[i:j] + data[:i] + data[j:]
            case _:
                data = data.replace(data[i : i + 1], piece, int(rng.integers(1, 4))) if i < len(data) else data
    return data[:5000]


def read(format: str, data: bytes) -> None:
    """Read a file as one of a format, and look at what it gives."""
    source = io.BytesIO(data)
    if format == "template":
        X, _ = read_conll(["He PRP B-NP", "aab 1 x", ""])
        Template.read(source).apply(X)
        return
    if format == "conll":
        X, y = read_conll(source)
    elif format.startswith("jsonl"):
        X, y = read_jsonl(source)
    elif format == "crfsuite":
        X, y = read_crfsuite(source)
    else:
        X, y = read_table(source, "s", "label", format=format)  # type: ignore[arg-type]
    if len(X) == 0 or (y is not None and len(X) != len(y)):
        raise Insane(f"{len(X)} sequences")
    hedgerow.learn(X, y)


def fuzz_reader(rng: np.random.Generator) -> None:
    format = sorted(SEEDS)[int(rng.integers(len(SEEDS)))]
    read(format, change(rng, SEEDS[format]))


# ------------------------------------------------------------------------------------------------ calls

VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        0,
        -1,
        1.5,
        1e155,
        -1.7e308,
        5e-324,
        float("nan"),
        float("inf"),
        10**400,
        "",
        "a",
        "$\x1b[0m",
        "x" * 999,
    ),
    *(
        [],
        [None],
        ["a", "a"],
        {},
        {"a": 1},
        {"a": {"b": "c"}},
        (),
        {1, 2},
        b"a",
        object(),
        np.float32(1.5),
        np.ma.masked,
    ),
)
MODELS: dict[str, dict[str, Any]] = {
    "LinearCRF": {"max_iter": 3, "window": 0},
    "TreeCRF": {"n_estimators": 2, "early_stopping": False, "window": 1},
    "MEMM": {"window": 0},
    "HMM": {"max_iter": 3},
    "SlidingWindow": {"window": 0, "estimator": hedgerow.TreeCRF(n_estimators=5)},
    "BeamSearchTagger": {"max_iter": 1, "early_stopping": False, "window": 0},
}


def sequence(rng: np.random.Generator, shape: int) -> Any:
    """A sequence of one of five shapes."""
    n = int(rng.integers(1, 5))
    words = [str(w) for w in rng.choice(["a", "b", "c"], size=n)]
    if shape == 0:
        return words
    if shape == 1:
        return [{"w": word, "n": float(rng.normal()), "t": [word]} for word in words]
    numbers = rng.normal(size=(n, 2))
    return [words[:1], numbers.tolist(), numbers, np.ma.MaskedArray(numbers, numbers > 1)][shape - 2]


def spoil(rng: np.random.Generator, X: list[Any]) -> None:
    """One value of one sequence becomes another."""
    i, value = int(rng.integers(len(X))), VALUES[int(rng.integers(len(VALUES)))]
    match int(rng.integers(4)):
        case 0:
            X[i] = value
        case 1 if isinstance(X[i], list) and X[i]:
            X[i][int(rng.integers(len(X[i])))] = value
        case 2 if isinstance(X[i], list) and X[i] and isinstance(X[i][0], dict):
            X[i][0][str(rng.choice(["w", "n", "t", "q"]))] = value
        case 3 if isinstance(X[i], np.ndarray):
            X[i] = X[i] * 10.0 ** int(rng.integers(-320, 308))
        case _ if rng.random() < 0.1 and isinstance(X[i], (list, np.ndarray)):
            X[i] = X[i][:0]


def fuzz_call(rng: np.random.Generator) -> None:
    """Fit a model to a corpus, ask it about another, one of them spoilt or both."""
    name = list(MODELS)[int(rng.integers(len(MODELS)))]
    shape = int(rng.integers(6))
    X, other = ([sequence(rng, shape) for _ in range(6)] for _ in range(2))
    y: list[Any] = [[str(label) for label in rng.choice(["p", "q"], size=len(item))] for item in X]
    options: dict[str, Any] = dict(MODELS[name])
    given: dict[str, Any] = {}
    for _ in range(int(rng.integers(1, 3))):
        match int(rng.integers(5)):
            case 0 | 1:
                spoil(rng, X if rng.random() < 0.5 else other)
            case 2:
                spoil(rng, y)
            case 3:
                weights = [0.0, 1.0, 2.0, 1e-320, 1e9]
                given["sample_weight"] = rng.choice(weights if rng.random() < 0.8 else [*weights, -1.0, np.nan], size=6)
            case _:
                known = sorted(getattr(hedgerow, name)().get_params())
                options[known[int(rng.integers(len(known)))]] = VALUES[int(rng.integers(len(VALUES)))]
    options = {"random_state": 0} | options if "random_state" in getattr(hedgerow, name)().get_params() else options
    options |= {"n_jobs": 1, "verbose": 0}
    model = getattr(hedgerow, name)(**options).fit(X, y, **given)
    labels, known = model.predict(other), set(model.classes_.tolist())
    if [len(own) for own in labels] != [len(item) for item in other] or not {x for own in labels for x in own} <= known:
        raise Insane(f"labels {labels!r}")
    if hasattr(model, "predict_proba"):
        for probs in model.predict_proba(other):
            if not np.allclose(probs.sum(axis=1), 1.0, atol=1e-6):
                raise Insane(f"probabilities {probs!r}")


# ------------------------------------------------------------------------------------------------ running

KINDS: dict[str, Draw] = {"readers": fuzz_reader, "api": fuzz_call}


def attempt(kind: str, seed: int, i: int) -> str:
    """What becomes of input i: "used" or "refused". Anything else is raised."""
    rng = np.random.default_rng([seed, i, len(kind)])
    try:
        with limited(), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            KINDS[kind](rng)
    except HedgerowError:
        return "refused"
    return "used"


def run(kind: str, n: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Try n inputs; how many were used and refused, and what went wrong."""
    outcomes, failures = Counter[str](), []
    for i in range(n):
        try:
            outcomes[attempt(kind, seed, i)] += 1
        except Exception as error:
            outcomes["failed"] += 1
            own = [frame for frame in traceback.extract_tb(error.__traceback__) if "hedgerow" in frame.filename]
            where = f"{Path(own[-1].filename).name}, line {own[-1].lineno}" if own else "?"
            failures.append(f"{kind}, seed {seed}, input {i}: {error!r:.200} in {where}")
    return outcomes, failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--readers", type=int, default=1000, help="files for readers")
    parser.add_argument("--api", type=int, default=100, help="corpora that models are fitted to")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    failed = False
    for kind in KINDS:
        begin = time.perf_counter()
        outcomes, wrong = run(kind, getattr(options, kind), options.seed)
        print(*wrong, sep="\n", end="\n" if wrong else "")
        print(f"{kind}, seed {options.seed}: {dict(outcomes)}, {time.perf_counter() - begin:.0f} s", flush=True)
        failed |= bool(wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
