"""How long one short sequence takes, beside python-crfsuite and LightGBM, in one run.

    python benchmarks/latency.py [--repeats 200] [--quick] [--json latency.json]

Medians of the CPU time of a call, one thread. Words are those of CoNLL-2000 where HEDGEROW_DATA has it, otherwise made
data of the same shape; CRFsuite's model has the same attributes and the same penalty. Numbers are made: 32 a row, five
labels; LightGBM has as many iterations and leaves as the trees of TreeCRF.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.linear_vs_crfsuite import features, labels, load
from benchmarks.machine import Watch, describe

Row = tuple[str, float, float | None]  # what was done, µs of hedgerow, µs of the other


def median_us(call: Callable[[], Any], repeats: int) -> float:
    """The median of the CPU time of a call, in µs, each over a few of them where one is too short for the clock."""
    call()
    begin = time.perf_counter()
    call()
    few = max(1, int(2e-4 / max(time.perf_counter() - begin, 1e-7)))
    found = []
    for _ in range(repeats):
        begin_cpu = time.process_time_ns()
        for _ in range(few):
            call()
        found.append((time.process_time_ns() - begin_cpu) / few / 1000)
    return statistics.median(found)


def words(repeats: int, sentences: int) -> list[Row]:
    import pycrfsuite

    from hedgerow.compat import CRF

    _, train, test = load(sentences)
    X, y = list(features(train)), labels(train)
    trainer = pycrfsuite.Trainer(verbose=False, params={"c2": 1.0, "max_iterations": 30})
    for xs, ys in zip(X, y):
        trainer.append(xs, ys)
    with tempfile.TemporaryDirectory() as folder:
        trainer.train(f"{folder}/model")
        tagger = pycrfsuite.Tagger()
        tagger.open(f"{folder}/model")
        ours = CRF(c2=1.0, max_iterations=30).fit(X, y)
        new, one_by_one = list(features(test))[:1517], ours.model_.predictor()
        rows: list[Row] = []
        for length in (1, 3, 25):
            one = next(xs for xs in new if len(xs) >= length)[:length]
            for name, call in (
                (f"CRF.predict_single, {length} words as dicts", partial(ours.predict_single, one)),
                (f"LinearCRF.predictor().predict_proba, {length} words", partial(one_by_one.predict_proba, one)),
            ):
                rows.append((name, median_us(call, repeats), median_us(partial(tagger.tag, one), repeats)))
        few = max(3, repeats // 40)
        theirs = median_us(lambda: [tagger.tag(xs) for xs in new], few)
        rows.append((f"CRF.predict, {len(new)} sentences", median_us(lambda: ours.predict(new), few), theirs))
    return rows


def numbers(repeats: int, iterations: int) -> list[Row]:
    import lightgbm
    import pandas as pd

    from hedgerow import LinearCRF, TreeCRF

    rng = np.random.default_rng(0)
    y = (rng.random((60, 100)) < 0.1).cumsum(axis=1) % 5
    X = rng.normal(size=(60, 100, 32)) + 0.5 * y[..., None] * (np.arange(32) % 3 == 0)
    rows: list[Row] = []
    given = {"n_estimators": iterations, "early_stopping": False, "max_leaf_nodes": 16, "window": 0, "random_state": 0}
    theirs = lightgbm.LGBMClassifier(n_estimators=iterations, num_leaves=16, n_jobs=1, verbose=-1)
    theirs.fit(X.reshape(-1, 32), y.ravel())
    one = X[0, :1]
    frame = pd.DataFrame(one, columns=[str(j) for j in range(32)])
    for edges in ("shared", "joint"):
        model = TreeCRF(edges=edges, **given).fit(list(X), list(y))
        name = f"TreeCRF({edges!r}).predict_proba, {iterations} iterations"
        for what, x in (("a row", one), ("a row in a frame", frame), ("25 rows", X[0, :25])):
            peer = median_us(partial(theirs.predict_proba, np.asarray(x)), repeats)
            rows.append((f"{name}, {what}", median_us(partial(model.predict_proba, [x]), repeats), peer))
    linear = LinearCRF(max_iter=20, window=0).fit(list(X), list(y))
    rows.append(("LinearCRF.predict_proba, a row", median_us(lambda: linear.predict_proba([one]), repeats), None))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--quick", action="store_true", help="small models")
    parser.add_argument("--json", type=Path, help="write machine, load and numbers here")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    about, watch = describe(("numpy", "numba", "python-crfsuite", "lightgbm")), Watch()
    rows = words(given.repeats, 200 if given.quick else 2000)
    rows += numbers(given.repeats, 20 if given.quick else 200)
    about["load_of_others"] = watch.others()
    print("| CPU µs a call, median | hedgerow | CRFsuite or LightGBM |\n| --- | --- | --- |")
    for name, ours, theirs in rows:
        print(f"| {name} | {ours:,.0f} | {'' if theirs is None else f'{theirs:,.0f}'} |")
    print(f"Others used {about['load_of_others']:.0%} of the machine.")
    if given.json:
        given.json.write_text(json.dumps({"machine": about, "microseconds": rows}, indent=1))


if __name__ == "__main__":
    main()
