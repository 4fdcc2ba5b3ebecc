"""`hedgerow demo`: learn to hyphenate English words, and show what was learnt."""

from __future__ import annotations

import math
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from typer import Argument

from hedgerow.cli.train_options import option

N_WORDS = 8_000
EXAMPLES = ("conditional", "honeysuckle", "nightingale", "chrysanthemum", "woodpecker")
_TEST_SHARE = 10  # one word of so many is held out
_REACH = 4  # letters on either side that the models see
_CONTEXT = 2  # letters on either side that the baseline looks at

Word = Sequence[str]


def command(
    words: Annotated[
        list[str] | None, Argument(metavar="WORD", help="Words to hyphenate, instead of typing or piping them.")
    ] = None,
    n_words: Annotated[int, option("N", "How many words to use.", "--words", min=100)] = N_WORDS,
    output: Annotated[str, option("FOLDER", "For the model and the picture.", "--output", "-o")] = ("demo-output"),
) -> None:
    """Learn to hyphenate English words.

    Trains weights and boosted trees on the same words, compares them on others, hyphenates words and draws a picture.
    """
    if not words and not sys.stdin.isatty():
        words = sys.stdin.read().split()  # now, so that they are not trained on
    run_demo(words or [], n_words, output)


def run_demo(words: Sequence[str] = (), n_words: int = N_WORDS, output: str = "demo-output") -> None:
    """Train on English words, print scores on held-out ones, hyphenate words, save the model and a picture."""
    from hedgerow.datasets import load_hyphenation
    from hedgerow.metrics import label_accuracy, sequence_accuracy
    from hedgerow.report import plot_sequence

    words = [part for word in words for part in word.lower().split()]
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    X, y = load_hyphenation(n_words)
    train, test = _split(X, {*EXAMPLES, *words})
    X_train, y_train = [X[i] for i in train], [y[i] for i in train]
    X_test, y_test = [X[i] for i in test], [y[i] for i in test]
    print(f"Learning to hyphenate from {len(train):,} English words; {len(test):,} others are held out.")
    print('A word is its letters; each is labelled "break" or "join" by what may follow it.')
    print("The first run compiles the kernels, which takes half a minute.\n")
    print("On the held-out words         letters right  whole words right  seconds", flush=True)
    models = contenders()
    for name, model in models.items():
        began = time.perf_counter()
        model.fit(X_train, y_train)
        seconds = time.perf_counter() - began
        y_pred = model.predict(X_test)
        letters, words_right = label_accuracy(y_test, y_pred), sequence_accuracy(y_test, y_pred)
        print(f"  {name:<26} {letters:14.1%} {words_right:18.1%} {seconds:8.1f}", flush=True)
    _, linear, trees = models.values()
    trees.save(folder / "hyphenation.hedgerow")
    word, path = (words or EXAMPLES)[0], folder / "hyphenation.png"
    plot_sequence(list(word), trees.predict_proba([list(word)])[0], trees.classes_, path=path)
    print("\nWeights add up what each letter says by itself; a tree asks about several of them together.")
    print(f"The trees are in {folder / 'hyphenation.hedgerow'}, a picture in {path}.\n")
    _hyphenate_words(linear, trees, words, {"".join(word) for word in X_train})


def _split(X: Sequence[Sequence[str]], asked: set[str]) -> tuple[list[int], list[int]]:
    """Places of the training and of the test words. Words that will be shown are never trained on."""
    held_out = {i for i, word in enumerate(X) if i % _TEST_SHARE == 0 or "".join(word) in asked}
    return [i for i in range(len(X)) if i not in held_out], sorted(held_out)


def _hyphenate_words(linear: Any, trees: Any, words: Sequence[str], trained: Container[str]) -> None:
    """Hyphenate the words given, else those that are typed, else some examples. Say which were trained on."""
    import pyphen

    teacher = pyphen.Pyphen(lang="en_US")
    typed = not words and sys.stdin.isatty()
    print("Words by weights, by trees, and how sure these are; where they err, pyphen, which gave the labels:")
    if typed:
        print("Type a word to hyphenate it; an empty line ends.")
    for word in _typed_words() if typed else words or EXAMPLES:
        by_weights, _ = hyphenate(linear, word.lower())
        text, probability = hyphenate(trees, word.lower())
        expected = teacher.inserted(word.lower())
        note = "" if text == expected else f"  (pyphen: {expected})"
        note += "  (seen in training)" if word.lower() in trained else ""
        print(f"  {by_weights:<20} {text:<20} {probability:6.1%} sure{note}", flush=True)


def _typed_words() -> Iterator[str]:
    with suppress(EOFError):
        for line in iter(lambda: input("> ").strip(), ""):
            yield from line.split()


# ------------------------------------------------------------------------------------------------ the models


class FrequentLabel:
    """The baseline: the label that is most frequent between the same two letters before and after."""

    def fit(self, words: Sequence[Word], labels: Sequence[Sequence[str]]) -> FrequentLabel:
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for word, row in zip(words, labels):
            for context, label in zip(self._contexts(word), row):
                counts[context][label] += 1
        self.labels_ = {context: count.most_common(1)[0][0] for context, count in counts.items()}
        return self

    def predict(self, words: Sequence[Word]) -> list[list[str]]:
        from hedgerow.datasets.hyphenation import JOIN

        return [[self.labels_.get(context, JOIN) for context in self._contexts(word)] for word in words]

    @staticmethod
    def _contexts(word: Word) -> list[str]:
        edge = " " * _CONTEXT
        text = f"{edge}{''.join(word)}{edge}"
        return [text[place - _CONTEXT : place + _CONTEXT] for place in range(_CONTEXT + 1, len(text) - _CONTEXT + 1)]


def contenders() -> dict[str, Any]:
    """What is trained on the same words, by name. Both models see the letters at t−4 … t+4."""
    from hedgerow.models.crf.linear import LinearCRF
    from hedgerow.models.crf.tree import TreeCRF

    return {
        "most frequent label nearby": FrequentLabel(),
        "LinearCRF: weights": LinearCRF(window=_REACH, n_jobs=-1, random_state=0),
        "TreeCRF: boosted trees": TreeCRF(window=_REACH, n_jobs=-1, random_state=0),
    }


def hyphenate(model: Any, word: str) -> tuple[str, float]:
    """The word with hyphens at its breaks, and the probability of that labeling."""
    from hedgerow.datasets.hyphenation import BREAK

    labels = model.predict([list(word)])[0]
    probability = math.exp(model.log_probability([list(word)], [labels])[0])
    text = "".join(f"{letter}-" if label == BREAK else letter for letter, label in zip(word, labels))
    return text, probability
