"""The golden models: what each is trained on. `python -m tests.golden.models` writes the files of this format anew;
names of models write only those.

A file that a version wrote stays readable for all later ones, and predicts what it predicted. Files are named by the
version of the format; make new ones when it changes, and keep the old.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow import (
    HMM,
    IOHMM,
    MEMM,
    AutoLabeler,
    BeamSearchTagger,
    FeatureInduction,
    FutureFeatureMEMM,
    Item,
    LatticeCRF,
    LinearCRF,
    MaxMarginMarkovNetwork,
    RecurrentSlidingWindow,
    SlidingWindow,
    TreeCRF,
    TreeLatticeCRF,
    VirtualEvidence,
)
from hedgerow.persistence import FORMAT_VERSION
from tests.models.local_models import local

FOLDER = Path(__file__).parent
PARAMETERS = (
    "l1",
    "l2",
    "decoder",
    "max_leaf_nodes",
    "l2_regularization",
    "edges",
)  # some that the files must bring back

Case = tuple[Any, list[Any], list[Any]]  # the model before training, items and labels


def corpora() -> dict[str, Case]:
    """Name → the model before training, sequences and labels: fixed numbers and no randomness."""
    words = [
        ["Ada", "Lovelace", "wrote", "to", "Charles", "Babbage", "."],
        ["She", "lived", "in", "London", "."],
        ["Babbage", "wrote", "back", "from", "Zürich", "."],
        ["Nobody", "lived", "there", "."],
    ]
    chunks = [
        ["B-PER", "I-PER", "O", "O", "B-PER", "I-PER", "O"],
        ["O", "O", "O", "B-LOC", "O"],
        ["B-PER", "O", "O", "O", "B-LOC", "O"],
        ["O", "O", "O", "O"],
    ]
    rows = [
        [
            {"word": w, "upper": w[0].isupper(), "length": len(w) / 4, "parts": [w[:2], w[-2:]], f"seen {w}": 0.5}
            for w in sentence
        ]
        for sentence in words
    ]
    rich = [
        Item(sentence, {"language": "en" if i % 2 else "de", "size": float(len(sentence))})
        for i, sentence in enumerate(rows)
    ]
    few: dict[str, Any] = {"n_estimators": 4, "max_leaf_nodes": 5, "l2_regularization": 0.5, "early_stopping": False}
    numbers = [[[0.1, 1.0], [0.9, -2.0], [0.8, 0.5]], [[0.2, 0.0], [0.7, 1.5]]]
    return {
        "words": (
            LinearCRF(window={"word": 1}, l2=0.1, constraints="iob2", transition_columns=["word", "language"]),
            rich,
            chunks,
        ),
        "numbers": (
            LinearCRF(columns={"0": "numeric", "1": "numeric"}, window=(1, 0), l1=0.01, l2=0.05, decoder="posterior"),
            numbers,
            [[1, 2, 2], [1, 2]],
        ),
        "trees": (
            TreeCRF(window={"word": 1}, constraints="iob2", categorical="subset", init="constant", **few),
            rich,
            chunks,
        ),
        "forest": (
            TreeCRF(edges="shared", init=LinearCRF(l2=1.0), trees_per_step=2, max_features=0.5, random_state=0, **few),
            rich,
            chunks,
        ),
        "vectors": (
            TreeCRF(multi_strategy="multi_output_tree", window=1, **few),
            [[{"word": w, "length": len(w) / 4} for w in sentence] for sentence in words],
            chunks,
        ),
        "induced": (  # all candidates of two rounds: which are the best may lie in the last bit
            LinearCRF(l2=0.1, induction=FeatureInduction(every=2, n_features=1000, max_rounds=2, on="pairs")),
            [[{"word": w, "upper": w[0].isupper(), "length": len(w) / 4} for w in sentence] for sentence in words],
            chunks,
        ),
        "order2": (LinearCRF(order=2, l2=0.1), rich, chunks),
        "margin": (MaxMarginMarkovNetwork(window=1, random_state=0), words, chunks),
        "evidence": (VirtualEvidence(constraints="iob2", **few), rich, chunks),
        "hmm": (HMM(smoothing=20.0), rows, chunks),
        "hmm2": (HMM(order=2, transitions="forbid_unseen"), words, chunks),
        "iohmm": (IOHMM(n_states=3, l2=0.05, random_state=0), words, chunks),
        "memm": (local(MEMM, order=2, conjoin=["word"], l2=0.1), rich, chunks),
        "window": (local(SlidingWindow, window={"word": 1}, constraints="iob2", **few), rich, chunks),
        "recurrent": (local(RecurrentSlidingWindow, order=2, direction="right_to_left", **few), words, chunks),
        "search": (BeamSearchTagger(order=3, label_counts=2, early_stopping=False), rich, chunks),
        "ranking": (
            BeamSearchTagger(
                ranking="trees", max_leaf_nodes=4, max_iter=3, l2_regularization=0.5, early_stopping=False
            ),
            words,
            chunks,
        ),
        "auto": (
            AutoLabeler(candidates=[LinearCRF(l2=0.1), HMM()], window=1, n_trials=2, cv=2, random_state=0),
            words,
            chunks,
        ),
        "average": (
            AutoLabeler(
                candidates=[
                    LinearCRF(l2=0.1, window=1),
                    HMM(),
                    local(MEMM, l2=0.1),
                    TreeCRF(init=LinearCRF(window=1), edges="shared", window=1, **few),
                ],
                cv=0,
                random_state=0,
            ),
            [[{"word": w, "length": len(w) / 4} for w in sentence] for sentence in words],
            chunks,
        ),
        **_with_gaps(few),
        **_ahead(),
        **_images(),
    }


def _with_gaps(few: dict[str, Any]) -> dict[str, Case]:
    """Models of sequences in which values are missing, by each way to do without them."""
    nan = float("nan")
    X = [
        [{"a": (3 * i + 5 * t) % 7 / 3 if (i + t) % 4 else nan, "b": "xyz"[(i + 2 * t) % 3]} for t in range(5)]
        for i in range(6)
    ]
    for i, rows in enumerate(X):
        del rows[i % 5]["b"]
    y = [["N" if row["a"] > 1 else "P" if row.get("b") == "x" else "O" for row in rows] for rows in X]
    own: dict[str, Any] = {"columns": {"a": "numeric"}}
    return {
        "filled": (LinearCRF(missing="indicator", l2=0.1, **own), X, y),
        "imputed": (local(MEMM, estimator="trees", missing="impute", fill_numbers="median", **own, **few), X, y),
        "shares": (TreeCRF(missing="weighting", **own, **few), X, y),
        "surrogates": (TreeCRF(missing="surrogate", **own, **few), X, y),
        "derived": (LinearCRF(missing="impute", window=1, features=["difference", "lag(2)"], l2=0.1, **own), X, y),
        "derivedrows": (local(MEMM, estimator="trees", window=1, features=["rolling_std(3)"], **own, **few), X, y),
    }


def _ahead() -> dict[str, Case]:
    """Models that find patterns ahead: a label says whether an x stands in the next three places."""
    state, X = 1, []
    for _ in range(20):
        X.append([])
        for _ in range(10):
            state = (1103515245 * state + 12345) % 2**31
            X[-1].append("xabc"[state // 2**16 % 4])
    y = [["+" if "x" in row[t : t + 3] else "-" for t in range(len(row))] for row in X]
    short = [row[:6] for row in X[:8]], [row[:6] for row in y[:8]]
    return {
        "future": (
            FutureFeatureMEMM(
                n_estimators=4,
                max_future_features=2,
                feature_steps=4,
                max_leaf_nodes=4,
                l2_regularization=1.0,
                early_stopping=False,
                bag=3,
            ),
            X,
            y,
        ),
        "searchahead": (
            BeamSearchTagger(
                future_features=True, order=0, bag=3, validation_fraction=0.4, refit=False, random_state=0
            ),
            *short,
        ),
    }


def _images() -> dict[str, Case]:
    """Models of grids: discs in noise that is none."""
    rows, columns = np.indices((7, 8))
    masks = [((rows - 3) ** 2 + (columns - c) ** 2 < 8).astype(int) for c in (2, 3, 5)]
    X = [mask + 0.5 * np.sin(1.0 + 5 * rows + 3 * columns**2 + i) for i, mask in enumerate(masks)]
    return {
        "lattice": (LatticeCRF(form="symmetric", l2=0.5, decoder="posterior"), X, masks),
        "latticetrees": (TreeLatticeCRF(n_estimators=3, max_leaf_nodes=4, early_stopping=False), X, masks),
    }


def paths(name: str) -> tuple[Path, Path]:
    """The model file of this format, and the JSON file with what it predicts."""
    stem = f"{name}-format{FORMAT_VERSION}"
    return FOLDER / f"{stem}.hedgerow", FOLDER / f"{stem}.json"


def answers(model: Any, X: list[Any], y: list[Any]) -> dict[str, Any]:
    """What a model says, as JSON holds it: all that its kind can say."""
    of_rows = getattr(model, "estimator_", None)  # an estimator of rows has parameters too
    has = {name: next((one for one in (model, of_rows) if hasattr(one, name)), None) for name in PARAMETERS}
    found = {
        "kind": type(model).__name__,
        "classes": model.classes_.tolist(),
        "predictions": [np.asarray(labels).tolist() for labels in model.predict(X)],
        "parameters": {name: getattr(one, name) for name, one in has.items() if one is not None},
    }
    if hasattr(model, "n_parameters_"):
        found["n_parameters"] = model.n_parameters_
    if hasattr(model, "predict_proba") and not isinstance(model, BeamSearchTagger):
        found["probabilities"] = [probs.tolist() for probs in model.predict_proba(X)]
    if hasattr(model, "log_probability") and not isinstance(model, BeamSearchTagger):
        found["log_probability"] = model.log_probability(X, y).tolist()
    return found


def main() -> None:
    chosen = sys.argv[1:] or list(corpora())
    for name, (model, X, y) in corpora().items():
        if name not in chosen:
            continue
        model.fit(X, y)
        model_path, json_path = paths(name)
        model.save(model_path)
        json_path.write_text(json.dumps(answers(model, X, y), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
