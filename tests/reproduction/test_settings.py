"""What an experiment may be told."""

from __future__ import annotations

import json

import pytest

from hedgerow.errors import InputError
from reproduction.settings import Settings


@pytest.mark.parametrize(
    "wrong", [{"n_jobs": 0}, {"inner_folds": 1}, {"max_iterations": 0}, {"seeds": ()}, {"outer_folds": 1}]
)
def test_settings_that_make_no_sense(wrong):
    with pytest.raises(InputError):
        Settings(**wrong)


def test_the_grids_are_those_of_the_thesis():
    settings = Settings()
    assert settings.leaves == (30, 50, 75, 100)
    assert settings.shrinkages == (0, 5, 10, 20, 40, 80)
    assert settings.variances == (1, 5, 10, 20)


def test_quick_is_a_part():
    settings = Settings(outer_folds=None)
    quick = settings.quickly()
    assert quick.quick
    assert set(quick.shrinkages) < set(settings.shrinkages)
    assert quick.max_iterations < settings.max_iterations
    assert quick.outer_folds == 2


def test_the_record_has_nothing_of_the_machine():
    record = Settings(folder="somewhere").to_dict()
    assert json.loads(json.dumps(record))["seeds"] == [0, 1, 2, 3, 4]
    assert "somewhere" not in json.dumps(record)
