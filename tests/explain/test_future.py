"""Future features in words."""

from __future__ import annotations

import numpy as np
import pytest

from hedgerow import FutureFeatureMEMM, InputError, TreeCRF
from hedgerow.explain import future_features


def corpus(n=60, seed=0):
    """The label of a word is whether a mark stands somewhere after it; numbers beside it say nothing."""
    rng = np.random.default_rng(seed)
    X = [[{"word": f"w{rng.integers(4)}", "size": float(rng.random())} for _ in range(8)] for _ in range(n)]
    for row in X[::2]:
        row[int(rng.integers(3, 8))]["word"] = "?"
    y = [["yes" if any(p["word"] == "?" for p in row[t + 1 :]) else "no" for t in range(8)] for row in X]
    return X, y


@pytest.fixture(scope="module")
def model():
    own = FutureFeatureMEMM(order=0, window=0, bag=None, n_estimators=5, early_stopping=False)
    return own.set_params(columns={"size": "numeric"}).fit(*corpus())


def test_the_rule_is_the_pattern_that_was_planted(model):
    X, y = corpus()
    found = future_features(model, X, y)
    assert len(found) == model.n_features_ >= 1
    first = found[0]
    assert first.label == "yes"
    assert [rule.when for rule in first.rules] == ["word[0] = '?'"]
    assert first.fidelity == 1.0
    assert first.bag_accuracy == 1.0
    share = np.mean([p["word"] == "?" for row in X for p in row])
    np.testing.assert_allclose(first.pattern_share, share, rtol=1e-9)
    np.testing.assert_allclose(first.bag_share, np.mean([label == "yes" for row in y for label in row]), rtol=1e-9)
    text = str(first)
    assert "for 'yes' where some position after it has the pattern" in text
    assert "word[0] = '?'  (100%)" in text
    assert future_features(model, X)[0].bag_accuracy is None


def test_where_it_looks():
    X, y = corpus()
    back = FutureFeatureMEMM(order=0, window=0, bag=4, direction="right_to_left", n_estimators=3, early_stopping=False)
    back.fit([row[::-1] for row in X], [row[::-1] for row in y])
    assert future_features(back, X)[0].place == "one of the 4 positions before it"


def test_what_cannot_be_told(model):
    X, y = corpus(4)
    with pytest.raises(InputError, match="no future features"):
        future_features(TreeCRF(), X)
    with pytest.raises(InputError, match="labels for"):
        future_features(model, X, y[:2])
    with pytest.raises(InputError, match="max_rules"):
        future_features(model, X, max_rules=1)
    with pytest.raises(InputError, match="no sequence"):
        future_features(model, [])
