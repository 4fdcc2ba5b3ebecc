"""`features="ner"` and `features="chunk"` beside the features that the benchmarks write by hand, inside training parts.

    HEDGEROW_DATA=/path/to/data python benchmarks/word_features.py [--train 4000] [--test 2000] [--only chunking]

Sentences are drawn from the training files (seed 0), some to train and others to test; test files are not read.
CPU seconds of one thread, features included.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.conll2000_template import template
from benchmarks.public_data import _entity_features
from hedgerow import LinearCRF
from hedgerow.data.readers import read_conll
from hedgerow.metrics import span_f1


def run(name: str, make: Any, model: LinearCRF, train: tuple[Any, Any], test: tuple[Any, Any]) -> None:
    """Train, and print one row."""
    begin = time.process_time()
    made = make(train[0])
    ready = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(made, train[1])
    end = time.process_time()
    score = span_f1(test[1], model.predict(make(test[0])))
    print(f"| {name} | {100 * score:.2f} | {ready - begin:.1f} | {end - begin:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--train", type=int, default=4000)
    parser.add_argument("--test", type=int, default=2000)
    parser.add_argument("--only", choices=("chunking", "entities"))
    options = parser.parse_args()
    folder = Path(os.environ["HEDGEROW_DATA"])
    print("| features | span F1, % | seconds of making them | seconds in all |\n| --- | --- | --- | --- |")
    for task in ("chunking", "entities") if options.only is None else (options.only,):
        path = "conll2000/train.txt" if task == "chunking" else "jnlpba/Genia4ERtask1.iob2"
        X, y = read_conll(folder / path)
        assert y is not None
        order = np.random.default_rng(0).permutation(len(X))
        parts = order[: options.train], order[options.train : options.train + options.test]
        train, test = ((X[part], y[part]) for part in parts)
        common: dict[str, Any] = {"n_jobs": 1, "decoder": "viterbi"}
        if task == "chunking":
            run("chunking: CRF++'s template", template().apply, LinearCRF(window=0, **common), train, test)
            run("chunking: features='chunk'", lambda X: X, LinearCRF(features="chunk", **common), train, test)
        else:
            run("entities: dicts by hand", _dicts, LinearCRF(window=0, **common), train, test)
            run("entities: features='ner'", lambda X: X, LinearCRF(features="ner", **common), train, test)


def _dicts(X: Any) -> list[Any]:
    words, ends = X.columns["0"].tolist(), X.offsets.tolist()
    return [_entity_features(words[a:b]) for a, b in pairwise(ends)]


if __name__ == "__main__":
    main()
