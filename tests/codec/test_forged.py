"""Files that someone made: each of these once crashed, read beyond an array, or took gigabytes."""

from __future__ import annotations

import copy
import functools
import os
import tracemalloc
from typing import Any

import numpy as np
import pytest

from hedgerow import ModelFileError, load, persistence
from hedgerow.persistence import read
from tests.golden.models import paths

from . import kept
from .mutants import seal

WRAPS = (2**63 - 1, -(2**63), -1)  # the differences of these are positive in 64 bits

Contents = tuple[dict[str, Any], dict[str, np.ndarray]]


def golden(name: str) -> Contents:
    return copy.deepcopy(read(paths(name)[0]))


def put(header: dict[str, Any], *keys: Any, value: Any) -> None:
    functools.reduce(lambda place, key: place[key], keys[:-1], header)[keys[-1]] = value


def refused(contents: Contents, folder, match: str, version: int = 2) -> None:
    path = folder / "model.hedgerow"
    path.write_bytes(seal(*contents, version))
    with pytest.raises(ModelFileError, match=match) as caught:
        load(path)
    assert str(path) in str(caught.value)


# ------------------------------------------------------------------------------------------------ indices


@pytest.mark.parametrize(
    ("name", "tensor"),
    [
        ("words", "layout.nodes.row_ptr"),
        ("words", "layout.pairs.row_ptr"),
        ("memm", "scorer.layout.nodes.row_ptr"),
        ("forest", "linear.layout.nodes.row_ptr"),
        ("forest", "ensemble.ptr"),
        ("forest", "ensemble.set_ptr"),
        ("surrogates", "ensemble.surrogate_ptr"),
        ("search", "linear.nodes.row_ptr"),
        ("words", "schema.attributes.ends"),
    ],
)
def test_pointers_that_wrap(name, tensor, tmp_path):
    header, tensors = golden(name)
    tensors[tensor][1:4] = WRAPS
    refused((header, tensors), tmp_path, "does not rise|holds values")


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("trees", "ensemble"),
        ("window", "scorer.ensemble"),
        ("future", "scorer.top.ensemble"),
        ("future", "scorer.lower.ensemble"),
        ("ranking", "trees.ensemble"),
        ("latticetrees", "edge.ensemble"),
    ],
)
def test_two_splits_share_a_child(name, part, tmp_path):
    header, tensors = golden(name)
    nodes, ptr = tensors[f"{part}.nodes"], tensors[f"{part}.ptr"]
    tree = next(j for j in range(len(ptr) - 1) if (nodes[ptr[j] : ptr[j + 1], 0] != -2).sum() > 1)
    own = nodes[ptr[tree] : ptr[tree + 1]]
    first, second = np.flatnonzero(own[:, 0] != -2)[:2]
    own[first, 3:] = own[second, 3:]
    refused((header, tensors), tmp_path, "not the child of exactly one split")


@pytest.mark.parametrize("name", ["recurrent", "imputed"])
def test_previous_labels_with_other_words(name, tmp_path):
    header, tensors = golden(name)
    columns = header["state"]["scorer"]["state"]["schema"]["columns"]
    (i, *_) = (i for i, column in enumerate(columns) if column["name"].startswith("(label"))
    for change in ("more words", "other words", "another kind"):
        changed, arrays = copy.deepcopy(header), dict(tensors)
        path = f"scorer.schema.columns.{i}.vocabulary."
        if change == "more words":
            text, ends = arrays[path + "utf8"], arrays[path + "ends"]
            arrays[path + "utf8"] = np.append(text, np.frombuffer(b"x" * 50, np.uint8))
            arrays[path + "ends"] = np.append(ends, len(text) + np.arange(1, 51))
        elif change == "other words":
            arrays[path + "utf8"] = arrays[path + "utf8"] ^ 1
        else:
            own = changed["state"]["scorer"]["state"]["schema"]["columns"][i]
            own["kind"] = "boolean"
            del own["vocabulary"], arrays[path + "utf8"], arrays[path + "ends"]
        refused((changed, arrays), tmp_path, "columns|bins|split|label")


def test_two_columns_of_one_name(tmp_path):
    """The encoder finds columns by name: the codes of the one would be read as those of the other."""
    header, tensors = golden("words")
    of_positions = [column for column in header["state"]["schema"]["columns"] if not column["constant"]]
    of_positions[1]["name"] = of_positions[0]["name"]
    refused((header, tensors), tmp_path, "two columns have the same name")


@pytest.mark.parametrize("kind", ["numeric", "boolean"])
def test_a_column_of_another_kind_than_declared(kind, tmp_path):
    """Values are read as declared: numbers would be taken for codes."""
    header, tensors = golden("words")
    put(header, "state", "schema", "declared", value={"word": kind})
    refused((header, tensors), tmp_path, f"'word' is categorical, and was declared {kind}")


def test_a_code_for_missing_values_of_the_smaller_of_two_columns(tmp_path):
    header, tensors = golden("imputed")
    codes = header["state"]["imputation"]["codes"]
    header["state"]["imputation"]["codes"] = dict.fromkeys(codes, 10**6)
    refused((header, tensors), tmp_path, "imputation.codes")


@pytest.mark.parametrize(
    ("array", "place", "value", "words"),
    [
        ("row", 1, 10**6, "atoms that are none"),
        ("row", 0, 3, "no root"),
        ("parent", 1, 5, "not in order"),
        ("node", 0, 10**6, "node"),
    ],
)
def test_induced_features_that_are_no_tree_of_atoms(array, place, value, words, tmp_path):
    """Kernels follow parents to the root, and read the atoms of a corpus by these rows."""
    header, tensors = golden("induced")
    tensors[f"induced.{array}"] = tensors[f"induced.{array}"].copy()
    tensors[f"induced.{array}"][place] = value
    refused((header, tensors), tmp_path, words)


def test_induced_features_with_very_many_atoms(tmp_path):
    """Their names would take the square of what the file has."""
    header, tensors = golden("induced")
    n = 300
    tensors["induced.parent"] = np.maximum(np.arange(n) - 1, 0)
    tensors["induced.row"] = np.arange(n) - 1
    refused((header, tensors), tmp_path, "more than 200 atoms|atoms that are none")


# ------------------------------------------------------------------------------------------------ headers


def nested(depth: int) -> Any:
    return functools.reduce(lambda inner, _: [inner], range(depth), 0)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("state", "schema", "window"), nested(400)),
        (("parameters", "window"), nested(400)),
        (("metadata",), {"notes": nested(400)}),
        (("state", "schema", "labels"), [1, 2, 10**400]),
        (("state", "schema", "labels"), [-(10**30), 2, 3]),
        (("state", "schema", "labels"), ["b", "a"]),
        (("state", "schema", "declared"), {"word": ["numeric"]}),
        (("state", "schema", "columns", 0, "spread"), 5e-324),
        (("state", "schema", "columns", 0, "center"), float("nan")),
        (("state", "loss"), float("inf")),
        (("state", "n_iter"), True),
        (("state", "layout"), []),
        (("state", "layout", "pair_columns"), [["word"]]),
        (("kind",), "object"),
        (("parameters", "l2"), "1"),
        (("parameters", "self"), 1),
        (("parameters", "random_state"), -1),
        (("parameters", "max_iter"), 10**400),
    ],
)
def test_a_header_that_ends_in_no_traceback(keys, value, tmp_path):
    header, tensors = golden("words")
    put(header, *keys, value=value)
    refused((header, tensors), tmp_path, "is not a sound hedgerow model|its header cannot be read")


# ------------------------------------------------------------------------------------------------ memory


def many_states(header, tensors):
    put(header, "state", "n_states", value=30_000)


def many_labels(form: str):
    def change(header, tensors):
        put(header, "state", "labels", value=list(range(3000)))
        put(header, "state", "form", value=form)

    return change


def long_label(header, tensors):
    labels = [f"{i:05}" for i in range(5000)]
    put(header, "state", "schema", "labels", value=[*labels[:-1], "9" * 500_000])


def wide_beam(header, tensors):
    put(header, "parameters", "beam_width", value=10**9)


def many_columns(header, tensors):
    put(header, "state", "scorer", "n_columns", value=10**9)


def many_features(header, tensors):
    put(header, "state", "node_features", value=10**6)


def many_bins(header, tensors):
    entry = header["state"]["future"]["state"]["scorer"]["features"][0]
    put(header, "state", "future", "state", "scorer", "features", value=[entry | {"n_trees": 0}] * 5000)


def high_order(header, tensors):
    put(header, "state", "order", value=16)


BOMBS = {
    "hidden states": ("iohmm", many_states),
    "labels of a lattice, full": ("lattice", many_labels("full")),
    "labels of a lattice, ising": ("lattice", many_labels("ising")),
    "labels of trees on a lattice": ("latticetrees", many_labels("symmetric")),
    "a long label among many": ("words", long_label),
    "a beam": ("words", wide_beam),
    "columns of future features": ("future", many_columns),
    "features of a lattice": ("latticetrees", many_features),
    "columns of thermometers": ("searchahead", many_bins),
    "order": ("trees", high_order),
}


@pytest.mark.parametrize("name", BOMBS)
def test_few_bytes_do_not_take_much_memory(name, tmp_path):
    model, change = BOMBS[name]
    load(paths(model)[0])  # what is imported does not count
    header, tensors = golden(model)
    change(header, tensors)
    tracemalloc.start()
    try:
        refused((header, tensors), tmp_path, "is not a sound hedgerow model")
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
    finally:
        tracemalloc.stop()


# ------------------------------------------------------------------------------------------------ models of an average


def test_an_average_of_models_that_read_other_columns(tmp_path):
    """A corpus is coded by the first model: a word too few in another would be an index beyond its table."""
    header, tensors = golden("average")
    name = "estimators.1.schema.columns.1.vocabulary."  # of the HMM: "length" comes first
    ends = tensors[name + "ends"]
    tensors[name + "utf8"], tensors[name + "ends"] = tensors[name + "utf8"][: ends[-2]], ends[:-1]
    rows = tensors["estimators.1.emissions.codes"]
    tensors["estimators.1.emissions.codes"] = np.delete(rows, len(rows) - 1, axis=0)
    refused((header, tensors), tmp_path, "other columns")


@pytest.mark.parametrize(
    ("keys", "value", "match"),
    [
        (("state", "estimators"), [], "no list of models"),
        (("state", "estimators", 0, "kind"), "AutoLabeler", "is not one of"),
        (("state", "leaderboard"), [{"model": "HMM()"}], "a list of records"),
        (("state", "temperature"), 0.0, "above 0"),
        (("parameters", "candidates"), [{"kind": "HMM"}], "a model is described by"),
        (("parameters", "candidates"), [{"kind": "AutoLabeler", "parameters": {}}], "candidates has AutoLabeler"),
    ],
)
def test_an_average_of_what_is_no_model(keys, value, match, tmp_path):
    header, tensors = golden("average")
    put(header, *keys, value=value)
    refused((header, tensors), tmp_path, match)


@pytest.mark.parametrize("name", ["stopped early", "frank-wolfe", "joint trees", "hmm", "lattice of trees", "sgd"])
def test_forged_checkpoints_are_refused_or_gone_on_from(name, tmp_path):
    outcomes, failures = kept.run(name, 8, int(os.environ.get("HEDGEROW_SEED", "0")), tmp_path)
    assert not failures
    assert outcomes["refused"]


def test_blocks_of_a_checkpoint_must_not_overlap(tmp_path, monkeypatch):
    """Room for new cells is counted by the old ones: blocks that share them would be written beyond an array."""
    monkeypatch.setattr(persistence.os, "fsync", lambda descriptor: None)
    header, tensors = kept.writes("frank-wolfe", tmp_path / "kept")[1]
    begin, end, cells, _ = (one["array"] for one in header["running"][1][1]["dict"]["solver"][1][0])
    n = len(tensors[cells])
    for forged in ({begin: 0 * tensors[begin], end: 0 * tensors[end] + n}, {cells: tensors[cells] + 10**6}):
        (tmp_path / "kept").write_bytes(seal(header, tensors | forged))
        with pytest.raises(ModelFileError, match="overlap, or reach beyond"):
            kept.fitted(*kept.MODELS["frank-wolfe"], tmp_path / "kept")
