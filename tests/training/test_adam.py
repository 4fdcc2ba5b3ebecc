"""Adam for sparse gradients against its literal version."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from hedgerow.legend import UNLABELLED
from hedgerow.trainers import Adam
from tests.reference import online_trainers as literal
from tests.training.online_problems import excess, problems, run, small_problem


@settings(max_examples=40)
@given(problems(), st.sampled_from([0.0, 0.3]), st.integers(0, 10**6))
def test_it_is_the_literal_version(problem, l2, seed):
    data = problem.dataset
    known = np.logical_or.reduceat(data.labels != UNLABELLED, data.offsets[:-1])
    assume(known.all())  # where nothing is known, rounding says whether a gradient is 0, and so what a batch touches
    start = 0.1 * np.random.default_rng(seed).normal(size=problem.layout.n_weights)
    found = run(Adam, problem, 3, start, l2=l2, gain=0.05)
    expected = literal.adam(problem, problem.touched, start, 3, l2=l2, gain=0.05)[-1]
    # A mean over the root of its own square turns rounding into a step where a gradient is all but 0.
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_it_comes_near_the_optimum():
    problem = small_problem()
    assert excess(problem, run(Adam, problem, 200, l2=2.0), 2.0) < 1e-3
