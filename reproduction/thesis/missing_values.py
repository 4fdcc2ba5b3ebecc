"""Chapter 4 of Hao 2009: data sets from which values were taken, and what each way of dealing with that makes of them.

As in the thesis: values go missing completely at random, a letter in all windows that reach it, in training and in
test; λ, of six values, and the number of iterations, of up to 150, by a hold-out of a third of the training part; each
label by its own probability. The hold-out is done once for each data set, rate and way, on the first damaged training
set: the thesis does not say how often. Lines of papers stand for the lines of FAQs: the columns of yes and no alone, 6
papers to train and 3 to test, labels in six groups.

All columns are categories, and to trees a missing category is one more category, flagged by itself. So "learned" is
the same as indicator features here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import joblib
import numpy as np

from hedgerow.data.dataset import Window
from hedgerow.data.sequences import Sequences
from hedgerow.datasets import make_missing
from hedgerow.legend import IndexArray
from hedgerow.models.crf.tree import TreeCRF
from reproduction.contenders import paper_model
from reproduction.curves import right_by_iteration
from reproduction.datasets.lines import yes_and_no
from reproduction.datasets.papers import GROUP_OF
from reproduction.problems import load_problem, take
from reproduction.settings import Settings

RATES = (0.05, 0.1, 0.2, 0.4)
WAYS = {
    "weighting": "instance weighting",
    "surrogate": "surrogate splits",
    "impute": "imputation",
    "indicator": "indicator features",
}
N_DAMAGED = 5  # training sets, and as many test sets
MAX_ITERATIONS = 150
HELD_OUT = 1 / 3
N_PAPERS = 6, 3  # of training and of test
TEST_SEEDS = 1_000  # seeds of test sets begin here

_LETTERS = {o: f"letter[{o:+d}]" if o else "letter[0]" for o in range(-2, 4)}
_OUTSIDE = "-"  # what hyphenation has outside a word

Words = Sequence[Sequence[str | None]]


@dataclass(frozen=True)
class Case:
    """A data set to be damaged.

    X, y : training sequences; X_test, y_test : test sequences
    spread : whether sequences are words, of which the model gets windows as columns
    """

    name: str
    title: str
    X: Any
    y: list[list[Any]]
    X_test: Any
    y_test: list[list[Any]]
    window: Window
    spread: bool = False

    @property
    def n_test(self) -> int:
        return sum(map(len, self.y_test))


def load_case(name: str, settings: Settings) -> Case:
    """A data set by the name of its problem: "protein", "nettalk", "hyphen" or "papers"."""
    problem = load_problem(name, settings)
    part = problem.parts(0)[0]
    train, test = part.train, part.test
    X, y, spread = problem.X, problem.y, False
    if isinstance(X, Sequences):
        X, y = yes_and_no(X), [[GROUP_OF.get(label, label) for label in labels] for labels in y]
        train, test = train[: N_PAPERS[0]], test[: N_PAPERS[1]]
    elif isinstance(X[0][0], Mapping):
        X, spread = to_words(X), True
    own = take(X, train), take(y, train), take(X, test), take(y, test)
    return Case(name, problem.title, *own, problem.window, spread)


def to_words(X: Sequence[Sequence[Mapping[str, str]]]) -> Words:
    """Words from the windows of hyphenation: n letters have n−1 positions, one after each letter but the last."""
    return [[row[_LETTERS[0]] for row in x] + [x[-1][_LETTERS[1]]] for x in X]


def to_windows(words: Words) -> list[list[dict[str, str | None]]]:
    """The windows of words again: a letter that is missing is so in all of them."""

    def letter(word: Sequence[str | None], i: int) -> str | None:
        return word[i] if 0 <= i < len(word) else _OUTSIDE

    return [
        [{name: letter(word, t + o) for o, name in _LETTERS.items()} for t in range(len(word) - 1)] for word in words
    ]


def give(case: Case, way: str, training: Any, others: Sequence[Any]) -> tuple[str, list[Any]]:
    """What the model is given: the way that it is told, and the damaged sequences, those of training first.

    Where sequences are words, imputation fills in letters and not columns of windows, of which most are outside.
    """
    if not case.spread:
        return way, [training, *others]
    if way != "impute":
        return way, list(map(to_windows, [training, *others]))
    common = Counter(letter for word in training for letter in word if letter is not None).most_common(1)[0][0]
    filled = [[[common if a is None else a for a in word] for word in words] for words in (training, *others)]
    return "learned", list(map(to_windows, filled))


def new_model(case: Case, way: str, n_iterations: int, l2_regularization: float) -> TreeCRF:
    """The thesis' TreeCRF; a column of windows is a category, whatever is left of it."""
    model = paper_model(case.window, n_iterations, {"l2_regularization": l2_regularization, "missing": way})
    return model.set_params(columns=dict.fromkeys(_LETTERS.values(), "categorical")) if case.spread else model


def tune(case: Case, way: str, X: Any, settings: Settings) -> dict[str, Any]:
    """λ and the number of iterations that are best on a third of a training set, held out."""
    order = np.random.default_rng(0).permutation(len(case.y))
    n_held = max(1, round(HELD_OUT * len(order)))
    held, kept = np.sort(order[:n_held]), np.sort(order[n_held:])
    told, (X_kept, X_held) = give(case, way, take(X, kept), [take(X, held)])
    best: tuple[int, dict[str, Any]] = -1, {}
    most = min(MAX_ITERATIONS, settings.max_iterations)
    for l2_regularization in settings.shrinkages:
        model = new_model(case, told, most, l2_regularization)
        right = right_by_iteration(model.fit(X_kept, take(case.y, kept)), X_held, take(case.y, held))[0]
        if right.max() > best[0]:
            best = int(right.max()), {"l2_regularization": l2_regularization, "n_iterations": int(right.argmax()) + 1}
    return best[1]


def measure(case: Case, way: str, rate: float, settings: Settings) -> dict[str, Any]:
    """Right labels of every pair of a damaged training set and a damaged test set; and of every training set and test
    sequence, in all damaged copies of it."""
    n = min(N_DAMAGED, len(settings.seeds))
    trains = [make_missing(case.X, rate, random_state=s) for s in range(n)]
    tests = [make_missing(case.X_test, rate, random_state=TEST_SEEDS + v) for v in range(n)]
    chosen = tune(case, way, trains[0], settings)
    right: list[IndexArray] = []
    for train in trains:
        told, (X, *given) = give(case, way, train, tests)
        model = new_model(case, told, **chosen).fit(X, case.y)
        right.append(np.array([_right_labels(model, X_test, case.y_test) for X_test in given]))
    accuracy = 100 * float(np.mean([own.sum(axis=1) for own in right])) / case.n_test
    settings.say(f"{case.title}, {rate:.0%} missing: {WAYS[way]} {accuracy:.2f} %")
    return {
        "chosen": chosen,
        "right": [own.sum(axis=1).tolist() for own in right],
        "right_of_sequences": [own.sum(axis=0).tolist() for own in right],
        "accuracy": accuracy,
    }


def measure_whole(case: Case, settings: Settings) -> dict[str, Any]:
    """As `measure`, where nothing is missing."""
    chosen = tune(case, "learned", case.X, settings)
    told, (X, X_test) = give(case, "learned", case.X, [case.X_test])
    model = new_model(case, told, **chosen).fit(X, case.y)
    return {"chosen": chosen, "accuracy": 100 * sum(_right_labels(model, X_test, case.y_test)) / case.n_test}


def _right_labels(model: TreeCRF, X: Any, y: Sequence[Sequence[Any]]) -> list[int]:
    """How many labels of each sequence are right."""
    predicted = model.predict(X, decoder="posterior")
    return [sum(a == b for a, b in zip(own, truth)) for own, truth in zip(predicted, y)]


def measure_all(settings: Settings) -> dict[str, Any]:
    """Every data set, rate and way."""
    rates = RATES[1::2] if settings.quick else RATES
    found: dict[str, Any] = {}
    for name in ("protein", "nettalk", "hyphen", "papers"):
        case = load_case(name, settings)
        jobs = [(way, rate) for rate in rates for way in WAYS]
        results = joblib.Parallel(n_jobs=settings.n_jobs)(
            joblib.delayed(measure)(case, way, rate, settings) for way, rate in jobs
        )
        found[name] = {
            "title": case.title,
            "n_test": case.n_test,
            "lengths": [len(labels) for labels in case.y_test],
            "rates": list(rates),
            "whole": measure_whole(case, settings),
            "found": {way: {} for way in WAYS},
        }
        for (way, rate), result in zip(jobs, results):
            found[name]["found"][way][str(rate)] = result
        settings.say(f"{case.title}: done")
    return found
