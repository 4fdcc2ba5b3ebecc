"""Figure 1 of Vishwanathan et al. 2006: base noun phrases of CoNLL-2000, F by passes."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from hedgerow.data.sequences import Sequences
from hedgerow.datasets import chunking_features
from reproduction.chains import ChainTask, Reader
from reproduction.datasets import load_np_chunking
from reproduction.published import SMD_F
from reproduction.report import Report
from reproduction.settings import Settings
from reproduction.smd.chains import draw_figure, run_figure
from reproduction.smd.online import OnlineTask, spans_counted

TITLE = "Vishwanathan et al. 2006, figure 1: F of base noun phrases (CoNLL-2000) by passes"
BATCH_SIZE, META_GAIN, N_PASSES = 8, 0.1, 50
QUICK_TRAIN, QUICK_TEST = 160, 60


def run(settings: Settings) -> Report:
    """All trainers on base noun phrases."""
    notes = [
        "Features: the 19 word and part-of-speech templates that CRF++ has for chunking (words within two places, two"
        " pairs of words; tags within two places, their pairs and triples), each with every label, and label pairs."
        f" The paper counts {SMD_F['np'].n_features:,} features of such a kind and does not list them."
    ]
    return run_figure("smd-fig-1", TITLE, load_task(settings), notes, settings)


def load_task(settings: Settings) -> OnlineTask:
    """Sentences with the attributes of the templates; labels B-NP, I-NP and O."""
    place = None if settings.folder is None else Path(settings.folder) / "conll2000"
    X, y, X_test, y_test = load_np_chunking(place)
    if settings.quick:
        X, y, X_test, y_test = X[:QUICK_TRAIN], y[:QUICK_TRAIN], X_test[:QUICK_TEST], y_test[:QUICK_TEST]
    chain = ChainTask.of(attributes(X), y, attributes(X_test), y_test, pairs="all")
    return OnlineTask(
        title="Base noun phrases",
        chain=chain,
        score=spans_counted(Reader(chain.layout, chain.test)),
        batch_size=BATCH_SIZE,
        meta_gain=META_GAIN,
        n_passes=N_PASSES,
        published=SMD_F["np"],
        published_score="chunks",
        other_score="chunks",
    )


def attributes(X: Sequences) -> list[list[dict[str, str]]]:
    """What the templates find, position by position."""
    columns, offsets, _ = X.compact()
    words, tags = columns["word"].tolist(), columns["pos"].tolist()
    return [chunking_features(words[a:b], tags[a:b]) for a, b in pairwise(offsets.tolist())]


def draw(data: dict[str, Any]) -> Any:
    """F by passes."""
    return draw_figure(data)
