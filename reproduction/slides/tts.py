"""The text-to-speech table of Dietterich and Ashenfelter's slides: NETtalk, where the label of a letter is its phoneme
with its stress. Windows of 3, 5 and 7 letters, chains of order 1, 2 and 3, three decoders."""

from __future__ import annotations

import resource
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hedgerow.metrics import label_accuracy, mcnemar, sequence_accuracy
from hedgerow.models.crf.linear import LinearCRF
from hedgerow.models.crf.tree import TreeCRF
from hedgerow.models.local.recurrent_sliding_window import RecurrentSlidingWindow
from hedgerow.models.local.sliding_window import SlidingWindow
from reproduction.datasets import load_nettalk
from reproduction.drawing import draw_accuracies
from reproduction.linear import fit_to_end
from reproduction.problems import N_WORDS
from reproduction.report import Grid, Report, Row
from reproduction.settings import Settings

TITLE = "NETtalk, phoneme and stress: letters / whole words right (%)"
HEADER = ("method", "window", "posterior", "Viterbi", "beam 20", "arcs", "iterations", "CPU s", "GB", "features")
PUBLISHED = {  # letters, words
    "sliding window (slides)": (69.6, 12.5),
    "recurrent, left to right (slides)": (67.9, 17.0),
    "recurrent, right to left (slides)": (74.2, 24.4),
}
DECODERS = ("posterior", "viterbi", "beam")
WIDTHS, ORDERS = (7, 5, 3), (1, 2, 3)
RUNS, PENALTIES = (1, 2, 3), (0.3, 1.0)
HELD_OUT = 0.2  # of the training words, on which the runs of letters and the penalty are chosen
# So were these, by hand, for a window of 7 and order 1.
TREE_RUNS = 2
TREES: dict[str, Any] = {
    "init": "zero", "edges": "shared", "leaves": "newton", "l2_regularization": 5.0, "learning_rate": 0.1
}  # fmt: skip
JOINT = TREES | {"edges": "joint", "learning_rate": 0.3, "max_leaf_nodes": 16, "categorical": "one_against_rest"}
MOST_TREES = 500
EDGE = "_"
WINDOWS_TITLE = (
    "The same letters for all: letters / whole words right (%), l2, and the chain's margin over right to left"
)
CHAIN, LEFTWARD = "LinearCRF, Viterbi", "recurrent, right to left"
METHODS = ("sliding window", "recurrent, left to right", LEFTWARD, CHAIN)
FEATURES = {1: "single letters", 3: "runs of up to 3"}

Words = list[list[str]]


class Corpus(NamedTuple):
    """Words and the labels of their letters."""

    X: Words
    y: Words
    X_test: Words
    y_test: Words

    @property
    def n_labels(self) -> int:
        """Those that training shows."""
        return len({label for word in self.y for label in word})


def run(settings: Settings) -> Report:
    """Linear chains and trees with shared edges, each with every window and order, and trees with joint edges."""
    corpus = draw_corpus(settings)
    widths, orders = (WIDTHS[:1], ORDERS[:2]) if settings.quick else (WIDTHS, ORDERS)
    chosen = {width: choose_runs(corpus.X, corpus.y, width, settings) for width in widths}
    found = [measure_linear(corpus, *one, chosen[one[0]], settings) for one in product(widths, orders)]
    found += [measure_trees(corpus, *one, TREES, settings) for one in product(widths, orders)]
    found.append(measure_trees(corpus, widths[0], 1, JOINT, settings))  # the last: it takes the most memory
    beside = [measure_methods(corpus, *one, settings) for one in product(FEATURES, widths)]
    notes = [
        f"{len(corpus.X):,} training words with {corpus.n_labels} pairs of phoneme and stress, and"
        f" {len(corpus.X_test):,} test words, drawn with seed {settings.seeds[0]}. A pair that training lacks is"
        " wrong.",
        "LinearCRF: letters of the window and runs of up to n neighbours in it; n and the penalty l2 by the letters"
        f" right at order 1 on {HELD_OUT:.0%} of the training words that were held out for that.",
        tree_note("chosen on the same words"),
        f"With joint edges the step is {JOINT['learning_rate']}, trees have {JOINT['max_leaf_nodes']} leaves, and"
        " letters and labels are split one against the rest.",
        TIME_NOTE,
        "Windows and the chain have weights for the same letters; a recurrent window of 2h + 1 letters sees the last h"
        " labels, and takes label by label. The penalty of each by the words held out. Test: McNemar's, by letter.",
    ]
    return Report("slides-tts", [table(found), _windows_table(beside)], notes, {"found": found, "windows": beside})


def table(found: list[dict[str, Any]]) -> Grid:
    """What was found, below the rows of the slides."""
    rows = [(name, "", f"{a:.1f} / {b:.1f}", *[""] * (len(HEADER) - 3)) for name, (a, b) in PUBLISHED.items()]
    return Grid(TITLE, HEADER, [*rows, *map(_row, found)])


def tree_note(how: str, options: dict[str, Any] = TREES) -> str:
    """How trees were trained."""
    again = " and trained again on all" if options.get("refit", True) else ""
    return (
        f"TreeCRF: Newton's leaves, step {options['learning_rate']}, λ {options['l2_regularization']:g}, runs of up to"
        f" {TREE_RUNS} letters, {how}; stopped early by a tenth of the training words{again}."
    )


TIME_NOTE = "Seconds are CPU seconds of training; GB the most memory that the process had till then."


def draw_corpus(settings: Settings, n_train: int | None = None) -> Corpus:
    """Test words, and training words: as many of those, or n_train of all that are no test words."""
    X, labels = load_nettalk(None if settings.folder is None else Path(settings.folder) / "nettalk", label="both")
    known = [i for i, own in enumerate(labels) if None not in own]
    n = 60 if settings.quick else N_WORDS
    drawn = np.random.default_rng(settings.seeds[0]).permutation(known)
    train = np.concatenate([drawn[:n], drawn[2 * n :]])[: n if n_train is None else n_train]
    parts = [([X[i] for i in part], [[str(k) for k in labels[i]] for i in part]) for part in (train, drawn[n : 2 * n])]
    return Corpus(*parts[0], *parts[1])


def letter_runs(word: Sequence[str], width: int, longest: int) -> list[dict[str, str]]:
    """For each letter every run of up to `longest` letters inside the window around it, named by place and length."""
    half = width // 2
    padded = [EDGE] * half + list(word) + [EDGE] * half
    places = [(o, m) for m in range(1, longest + 1) for o in range(width - m + 1)]
    return [{f"{o - half:+d}:{m}": "".join(padded[t + o : t + o + m]) for o, m in places} for t in range(len(word))]


def choose_runs(X: Words, y: Words, width: int, settings: Settings) -> tuple[int, float]:
    """The longest run of letters and the penalty, by training words that are held out."""
    n = round((1 - HELD_OUT) * len(X))
    best, chosen = -1.0, (1, 1.0)
    for longest, l2 in product(RUNS[: 1 if settings.quick else None], PENALTIES[: 2 if settings.quick else None]):
        rows = [letter_runs(word, width, longest) for word in X]
        model = LinearCRF(window=0, l2=l2, tol=1e-4, max_iter=settings.max_iterations)
        fit_to_end(model, rows[:n], y[:n])
        score = label_accuracy(y[n:], model.predict(rows[n:], decoder="posterior"))
        if score > best:
            best, chosen = score, (longest, l2)
    settings.say(f"window {width}: runs of {chosen[0]}, l2 {chosen[1]:g} ({100 * best:.1f} held out)")
    return chosen


def measure_linear(
    corpus: Corpus, width: int, order: int, chosen: tuple[int, float], settings: Settings
) -> dict[str, Any]:
    """Train and test a LinearCRF with runs of letters and a penalty, as `choose_runs` gives them."""
    longest, l2 = chosen
    model = LinearCRF(window=0, order=order, l2=l2, tol=1e-4, max_iter=settings.max_iterations)
    found = {"method": "LinearCRF", "width": width, "order": order, "runs": longest, "l2": l2}
    found |= _measure(model, corpus, width, longest)
    found["arcs"] = model.layout_.n_arcs
    settings.say(" ".join(_row(found)))
    return found


def measure_trees(
    corpus: Corpus, width: int, order: int, options: dict[str, Any], settings: Settings
) -> dict[str, Any]:
    """Train and test a TreeCRF."""
    most = settings.max_iterations if settings.quick else MOST_TREES
    seed = settings.seeds[0]
    run: dict[str, Any] = {"n_estimators": most, "random_state": seed, "n_jobs": settings.n_jobs}
    model = TreeCRF(window=0, order=order, **run, **options)
    name = "TreeCRF" + (", joint edges" if options["edges"] == "joint" else "")
    found = {"method": name, "width": width, "order": order, "runs": TREE_RUNS}
    found |= _measure(model, corpus, width, TREE_RUNS)
    tables = model.edge_tables_
    found["arcs"] = corpus.n_labels**2 if tables is None else int(np.prod(tables.shape[1:]))
    settings.say(" ".join(_row(found)))
    return found


def make_method(name: str, width: int, l2: float, max_iter: int) -> Any:
    """A window without labels, with the labels before or after it, or the chain."""
    rows = LinearCRF(l2=l2, tol=1e-4, max_iter=max_iter)
    if name == CHAIN:
        return rows.set_params(window=0, decoder="viterbi")
    if name == "sliding window":
        return SlidingWindow(estimator=rows, window=0)
    direction: Any = "right_to_left" if name == LEFTWARD else "left_to_right"
    return RecurrentSlidingWindow(estimator=rows, window=0, direction=direction, order=width // 2, conjoin=None)


def measure_methods(corpus: Corpus, longest: int, width: int, settings: Settings) -> dict[str, Any]:
    """Sliding and recurrent windows and the chain with the same runs of letters, each with its own penalty."""
    found: dict[str, Any] = {"width": width, "runs": longest}
    X, X_test = ([letter_runs(word, width, longest) for word in words] for words in (corpus.X, corpus.X_test))
    n, predicted = round((1 - HELD_OUT) * len(X)), {}
    for name in METHODS:
        scores = {}
        for l2 in PENALTIES:
            model = fit_to_end(make_method(name, width, l2, settings.max_iterations), X[:n], corpus.y[:n])
            scores[l2] = label_accuracy(corpus.y[n:], model.predict(X[n:]))
        l2 = max(PENALTIES, key=lambda one: scores[one])
        own = fit_to_end(make_method(name, width, l2, settings.max_iterations), X, corpus.y).predict(X_test)
        right = label_accuracy(corpus.y_test, own), sequence_accuracy(corpus.y_test, own)
        predicted[name], found[name] = own, {"right": [100 * float(share) for share in right], "l2": l2}
    found["p_value"] = mcnemar(corpus.y_test, predicted[CHAIN], predicted[LEFTWARD]).p_value
    settings.say(" ".join(_windows_row(found)))
    return found


def _windows_table(beside: list[dict[str, Any]]) -> Grid:
    return Grid(WINDOWS_TITLE, ("features", "window", *METHODS, "margin"), [_windows_row(found) for found in beside])


def _windows_row(found: dict[str, Any]) -> Row:
    cells = ("{:.1f} / {:.1f}, {:g}".format(*found[name]["right"], found[name]["l2"]) for name in METHODS)
    margin = found[CHAIN]["right"][0] - found[LEFTWARD]["right"][0]
    return (FEATURES[found["runs"]], str(found["width"]), *cells, f"{margin:+.2f}, p = {found['p_value']:.3f}")


def _measure(model: Any, corpus: Corpus, width: int, longest: int) -> dict[str, Any]:
    X, X_test = ([letter_runs(word, width, longest) for word in words] for words in (corpus.X, corpus.X_test))
    began = time.process_time()
    fit_to_end(model, X, corpus.y)
    seconds = time.process_time() - began
    n_iterations = getattr(model, "best_iteration_", model.n_iter_)
    found: dict[str, Any] = {"iterations": n_iterations, "seconds": seconds}
    for decoder in DECODERS:
        predicted = model.predict(X_test, decoder=decoder)
        right = label_accuracy(corpus.y_test, predicted), sequence_accuracy(corpus.y_test, predicted)
        found[decoder] = [100 * float(share) for share in right]
    found["peak_megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return found


def _row(found: dict[str, Any]) -> Row:
    features = f"runs of {found['runs']}" + (f", l2 {found['l2']:g}" if "l2" in found else "")
    return (
        f"{found['method']}, order {found['order']}",
        str(found["width"]),
        *(f"{letters:.1f} / {words:.1f}" for letters, words in (found[decoder] for decoder in DECODERS)),
        f"{found['arcs']:,}",
        str(found["iterations"]),
        f"{found['seconds']:.0f}",
        f"{found['peak_megabytes'] / 1024:.1f}",
        features,
    )


def draw(data: dict[str, Any]) -> Any:
    """Letters right by posterior, for each window."""
    panels: dict[str, dict[str, Any]] = {}
    for found in data["found"]:
        bars = panels.setdefault(f"window of {found['width']}", {name: a for name, (a, _) in PUBLISHED.items()})
        bars[f"{found['method']}, order {found['order']}"] = found["posterior"][0]
    return draw_accuracies(panels)
