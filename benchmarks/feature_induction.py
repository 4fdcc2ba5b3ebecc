"""What a round of feature induction costs, beside the iterations of L-BFGS between two rounds: CPU seconds of a thread.

    HEDGEROW_DATA=/path/to/data python benchmarks/feature_induction.py [--rounds 12] [--sentences 1000]

Words of NETtalk, hyphenation, proteins, and the first sentences of CoNLL-2000; each on labels and on pairs of labels.
A round is all that is done between iterations: marginals, candidates, gains, where new features hold, the new layout.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from hedgerow.datasets import chunking_features, load_conll2000
from reproduction.problems import load_problem, take
from reproduction.settings import Settings
from reproduction.timing import run_rounds


def corpora(n_sentences: int) -> Iterator[tuple[str, int, Any, Any]]:
    """Title, window, sequences and labels."""
    for name in ("nettalk", "hyphen", "protein"):
        problem = load_problem(name, Settings())
        train = problem.parts(0)[0].train
        yield problem.title, problem.window, take(problem.X, train), take(problem.y, train)
    X, y, *_ = load_conll2000()
    words, tags = (X.columns[name].tolist() for name in ("word", "pos"))
    rows = [chunking_features(words[a:b], tags[a:b]) for a, b in pairwise(X.offsets[: n_sentences + 1])]
    yield "chunking", 0, rows, y[:n_sentences]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--sentences", type=int, default=1000)
    args = parser.parse_args()
    print(f"{'data':12} {'on':7} {'positions':>10} {'features':>9} {'a round':>9} {'8 iterations':>13} {'ratio':>6}")
    for title, window, X, y in corpora(args.sentences):
        for on in ("labels", "pairs"):
            if on == "pairs" and len({label for labels in y for label in labels}) > 10:
                continue
            made = run_rounds(X, y, window=window, n_rounds=args.rounds, on=on)
            a_round, some = (sum(made.spent[name][: args.rounds]) / args.rounds for name in ("rounds", "iterations"))
            sizes = f"{sum(map(len, y)):10,} {len(made.conjunctions):9,}"
            print(f"{title[:12]:12} {on:7} {sizes} {a_round:9.3f} {some:13.3f} {a_round / some:6.2f}", flush=True)


if __name__ == "__main__":
    main()
