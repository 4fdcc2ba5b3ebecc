"""The picture of where future features fire."""

from __future__ import annotations

import pytest

from hedgerow import FutureFeatureMEMM, InputError, LinearCRF
from hedgerow.report import plot_future

X = [["a", "b", "a", "?"], ["a", "b", "b", "."], ["b", "a", "?", "a"]] * 10
Y = [["q", "q", "q", "n"], ["n", "n", "n", "n"], ["q", "q", "n", "n"]] * 10


@pytest.fixture(scope="module")
def model():
    few = {"n_estimators": 5, "learning_rate": 1.0, "early_stopping": False}
    return FutureFeatureMEMM(order=0, window=0, bag=None, **few).fit(X, Y)


def test_two_rows_a_feature_and_a_column_a_position(model, tmp_path):
    ax = plot_future(model, X[0], X[0], path=tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 1_000
    assert [tick.get_text() for tick in ax.get_xticklabels()] == X[0]
    names = [tick.get_text() for tick in ax.get_yticklabels()]
    assert names[:2] == ["pattern 1", "ahead: q"]
    assert len(names) == 2 * model.n_features_
    tiles = sorted((patch.get_y(), patch.get_x(), patch.get_alpha()) for patch in ax.patches)
    assert len(tiles) == 4 * len(names)
    pattern, ahead = ([alpha for _, _, alpha in tiles[i : i + 4]] for i in (0, 4))
    assert pattern == pytest.approx(model.predict_patterns(X[:1])[0][:, 0].tolist())
    assert ahead == pytest.approx(model.predict_features(X[:1])[0][:, 0].tolist())
    assert pattern[3] > 0.5
    assert ahead[3] == 0.0
    assert [tick.get_text() for tick in plot_future(model, X[0]).get_xticklabels()] == ["0", "1", "2", "3"]


def test_what_cannot_be_drawn(model):
    with pytest.raises(InputError, match="no future features"):
        plot_future(LinearCRF().fit(X, Y), X[0])
    with pytest.raises(InputError, match="tokens for"):
        plot_future(model, X[0], ["a"])
    none = FutureFeatureMEMM(order=0, window=0, n_estimators=1, tol=0.99, early_stopping=False).fit(X, Y)
    with pytest.raises(InputError, match="no future feature"):
        plot_future(none, X[0])
