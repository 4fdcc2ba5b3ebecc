"""CRFsuite's model files: read as python-crfsuite reads them, written so that it opens them, and never trusted."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow
from hedgerow import LinearCRF
from hedgerow.compat import CRF
from hedgerow.compat.conversion import MOST_LABELS, read_file, to_linear, write_file
from hedgerow.compat.cqdb import hash_keys, read_names, write_names
from hedgerow.compat.items import as_weights
from hedgerow.compat.model_files import CRFsuiteModel, read_model, write_model
from hedgerow.errors import InputError, ModelFileError
from tests.reference.lookup3 import lookup3

from .corpora import all_marginals, made_corpus, opened, train

N_FORGED = 3000


@pytest.fixture(scope="module")
def corpus():
    return made_corpus()


@pytest.fixture(scope="module")
def model_path(corpus, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.crfsuite"
    train(corpus, path, c2=0.1)
    return path


def assert_same(model: LinearCRF, tagger: Any, corpus: Any) -> None:
    """Labels, marginals and probabilities of labelings are those of python-crfsuite."""
    for items, labels in zip(*corpus):
        rows = as_weights(items)
        assert list(model.predict([rows])[0]) == tagger.tag(items)
        np.testing.assert_allclose(model.predict_proba([rows])[0], all_marginals(tagger, items), rtol=0, atol=1e-9)
        tagger.set(items)
        probability = np.exp(model.log_probability([rows], [labels])[0])
        np.testing.assert_allclose(probability, tagger.probability(labels), rtol=1e-9, atol=1e-12)


# ------------------------------------------------------------------------------------------------ the same model


@pytest.mark.parametrize(
    ("algorithm", "parameters"),
    [("lbfgs", {}), ("lbfgs", {"c1": 0.5, "c2": 0.0}), ("arow", {}), ("lbfgs", {"feature.possible_transitions": True})],
    ids=str,
)
def test_the_same_numbers(corpus, tmp_path, algorithm, parameters):
    tagger = train(corpus, tmp_path / "model", algorithm, **parameters)
    model = hedgerow.load(tmp_path / "model")
    assert isinstance(model, LinearCRF)
    assert_same(model, tagger, made_corpus(15, seed=1))


def test_it_is_saved_as_any_other_model(corpus, model_path, tmp_path):
    model = hedgerow.load(model_path)
    model.save(tmp_path / "model.hedgerow")
    again = hedgerow.load(tmp_path / "model.hedgerow")
    X = [as_weights(items) for items in corpus[0]]
    for one, other in zip(model.predict_proba(X), again.predict_proba(X)):
        np.testing.assert_array_equal(one, other)


def test_bytes_that_are_no_text(tmp_path):
    """python-crfsuite tags with them, and so does the model; they are written as they were."""
    X, y = [[{"a": b"\xff\xfe"}, {"a": "x"}]] * 3, [["A", "B"]] * 3
    tagger = train((X, y), tmp_path / "model", c2=0.01)
    assert_same(hedgerow.load(tmp_path / "model"), tagger, (X, y))
    content = (tmp_path / "model").read_bytes()
    assert write_model(read_model(content)) == content


def test_a_model_without_attributes(tmp_path):
    train(([[[], []]] * 2, [["A", "B"]] * 2), tmp_path / "model")
    model = hedgerow.load(tmp_path / "model")
    assert model.feature_weights() == []
    assert_same(model, opened(tmp_path / "model"), ([[{}, {"x": 1.0}]], [["A", "B"]]))


# ------------------------------------------------------------------------------------------------ writing


@pytest.mark.parametrize("algorithm", ["lbfgs", "ap"])
def test_what_is_written_again_has_the_same_bytes(corpus, tmp_path, algorithm):
    train(corpus, tmp_path / "model", algorithm)
    content = (tmp_path / "model").read_bytes()
    assert write_model(read_model(content)) == content


def test_python_crfsuite_opens_what_hedgerow_trained(corpus, tmp_path):
    crf = CRF(c2=0.1, model_filename=str(tmp_path / "model")).fit(*corpus)
    tagger, source = opened(tmp_path / "model"), read_file(tmp_path / "model")[0]
    assert tagger.labels() == crf.classes_ == list(source.labels)
    info = tagger.info()
    assert info.state_features.keys() == crf.state_features_.keys()
    assert info.transitions == pytest.approx(crf.transition_features_, abs=1e-6)
    for items in made_corpus(15, seed=1)[0]:
        assert tagger.tag(items) == crf.predict_single(items)
        theirs = all_marginals(tagger, items)
        ours = [[row[label] for label in sorted(row)] for row in crf.predict_marginals_single(items)]
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        ({"window": 1}, "a window"),
        ({"order": 2}, "order 2"),
        ({"transition_columns": ["token"]}, "label pairs"),
        ({"transitions": "forbid_unseen"}, "forbidden transitions"),
    ],
)
def test_what_crfsuite_cannot_hold(tmp_path, parameters, what):
    model = LinearCRF(**{"window": 0, **parameters}).fit([["a", "b", "a"]] * 3, [["x", "y", "x"]] * 3)
    with pytest.raises(InputError, match=what):
        write_file(tmp_path / "model", model)
    assert not (tmp_path / "model").exists()


def test_labels_that_are_numbers_and_measurements(tmp_path):
    model = LinearCRF(window=0).fit([["a", "b"]], [[1, 2]])
    with pytest.raises(InputError, match="one of the labels, is not text"):
        write_file(tmp_path / "model", model)
    model = LinearCRF(window=0).fit([np.array([[1.0], [2.0], [5.0]])], [["x", "y", "x"]])
    with pytest.raises(InputError, match="standardised"):
        write_file(tmp_path / "model", model)


def test_a_temperature_is_in_the_weights(corpus, tmp_path):
    X = [as_weights(items) for items in corpus[0]]
    model = LinearCRF(window=0).fit(X, corpus[1])
    model.temperature_ = 1.7
    write_file(tmp_path / "model", model)
    assert_same(model, opened(tmp_path / "model"), (X[:5], corpus[1][:5]))


# ------------------------------------------------------------------------------------------------ names and hashes


def test_published_hashes():
    """The values that its author gives for lookup3."""
    assert lookup3(b"Four score and seven years ago") == 0x17770551
    assert hash_keys([b"Four score and seven years ago"]).tolist() == [0x17770551]


@given(st.lists(st.binary(min_size=1, max_size=60)))
def test_hashes_are_those_of_the_literal_twin(keys):
    assert hash_keys(keys).tolist() == [lookup3(key) for key in keys]


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",))), unique=True))
def test_names_come_back(names):
    assert read_names(memoryview(write_names(names, "labels")), len(names), "labels") == names


@pytest.mark.parametrize(("name", "what"), [("a\0b", "NUL"), ("\ud800", "UTF-8")])
def test_names_that_cannot_be_written(name, what):
    with pytest.raises(InputError, match=what):
        write_names([name], "labels")


# ------------------------------------------------------------------------------------------------ forged files


def test_what_is_wrong_is_said(model_path, tmp_path):
    content = model_path.read_bytes()
    cases = {
        "does not begin": content[:40],
        "should have": content[:-1],
        "version": content[:12] + struct.pack("<I", 7) + content[16:],
        "labels should begin": content[:32] + struct.pack("<I", len(content)) + content[36:],
        "there should be 4 labels": content[:20] + struct.pack("<I", 4) + content[24:],
        "no FEAT": content[:28] + struct.pack("<I", 52) + content[32:],
        "no labels": content[:20] + struct.pack("<I", 0) + content[24:],
        "not a finite number": content[:72] + struct.pack("<d", np.nan) + content[80:],
        "label or an attribute": content[:64] + struct.pack("<I", 1 << 30) + content[68:],
    }
    for what, forged in cases.items():
        (tmp_path / "model").write_bytes(forged)
        with pytest.raises(ModelFileError, match=f"model: the file is not a sound CRFsuite model: .*{what}"):
            hedgerow.load(tmp_path / "model")


def test_every_truncation_is_refused(model_path):
    content = model_path.read_bytes()
    for size in (*range(200), *range(200, len(content), 7)):
        cut = content[:size]
        for said in (cut, cut[:4] + struct.pack("<I", size) + cut[8:] if size >= 48 else cut):
            with pytest.raises(ModelFileError):
                read_model(said)


def test_forged_files_are_refused_or_sound(model_path, corpus, rng):
    """Bytes, numbers and places changed at random: an error that says so, or a model that can be used."""
    content = model_path.read_bytes()
    rows = [as_weights(items) for items in corpus[0][:2]]
    n_sound = 0
    for i in range(N_FORGED):
        forged = bytearray(content)
        for _ in range(int(rng.integers(1, 4))):
            # Half of them in the header, or at the beginning of a part, where there are counts and places.
            part = int(rng.choice([0, *struct.unpack_from("<5I", content, 28)]))
            place = int(rng.integers(len(content) - 4)) if i % 2 else part + 4 * int(rng.integers(12))
            if rng.random() < 0.5:
                forged[place] = int(rng.integers(256))
            else:
                near = int(rng.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1, len(content), rng.integers(2**32)]))
                struct.pack_into("<I", forged, place, (near + int(rng.integers(-4, 5))) % 2**32)
        try:
            source = read_model(bytes(forged))
        except ModelFileError:
            continue
        n_sound += 1
        assert write_model(source)
        if n_sound % 20 == 0:
            to_linear(source).predict(rows)
    assert 0 < n_sound < N_FORGED


def test_too_many_labels_are_refused_before_a_table_is_made():
    """The table of their transitions would take all memory."""
    none = np.empty(0, dtype=np.int64)
    names = [str(k) for k in range(MOST_LABELS + 1)]
    with pytest.raises(ModelFileError, match="labels"):
        to_linear(CRFsuiteModel(names, [], none, none, np.empty(0), none, none, np.empty(0)))
