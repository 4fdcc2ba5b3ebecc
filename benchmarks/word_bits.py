"""What Newton's trees lose where words have as few bits as millions of rows leave: python benchmarks/word_bits.py

The same 20,000 made rows are trained on with all bits of a word, and with those that 2.5, 10 and 60 million rows would
leave. Fewer rows average less noise out, so that this shows more of it than so many rows would.
"""

from __future__ import annotations

import warnings

import numpy as np

from hedgerow import TreeCRF
from hedgerow.training.boosting import rows
from hedgerow.trees import growing

ALL_BITS = growing.WORD_BITS
FEWER = {"20,000": 0, "2.5 million": 14, "10 million": 18, "60 million": 23}  # two sums, of log₂ of the factor each
OPTIONS = {"n_estimators": 60, "early_stopping": False, "learning_rate": 0.2, "leaves": "newton", "n_jobs": 1}


def make_rows(rng: np.random.Generator) -> tuple[list[np.ndarray], list[list[str]]]:
    """100 sequences of 200 rows: 8 numbers, 5 labels that stay with probability 0.9."""
    X, y = [], []
    for _ in range(100):
        stays, label = rng.random(200) < 0.9, np.zeros(200, dtype=int)
        label[0] = rng.integers(5)
        for t in range(1, 200):
            label[t] = label[t - 1] if stays[t] else (label[t - 1] + rng.integers(1, 3)) % 5
        x = rng.normal(size=(200, 8))
        x[:, 0] += (label == 0) * 1.5 * np.sign(x[:, 1])
        x[:, 2] += label * 0.7
        x[:, 3] += (label % 2) * 1.2 * (x[:, 4] > 0)
        x[:, 5] += (label == 3) * 2 * (x[:, 6] > 0.5)
        X.append(x)
        y.append(label.astype(str).tolist())
    return X, y


def main() -> None:
    rng = np.random.default_rng(0)
    (X, y), (X_new, y_new) = make_rows(rng), make_rows(rng)
    truth = np.concatenate(y_new).astype(int)
    warnings.simplefilter("ignore")  # one says that curvatures are coarse
    print(f"{'bits of':<12} {'edges':<7} {'right':>6} {'log-loss':>9}")
    for name, fewer in FEWER.items():
        growing.WORD_BITS = rows.WORD_BITS = ALL_BITS - fewer
        for edges in ("shared", "joint"):
            probs = np.concatenate(TreeCRF(window=1, edges=edges, **OPTIONS).fit(X, y).predict_proba(X_new))
            loss = -np.log(probs[np.arange(len(truth)), truth]).mean()
            print(f"{name:<12} {edges:<7} {(probs.argmax(axis=1) == truth).mean():>6.1%} {loss:>9.3f}", flush=True)


if __name__ == "__main__":
    main()
