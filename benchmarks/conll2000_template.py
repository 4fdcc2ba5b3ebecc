"""CoNLL-2000 with the chunking template that CRF++ ships: tokens right and span F1.

    HEDGEROW_DATA=/path/to/data python benchmarks/conll2000_template.py [--pairs observed]

The settings are CRF++'s defaults, not tuned here: every label of every feature has a weight, and C = 1, which is
l2 = 0.5. With `--pairs observed` only the pairs seen in training have one, as in CRFsuite.
Published with this template, order 1, L2: about 96.0 % and 93.7 (CRF++ and crfsgd 93.74).
"""

from __future__ import annotations

import argparse
import time

from hedgerow import LinearCRF
from hedgerow.data.readers import Template
from hedgerow.datasets import load_conll2000
from hedgerow.metrics import label_accuracy, span_f1

WORDS = ("[-2,0]", "[-1,0]", "[0,0]", "[1,0]", "[2,0]", "[-1,0] [0,0]", "[0,0] [1,0]")
TAGS = (
    *("[-2,1]", "[-1,1]", "[0,1]", "[1,1]", "[2,1]", "[-2,1] [-1,1]", "[-1,1] [0,1]", "[0,1] [1,1]", "[1,1] [2,1]"),
    *("[-2,1] [-1,1] [0,1]", "[-1,1] [0,1] [1,1]", "[0,1] [1,1] [2,1]"),
)


def template() -> Template:
    """A unigram line for each of the 19 reads, and label transitions."""
    lines = []
    for i, reads in enumerate((*WORDS, *TAGS)):
        macros = "/".join(f"%x{read}" for read in reads.split())
        lines.append(f"U{i:02d}:{macros}")
    return Template.parse("\n".join([*lines, "B"]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--pairs", choices=("all", "observed"), default="all")
    pairs = parser.parse_args().pairs
    X, y, X_test, y_test = load_conll2000()
    rules = template()
    begin = time.perf_counter()
    model = LinearCRF(window=0, l2=0.5, pairs=pairs, n_jobs=-1).fit(rules.apply(X), y)
    seconds = time.perf_counter() - begin
    predicted = model.predict(rules.apply(X_test))
    print(f"{len(model.weights_):,} weights, {model.n_iter_} iterations, {model.outcome_}, {seconds:.0f} s")
    print(f"tokens right {label_accuracy(y_test, predicted):.2%}  target 96.0 %")
    print(f"span F1      {100 * span_f1(y_test, predicted):.2f}    target 93.7")


if __name__ == "__main__":
    main()
