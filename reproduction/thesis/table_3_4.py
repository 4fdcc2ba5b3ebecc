"""Table 3.4 of Hao 2009: trees with λ against the original trees, by both decoders."""

from __future__ import annotations

from typing import Any

from reproduction.comparison import against_published, between, spread
from reproduction.contenders import ORIGINAL, SHRINKAGE, Labelling, fit_choice, tune_paper
from reproduction.drawing import draw_accuracies
from reproduction.problems import FEW_PAPERS, Problem, load_problem, take
from reproduction.published import TABLE_3_4
from reproduction.report import Grid, Report, Row
from reproduction.settings import DECODERS, Settings

TITLE = "Hao 2009, table 3.4: l2_regularization λ against the original trees (accuracy, %)"
FORMS = (SHRINKAGE, ORIGINAL)
HEADER = ("data", "decoder", "λ, ours", "published", "vs published", "L, ours", "published", "vs published", "λ vs L")


def run(settings: Settings) -> Report:
    """Tune both forms on every data set of the table that is to be had, and test them."""
    data: dict[str, Any] = {}
    rows: list[Row] = []
    for name in (*TABLE_3_4, *FEW_PAPERS):
        problem = load_problem(name, settings)
        data[name] = compare_forms(problem, problem.narrow(settings))
        rows += [_row(problem, decoder, data[name][decoder]) for decoder in DECODERS]
    notes = [
        "Ours: λ (with L = 100) or L (without λ), and the number of iterations, by cross-validation on the training"
        " part.",
        f"Mean and range over {len(settings.seeds)} seeds; NETtalk draws new words with each. posterior is the"
        " thesis' forward-backward.",
        "vs published: two-proportion test; λ vs L: McNemar's test by label. + better, − worse, = alike at 5 %.",
        "Papers, one left out at a time, stand for the three FAQs, which are not to be had: each seed draws its own.",
    ]
    return Report("thesis-3.4", [Grid(TITLE, HEADER, rows)], notes, data)


def compare_forms(problem: Problem, settings: Settings) -> dict[str, Any]:
    """Both forms on one data set, by decoder: accuracies, tests, and what was chosen."""
    labellings: dict[tuple[str, str], list[Labelling]] = {(form, d): [] for form in FORMS for d in DECODERS}
    for seed in settings.seeds:
        for form in FORMS:
            for decoder, labelling in label_form(form, problem, seed, settings).items():
                labellings[form, decoder].append(labelling)
            settings.say(f"{problem.title}, seed {seed}: {form} done")
    found: dict[str, Any] = {}
    for decoder in DECODERS:
        own: dict[str, Any] = {}
        for form in FORMS:
            accuracy = spread(problem, settings.seeds, labellings[form, decoder])
            published = getattr(TABLE_3_4.get(problem.name), f"{decoder}_{form}", None)
            test = None if published is None else against_published(problem, settings.seeds, accuracy, published)
            own[form] = {
                "accuracy": accuracy,
                "published": published,
                "against_published": test,
                "chosen": [labelling.details for labelling in labellings[form, decoder]],
            }
        own["mcnemar"] = between(problem, settings.seeds, labellings[SHRINKAGE, decoder], labellings[ORIGINAL, decoder])
        found[decoder] = own
    return found


def label_form(form: str, problem: Problem, seed: int, settings: Settings) -> dict[str, Labelling]:
    """One cross-validation a part; then for each decoder the parameters that are best for it."""
    found = {decoder: Labelling([], 0.0, []) for decoder in DECODERS}
    for part in problem.parts(seed):
        X, y = take(problem.X, part.train), take(problem.y, part.train)
        curves = tune_paper(form, X, y, seed, problem.window, settings)
        for decoder, before in found.items():
            model, seconds, detail = fit_choice(curves.best(decoder), X, y, problem.window)
            found[decoder] = before.plus(model.predict(take(problem.X, part.test)), seconds, detail)
    return found


def _row(problem: Problem, decoder: str, found: dict[str, Any]) -> Row:
    cells = [problem.title, decoder]
    for form in FORMS:
        own = found[form]
        published = own["published"]
        theirs = ("–", "–") if published is None else (f"{published:.2f}", str(own["against_published"]))
        cells += [str(own["accuracy"]), *theirs]
    return (*cells, str(found["mcnemar"]))


def draw(data: dict[str, Any]) -> Any:
    """A panel for each data set and decoder: ours with its range, and the published figure."""
    panels = {
        f"{name}, {decoder}": {
            **{f"{form}, ours": found[form]["accuracy"] for form in FORMS},
            **{f"{form}, published": found[form]["published"] for form in FORMS},
        }
        for name, decoders in data.items()
        for decoder, found in decoders.items()
    }
    return draw_accuracies(panels)
