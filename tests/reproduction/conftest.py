"""Tiny problems in the place of the data sets."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.data.sequences import Sequences
from reproduction import problems
from reproduction.beyond import search_methods, tree_objectives
from reproduction.datasets.two_states import make_two_states
from reproduction.labelwise import figure_1 as labelwise_figure_1
from reproduction.labelwise import figure_2 as labelwise_figure_2
from reproduction.lattice import denoising as lattice_denoising
from reproduction.lattice import snakes as lattice_snakes
from reproduction.lattice import structure as lattice_structure
from reproduction.slides import tts as slides_tts
from reproduction.smd import figure_1 as smd_figure_1
from reproduction.smd import figure_2 as smd_figure_2

from .tiny import tiny_problem


@pytest.fixture
def tiny_data(monkeypatch):
    """Every data set is a tiny one, of the same form: a fixed split, a draw for each seed, folds."""
    forms = {"protein": {}, "nettalk": {"redrawn": True}, "hyphen": {}}
    forms |= {name: {"n_folds": 2} for name in ("papers", "headers", *problems.FEW_PAPERS)}
    for name, form in forms.items():
        monkeypatch.setitem(problems.LOADERS, name, lambda settings, name=name, form=form: tiny_problem(name, **form))
    monkeypatch.setattr(smd_figure_1, "load_np_chunking", lambda folder: (*_sentences(30), *_sentences(12)))
    monkeypatch.setattr(search_methods, "load_conll2000", lambda folder: (*_sentences(30), *_sentences(12)))
    monkeypatch.setattr(smd_figure_2, "load_jnlpba", lambda folder: (*_sentences(30), *_sentences(12)))
    monkeypatch.setattr(labelwise_figure_1, "QUICK_LENGTH", 2_000)
    monkeypatch.setattr(labelwise_figure_2, "load_genes", lambda folder: (*_genes(3), *_genes(4)))
    monkeypatch.setattr(tree_objectives, "load_letters", _letters)
    monkeypatch.setattr(slides_tts, "load_nettalk", _spoken)
    monkeypatch.setattr(lattice_denoising, "load_denoise", _drawings)
    monkeypatch.setattr(lattice_structure, "load_manmade", _photographs)
    monkeypatch.setattr(lattice_snakes, "load_snakes", _snakes)


def _sentences(n):
    """Words that tell their labels now and then."""
    rng = np.random.default_rng(n)
    lengths = rng.integers(3, 9, size=n)
    labels = [["B-NP" if t % 4 == 0 else "I-NP" if t % 4 < 3 else "O" for t in range(length)] for length in lengths]
    y = np.empty(n, dtype=object)
    y[:] = labels
    flat = [label for row in labels for label in row]
    words = [f"{label[0].lower()}{rng.integers(6)}" for label in flat]
    columns = {"word": np.array(words, dtype=object), "pos": np.array([word[0] for word in words], dtype=object)}
    return Sequences(columns, np.cumsum([0, *lengths]), dict.fromkeys(columns, "categorical")), y


def _genes(seed):
    """Three labels: two states, and what lies at the ends."""
    X, y = make_two_states(4, 300, random_state=seed)
    for labels in y:
        labels[:] = ["n" if t < 40 or t >= 260 else "c" if label == "C" else "i" for t, label in enumerate(labels)]
    return Sequences({"base": np.array([b.lower() for b in X.columns["base"]], dtype=object)}, X.offsets, X.kinds), y


def _spoken(folder, *, label):
    """Words whose letters are spoken one way or, after another letter, the other way; one word is not known."""
    assert label == "both"
    rng = np.random.default_rng(0)
    X = [rng.choice(list("abc"), size=rng.integers(2, 7)).tolist() for _ in range(130)]
    y = [[letter + ("1" if t and word[t - 1] == "a" else "0") for t, letter in enumerate(word)] for word in X]
    return X, [[None] * len(X[0]), *y[1:]]


def _letters(folder):
    rng = np.random.default_rng(0)
    lengths = rng.integers(2, 6, size=40)
    y = [["abc"[k] for k in rng.integers(3, size=length)] for length in lengths]
    X = [np.array([rng.random(8) < (0.8 if "abc".index(k) == 1 else 0.3) for k in word]).astype(np.uint8) for word in y]
    return X, y, np.arange(40) % 2


def _drawings(folder):
    """Eight images of 0 and 1, of which the first is not cut into parts."""
    rows, columns = np.mgrid[:30, :30]
    return [((rows * (i + 1) + columns * (8 - i)) // 40 % 2).astype(np.int64) for i in range(8)]


def _photographs(folder, *, n_images):
    """Stripes are man-made."""
    rng = np.random.default_rng(0)
    masks = [(rng.random((4, 5)) < 0.4).astype(np.int64) for _ in range(2 * n_images)]
    stripes = 200.0 * (np.indices((64, 80))[1] // 3 % 2)
    images = [np.kron(mask, np.ones((16, 16))) * stripes + rng.normal(scale=9.0, size=(64, 80)) for mask in masks]
    return images[:n_images], masks[:n_images], images[n_images:], masks[n_images:]


def _snakes(folder):
    """Straight snakes of three cells, in the colours of the way they go."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for length in rng.integers(4, 6, size=20):
        labels = np.zeros((4, length), dtype=np.int64)
        labels[rng.integers(4), :3] = (1, 2, 3)
        colours = np.where((labels > 0)[..., None], (255, 0, 0), (0, 0, 255)).astype(np.uint8)
        X.append(colours)
        y.append(labels)
    return X[:14], y[:14], X[14:], y[14:]
