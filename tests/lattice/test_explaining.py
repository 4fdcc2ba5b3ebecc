"""`explain` of a node: features, neighbours and the rest, which add up to the log-odds of its beliefs."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow.errors import InputError
from hedgerow.lattice import LatticeCRF, TreeLatticeCRF
from hedgerow.lattice.dataset import make_dataset

MODELS = {
    "linear": lambda: LatticeCRF(),
    "ising": lambda: LatticeCRF(form="ising"),
    "trees": lambda: TreeLatticeCRF(n_estimators=3),
}


@pytest.fixture
def images(rng):
    y = [(np.add.outer(np.arange(6), np.arange(5)) // 4 + i) % 2 for i in range(5)]
    return [np.stack([mask + rng.normal(0, 0.8, mask.shape), rng.normal(size=mask.shape)], -1) for mask in y], y


@pytest.mark.parametrize("name", MODELS)
def test_the_parts_are_those_of_the_beliefs(name, images):
    X, y = images
    model = MODELS[name]().fit(X, y)
    beliefs = model.infer(X[:1])[0].node_probs
    best = beliefs.argmax(axis=1)
    for place in ((0, 0), (2, 3), (5, 1)):
        found = model.explain(X[0], place, 1, against=0)
        i = int(np.ravel_multi_index(place, (6, 5)))
        wanted = np.log(beliefs[i, 1] / beliefs[i, 0])
        np.testing.assert_allclose(sum(part.log_odds for part in found.parts), wanted, rtol=0, atol=1e-9)
        assert found.position == place
        # By scores of labelings: two that differ at the node alone.
        dataset = model._read([X[0]])
        potentials = model._scores(make_dataset(dataset, differences=model.differences))(0)
        labels = best.astype(np.int32)
        scores = []
        for k in (1, 0):
            labels[i] = k
            scores.append(potentials.score(labels))
        np.testing.assert_allclose(wanted - found.total("rest"), scores[0] - scores[1], rtol=0, atol=1e-9)
        assert any("neighbour" in part.name for part in found.parts)


def test_features_are_weights_times_values(images):
    """Two images that differ in one feature of one node differ in that part."""
    X, y = images
    model = LatticeCRF(differences=False).fit(X, y)
    moved = X[0].copy()
    moved[2, 2, 0] += 1.0
    parts = [
        next(part.log_odds for part in model.explain(x, (2, 2), 1, against=0).parts if part.name == "feature 0")
        for x in (X[0], moved)
    ]
    weights = model.node_weights_[1] / model.scaling_.node_spread[0]
    np.testing.assert_allclose(parts[1] - parts[0], weights[1] - weights[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("place", [(6, 0), 3, (1, 2, 3), ("a", 0)])
def test_no_such_place(place, images):
    X, y = images
    model = LatticeCRF().fit(X, y)
    with pytest.raises(InputError, match="position is"):
        model.explain(X[0], place)
