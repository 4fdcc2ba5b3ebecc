"""`missing=`: what estimators do where values of the input are missing, from every form of input to files and back."""

from __future__ import annotations

import copy
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hedgerow import Item, LinearCRF, TreeCRF, load, sequences
from hedgerow.data.encoding import learn
from hedgerow.datasets import make_missing
from hedgerow.errors import InputError, ModelFileError
from hedgerow.estimators import files
from hedgerow.persistence import write

from .corpora import partial_labels, rich_corpus

WAYS = ("learned", "weighting", "surrogate", "impute", "indicator")
GAPS = ("weighting", "surrogate")
KINDS = {"word": "categorical", "size": "numeric", "upper": "boolean", "language": "categorical", "length": "numeric"}


def damaged(n: int = 40, seed: int = 0, rate: float = 0.25):
    """Sequences of every kind of column, with gaps in all that trees could miss; those of whole sequences too."""
    X, y = rich_corpus(n, seed)
    rng = np.random.default_rng(seed)
    rows = make_missing([x.positions for x in X], rate, columns=["word", "size", "upper"], random_state=seed)
    rows[0][0] = {}
    features = [{k: None if rng.random() < rate else v for k, v in x.features.items()} for x in X]
    return [Item(own, constant) for own, constant in zip(rows, features)], y


def tree(**parameters):
    defaults = {
        "window": 1,
        "columns": KINDS,
        "n_estimators": 8,
        "max_leaf_nodes": 8,
        "l2_regularization": 1.0,
        "random_state": 0,
    }
    return TreeCRF(**defaults | {"early_stopping": False} | parameters)


def linear(**parameters):
    return LinearCRF(**{"window": 1, "columns": KINDS, "l2": 0.1} | parameters)


def probabilities(model, X):
    return np.concatenate(model.predict_proba(X))


def same(one, other, X):
    np.testing.assert_array_equal(probabilities(one, X), probabilities(other, X))


# ------------------------------------------------------------------------------------------------ trees


@pytest.mark.parametrize("missing", GAPS)
@pytest.mark.parametrize("edges", ["joint", "shared"])
def test_where_nothing_is_missing_it_is_the_plain_model(missing, edges):
    X, y = rich_corpus(30, 1)
    for x in X:
        for row in x.positions:
            row.setdefault("word", "w0")
    plain = tree(edges=edges).fit(X, y)
    np.testing.assert_allclose(
        probabilities(tree(edges=edges, missing=missing).fit(X, y), X), probabilities(plain, X), rtol=1e-9
    )


@pytest.mark.parametrize("missing", WAYS)
@pytest.mark.parametrize(
    "parameters",
    [
        {"categorical": "one_against_rest"},
        {"edges": "shared"},
        {"order": 0},
        {"early_stopping": True, "n_iter_no_change": 3, "validation_fraction": 0.2},
        {"n_bags": 2},
        {"subsample": 0.7, "max_features": 0.6, "trees_per_step": 2},
        {"trim": 0.1, "pseudo_likelihood_steps": 2},
        {"leaves": "newton", "learning_rate": "line_search"},
        {"objective": "pointwise", "init": "constant"},
        {"n_jobs": 2},
    ],
    ids=lambda own: next(iter(own)),
)
def test_every_way_goes_with_every_option(missing, parameters):
    X, y = damaged()
    model = tree(missing=missing, **parameters).fit(X, y)
    assert np.isfinite(model.loss_)
    assert model.missing_ == missing
    assert (model.ensemble_.shares is not None) == (missing in GAPS)
    assert (model.imputation_ is not None) == (missing in ("impute", "indicator"))
    found = probabilities(model, X)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    assert model.score(X, y) > 0.55
    alone = np.concatenate([model.predict_proba([x])[0] for x in X[:5]])
    np.testing.assert_allclose(found[: len(alone)], alone, rtol=1e-12)


@pytest.mark.parametrize("missing", WAYS)
def test_threads_do_not_change_bits(missing):
    X, y = damaged(20)
    same(tree(missing=missing, n_jobs=1).fit(X, y), tree(missing=missing, n_jobs=2).fit(X, y), X)


@pytest.mark.parametrize("missing", WAYS)
def test_the_loss_falls(missing):
    losses = [step.loss for step in tree(missing=missing, learning_rate=0.5).fit(*damaged(30)).history_]
    assert all(after < before for before, after in pairwise(losses))


@pytest.mark.parametrize("missing", WAYS)
def test_the_loss_in_training_is_that_of_the_model(missing):
    """Rows in training have the same scores as in prediction, whatever they miss."""
    X, y = damaged(20)
    model = tree(missing=missing).fit(X, y)
    np.testing.assert_allclose(model.loss_, -model.log_probability(X, y).sum(), rtol=1e-9)


@pytest.mark.parametrize("missing", WAYS)
def test_training_goes_on(missing):
    X, y = damaged(20)
    whole = tree(missing=missing, n_estimators=6).fit(X, y)
    model = tree(missing=missing, n_estimators=3, warm_start=True).fit(X, y)
    model.set_params(n_estimators=6).fit(X, y)
    np.testing.assert_allclose(probabilities(model, X), probabilities(whole, X), rtol=1e-7)
    staged = list(model.staged_score(X, y, "accuracy"))
    assert len(staged) == 6
    np.testing.assert_allclose(staged[-1], model.score(X, y))
    other = "learned" if missing != "learned" else "impute"
    with pytest.raises(InputError, match=f"missing is '{other}' and the model was fitted with '{missing}'"):
        model.set_params(missing=other, n_estimators=9).fit(X, y)


def test_weighting_is_the_mean_over_what_a_value_could_be():
    """One split alone: a row without its value scores as those with one do on the average."""
    X = [[{"a": "x"}], [{"a": "x"}], [{"a": "x"}], [{"a": "z"}]] * 5
    y = [["p"], ["p"], ["p"], ["q"]] * 5
    model = tree(columns={"a": "categorical"}, window=0, missing="weighting", n_estimators=1, max_leaf_nodes=2).fit(
        X, y
    )

    def score(x):
        return np.log(model.predict_proba([[x]])[0][0]) @ [1.0, -1.0]

    np.testing.assert_allclose(score({"a": None}), 0.75 * score({"a": "x"}) + 0.25 * score({"a": "z"}))


def test_a_surrogate_takes_the_place_of_a_value():
    """b says what a says: where a is missing, the model predicts as if it were there."""
    X = [[{"a": v, "b": v.upper()}] for v in "xzxzxxxzxz"] * 3
    y = [["p" if x[0]["a"] == "x" else "q"] for x in X]
    kinds = {"a": "categorical", "b": "categorical"}
    model = tree(columns=kinds, window=0, missing="surrogate", max_leaf_nodes=2, n_estimators=3).fit(X, y)
    assert len(model.ensemble_.surrogates) > 0
    same_as = [[{"a": None, "b": "X"}], [{"a": None, "b": "Z"}], [{"a": None, "b": None}]]
    found = probabilities(model, same_as)
    np.testing.assert_array_equal(found[:2], probabilities(model, [[{"a": "x", "b": "X"}], [{"a": "z", "b": "Z"}]]))
    np.testing.assert_array_equal(found[2], found[0])  # the larger side


# ------------------------------------------------------------------------------------------------ filling


def middle(values, by):
    return float(np.mean(values) if by == "mean" else np.median(values))


def filled_by_hand(X, train, by, flags):
    """What "impute" should make of X, written out; numbers and categories of `train` count. flags : those columns get a
    flag, and then categories are not filled: what "indicator" should make of it."""
    rows, wholes = [row for x in train for row in x.positions], [x.features for x in train]

    def known(source, name):
        return [row[name] for row in source if row.get(name) is not None]

    def fill(row, source, names):
        done = dict(row)
        for name in names:
            gone = row.get(name) is None
            if name in flags:
                done[f"z {name}"] = gone  # after all other columns, as it is with ours
            if KINDS[name] == "numeric":
                done[name] = middle(known(source, name), by) if gone else row[name]
            elif gone and not flags:
                values = known(source, name)
                counts = {value: values.count(value) for value in values}
                done[name] = max(counts, key=lambda value: counts[value])
        return done

    return [
        Item([fill(row, rows, ("word", "size", "upper")) for row in x.positions],
             fill(x.features, wholes, ("language", "length")))
        for x in X
    ]  # fmt: skip


@pytest.mark.parametrize("make", [tree, linear])
@pytest.mark.parametrize("by", ["mean", "median"])
@pytest.mark.parametrize("missing", ["impute", "indicator"])
def test_filling_is_what_one_would_do_by_hand(make, by, missing):
    X, y = damaged(30, seed=3)
    train, test = X[:20], X[20:]
    model = make(missing=missing, fill_numbers=by).fit(train, y[:20])
    flags = () if missing == "impute" else tuple(KINDS) if make is linear else ("size", "length")
    kinds = KINDS | {f"z {name}": "boolean" for name in flags}
    by_hand = learn(filled_by_hand(train, train, by, flags), y[:20], columns=kinds, window=1)
    # Numbers are standardised by the values that are there.
    given = {column.name: column for column in model.schema_.columns}
    columns = [
        replace(column, center=given[column.name].center, spread=given[column.name].spread)
        if column.name in given else column
        for column in by_hand.schema.columns
    ]  # fmt: skip
    by_hand = replace(by_hand, schema=replace(by_hand.schema, columns=tuple(columns)))
    expected = probabilities(make(columns=kinds).fit(by_hand), filled_by_hand(test, train, by, flags))
    np.testing.assert_allclose(probabilities(model, test), expected, rtol=2e-2 if make is linear else 1e-9)


def test_linear_numbers_must_be_there_unless_they_are_filled():
    X, y = damaged(20)
    with pytest.raises(InputError, match=r"a number is missing.*missing='impute'"):
        linear().fit(X, y)
    model = linear(missing="impute", early_stopping=True, max_iter=20).fit(X, y)
    assert model.score(X, y) > 0.6
    assert model.missing == "impute"
    assert model.predict([Item([{}, None], {})]).shape == (1,)


@pytest.mark.parametrize("missing", ["impute", "indicator"])
def test_linear_files_warm_start_and_weights(missing, tmp_path):
    X, y = damaged(20)
    model = linear(missing=missing, warm_start=True).fit(X, y)
    model.save(tmp_path / "m")
    same(load(tmp_path / "m"), model, X)
    np.testing.assert_array_equal(probabilities(copy.deepcopy(model), X), probabilities(model, model.encode(X)))
    features = {feature.partition("[")[0] for feature, _, _ in model.feature_weights()}
    for flag in ("size (missing)", "word (missing)"):
        assert any(name.startswith(flag) for name in features) == (missing == "indicator")
    before = model.weights_
    model.fit(X, y)
    np.testing.assert_allclose(model.weights_, before, atol=1e-2)


def test_trees_on_top_of_a_linear_model_that_fills():
    X, y = damaged(20)
    model = tree(missing="weighting", init=linear(missing="indicator")).fit(X, y)
    np.testing.assert_allclose(model.loss_, -model.log_probability(X, y).sum(), rtol=1e-9)
    with pytest.raises(InputError, match="a number is missing"):
        tree(missing="impute", init=linear()).fit(X, y)


def test_partial_fit_does_not_fill():
    X, y = damaged(10)
    with pytest.raises(InputError, match="missing is 'impute' and needs all data"):
        linear(missing="impute").partial_fit(X, y)
    model = linear(missing="impute").fit(X, y)
    with pytest.raises(InputError, match="filled in, which needs all data"):
        model.set_params(missing=None).partial_fit(X, y)


# ------------------------------------------------------------------------------------------------ what is missing


ROWS = [{"n": 1.0, "s": "a", "b": True}, {"n": 4.0, "s": "z", "b": False}, {"n": 2.0, "s": "a", "b": True}]
COLUMNS = {"n": "numeric", "s": "categorical", "b": "boolean"}
NOTHING = {"None": None, "NaN": float("nan"), "NumPy's NaN": np.float32("nan"), "NA": pd.NA, "NaT": pd.NaT}
LABELS = [["p", "q", "p"], ["q", "p", "p"]]


def corpus(lost):
    """Two sequences; in the second one every column misses a value, and one position misses all."""
    return [ROWS, [{"n": lost, "s": "z", "b": False}, {"n": lost, "s": lost, "b": lost}, {**ROWS[0], "b": lost}]]


@pytest.mark.parametrize("missing", WAYS)
@pytest.mark.parametrize("name", [*NOTHING, "absent", "no position", "pandas", "pandas NA", "polars", "frames"])
def test_all_forms_of_nothing_are_one(name, missing):
    X = corpus(NOTHING.get(name))
    if name == "absent":
        X[1] = [{k: v for k, v in row.items() if v is not None} for row in X[1]]
    elif name == "no position":
        X[1][1] = None
    elif name not in NOTHING:
        table = pd.DataFrame([row for x in X for row in x])
        if name == "pandas NA":
            table = table.convert_dtypes()
        frame = pl.from_pandas(table) if name == "polars" else table
        by = [0, 0, 0, 1, 1, 1]
        if name == "frames":
            X = [table.iloc[:3], table.iloc[3:]]
        else:
            frame = frame.with_columns(pl.Series("id", by)) if name == "polars" else frame.assign(id=by)
            X, _ = sequences(frame, by="id", kinds={"b": "boolean"} if name != "polars" else None)
    options = {"columns": COLUMNS, "missing": missing, "n_estimators": 3, "l2_regularization": 0.5}
    expected = tree(**options).fit(corpus(None), LABELS)
    same(tree(**options).fit(X, LABELS), expected, corpus(None))
    np.testing.assert_array_equal(probabilities(expected, X), probabilities(expected, corpus(None)))


@pytest.mark.parametrize("missing", WAYS)
@pytest.mark.parametrize("name", NOTHING)
def test_tokens_and_arrays(name, missing):
    lost, options = NOTHING[name], {"columns": None, "missing": missing, "n_estimators": 3, "l2_regularization": 0.5}
    y = [["p", "q", "p"], ["q", "p"]]
    tokens = [["a", "b", "a"], ["b", lost]]
    model = tree(**options).fit(tokens, y)
    same(model, tree(**options).fit([["a", "b", "a"], ["b", None]], y), [[lost, "a"], [lost]])
    numbers = [np.array([[1.0, 2.0], [np.nan, 0.0], [1.5, 2.0]]), np.array([[0.0, 1.0], [np.nan, np.nan]])]
    assert tree(**options).fit(numbers, y).predict([np.full((2, 2), np.nan)]).shape == (1,)


@pytest.mark.parametrize("missing", WAYS)
def test_labels_may_be_missing_too(missing):
    X, y = damaged(30)
    partial = partial_labels(y, seed=1)
    partial[0] = [None] * len(partial[0])
    model = tree(missing=missing).fit(X, partial)
    assert model.score(X, y) > 0.5
    if missing in ("impute", "indicator"):
        assert linear(missing=missing).fit(X, partial).score(X, y) > 0.5


@pytest.mark.parametrize("missing", WAYS)
def test_whole_positions_and_whole_sequences_may_be_lost(missing):
    X, y = rich_corpus(30, 2)
    lost = make_missing([x.positions for x in X], 0.3, unit="position", columns=["word", "size", "upper"])
    model = tree(missing=missing).fit(lost, y)
    found = model.predict_proba([[{}, {}, {}], [None]])
    assert [len(own) for own in found] == [3, 1]
    assert np.isfinite(np.concatenate(found)).all()


# ------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize("missing", ["forget", 3, None, ("impute",)])
def test_a_way_that_there_is_not(missing):
    with pytest.raises(InputError, match=r"missing is .* Choose one of 'learned', 'weighting'"):
        tree(missing=missing).fit(*damaged(5))


@pytest.mark.parametrize("missing", ["learned", *GAPS])
def test_a_model_that_cannot(missing):
    with pytest.raises(InputError, match=f"LinearCRF has no missing='{missing}', which is for trees"):
        linear(missing=missing).fit(*damaged(5))


def test_fill_numbers_goes_with_filling():
    with pytest.raises(InputError, match="fill_numbers is 'mode'"):
        tree(missing="impute", fill_numbers="mode").fit(*damaged(5))
    with pytest.raises(InputError, match="fill_numbers='median' goes with missing='impute'"):
        tree(missing="weighting", fill_numbers="median").fit(*damaged(5))


@pytest.mark.parametrize("missing", WAYS[1:])
@pytest.mark.parametrize("kind", ["numeric", "categorical", "boolean"])
def test_a_column_without_any_value(missing, kind):
    X, y = rich_corpus(10, 0)
    for x in X:
        x.positions[0]["empty"] = None
    with pytest.raises(InputError, match="column 'empty': every value is missing in the training sequences"):
        tree(missing=missing, columns=KINDS | {"empty": kind}).fit(X, y)
    arrays = [np.column_stack([np.arange(3.0), np.full(3, np.nan)])] * 4
    with pytest.raises(InputError, match="column '1': every value is missing"):
        tree(missing=missing, columns=None).fit(arrays, [["a", "b", "a"]] * 4)


def test_a_column_without_any_value_is_never_split_on():
    arrays = [np.column_stack([np.arange(3.0), np.full(3, np.nan)])] * 4
    model = tree(missing="learned", columns=None, window=0).fit(arrays, [["a", "b", "a"]] * 4)
    assert model.score(arrays, [["a", "b", "a"]] * 4) == 1.0


@pytest.mark.parametrize("missing", WAYS)
def test_infinite_is_not_missing(missing):
    with pytest.raises(InputError, match=r"sequence 0, position 1, column '0': the value is inf"):
        tree(missing=missing, columns=None).fit([np.array([[1.0], [np.inf], [np.nan]])], [["a", "b", "a"]])


def test_two_columns_of_one_name():
    X = [Item([{"a": 1.0}, {"a": None}], {"a": 3.0})] * 3
    with pytest.raises(InputError, match="column 'a': is the name of a feature of positions and of one of whole"):
        tree(columns={"a": "numeric"}, missing="impute").fit(X, [["p", "q"]] * 3)


# ------------------------------------------------------------------------------------------------ files


@pytest.fixture(scope="module", params=WAYS)
def trained(request):
    X, y = damaged(20)
    return tree(missing=request.param).fit(X, y), X


def test_files_hold_it_all(trained, tmp_path):
    model, X = trained
    model.save(tmp_path / "m")
    back = load(tmp_path / "m")
    same(back, model, X)
    assert (back.missing, back.missing_, back.imputation_) == (model.missing, model.missing_, model.imputation_)
    back.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def broken(model, tmp_path, change):
    header, tensors = copy.deepcopy(files.pack_model(model))
    change(header, tensors)
    write(tmp_path / "m", header, tensors)
    return tmp_path / "m"


def replaced(name, change):
    def work(header, tensors):
        tensors[name] = change(tensors[name].copy())

    return work


def put(array, place, value):
    array[place] = value
    return array


WRONG = {
    "a share above 1": replaced("ensemble.shares", lambda a: put(a, 0, 1.5)),
    "shares too few": replaced("ensemble.shares", lambda a: a[:-1]),
    "no surrogates": lambda header, tensors: tensors.pop("ensemble.surrogates"),
    "a surrogate of no node": replaced("ensemble.surrogates", lambda a: put(a, (0, 0), 10**6)),
    "a surrogate before its node": replaced("ensemble.surrogates", lambda a: put(a, (0, 0), -1)),
    "surrogates in disorder": replaced("ensemble.surrogates", lambda a: np.ascontiguousarray(a[::-1])),
    "a surrogate of no stream": replaced("ensemble.surrogates", lambda a: put(a, (0, 1), 10**6)),
    "narrow sets": replaced("ensemble.surrogate_sets", lambda a: a[:, :-1].copy()),
    "pointers that do not end": replaced("ensemble.surrogate_ptr", lambda a: a[:-1]),
    "another way": lambda header, tensors: header["state"].update(missing="forget"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_of_surrogates_that_is_wrong(name, tmp_path):
    model = tree(missing="surrogate").fit(*damaged(20))
    assert len(model.ensemble_.surrogates) > 2
    with pytest.raises(ModelFileError, match="not a sound hedgerow model"):
        load(broken(model, tmp_path, WRONG[name]))


WRONG_FILLS = {
    "a column that is not there": lambda own: own["numbers"].update(nothing=1.0),
    "a number that is none": lambda own: own["numbers"].update(size="much"),
    "a code for numbers": lambda own: own["codes"].update(size=3),
    "a code that is not there": lambda own: own["codes"].update(word=10**6),
    "missing as a value": lambda own: own["codes"].update(word=0),
    "a flag of nothing": lambda own: own["flags"].append("nothing"),
    "flags in disorder": lambda own: own["flags"].reverse(),
    "no flags at all": lambda own: own.pop("flags"),
}


@pytest.mark.parametrize("name", WRONG_FILLS)
def test_a_file_of_fills_that_is_wrong(name, tmp_path):
    model = tree(missing="indicator").fit(*damaged(20))
    with pytest.raises(ModelFileError, match="not a sound hedgerow model"):
        load(broken(model, tmp_path, lambda header, tensors: WRONG_FILLS[name](header["state"]["imputation"])))
