"""New: taggers that learn to search and virtual evidence boosting, beside the linear CRF, TreeCRF and the MEMM."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.data.dataset import Window
from hedgerow.data.encoding import learn
from hedgerow.datasets import load_conll2000
from hedgerow.metrics import span_f1
from hedgerow.models.crf.linear import LinearCRF
from hedgerow.models.crf.tree import TreeCRF
from hedgerow.models.crf.virtual_evidence import VirtualEvidence
from hedgerow.models.future.estimator import FutureFeatureMEMM
from hedgerow.models.local.memm import MEMM
from hedgerow.models.search.estimator import BeamSearchTagger
from reproduction.comparison import Spread
from reproduction.contenders import shorten
from reproduction.drawing import draw_accuracies
from reproduction.problems import Problem, load_problem, take
from reproduction.report import Grid, Report, Row
from reproduction.settings import Settings
from reproduction.smd.figure_1 import QUICK_TEST, QUICK_TRAIN, attributes

CHUNKING = "Chunking (CoNLL-2000), all 11 kinds of chunks: F1 of chunks (%)"
STRESS = "NETtalk, stress of each letter: labels right (%)"
ALONE = "NETtalk, stress, a letter that sees itself alone: labels right (%)"
TITLES = {"chunking": CHUNKING, "stress": STRESS, "alone": ALONE}
HEADER = ("method", "score", "CPU seconds", "passes")
WIDTHS = (1, 5, 25)
UPDATES = ("early", "beam", "max_violation")
MAX_PASSES = 30

Make = Callable[..., Any]


def run(settings: Settings) -> Report:
    """Chunks with one seed, stress with all of them."""
    problem = load_problem("nettalk", settings)
    data = {
        "chunking": chunking(settings),
        "stress": stress(problem, stressers(), problem.window, settings),
        "alone": stress(problem, looking_ahead(), 0, settings),
    }
    tables = [Grid(title, HEADER, _rows(data[name])) for name, title in TITLES.items()]
    return Report("search-methods", tables, _notes(settings), data)


def chunkers() -> dict[str, Make]:
    """What labels chunks, from a seed."""
    found: dict[str, Make] = {
        "LinearCRF, L-BFGS": partial(LinearCRF),
        "LinearCRF, averaged perceptron": partial(
            LinearCRF, trainer="averaged_perceptron", max_iter=MAX_PASSES, early_stopping=True
        ),
    }
    for width in WIDTHS:
        for update in UPDATES:
            make = partial(BeamSearchTagger, beam_width=width, update=update, max_iter=MAX_PASSES)
            found[f"search, beam {width}, {update}"] = make
    found["search, beam 5, order 1"] = partial(BeamSearchTagger, order=1, label_counts=0, max_iter=MAX_PASSES)
    return found


def chunking(settings: Settings) -> dict[str, Any]:
    """F1 of the test sentences, with the attributes of CRF++'s templates."""
    place = None if settings.folder is None else Path(settings.folder) / "conll2000"
    X, y, X_test, y_test = load_conll2000(place)
    if settings.quick:
        X, y, X_test, y_test = X[:QUICK_TRAIN], y[:QUICK_TRAIN], X_test[:QUICK_TEST], y_test[:QUICK_TEST]
    corpus, test = learn(attributes(X), y), attributes(X_test)
    found = {}
    for name, make in chunkers().items():
        model, seconds = _trained(make(random_state=settings.seeds[0]), settings, corpus)
        score = 100.0 * span_f1(y_test, model.predict(test))
        found[name] = {"score": Spread.of([score]), "seconds": seconds, "passes": [model.best_iteration_]}
        settings.say(f"{name}: F1 {score:.2f}, {seconds:.1f} s")
    return found


def stressers() -> dict[str, Make]:
    """What marks stress, from a seed."""
    steps = partial(
        VirtualEvidence, max_leaf_nodes=2, n_estimators=300, learning_rate=1.0, edges="shared", early_stopping=False
    )
    return {
        "TreeCRF": TreeCRF,
        "TreeCRF, shared edges": partial(TreeCRF, edges="shared"),
        "MEMM of trees": partial(MEMM, estimator="trees"),
        "VirtualEvidence, stumps": partial(VirtualEvidence, max_leaf_nodes=2, n_estimators=1_000),
        "VirtualEvidence, stumps, gradient steps of 1": steps,
        "VirtualEvidence, stumps, LogitBoost's steps": partial(steps, leaves="newton"),
        "VirtualEvidence": VirtualEvidence,
        "VirtualEvidence, joint edges": partial(VirtualEvidence, edges="joint"),
        "LinearCRF": LinearCRF,
        "search": BeamSearchTagger,
        "search, nothing of the whole history": partial(BeamSearchTagger, label_counts=0),
        "search, order 3": partial(BeamSearchTagger, order=3),
        "search, right to left": partial(BeamSearchTagger, direction="right_to_left"),
        "search, future features": partial(BeamSearchTagger, future_features=True),
        "search, trees": partial(BeamSearchTagger, ranking="trees", n_iter_no_change=30),
        "search, trees, future features": partial(
            BeamSearchTagger, ranking="trees", future_features=True, n_iter_no_change=30
        ),
    }


def looking_ahead() -> dict[str, Make]:
    """What marks stress by future features, and its peers without."""
    trees = partial(BeamSearchTagger, ranking="trees", n_iter_no_change=30)
    return {
        "MEMM-1 of trees": partial(MEMM, estimator="trees"),
        "CRF-1 of trees": TreeCRF,
        "FF-MEMM-1": FutureFeatureMEMM,
        "search": BeamSearchTagger,
        "search, features of a MEMM": partial(BeamSearchTagger, future_features=True),
        "search, features of its errors": partial(BeamSearchTagger, future_features="errors"),
        "search, trees": trees,
        "search, trees, features of a MEMM": partial(trees, future_features=True),
        "search, trees, features of its errors": partial(trees, future_features="errors"),
    }


def stress(problem: Problem, methods: dict[str, Make], window: Window, settings: Settings) -> dict[str, Any]:
    """Labels right over the draws of 1,000 + 1,000 words."""
    found = {}
    for name, make in methods.items():
        scores, seconds, passes = [], [], []
        for seed in settings.seeds:
            [part] = problem.parts(seed)
            model = make(window=window)
            if "random_state" in model.get_params():
                model.set_params(random_state=seed)
            own, spent = _trained(model, settings, take(problem.X, part.train), take(problem.y, part.train))
            scores.append(100.0 * own.score(take(problem.X, part.test), take(problem.y, part.test)))
            seconds.append(spent)
            passes.append(own.best_iteration_)
        spread = Spread.of(scores)
        found[name] = {"score": spread, "seconds": float(np.mean(seconds)), "passes": passes}
        settings.say(f"{name}: {spread} %, {np.mean(seconds):.1f} s")
    return found


def _trained(model: Any, settings: Settings, *data: Any) -> tuple[Any, float]:
    """The model after training, and the CPU seconds that took."""
    if settings.quick and not isinstance(model, LinearCRF):
        shorten(model, settings.max_iterations)
    began = time.process_time()
    model.fit(*data)
    return model, time.process_time() - began


def _rows(found: dict[str, Any]) -> list[Row]:
    return [
        (name, str(own["score"]), f"{own['seconds']:.1f}", f"{np.mean(own['passes']):.0f}")
        for name, own in found.items()
    ]


def _notes(settings: Settings) -> list[str]:
    return [
        "Every method with its defaults, but for what its row names. Searches keep 5 labelings, look back 2 labels and"
        " at whether a label came before. They and trees stop by a tenth of the training sequences and are then trained"
        " again on all; the averaged perceptron of LinearCRF is not.",
        "Chunking: the 19 word and tag templates of CRF++, one seed. Stress: a window of 13 letters, mean and range"
        f" over {len(settings.seeds)} draws of 1,000 + 1,000 words. CPU seconds of one training.",
    ]


def draw(data: dict[str, Any]) -> Any:
    """A panel for each task."""
    return draw_accuracies({TITLES[name]: {k: v["score"] for k, v in own.items()} for name, own in data.items()})
