"""A report of a model on sequences, or images, and their true labels: one page that stands alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hedgerow.errors import InputError
from hedgerow.metrics.labelings import sort_key
from hedgerow.report.page.about import About, about
from hedgerow.report.page.confidence import Confidence, confidence
from hedgerow.report.page.data import Facts, Trained, facts
from hedgerow.report.page.learnt import Learnt, learnt
from hedgerow.report.page.scores import Scores, scores
from hedgerow.report.page.shown import View, value_reader, view_of
from hedgerow.report.page.suspects import Next, Suspect, Suspects, every_suspect, next_to_label, suspects, to_csv
from hedgerow.report.page.tested import Tested, flat_labels, judge, labelled_images, sequences_of
from hedgerow.report.page.worst import Item, items

_EACH_IMAGE = 4  # explanations of images cost as many as so many of sequences


@dataclass(frozen=True, repr=False)
class Report:
    """What `report` of a model returns: its parts as plain data, and the page that `save` writes.

    scores, confidence, suspects : None where there are no true labels, or no probabilities, to tell them by
    cross_validated : the sequences whose labels are looked at, where they are not the tested ones
    """

    tested: Tested
    view: View
    about: About
    data: Facts
    scores: Scores | None
    confidence: Confidence | None
    items: list[Item]
    learnt: Learnt
    suspects: Suspects | None
    cross_validated: Tested | None = None

    def to_html(self) -> str:
        """The page as text. It loads nothing from elsewhere."""
        from hedgerow.report.page.render import render_report

        return render_report(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which is replaced at once, or not at all."""
        write_page(self.to_html(), path)

    def save_suspects(self, path: str | os.PathLike[str]) -> None:
        """Write all labels that are probably wrong as comma-separated values."""
        self._check_told()
        looked = self.tested if self.cross_validated is None else self.cross_validated
        write_page(to_csv(Suspect, every_suspect(looked, value_reader(self.view))), path)

    def save_next(self, path: str | os.PathLike[str]) -> None:
        """Write all sequences, the one to label first at the top, as comma-separated values."""
        self._check_told()
        write_page(to_csv(Next, next_to_label(self.tested, value_reader(self.view), None)), path)

    def _check_told(self) -> None:
        if self.suspects is None:
            name = type(self.tested.model).__name__
            raise InputError(f"{name} has no probabilities, by which labels could be suspected")

    def _repr_html_(self) -> str:
        from hedgerow.report.page.render import notebook

        return notebook(self.to_html())

    def __repr__(self) -> str:
        told = [f"{one.name} {one.value:.4f}" for one in (self.scores.headlines if self.scores is not None else ())]
        return f"Report({', '.join([self.about.title, *told])})"


def write_page(text: str, path: str | os.PathLike[str]) -> None:
    """Write a text to a file, which is replaced at once, or not at all."""
    from hedgerow.persistence import replace_file

    replace_file(path, [text.encode("utf-8", "replace")])


def make_report(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    X_train: Any = None,
    y_train: Any = None,
    cv: int | None = None,
    scheme: str | None = None,
    n_shown: int = 40,
    n_explained: int = 200,
    n_suspects: int = 100,
    title: str | None = None,
    command: str | None = None,
    files: Mapping[str, str] | None = None,
) -> Report:
    """Judge a fitted model by labelled sequences, or images.

    Parameters
    ----------
    model : a fitted estimator
    X, y : as `score` takes them. Without y, or where a label is None or a set, there is nothing to compare with: the
        report then tells of the rest
    X_train, y_train : what the model was trained on, to compare columns and to find the same sequences again
    cv : look for wrong labels by probabilities that are cross-validated in so many parts: in the training sequences, or
        in X and y where these are not given. The model is trained as often
    scheme : how spans are written; by default it is told from the labels
    n_shown, n_explained, n_suspects : the most sequences, explanations and suspects on the page; files have all
    title, command, files : what the page says of itself; files : what it is → path
    """
    for name, number in (("n_shown", n_shown), ("n_explained", n_explained), ("n_suspects", n_suspects)):
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 0:
            raise InputError(f"⟦{name}⟧ is {number!r}", hint="Give a whole number, 0 or more.")
    if y_train is not None and X_train is None:
        raise InputError("⟦y_train⟧ is given without ⟦X_train⟧", hint="Give both.")
    seen = judge(model, X, y, scheme)
    trained = None if X_train is None else _trained(model, X_train, y_train)
    view = view_of(seen)
    other = None if cv is None else _cross_validated(seen, trained, cv)
    explained = n_explained if seen.shapes is None else n_explained // _EACH_IMAGE
    return Report(
        seen,
        view,
        about(seen, title, command, files or {}),
        facts(seen, trained),
        scores(seen),
        confidence(seen),
        list(items(seen, view, n_shown, explained)),
        learnt(seen),
        suspects(seen, value_reader(view), n_suspects, other),
        other,
    )


def _trained(model: Any, X: Any, y: Any) -> Trained:
    """The training sequences, encoded by the model, with their labels."""
    if hasattr(model, "neighbours"):
        dataset, offsets, labels = labelled_images(model, X, y)
        return Trained(dataset, X, offsets, labels)
    X, y = sequences_of(model, X, y)
    dataset = model.encode(X)
    return Trained(dataset, X, dataset.offsets, flat_labels(y, dataset.offsets, ("⟦X_train⟧", "⟦y_train⟧")))


def _cross_validated(seen: Tested, trained: Trained | None, cv: int) -> Tested:
    """Sequences with probabilities by models that did not see their labels."""
    from sklearn.base import clone

    from hedgerow.model_selection import cross_val_predict

    if seen.shapes is not None:
        raise InputError("⟦cv⟧ is for sequences", hint="Leave it out: images are judged by the model itself.")
    if not hasattr(seen.model, "predict_proba"):
        raise InputError(f"⟦cv⟧ needs probabilities, and {type(seen.model).__name__} has none", hint="Leave it out.")
    if trained is None:
        X, offsets, labels = seen.X, seen.offsets, [(*seen.labels, None)[k] for k in seen.true.tolist()]
    else:
        X, offsets, labels = trained.X, trained.offsets, trained.labels
    y = [labels[a:b] for a, b in zip(offsets.tolist(), offsets[1:].tolist())]
    if len(y) < cv or all(label is None for label in labels):
        raise InputError(f"⟦cv⟧ is {cv}", hint=f"Give labels, and 2 to {len(y)} parts.")
    probs = np.concatenate(cross_val_predict(clone(seen.model), X, y, cv=cv, method="predict_proba"))
    classes = seen.model.classes_.tolist()
    if probs.shape[1] != len(classes):
        classes = sorted({label for label in labels if label is not None}, key=sort_key)
    place: dict[Any, int] = {None: -1} | {label: k for k, label in enumerate(classes)}
    true = np.array([place.setdefault(label, len(place) - 1) for label in labels], dtype=np.int32)
    names = tuple(label for label in place if label is not None)
    guess = probs.argmax(axis=1).astype(np.int32)
    return Tested(seen.model, X, names, offsets, true, guess, probs, None, None, seen.scheme)
