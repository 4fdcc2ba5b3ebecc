"""`hedgerow demo`: learn to hyphenate English words, and show what was learnt."""

from __future__ import annotations

import sys
import time
from collections.abc import Container, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from typer import Argument

from hedgerow.cli.train_options import option

N_WORDS = 60_000
EXAMPLES = ("conditional", "honeysuckle", "nightingale", "chrysanthemum", "woodpecker")
_TEST_SHARE = 10  # one word of so many is held out


def command(
    words: Annotated[
        list[str] | None, Argument(metavar="WORD", help="Words to hyphenate, instead of typing or piping them.")
    ] = None,
    n_words: Annotated[int, option("N", "How many words to use.", "--words", min=100)] = N_WORDS,
    output: Annotated[str, option("FOLDER", "For the model and the picture.", "--output", "-o")] = ("demo-output"),
) -> None:
    """Learn to hyphenate English words.

    Trains a model, compares it with a baseline on held-out words, hyphenates words and draws a picture.
    """
    if not words and not sys.stdin.isatty():
        words = sys.stdin.read().split()  # now, so that they are not trained on
    run_demo(words or [], n_words, output)


def run_demo(words: Sequence[str] = (), n_words: int = N_WORDS, output: str = "demo-output") -> None:
    """Train on English words, print scores on held-out ones, hyphenate words, save the model and a picture."""
    from hedgerow.cli.hyphenation import FrequentLabel, Scores, fit_hyphenator, letter_pieces
    from hedgerow.datasets import load_hyphenation

    words = [part for word in words for part in word.lower().split()]
    folder = Path(output)
    folder.mkdir(parents=True, exist_ok=True)
    X, y = load_hyphenation(n_words)
    train, test = _split(X, {*EXAMPLES, *words})
    X_train, y_train = [X[i] for i in train], [y[i] for i in train]
    X_test, y_test = [X[i] for i in test], [y[i] for i in test]
    print(f"Learning to hyphenate from {len(train):,} English words; {len(test):,} others are held out.")
    print('A word is its letters; each is labelled "break" or "join" by what may follow it.')
    print("Training takes about half a minute, and as long again where the kernels are compiled first …", flush=True)
    began = time.perf_counter()
    model = fit_hyphenator(X_train, y_train, verbose=1)
    seconds = time.perf_counter() - began
    baseline = FrequentLabel().fit(X_train, y_train)
    predicted = model.predict([letter_pieces(word) for word in X_test])
    print(f"Trained {len(model.weights_):,} weights in {seconds:.0f} s ({model.n_iter_} iterations).\n")
    print("On the held-out words         breaks (F1)  letters right  whole words right")
    for name, labels in (("LinearCRF", predicted), ("most frequent label nearby", baseline.predict(X_test))):
        scores = Scores.of(y_test, labels)
        print(f"  {name:<26} {scores.break_f1:12.1%} {scores.letters:14.1%} {scores.words:18.1%}")
    model.save(folder / "hyphenation.hedgerow")
    _draw(model, words[0] if words else EXAMPLES[0], folder / "hyphenation.png")
    print(f"\nThe model is in {folder / 'hyphenation.hedgerow'}, a picture in {folder / 'hyphenation.png'}.\n")
    _hyphenate_words(model, words, {"".join(word) for word in X_train})


def _split(X: Sequence[Sequence[str]], asked: set[str]) -> tuple[list[int], list[int]]:
    """Places of the training and of the test words. Words that will be shown are never trained on."""
    held_out = {i for i, word in enumerate(X) if i % _TEST_SHARE == 0 or "".join(word) in asked}
    return [i for i in range(len(X)) if i not in held_out], sorted(held_out)


def _hyphenate_words(model: Any, words: Sequence[str], trained: Container[str]) -> None:
    """Hyphenate the words given, else those that are typed, else some examples. Say which the model was trained on."""
    import pyphen

    from hedgerow.cli.hyphenation import hyphenate

    teacher = pyphen.Pyphen(lang="en_US")
    typed = not words and sys.stdin.isatty()
    print("Words, and how probable the whole hyphenation is; where it differs, that of pyphen, who gave the labels:")
    if typed:
        print("Type a word to hyphenate it; an empty line ends.")
    for word in _typed_words() if typed else words or EXAMPLES:
        text, probability = hyphenate(model, word.lower())
        expected = teacher.inserted(word.lower())
        note = "" if text == expected else f"  (pyphen: {expected})"
        note += "  (seen in training)" if word.lower() in trained else ""
        print(f"  {text:<22} {probability:6.1%} sure{note}", flush=True)


def _typed_words() -> Iterator[str]:
    with suppress(EOFError):
        for line in iter(lambda: input("> ").strip(), ""):
            yield from line.split()


def _draw(model: Any, word: str, path: Path) -> None:
    from hedgerow.cli.hyphenation import letter_pieces
    from hedgerow.report import plot_sequence

    features = [letter_pieces(word.lower())]
    labels = model.predict(features)[0]
    plot_sequence(list(word.lower()), model.predict_proba(features)[0], model.classes_, labels, path=path)
