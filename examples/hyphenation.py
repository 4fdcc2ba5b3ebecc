"""Learn where English words may be broken, with trees over the letters around each one.

    python examples/hyphenation.py [number of words]

Whether a break may follow a letter depends on several letters at once. A linear model adds up what each letter says by
itself; a tree asks about them together.
"""

from __future__ import annotations

import sys

from hedgerow import LinearCRF, TreeCRF
from hedgerow.datasets import load_hyphenation
from hedgerow.explain import importance, rules
from hedgerow.metrics import label_accuracy, sequence_accuracy
from hedgerow.model_selection import train_test_split


def hyphenate(model: TreeCRF, word: str) -> str:
    [labels] = model.predict([list(word)])
    return "".join(letter + "-" * (label == "break") for letter, label in zip(word, labels))


def main(n_words: int = 3000) -> None:
    X, y = load_hyphenation(n_words=n_words)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)

    # A tenth of the training words tells the trees when to stop; then all of them train once more.
    linear = LinearCRF(window=4).fit(X_train, y_train)
    trees = TreeCRF(window=4, n_jobs=-1, random_state=0).fit(X_train, y_train)
    print(f"{trees.best_iteration_} trees a label, {trees.ensemble_.n_leaves:,} leaves\n")
    print("                letters   whole words")
    for name, model in (("LinearCRF", linear), ("TreeCRF", trees)):
        found = model.predict(X_test)
        print(f"{name:<14}{label_accuracy(y_test, found):9.1%}{sequence_accuracy(y_test, found):14.1%}")

    print("\n" + importance(trees).table(top=5))
    print("\nWhat weighs most for a break:")
    for rule in rules(trees, 3, "break"):
        print(f"  {rule.weight:+.2f}  {rule.when}")
    print("\n" + " ".join(hyphenate(trees, word) for word in ("hedgerow", "conditional", "example")))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
