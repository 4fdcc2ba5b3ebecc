"""Conjunctions of atoms: where they hold, what candidates would change, and what they gain."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.legend import CODE, INDEX
from hedgerow.linear.conjunctions import Conjunctions, Held, meet
from hedgerow.training.induction import Outputs, Search
from tests.reference import induction as reference

ROWS = 6
SCHEMA: Any = SimpleNamespace()  # of which the kernels see nothing


@st.composite
def corpora(draw: st.DrawFn) -> tuple[list[dict[int, float]], bool]:
    """Atoms of some positions; whether all their values are 1."""
    plain = draw(st.booleans())
    number = st.just(1.0) if plain else st.sampled_from([-1.5, 0.5, 1.0, 2.0])
    atoms = st.dictionaries(st.integers(0, ROWS - 1), number, max_size=ROWS)
    return draw(st.lists(atoms, min_size=1, max_size=8)), plain


SETS = st.sets(st.frozensets(st.integers(0, ROWS - 1), max_size=3), min_size=1, max_size=6).map(
    lambda sets: sorted(tuple(sorted(one)) for one in sets)
)


def listed(positions: list[dict[int, float]], plain: bool) -> Held:
    items = [sorted(atoms.items()) for atoms in positions]
    ptr = np.cumsum([0, *map(len, items)]).astype(INDEX)
    rows = np.array([row for atoms in items for row, _ in atoms], dtype=INDEX)
    return Held(ptr, rows, np.empty(0) if plain else np.array([v for atoms in items for _, v in atoms]))


def unlisted(held: Held) -> list[dict[int, float]]:
    values = held.values if len(held.values) else np.ones(len(held.numbers))
    pairs = list(zip(held.numbers.tolist(), values.tolist()))
    return [{number: round(v, 9) for number, v in pairs[a:b]} for a, b in zip(held.ptr[:-1], held.ptr[1:])]


def rounded(held: list[dict[int, float]]) -> list[dict[int, float]]:
    return [{number: round(v, 9) for number, v in one.items()} for one in held]


def said(n: int, n_outputs: int, seed: int) -> Outputs:
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(n_outputs, 0.5), size=n)
    truth = rng.integers(0, n_outputs, n).astype(CODE)
    return Outputs(probs, truth, rng.choice([0.5, 1.0, 2.0], n))


@given(corpora(), SETS, SETS)
def test_conjunctions_hold_where_all_atoms_stand(corpus, sets, more):
    positions, plain = corpus
    atoms, one = listed(positions, plain), Conjunctions.of(SCHEMA, sets)
    assert one.sets() == sets
    assert unlisted(one.held(atoms)) == rounded(reference.held(sets, positions))
    new = [other for other in more if other not in sets]
    both = one.held(atoms).joined(Conjunctions.of(SCHEMA, new).held(atoms), len(sets))
    assert unlisted(both) == rounded(reference.held(sets + new, positions))
    assert unlisted(one.extended(new).held(atoms)) == unlisted(both)
    some = np.arange(len(positions), dtype=INDEX)[::2]
    assert unlisted(both.at(some)) == unlisted(both)[::2]


@given(corpora(), SETS, st.integers(0, 100))
def test_candidates_and_what_they_can_gain_at_most(corpus, sets, seed):
    positions, plain = corpus
    model, atoms, outputs = Conjunctions.of(SCHEMA, sets), listed(positions, plain), said(len(positions), 3, seed)
    search = Search(model, atoms, model.held(atoms), outputs)
    made_of, found = search.candidates(1000)
    made = [tuple(sorted((*sets[f], row))) for f, row in made_of.tolist()]
    assert len(set(made)) == len(made)
    assert set(made) == reference.candidates(sets, positions)
    left = [reference.left(one, positions, *outputs) for one in made]
    np.testing.assert_allclose(found, left, rtol=1e-12)
    if plain:
        gains = [reference.gain(one, positions, *outputs, 0.0) for one in made]
        assert (np.array(gains) <= outputs.probs.shape[1] * np.array(left) + 1e-6).all()


@given(corpora(), SETS, st.integers(0, 100), st.sampled_from([0.0, 0.1, 5.0]))
def test_gains_are_what_a_search_along_one_weight_finds(corpus, sets, seed, l2):
    positions, plain = corpus
    outputs = said(len(positions), 2, seed)
    atoms = listed(positions, plain)
    search = Search(Conjunctions.of(SCHEMA, [()]), atoms, Conjunctions.of(SCHEMA, [()]).held(atoms), outputs)
    expected = [reference.gain(one, positions, *outputs, l2) for one in sets]
    np.testing.assert_allclose(search.gains(meet(sets, atoms), l2), expected, rtol=1e-5, atol=1e-6)


def test_gains_of_values_whose_exponentials_are_huge():
    """Of one weight μ for all: Σ_t v_t μ − log(1 − p + p e^{v_t μ}) − μ², where all labels are the first one; and as
    much of the second one, with −μ."""
    values = np.repeat([1.0, 100.0], [2000, 10])
    atoms = listed([{0: value} for value in values.tolist()], False)
    outputs = Outputs(np.full((len(values), 2), [0.3, 0.7]), np.zeros(len(values), CODE), np.ones(len(values)))
    search = Search(Conjunctions.of(SCHEMA, [()]), atoms, Conjunctions.of(SCHEMA, [()]).held(atoms), outputs)
    z = np.linspace(0.0, 8.0, 8001)[:, None] * np.unique(values)
    terms = z - np.logaddexp(np.log(0.7), np.log(0.3) + z)
    expected = (terms @ [2000.0, 10.0] - np.linspace(0.0, 8.0, 8001) ** 2).max()
    with np.errstate(over="ignore", invalid="ignore"):  # as plain Python, where the search goes too far first
        np.testing.assert_allclose(search.gains(meet([(0,)], atoms), 1.0), 2.0 * expected, rtol=1e-4)


@given(corpora(), SETS, st.integers(0, 100), st.integers(1, 4))
def test_where_fewer_candidates_are_asked_for_they_are_the_largest(corpus, sets, seed, most):
    positions, plain = corpus
    model, atoms, outputs = Conjunctions.of(SCHEMA, sets), listed(positions, plain), said(len(positions), 2, seed)
    search = Search(model, atoms, model.held(atoms), outputs)
    (every, left), (some, left_of_some) = search.candidates(1000), search.candidates(most)
    assert len(some) == min(most, len(every))
    chosen = np.sort(np.argsort(-np.rint(left / 1e-9), kind="stable")[:most])
    np.testing.assert_array_equal(some, every[chosen])
    np.testing.assert_array_equal(left_of_some, left[chosen])


def test_a_conjunction_that_can_just_reach_the_kept_ones_is_looked_at():
    """Each holds at one position, with a little more to gain than the one before it; room is for a few."""
    positions = [{i: 1.0, 8: 1.0} for i in range(8)]
    model, atoms = Conjunctions.of(SCHEMA, [(i,) for i in range(8)]), listed(positions, True)
    probs = np.stack([0.5 - 0.01 * np.arange(8), 0.5 + 0.01 * np.arange(8)], axis=1)
    outputs = Outputs(probs, np.zeros(8, dtype=CODE), np.ones(8))
    made_of, left = Search(model, atoms, model.held(atoms), outputs).candidates(1)
    assert made_of.tolist() == [[7, 8]]
    np.testing.assert_allclose(left, -np.log(0.43), rtol=1e-12)


@given(corpora(), st.integers(0, 100))
def test_the_best_have_the_largest_gains(corpus, seed):
    positions, plain = corpus
    sets = [(), (0,)]
    model, atoms, outputs = Conjunctions.of(SCHEMA, sets), listed(positions, plain), said(len(positions), 2, seed)
    every = reference.candidates(sets, positions)
    gains = {one: reference.gain(one, positions, *outputs, 0.1) for one in every}
    found = Search(model, atoms, model.held(atoms), outputs).best(len(every) or 1, 0.1)
    assert set(found) <= every
    where = {one: tuple(reference.value(one, own) for own in positions) for one in every}
    assert len({where[one] for one in found}) == len(found)  # of those that are the same everywhere there is one
    wanted = {where[one] for one in every if gains[one] > 1e-9}
    assert {where[one] for one in found} == wanted or min(gains.values()) < 1e-6
    in_order = [gains[one] for one in found]
    np.testing.assert_allclose(in_order, sorted(in_order, reverse=True), atol=1e-5)
