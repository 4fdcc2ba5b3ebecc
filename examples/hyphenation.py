"""Hyphenation: letters that count together
========================================

Whether a word may be broken after a letter depends on several letters at once. A linear model adds up what each letter
says by itself; a tree asks about them together.

Run it: `python examples/hyphenation.py [number of words]`
"""

from __future__ import annotations

import sys

from hedgerow import LinearCRF, TreeCRF
from hedgerow.datasets import load_hyphenation
from hedgerow.explain import importance, rules
from hedgerow.metrics import label_accuracy, sequence_accuracy
from hedgerow.model_selection import train_test_split
from hedgerow.report import plot_sequence

n_words = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
X, y = load_hyphenation(n_words=n_words)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.25, random_state=0)

# %%
# A tenth of the training words tells the trees when to stop; then all of them train once more.
linear = LinearCRF(window=4).fit(X_train, y_train)
trees = TreeCRF(window=4, n_jobs=-1, random_state=0).fit(X_train, y_train)
print(f"{trees.best_iteration_} trees a label, {trees.ensemble_.n_leaves:,} leaves\n")
print("                letters   whole words")
for name, model in (("LinearCRF", linear), ("TreeCRF", trees)):
    found = model.predict(X_test)
    print(f"{name:<14}{label_accuracy(y_test, found):9.1%}{sequence_accuracy(y_test, found):14.1%}")

# %%
# What the trees have learnt, by letter and as rules.
print(importance(trees).table(top=5))
print("\nWhat weighs most for a break:")
for rule in rules(trees, 3, "break"):
    print(f"  {rule.weight:+.2f}  {rule.when}")


# %%
def hyphenate(word: str) -> str:
    [labels] = trees.predict([list(word)])
    return "".join(letter + "-" * (label == "break") for letter, label in zip(word, labels))


print(" ".join(map(hyphenate, ("hedgerow", "conditional", "example"))))
word = list("conditional")
figure = plot_sequence(word, trees.predict_proba([word])[0], trees.classes_).figure
