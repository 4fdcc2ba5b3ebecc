"""The golden models: what each is trained on. `python -m tests.golden.models` writes the files of this version anew;
names of models write only those.

A file that a version wrote stays readable for all later ones, and predicts what it predicted. Files are named by the
version; make new ones when the format changes, and keep the old ones.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from hedgerow import Item, LinearCRF, TreeCRF, __version__

FOLDER = Path(__file__).parent
PARAMETERS = (
    "l1",
    "l2",
    "decoder",
    "max_leaf_nodes",
    "l2_regularization",
    "edges",
)  # some that the files must bring back


def corpora() -> dict[str, tuple[LinearCRF | TreeCRF, list[Any], list[list[Any]]]]:
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
    rich = [
        Item(
            [
                {"word": w, "upper": w[0].isupper(), "length": len(w) / 4, "parts": [w[:2], w[-2:]], f"seen {w}": 0.5}
                for w in sentence
            ],
            {"language": "en" if i % 2 else "de", "size": float(len(sentence))},
        )
        for i, sentence in enumerate(words)
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
            TreeCRF(window={"word": 1}, constraints="iob2", categorical="subset", start="constant", **few),
            rich,
            chunks,
        ),
        "forest": (
            TreeCRF(edges="shared", start=LinearCRF(l2=1.0), trees_per_step=2, max_features=0.5, random_state=0, **few),
            rich,
            chunks,
        ),
    }


def paths(name: str, version: str = __version__) -> tuple[Path, Path]:
    """The model file and the JSON file with what it predicts."""
    return FOLDER / f"{name}-{version}.hedgerow", FOLDER / f"{name}-{version}.json"


def main() -> None:
    chosen = sys.argv[1:] or list(corpora())
    for name, (model, X, y) in corpora().items():
        if name not in chosen:
            continue
        model.fit(X, y)
        model_path, json_path = paths(name)
        model.save(model_path)
        expected = {
            "classes": model.classes_.tolist(),
            "predictions": model.predict(X).tolist(),
            "probabilities": [probs.tolist() for probs in model.predict_proba(X)],
            "log_probability": model.log_probability(X, y).tolist(),
            "parameters": {name: getattr(model, name) for name in PARAMETERS if hasattr(model, name)},
        }
        json_path.write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
