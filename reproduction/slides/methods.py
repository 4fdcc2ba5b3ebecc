"""The table "Evaluation of Methods" of Dietterich and Ashenfelter's slides, answered by measurement.

The slides say YES, NO or Partly to four questions about six methods. Here each question is a task that can be done only
by who has what is asked for, and the answer is how much of the gain a method gets: 80 % or more is YES, 20 % or less
is NO, what lies between is Partly. The last question is the time of training.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import joblib

from hedgerow.datasets import make_sequences
from hedgerow.models.crf.linear import LinearCRF
from hedgerow.models.crf.max_margin import MaxMarginMarkovNetwork
from hedgerow.models.hmm.estimator import HMM
from hedgerow.models.iohmm.estimator import IOHMM
from hedgerow.models.local.memm import MEMM
from hedgerow.models.local.recurrent_sliding_window import RecurrentSlidingWindow
from hedgerow.models.local.sliding_window import SlidingWindow
from reproduction.drawing import draw_answers
from reproduction.intervals import Interval
from reproduction.published import SLIDES_ANSWERS
from reproduction.report import Grid, Report, Row
from reproduction.settings import Settings
from reproduction.slides.tasks import TASKS, Task

TITLE = "Dietterich and Ashenfelter, Evaluation of Methods: our answer, the share of the gain in %, and the slides'"
YES, NO = 0.8, 0.2  # of the gain
EFFICIENT = 10.0  # times as long as a sliding window at most
N_TRAIN, N_TEST = 400, 400  # sequences; of words five times as many
QUICK_TRAIN, QUICK_TEST = 15, 40
EFFORT = {"n_sequences": 600, "n_labels": 40, "n_tokens": 200, "mean_length": 8}
QUICK_EFFORT = {"n_sequences": 40, "n_labels": 6, "n_tokens": 30, "mean_length": 6}
IOHMM_STATES = 10  # where there are more labels than that
EFFICIENCY = "efficient?"
METHODS = ("SW", "RSW", "HMM", "MEMM", "IOHMM", "CRF", "M3N")
QUESTIONS = dict(zip(TASKS, ("x → y and y → y?", "rich X → y?", "label bias ok?")))


def make_method(name: str, window: int, n_labels: int, seed: int, quick: bool = False) -> Any:
    """The method with its defaults. Those that could have another learner have the linear one: the question is what a
    method can use, not which learner it has."""
    match name:
        case "SW":
            return SlidingWindow(estimator="linear", window=window, random_state=seed)
        case "RSW":
            return RecurrentSlidingWindow(estimator="linear", window=window, random_state=seed)
        case "HMM":
            return HMM(decoder="posterior")
        case "MEMM":
            return MEMM(window=window, decoder="posterior", random_state=seed)
        case "IOHMM":
            states = min(n_labels, IOHMM_STATES)
            return IOHMM(window=window, n_states=states, max_iter=5 if quick else 200, random_state=seed)
        case "CRF":
            return LinearCRF(window=window, decoder="posterior", random_state=seed)
    return MaxMarginMarkovNetwork(window=window, random_state=seed)


def run(settings: Settings) -> Report:
    """Every question, with a new draw of its task for each seed."""
    each = joblib.Parallel(n_jobs=settings.n_jobs)(
        joblib.delayed(measure)(seed, settings.quick) for seed in settings.seeds
    )
    settings.say("tasks: done")
    seconds = [effort(seed, settings.quick) for seed in settings.seeds]  # one at a time: they are measured
    settings.say("times: done")
    data: dict[str, Any] = {
        "captured": {
            task: {method: Interval.of([100 * own[task][method]["captured"] for own in each]) for method in METHODS}
            for task in TASKS
        },
        "accuracy": {
            task: {method: Interval.of([100 * own[task][method]["accuracy"] for own in each]) for method in METHODS}
            for task in TASKS
        },
        "bounds": {
            task: {
                bound: Interval.of([100 * own[task]["bounds"][bound] for own in each]) for bound in ("without", "best")
            }
            for task in TASKS
        },
        "seconds": {method: Interval.of([own[method] for own in seconds]) for method in METHODS},
    }
    data["times"] = {method: own.mean / data["seconds"]["SW"].mean for method, own in data["seconds"].items()}
    data["answers"] = answers(data)
    rows = [_answer_row(task, data) for task in TASKS]
    rows.append(
        (
            EFFICIENCY,
            *(_cell(EFFICIENCY, m, data["answers"][EFFICIENCY][m], f"{data['times'][m]:.1f}×") for m in METHODS),
        )
    )
    tables = [Grid(TITLE, ("question", *METHODS), rows), *_details(data)]
    return Report("slides-methods", tables, _notes(settings), data)


def measure(seed: int, quick: bool) -> dict[str, Any]:
    """One draw of every task: what each method gets of the gain, its accuracy, and the bounds."""
    found: dict[str, Any] = {}
    for name, make in TASKS.items():
        n_train, n_test = (QUICK_TRAIN, QUICK_TEST) if quick else (N_TRAIN, N_TEST)
        times = 1 if quick or name != "late evidence (label bias)" else 5
        task = make(times * n_train, times * n_test, seed)
        found[name] = {method: _result(method, task, seed, quick) for method in METHODS}
        found[name]["bounds"] = {"without": task.without, "best": task.best}
    return found


def _result(method: str, task: Task, seed: int, quick: bool) -> dict[str, float]:
    model = make_method(method, task.window, len({label for row in task.y for label in row}), seed, quick)
    predicted = list(_fitted(model, task.X, task.y).predict(task.X_test))
    return {"captured": task.captured(predicted), "accuracy": task.accuracy(predicted)}


def _fitted(model: Any, X: Any, y: Any) -> Any:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="training stopped")
        return model.fit(X, y)


def effort(seed: int, quick: bool) -> dict[str, float]:
    """Seconds of the processor for training with many labels. A first small training compiles."""
    X, y = make_sequences(**(QUICK_EFFORT if quick else EFFORT), random_state=seed)
    n_labels = len({label for row in y for label in row})
    found = {}
    for method in METHODS:
        _fitted(make_method(method, 1, n_labels, seed, quick), X[:20], y[:20])
        model = make_method(method, 1, n_labels, seed, quick)
        began = time.process_time()
        _fitted(model, X, y)
        found[method] = time.process_time() - began
    return found


def answers(data: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Question → method → YES, Partly or NO."""
    found = {
        task: {method: _answer(own[method].mean / 100) for method in METHODS} for task, own in data["captured"].items()
    }
    found[EFFICIENCY] = {method: "YES" if data["times"][method] <= EFFICIENT else "NO" for method in METHODS}
    return found


def _answer(share: float) -> str:
    return "YES" if share >= YES else "NO" if share <= NO else "Partly"


def _answer_row(task: str, data: dict[str, Any]) -> Row:
    shares = data["captured"][task]
    cells = (_cell(QUESTIONS[task], m, data["answers"][task][m], f"{round(shares[m].mean)}") for m in METHODS)
    return (QUESTIONS[task], *cells)


def _cell(question: str, method: str, answer: str, measured: str) -> str:
    """ "NO 3 (slides: NO)"."""
    slides = SLIDES_ANSWERS[question].get(method, "–")
    return f"{answer} {measured} ({slides})"


def _details(data: dict[str, Any]) -> list[Grid]:
    header = ("task", "without", "best", *METHODS)
    accuracies = [
        (
            task,
            *(f"{data['bounds'][task][bound].mean:.2f}" for bound in ("without", "best")),
            *(str(data["accuracy"][task][method]) for method in METHODS),
        )
        for task in TASKS
    ]
    seeds = [
        (task, method, *(f"{value:.1f}" for value in data["captured"][task][method].each))
        for task in TASKS
        for method in METHODS
    ]
    seeds += [("seconds", method, *(f"{value:.2f}" for value in data["seconds"][method].each)) for method in METHODS]
    n = len(data["seconds"]["SW"].each)
    return [
        Grid("Labels right on the positions that count, %", header, accuracies),
        Grid("The share of the gain, %, and seconds: every seed", ("task", "method", *map(str, range(n))), seeds),
    ]


def _notes(settings: Settings) -> list[str]:
    effort_of = QUICK_EFFORT if settings.quick else EFFORT
    return [
        "In each cell: our answer, what was measured, and the slides' answer. YES is"
        f" {YES:.0%} or more of what there is to gain, NO {NO:.0%} or less. Gains lie between the best accuracy without"
        " what is asked for and the best there is, both by the model that drew the data.",
        f"{EFFICIENCY} YES is at most {EFFICIENT:g} times the seconds of a sliding window, on"
        f" {effort_of['n_sequences']} made sequences with {effort_of['n_labels']} labels, window 1, one thread."
        f" The IOHMM has at most {IOHMM_STATES} states.",
        "All learners are linear and have their defaults. HMM, MEMM and CRF decode by posterior, RSW goes from left to"
        " right.",
        "x → y and y → y: a random chain of labels, and tokens, no window. rich X → y: labels drawn from"
        " the tokens around them, window 1. Label bias: rib and rob, the second label, no window.",
        f"Means over {len(settings.seeds)} draws.",
    ]


def draw(data: dict[str, Any]) -> Any:
    """What each method gets of each gain, and its time."""
    panels = {QUESTIONS[task]: data["captured"][task] for task in TASKS}
    return draw_answers(panels, data["seconds"], yes=100 * YES, no=100 * NO)
