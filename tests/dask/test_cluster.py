"""Fits by the workers of a cluster: what X may be, what is refused, and workers that are lost."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import pickle
import signal
import threading
from collections import Counter
from types import SimpleNamespace

import dask
import dask.bag
import dask.dataframe
import numpy as np
import pandas as pd
import polars
import pytest
from distributed import Client, KilledWorker, LocalCluster
from sklearn.base import clone

import hedgerow
from hedgerow.cli.main import run
from hedgerow.cli.train import train
from hedgerow.cli.train_workers import train_by_workers
from hedgerow.dask import LinearCRF, TreeCRF, engine
from hedgerow.errors import HedgerowError, InputError
from hedgerow.training.boosting import chain
from hedgerow.training.pool import Operation

from .corpora import cut_frame, frame, same_trees, same_weights, sequences

pytestmark = pytest.mark.filterwarnings("ignore")  # Dask's own
ALONE = {"window": 1, "max_leaf_nodes": 5, "early_stopping": False, "n_estimators": 3}
NAMES = {"by": "machine", "label": "state", "time": "t"}


@pytest.fixture(autouse=True)
def _small_shards(monkeypatch):
    monkeypatch.setattr(chain, "CHUNK_POSITIONS", 30)
    monkeypatch.setattr(chain, "MOST_IN_SHARD", 100)


def dask_frame(parts):
    return dask.dataframe.from_delayed([dask.delayed(part) for part in parts], meta=parts[0].iloc[:0])


def test_frames_parquet_and_lazy_labels(client, rng, tmp_path):
    whole = frame(rng)
    parts = [whole.iloc[:0], *cut_frame(whole, 4, 5, 20)]
    local = hedgerow.TreeCRF(**ALONE).fit(whole, **NAMES)
    shared = TreeCRF(client=client, **ALONE).fit(dask_frame(parts), **NAMES)
    same_trees(local, shared)
    for j, part in enumerate(parts[1:]):
        part.to_parquet(tmp_path / f"{j}.parquet")
    paths = sorted(map(str, tmp_path.glob("*.parquet")))
    same_trees(local, TreeCRF(**ALONE).fit(paths, **NAMES))
    lazy = shared.predict(dask_frame(parts))
    assert isinstance(lazy, dask.dataframe.Series)
    pd.testing.assert_series_equal(lazy.compute(), local.predict(whole), check_dtype=False)
    shared.save(tmp_path / "model")
    pd.testing.assert_series_equal(hedgerow.load(tmp_path / "model").predict(whole), local.predict(whole))


def test_bags_and_delayed(client, rng):
    X, y = sequences(rng, "both", 3)
    local = hedgerow.LinearCRF(window=1).fit(X, y)
    bag = dask.bag.from_sequence(list(zip(X, y)), npartitions=4)
    same_weights(local, LinearCRF(window=1, client=client).fit(bag))
    apart = bag.map(lambda pair: pair[0])
    shared = LinearCRF(window=1, client=client).fit(apart, bag.map(lambda pair: pair[1]))
    same_weights(local, shared)
    assert shared.predict(apart).compute() == local.predict(X).tolist()
    delayed = [dask.delayed((X[a:b], y[a:b])) for a, b in ((0, 3), (3, 30), (30, 40))]
    same_weights(local, LinearCRF(window=1, client=client).fit(delayed))


def test_weights_and_held_out_sequences(client, rng):
    """Of frames, Bags and Delayed; some sequences weigh nothing, and all of a partition."""
    whole, new = frame(rng), frame(rng, 8)
    weights = rng.random(30).round(2) + 0.1
    weights[[1, 4, 11]] = 0.0
    whole["weight"] = np.repeat(weights, whole.groupby("machine", sort=False).size().to_numpy())
    known = {"window": 1, "max_leaf_nodes": 5, "n_estimators": 4, "random_state": 0}
    features = whole.drop(columns="weight")
    local = hedgerow.TreeCRF(**known).fit(features, None, weights, new, **NAMES)
    shared = TreeCRF(client=client, **known)
    shared.fit(dask_frame(cut_frame(whole, 4, 5, 20)), None, "weight", dask_frame(cut_frame(new, 3)), **NAMES)
    same_trees(local, shared)
    assert shared.plan_ == local.plan_
    assert shared.history_[-1].score == local.history_[-1].score
    odd = whole.assign(weight=np.where((whole["machine"] == "m4") & (whole["t"] == 1), 7.0, whole["weight"]))
    with pytest.raises(InputError, match="partition 1, sequence 0, column 'weight': has"):
        TreeCRF(client=client, **known).fit(dask_frame(cut_frame(odd, 4)), None, "weight", **NAMES)
    for given, what in ((weights, "Name the column of weights"), ("wight", "there is no column 'wight'")):
        with pytest.raises(InputError, match=what):
            TreeCRF(client=client, **known).fit(dask_frame([whole]), None, given, **NAMES)


def test_weights_beside_bags_and_delayed(client, rng):
    X, y = sequences(rng, "both", 3)
    weights = [float(i % 4) / 3 for i in range(40)]
    local = hedgerow.LinearCRF(window=1).fit(X, y, weights)
    pairs, beside = (dask.bag.from_sequence(one, npartitions=4) for one in (list(zip(X, y)), weights))
    same_weights(local, LinearCRF(window=1, client=client).fit(pairs, sample_weight=beside))
    delayed = [dask.delayed((X[a:b], y[a:b], weights[a:b])) for a, b in ((0, 1), (1, 30), (30, 40))]
    same_weights(local, LinearCRF(window=1, client=client).fit(delayed))
    for given, what in ((delayed, "Let each part give"), (pairs, "sample_weight is not a Bag of as many partitions")):
        with pytest.raises(InputError, match=what):
            LinearCRF(window=1, client=client).fit(given, sample_weight=weights)


def test_the_default(client, rng):
    """The window is found, and early stopping has its folds."""
    X, y = sequences(rng, "numbers", 3)
    bag = dask.bag.from_sequence(list(zip(X, y)), npartitions=3)
    known = {"random_state": 0, "n_estimators": 3, "max_leaf_nodes": 5}
    same_trees(hedgerow.TreeCRF(**known).fit(X, y), TreeCRF(client=client, **known).fit(bag))


def test_two_fits_at_once(client, rng):
    X, y = sequences(rng, "numbers", 3)
    bags = [dask.bag.from_sequence(list(zip(X, y)), npartitions=n) for n in (2, 5)]
    models = [TreeCRF(client=client, **ALONE | {"n_estimators": n}) for n in (4, 6)]
    threads = [threading.Thread(target=model.fit, args=(bag,)) for model, bag in zip(models, bags)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for model in models:
        same_trees(hedgerow.TreeCRF(**ALONE | {"n_estimators": model.n_estimators}).fit(X, y), model)


def test_a_sequence_that_is_cut(client, rng):
    whole = frame(rng)
    middle = len(whole) // 2 + 1
    key = whole["machine"].iloc[middle]
    cut = [whole.iloc[: middle + 1], whole.iloc[middle + 1 :]]
    if whole["machine"].iloc[middle + 1] != key:
        cut = [whole.iloc[:middle], whole.iloc[middle:]]
    with pytest.raises(InputError, match=f"the sequence machine='{key}' is cut: it is in partitions 0 and 1"):
        TreeCRF(client=client, **ALONE).fit(dask_frame(cut), **NAMES)
    model = TreeCRF(client=client, **ALONE).fit(dask_frame(cut), **NAMES, shuffle=True)
    assert model.score(whole) > 0.4


def test_what_is_refused(client, rng):
    whole = frame(rng)
    parts = cut_frame(whole, 10)
    for X, names, what in (
        (dask_frame([whole.iloc[:0]]), NAMES, "X has no rows"),
        (dask_frame(parts), {"by": "machine"}, "label.* is missing"),
        (dask_frame(parts), {"label": "state"}, "by.* is missing"),
        (dask_frame(parts), {**NAMES, "label": "stat"}, "there is no column 'stat'"),
        (whole, NAMES, "X is 'DataFrame'.*ordinary fit"),
        ("nowhere.parquet", NAMES, "X is not read: .*nowhere.parquet.*Give paths of Parquet files"),
        (__file__, NAMES, "X is not read: .*Parquet.*Give paths of Parquet files"),
        ([dask.delayed(parts[0]), dask.delayed(parts[1].drop(columns="z"))], NAMES, "partition 1 has no column 'z'"),
        ([dask.delayed(parts[0]), dask.delayed(parts[1].astype({"z": str}))], NAMES, "column 'z': is categorical in"),
        ([dask.delayed(parts[0]), dask.delayed(parts[1].drop(columns="state"))], NAMES, "there is no column 'state'"),
    ):
        with pytest.raises(InputError, match=what):
            TreeCRF(client=client, **ALONE).fit(X, **names)


def test_errors_name_the_partition(client):
    good, y = [[{"x": 1.0}], [{"x": 2.0}]], [["A"], ["B"]]
    for parts, what in (
        (
            [([], []), (good, y), ([*good, [{"x": np.inf}]], [*y, ["A"]])],
            "partition 2, sequence 2, position 0, column 'x'",
        ),
        ([([], []), (good, y), (good, ["A", "B"])], "partition 2, sequence 0: y has 'A' here"),
        ([([], []), (good, y), ([[{"x": "a"}]], [["A"]])], "is categorical in partition 2 and numeric in partition 1"),
        ([([], []), (good, y), (good, [[1], [2]])], "partition 1 has the label .* and partition 2 the label"),
    ):
        with pytest.raises(InputError, match=what):
            LinearCRF(window=0, client=client).fit([dask.delayed(part) for part in parts])
    frames = [pd.DataFrame({"m": [j], "x": [float(j)], "s": ["A"]}) for j in range(2)]
    frames[1]["x"] = np.inf
    with pytest.raises(InputError, match="partition 1, sequence 0"):
        LinearCRF(window=0, client=client).fit([dask.delayed(one) for one in frames], by="m", label="s")


@pytest.mark.parametrize("options", [{}, {"early_stopping": True, "validation_fraction": 0.3, "random_state": 0}])
def test_errors_name_sequences_as_they_were_given(client, rng, options):
    """Also where some are held out, and others have no weight and are left out before anything is learnt."""
    X, y = [rng.normal(size=(8, 2)) for _ in range(30)], [["a", "b"] * 4 for _ in range(30)]
    for x in X[15:]:
        x[3, 1] = np.nan  # in partition 1, from its first sequence of weight 1 on
    weights = [0.0] * 5 + [1.0] * 13 + [0.0] * 4 + [1.0] * 8
    parts = [dask.delayed((X[a:b], y[a:b], weights[a:b])) for a, b in ((0, 15), (15, 30))]
    with pytest.raises(InputError) as found:
        LinearCRF(client=client, window=0, **options).fit(parts)
    error = found.value
    assert (error.partition, error.position, error.column) == (1, 3, "1")
    assert weights[15 + error.sequence] == 1.0
    assert options or error.sequence == 0


def test_weights_that_are_refused(client, rng):
    X, y = [rng.normal(size=(4, 2)) for _ in range(12)], [["a", "b"] * 2 for _ in range(12)]
    plain, weighted = dask.delayed((X, y)), dask.delayed((X, y, [1.0] * 12))
    frames = cut_frame(frame(rng).assign(w=np.nan), 9)
    fit = LinearCRF(client=client, window=0).fit
    for given, more, what in (
        ([plain, weighted], {}, "partition 0 has no weights, and others have some. Give all partitions weights"),
        ([weighted, plain], {}, "partition 1 has no weights"),
        ([dask.delayed((X, y, 2.0))], {}, "sample_weight"),
        ([plain], {"X_val": [weighted]}, "X_val has weights"),
        ([plain], {"y_val": y}, "y_val is given without X_val"),
        (dask_frame(frames), {**NAMES, "sample_weight": "w"}, "finite"),
    ):
        with pytest.raises(InputError, match=what):
            fit(given, **more)


def test_delayed_frames_of_polars_of_other_orders_and_without_values(client, rng):
    whole = frame(rng)
    parts = cut_frame(whole, 4, 20)
    local = hedgerow.TreeCRF(**ALONE).fit(whole, **NAMES)
    turned = [parts[0], parts[1][whole.columns[::-1]], parts[2]]
    for given in (turned, [polars.from_dict(part.to_dict("list")) for part in turned]):
        shared = TreeCRF(client=client, **ALONE).fit([dask.delayed(one) for one in given], **NAMES)
        same_trees(local, shared)
        assert shared.plan_ == local.plan_
    empty = [parts[0], parts[1].assign(z=None), parts[2]]
    local = hedgerow.TreeCRF(**ALONE).fit(pd.concat([one.astype({"z": float}) for one in empty]), **NAMES)
    for given in (empty, [polars.from_dict(part.to_dict("list")) for part in empty]):
        same_trees(local, TreeCRF(client=client, **ALONE).fit([dask.delayed(one) for one in given], **NAMES))


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (TreeCRF, {"window": 1, "n_bags": 3}),
        (TreeCRF, {"window": 1, "missing": "impute"}),
        (TreeCRF, {"window": 1, "objective": "labelwise"}),
        (TreeCRF, {"window": 1, "scoring": "span_f1"}),
        (LinearCRF, {"window": 1, "trainer": "sgd"}),
        (LinearCRF, {"window": 1, "features": ["lag"]}),
    ],
)
def test_parameters_that_workers_cannot_train_by(client, kind, options):
    with pytest.raises(InputError, match="is not supported with Dask"):
        kind(client=client, **options).fit(None)
    with pytest.raises(InputError, match=r"scoring='span_f1'.* is not supported with Dask"):
        LinearCRF(window=1, scoring="span_f1", client=client).fit(None, X_val=[])


@pytest.mark.parametrize("model", ["tree", "linear"])
def test_the_command_line(client, rng, tmp_path, monkeypatch, model):
    whole, path = frame(rng).drop(columns="t"), tmp_path / "rows.parquet"
    whole.to_parquet(path)
    monkeypatch.setattr(engine, "local_client", lambda workers, memory: contextlib.nullcontext(client))
    settings = {"max_leaf_nodes": 5, "n_estimators": 3} if model == "tree" else {"l2": 0.5}
    told = {"model": model, "dev": "0", "window": 1, "scoring": None, "seed": 0, "parameters": settings}
    told |= {"by": ["machine"], "label": "state", "columns": [], "time_columns": []}
    local = train([str(path)], str(tmp_path / "local"), **told)
    own = {"engine": "dask", "workers": 2, "memory": "2GB", "checkpoint": str(tmp_path / "checkpoint")}
    shared = train_by_workers([str(path)], str(tmp_path / "shared"), **own, **told)
    (same_trees if model == "tree" else same_weights)(local, shared)
    assert not (tmp_path / "checkpoint").exists()
    facts = [one.metadata_["training"] for one in (local, shared)]
    assert facts[0]["sequences"] == facts[1]["sequences"] == 30
    loaded = hedgerow.load(tmp_path / "shared")
    assert loaded.metadata_["reader"] == local.metadata_["reader"]
    pd.testing.assert_series_equal(loaded.predict(whole), local.predict(whole))
    table = tmp_path / "rows.csv"
    table.write_text("a,b")
    with pytest.raises(InputError, match="reads Parquet files"):
        train_by_workers([str(table)], "m", **own, **told)


def test_the_command_line_with_times_and_held_out_sequences(client, rng, tmp_path, monkeypatch):
    whole, path = frame(rng), tmp_path / "rows.parquet"
    whole.to_parquet(path)
    monkeypatch.setattr(engine, "local_client", lambda workers, memory: contextlib.nullcontext(client))
    told = {"model": "linear", "dev": "0.2", "window": 1, "scoring": "log_likelihood", "parameters": {"max_iter": 20}}
    told |= {"by": ["machine"], "label": "state", "time": "t", "max_gap": "300"}
    local = train([str(path)], str(tmp_path / "local"), **told)
    shared = train_by_workers([str(path)], str(tmp_path / "shared"), engine="dask", **told)
    same_weights(local, shared)
    assert shared.plan_.max_gap == 300.0
    facts = [{**one.metadata_["training"], "seconds": 0} for one in (local, shared)]
    assert facts[0] == facts[1]
    assert facts[0]["positions"] < len(whole)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"template": "t"}, "--template is not supported with --engine"),
        ({"resume": True}, "--resume goes on from a --checkpoint"),
        ({"parameters": {"n_jobs": 2}}, "--jobs is not supported with --engine"),
        ({"columns": ["x"]}, "--columns is not supported with --engine"),
        ({"encoding": "latin-1"}, "--encoding is not supported with --engine"),
        ({"separator": ","}, "--separator is not supported with parquet files"),
        ({"time": "3"}, "--time names a column"),
        ({"dev": "some.parquet"}, "--dev FILE is not supported with --engine"),
        ({"scoring": "accuracy"}, "--scoring is for --dev"),
        ({"format": "csv"}, "reads Parquet files"),
    ],
)
def test_options_that_workers_have_no_use_for(given, what, tmp_path):
    told = {"engine": "dask", "model": "linear", "parameters": {}, "by": ["machine"]} | given
    with pytest.raises(InputError, match=what):
        train_by_workers(["rows.parquet"], str(tmp_path / "m"), **told)


def test_how_many_workers(tmp_path, capsys):
    with pytest.raises(InputError, match="workers is 0"), engine.local_client(0, "4GB"):
        pass
    (tmp_path / "rows.parquet").touch()
    rows = ["train", str(tmp_path / "rows.parquet"), "-o", str(tmp_path / "m"), "--model", "linear"]
    for more, what in (
        (["--engine", "dask", "--workers", "0", "--memory", "4GB"], "--workers"),
        (["--workers", "2"], "--workers is for --engine dask"),
        (["--memory", "2GB"], "--memory is for --engine dask"),
    ):
        assert run([*rows, *more]) == 2
        assert what in capsys.readouterr().err


def test_a_clone_has_the_same_client(client):
    model = LinearCRF(window={"*": 1}, client=client, l2=0.5)
    other = clone(model)
    assert other.client is client
    assert other.get_params() == model.get_params()
    assert other.window is not model.window
    assert clone(TreeCRF(window=2)).get_params() == TreeCRF(window=2).get_params()


def test_no_client(monkeypatch):
    monkeypatch.setattr("distributed.default_client", lambda: (_ for _ in ()).throw(ValueError))
    with pytest.raises(InputError, match="there is no Dask client"):
        TreeCRF(window=1).fit(None)
    with pytest.raises(InputError, match=r"client.* is of type str"):
        TreeCRF(window=1, client="tcp://somewhere").fit(None)
    with LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster, Client(cluster) as closed:
        pass
    with pytest.raises(InputError, match="the Dask client is closed"):
        TreeCRF(window=1, client=closed).fit(None)


def test_a_worker_with_another_version(client, monkeypatch):
    monkeypatch.setattr(engine, "version", lambda name: "9.9")
    monkeypatch.setattr(client, "run", lambda *a, **k: {"tcp://one": "9.9", "tcp://two": ModuleNotFoundError()})
    with pytest.raises(InputError, match="the worker tcp://two does not have hedgerow"):
        TreeCRF(window=1, client=client).fit(None)


def test_partitions_that_workers_die_of(client, rng, monkeypatch):
    def die(*given, **named):
        raise KilledWorker("describe-1", None, 3)

    monkeypatch.setattr(client, "gather", die)
    bag = dask.bag.from_sequence(list(zip(*sequences(rng, "numbers", 3))), npartitions=3)
    with pytest.raises(HedgerowError, match=r"4 workers died of the same partition.*give partitions fewer rows"):
        TreeCRF(client=client, **ALONE).fit(bag)


@pytest.mark.parametrize(
    ("kind", "kills"),
    [("both", {("call", 2), ("swap", 5), ("swap", 10)}), ("words and numbers", {("call", 3), ("swap", 5)})],
    ids=["trees", "weights and trees on them"],
)
def test_workers_that_are_killed_and_added(kind, kills, rng, monkeypatch, caplog):
    """SIGKILL before an evaluation, a count, and the handing out of parcels; and another worker in between."""
    monkeypatch.undo()  # other processes have the ordinary sizes of shards
    X, y = sequences(rng, kind, 3, n_sequences=400)
    local = hedgerow.TreeCRF(**ALONE | {"n_estimators": 4}).fit(X, y)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        n_asked, ask = Counter(), engine.DaskPool._all

        def interrupted(self, name, *given):
            n_asked[name] += 1
            if (name, n_asked[name]) in kills:
                os.kill(client.run(os.getpid, workers=[self.places[0]])[self.places[0]], signal.SIGKILL)
            if (name, n_asked[name]) == ("swap", 8):
                cluster.scale(3)
            return ask(self, name, *given)

        monkeypatch.setattr(engine.DaskPool, "_all", interrupted)
        with caplog.at_level(logging.WARNING, logger="hedgerow.dask"):
            bag = dask.bag.from_sequence(list(zip(X, y)), npartitions=3)
            model = TreeCRF(client=client, **ALONE | {"n_estimators": 4}).fit(bag)
    same_trees(local, model)
    assert all(n_asked[name] > n for name, n in kills)
    assert sum("was lost" in record.message for record in caplog.records) >= len(kills)
    assert np.array_equal(model.predict_proba(X)[0], local.predict_proba(X)[0])


class Reached:
    """A seat as others see it; `loses` : nothing that is handed to it arrives."""

    def __init__(self, seat, loses):
        self.seat, self.loses = seat, loses

    def take(self, *parcel):
        return asyncio.ensure_future(self._fail() if self.loses else self.seat.take(*parcel))

    def give_up(self):
        return asyncio.ensure_future(self.seat.give_up())

    async def _fail(self):
        raise OSError("Timed out")


class Counting:
    """A member that hands a number to each of two, and adds up what it gets."""

    def __init__(self, *_):
        pass

    def pack(self):
        return [1, 2]

    def add_up(self, number, parcels):
        return number, sum(parcels)


@pytest.mark.parametrize("loses", [False, True])
def test_nobody_waits_for_a_parcel_that_does_not_arrive(loses, monkeypatch):
    async def swap():
        seats = [engine.DaskSeat(m, Counting, (), ()) for m in range(2)]
        for seat in seats:
            seat.meet([Reached(one, loses and one is seats[1]) for one in seats])
        operations = engine.dumps([Operation("pack")])
        return await asyncio.wait_for(asyncio.gather(*(seat.swap(0, operations, "add_up") for seat in seats)), 30)

    monkeypatch.setattr("distributed.get_worker", lambda: SimpleNamespace(executors={"actor": None}))
    found = asyncio.run(swap())
    assert found == [b"", b""] if loses else [pickle.loads(one) for one in found] == [(0, 2), (1, 4)]


def test_workers_of_this_machine_outlive_ctrl_c_and_the_end_of_a_terminal():
    with engine.local_client(1, "1GB") as client:
        before = client.run(os.getpid)
        for number in (signal.SIGINT, signal.SIGHUP):
            client.run(lambda number=number: os.kill(os.getpid(), number))
        assert client.run(os.getpid) == before
