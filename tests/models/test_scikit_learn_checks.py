"""scikit-learn's own checks over every estimator, with the reasons of those that cannot pass; and metadata routing."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.utils.estimator_checks import check_estimator

from hedgerow import AutoLabeler, LinearCRF
from hedgerow.datasets import make_sequences

from .test_conventions import every_estimator, quick

ONE_MATRIX = "it fits one matrix of rows, which says nothing of sequences: X is a list of them, or has `lengths`"
MESSAGE = "it fits one matrix of rows, and looks for other words in the error than those that tell of it"
EXPECTED = {
    ONE_MATRIX: (
        "check_dict_unchanged", "check_dont_overwrite_parameters", "check_dtype_object", "check_estimators_dtypes",
        "check_estimators_fit_returns_self", "check_estimators_overwrite_params", "check_estimators_pickle",
        "check_f_contiguous_array_estimator", "check_fit2d_1feature", "check_fit2d_predict1d",
        "check_fit_check_is_fitted", "check_fit_idempotent", "check_fit_score_takes_y",
        "check_methods_sample_order_invariance", "check_methods_subset_invariance", "check_n_features_in",
        "check_n_features_in_after_fitting", "check_pipeline_consistency", "check_positive_only_tag_during_fit",
        "check_readonly_memmap_input", "check_sample_weight_equivalence_on_dense_data", "check_sample_weights_list",
        "check_sample_weights_not_an_array", "check_sample_weights_not_overwritten",
        "check_sample_weights_pandas_series", "check_sample_weights_shape",
    ),
    MESSAGE: (
        "check_all_zero_sample_weights_error", "check_complex_data", "check_estimator_sparse_array",
        "check_estimator_sparse_matrix", "check_estimator_sparse_tag", "check_estimators_empty_data_messages",
        "check_estimators_nan_inf", "check_fit2d_1sample",
    ),
}  # fmt: skip
REASONS = {check: reason for reason, checks in EXPECTED.items() for check in checks}


@every_estimator
def test_checks_of_scikit_learn(kind):
    """One test for an estimator: to report each of 48 checks by itself takes longer than to run them."""
    results = check_estimator(quick(kind), expected_failed_checks=REASONS, on_fail=None, on_skip=None)
    assert [result["check_name"] for result in results if result["status"] == "failed"] == []
    assert [name for name in (r["check_name"] for r in results if r["status"] == "passed") if name in REASONS] == []
    assert sum(result["status"] == "passed" for result in results) >= 10


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def corpus():
    X, y = make_sequences(24, mean_length=5, random_state=0)
    objects = np.empty(len(X), dtype=object)
    objects[:] = X
    return objects, np.array(y, dtype=object)


@pytest.mark.usefixtures("routing")
def test_held_out_sequences_reach_a_step_of_a_pipeline(corpus):
    X, y = corpus
    model = LinearCRF(window=0, n_iter_no_change=2, max_iter=20)
    steps = Pipeline([("model", sklearn.clone(model).set_fit_request(X_val=True, y_val=True))])
    found = steps.fit(X[:16], y[:16], X_val=X[16:], y_val=y[16:])["model"]
    direct = model.fit(X[:16], y[:16], X_val=X[16:], y_val=y[16:])
    assert found.weights_.tolist() == direct.weights_.tolist()
    assert found.history_[0].score is not None  # they were used


@pytest.mark.usefixtures("routing")
def test_what_is_not_asked_for_is_refused(corpus):
    X, y = corpus
    with pytest.raises(ValueError, match="X_val"):
        Pipeline([("model", LinearCRF(window=0))]).fit(X, y, X_val=X, y_val=y)


@pytest.mark.usefixtures("routing")
def test_lengths_reach_fit_and_predict_of_a_step():
    rng = np.random.default_rng(0)
    rows, lengths = rng.normal(size=(40, 3)), [8] * 5
    y = np.where(rows[:, 0] > 0, "up", "down")
    model = LinearCRF(window=0)
    asking = sklearn.clone(model).set_fit_request(lengths=True).set_predict_request(lengths=True)
    steps = Pipeline([("model", asking)]).fit(rows, y, lengths=lengths)
    direct = model.fit(rows, y, lengths=lengths)
    assert np.array_equal(steps.predict(rows, lengths=lengths), direct.predict(rows, lengths=lengths))
    assert steps["model"].weights_.tolist() == direct.weights_.tolist()


@pytest.mark.usefixtures("routing")
def test_weights_follow_the_folds(corpus):
    """A weight of 0 is no sequence: what is wrong with those is not learnt."""
    X, y = corpus
    wrong = np.array([["L0"] * len(labels) for labels in y], dtype=object)
    both, labels = np.concatenate([X, X]), np.concatenate([y, wrong])
    weights = np.repeat([1.0, 0.0], len(X))
    asking = LinearCRF(window=0).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    fold = [(np.arange(40), np.arange(8))]
    found = cross_validate(asking, both, labels, cv=fold, params={"sample_weight": weights}, return_estimator=True)
    alone = LinearCRF(window=0).fit(X[:24], y[:24])
    np.testing.assert_allclose(found["estimator"][0].predict_proba(X[:1])[0], alone.predict_proba(X[:1])[0], atol=1e-4)


@pytest.mark.usefixtures("routing")
def test_groups_reach_both_the_folds_and_the_search_inside(corpus):
    X, y = corpus
    groups = np.arange(len(X)) // 4
    seen: list[tuple[int, ...]] = []

    class Watched(AutoLabeler):
        def fit(self, X, y=None, sample_weight=None, *, groups=None):
            seen.append(tuple(groups))
            return super().fit(X, y, sample_weight, groups=groups)

    search = GridSearchCV(
        Watched(n_trials=1, window=0, random_state=0).set_fit_request(groups=True),
        {"max_models": [1]},
        cv=GroupKFold(2).set_split_request(groups=True),
        refit=False,
    )
    search.fit(X, y, groups=groups)
    assert len(seen) == 2
    assert not set(seen[0]) & set(seen[1])  # a group is in one fold alone, and each fit got those of its own sequences
    assert {*seen[0], *seen[1]} == set(groups.tolist())
