"""LinearCRF beside the CRFs of the package index that train: python-crfsuite, chaine and underthesea-core.

    python benchmarks/other_crfs.py [--sentences 2000] [--iterations 50] [--output other_crfs.json]

Chunking, the same features for all (python-crfsuite's names of them for those that take lists), L-BFGS with the same
penalty and number of iterations, one thread. CPU seconds of training from dicts to a model and of tagging the test
sentences from dicts, and the share of labels that are right. A package that is not installed is left out, and told.
Iterations are not worth the same: hedgerow's are of scaled variables, and underthesea-core does not say how it scales
its penalty.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.linear_vs_crfsuite import L2, features, labels, load
from benchmarks.machine import describe

os.environ.update(dict.fromkeys(("NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"), "1"))
Tag = Callable[[Any], Any]
Train = Callable[[Any, Any, int, Path], Tag]


def hedgerow(X: Any, y: Any, iterations: int, folder: Path) -> Tag:
    from hedgerow import LinearCRF

    model = LinearCRF(window=0, l2=L2, max_iter=iterations, tol=0.0, n_jobs=1).fit(X, y)
    return lambda X: model.predict(X)


def crfsuite(X: Any, y: Any, iterations: int, folder: Path) -> Tag:
    import pycrfsuite

    trainer = pycrfsuite.Trainer(verbose=False, params={"c2": L2, "max_iterations": iterations})
    for xs, ys in zip(X, y):
        trainer.append(xs, ys)
    trainer.train(str(folder / "crfsuite"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(folder / "crfsuite"))
    return lambda X: [tagger.tag(xs) for xs in X]


def chaine(X: Any, y: Any, iterations: int, folder: Path) -> Tag:
    from chaine.crf import Model, Trainer

    path = str(folder / "chaine")
    Trainer("lbfgs", max_iterations=iterations, c2=L2).train(X, y, model_filepath=path)
    model = Model(path)
    return lambda X: model.predict(X)


def underthesea(X: Any, y: Any, iterations: int, folder: Path) -> Tag:
    from underthesea_core import CRFTagger, CRFTrainer

    def as_lists(X: Any) -> Any:
        return [[[f"{key}:{value}" for key, value in row.items()] for row in xs] for xs in X]

    trainer = CRFTrainer(loss_function="lbfgs", l1_penalty=0.0, l2_penalty=L2, max_iterations=iterations, verbose=0)
    trainer.train(as_lists(X), y)
    tagger = CRFTagger.from_model(trainer.get_model())
    return lambda X: [tagger.tag(xs) for xs in as_lists(X)]


CONTENDERS: dict[str, tuple[str, Train]] = {
    "hedgerow": ("hedgerow", hedgerow),
    "python-crfsuite": ("pycrfsuite", crfsuite),
    "chaine": ("chaine", chaine),
    "underthesea-core": ("underthesea_core", underthesea),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=2000, help="training sentences")
    parser.add_argument("--iterations", type=int, default=50)
    parser.add_argument("--output", type=Path)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.INFO)  # chaine tells every iteration
    machine = describe((*CONTENDERS, "numpy", "numba"))
    name, train, test = load(asked.sentences)
    X, y, X_test, y_test = list(features(train)), labels(train), list(features(test)), labels(test)
    found: dict[str, Any] = {}
    print(f"{name}, {len(X)} sentences, {asked.iterations} iterations\n")
    print("| CPU s, one thread | train | tag | right % |\n| --- | --- | --- | --- |", flush=True)
    for contender, (module, work) in CONTENDERS.items():
        if find_spec(module) is None:
            print(f"| {contender} | not installed |", flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            work(X[:20], y[:20], 2, Path(folder))(X_test[:2])  # kernels are loaded, modules imported
            began = time.process_time()
            tag = work(X, y, asked.iterations, Path(folder))
            trained = time.process_time()
            tagged = tag(X_test)
            ended = time.process_time()
        pairs = [(own, true) for ours, theirs in zip(tagged, y_test) for own, true in zip(ours, theirs)]
        right = sum(own == true for own, true in pairs) / len(pairs)
        found[contender] = {"train": trained - began, "tag": ended - trained, "right": right}
        print(f"| {contender} | {trained - began:.2f} | {ended - trained:.3f} | {100 * right:.2f} |", flush=True)
    if asked.output:
        asked.output.write_text(json.dumps({"machine": machine, "data": name, "results": found}, indent=1))


if __name__ == "__main__":
    main()
