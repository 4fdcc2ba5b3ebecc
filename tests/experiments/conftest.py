"""Tiny problems in the place of the data sets."""

from __future__ import annotations

import pytest

from hedgerow.experiments import problems

from .tiny import tiny_problem


@pytest.fixture
def tiny_data(monkeypatch):
    """Every data set is a tiny one, of the same form: a fixed split, a draw for each seed, folds."""
    forms = {"protein": {}, "nettalk": {"redrawn": True}, "hyphen": {}, "papers": {"n_folds": 2}}
    for name, form in forms.items():
        monkeypatch.setitem(problems.LOADERS, name, lambda settings, name=name, form=form: tiny_problem(name, **form))
