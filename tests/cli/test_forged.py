"""Commands on model files that someone made: one line of what is wrong, or an answer, and no traceback."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from hedgerow.persistence import read
from tests.codec.mutants import change_value, seal

JUNK = (None, True, 7, -1.5, "x", [], ["x"], {}, {"format": "conll"}, [[[]]])


@pytest.fixture
def forged(trained, folder):
    """Write the model with another header."""
    header, tensors = read(trained)

    def write(change):
        own = copy.deepcopy(header)
        change(own)
        (folder / "m").write_bytes(seal(own, tensors))

    return write


def check(hedgerow):
    for command in (("info", "m"), ("tag", "m", "train.txt"), ("eval", "m", "train.txt")):
        done = hedgerow(*command)
        if done.code:
            assert done.complaint


@pytest.mark.parametrize("part", ["reader", "training"])
def test_notes_that_are_none(part, hedgerow, forged):
    for junk in JUNK:
        forged(lambda header, junk=junk: header["metadata"].update({part: junk}))
        check(hedgerow)


def test_fields_of_notes_that_are_none(hedgerow, forged, trained):
    notes = read(trained)[0]["metadata"]
    places = [(part, name) for part in notes for name in notes[part]]
    assert ("reader", "template") in places
    for i, (part, name) in enumerate(places):
        for junk in (JUNK[i % len(JUNK)], JUNK[(3 * i + 1) % len(JUNK)]):
            forged(lambda header, p=part, n=name, junk=junk: header["metadata"][p].update({n: junk}))
            check(hedgerow)


def test_any_value_of_the_header(hedgerow, forged, trained):
    tensors = read(trained)[1]
    for i in range(20):
        forged(lambda header, i=i: change_value(np.random.default_rng(i), header, tensors))
        check(hedgerow)
