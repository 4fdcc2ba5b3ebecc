"""Trees that members of a pool grow, cut by cut, are those of one compiled call: the oracle of these kernels."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.chain.objectives.log_likelihood import log_likelihood

from ..training.test_pooled import both, corpus, options_of, same_trees

CASES = [(kind, edges) for kind in ("words", "numbers", "attributes") for edges in ("joint", "shared")]


@pytest.mark.parametrize(("kind", "edges"), [*CASES, ("numbers", "vectors"), ("both", "vectors")])
def test_cut_by_cut_is_one_call(kind, edges):
    dataset = corpus(kind, 2, np.random.default_rng(0)).take(np.arange(12))
    options = options_of(edges) | {"max_leaf_nodes": 4}
    alone, led = both(dataset, 2, 2, **options)
    for _ in range(2):
        assert alone.evaluate(log_likelihood) == led.evaluate(log_likelihood)
        alone.step()
        led.step()
    for a, b in zip(alone.iterations, led.iterations, strict=True):
        same_trees(a.trees, b.trees)
