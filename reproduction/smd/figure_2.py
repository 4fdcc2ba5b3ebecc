"""Figure 2 of Vishwanathan et al. 2006: names in biomedical abstracts (JNLPBA 2004), F by passes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from reproduction.chains import ChainTask, Reader
from reproduction.datasets import ORTHOGRAPHY, entity_features, load_jnlpba
from reproduction.published import SMD_F
from reproduction.report import Report
from reproduction.settings import Settings
from reproduction.smd.chains import draw_figure, run_figure
from reproduction.smd.online import OnlineTask, names_counted

TITLE = "Vishwanathan et al. 2006, figure 2: F of names (JNLPBA 2004) by passes"
BATCH_SIZE, META_GAIN, N_PASSES = 6, 0.02, 50
WINDOW = {"word": 2}
N_ORDERS = 2  # at most: it has two and a half times the positions of figure 1
QUICK_TRAIN, QUICK_TEST = 150, 60


def run(settings: Settings) -> Report:
    """All trainers on names."""
    notes = [
        "The paper does not say what its F counts. entities: whole names with their kind. tokens: labels other than O."
        " tokens, any name: being part of some name; it is this one that comes near the published figures.",
        f"Features: the words within two places, and {len(ORTHOGRAPHY)} orthographic tests of the word itself"
        " (reproduction.datasets.ORTHOGRAPHY), each with every label, and label pairs. The paper's regular expressions"
        f" are not known, these are ours; it counts {SMD_F['jnlpba'].n_features:,} features.",
    ]
    fewer = replace(settings, seeds=settings.seeds[:N_ORDERS])
    return run_figure("smd-fig-2", TITLE, load_task(settings), notes, fewer)


def load_task(settings: Settings) -> OnlineTask:
    """Sentences with words and orthography; labels in IOB2."""
    place = None if settings.folder is None else Path(settings.folder) / "jnlpba"
    X, y, X_test, y_test = load_jnlpba(place)
    if settings.quick:
        X, y, X_test, y_test = X[:QUICK_TRAIN], y[:QUICK_TRAIN], X_test[:QUICK_TEST], y_test[:QUICK_TEST]
    chain = ChainTask.of(entity_features(X), y, entity_features(X_test), y_test, window=WINDOW, pairs="all")
    return OnlineTask(
        title="Names",
        chain=chain,
        score=names_counted(Reader(chain.layout, chain.test)),
        batch_size=BATCH_SIZE,
        meta_gain=META_GAIN,
        n_passes=N_PASSES,
        published=SMD_F["jnlpba"],
        published_score="tokens, any name",
        other_score="entities",
    )


def draw(data: dict[str, Any]) -> Any:
    """F by passes."""
    return draw_figure(data)
