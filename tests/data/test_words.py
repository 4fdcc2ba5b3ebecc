"""Features of words: what they are, by a plain twin that makes a dict a token; and as `features=` of models."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hedgerow
from hedgerow import AutoLabeler, InputError, LinearCRF, Sequences, TreeCRF
from hedgerow.data.readers import read_conll
from hedgerow.features import word_features, word_shape, word_window

SENTENCES = [["Mr.", "McDonald-2", "met", "the", "IL-2", "team"], ["The", "end"], ["a"]]
LABELS = [["O", "B", "O", "O", "B", "O"], ["O", "O"], ["O"]]


def twin(words: list[str], t: int) -> dict[str, str | None]:
    """The features "ner" of one word, said plainly."""
    word, lower = words[t], [w.lower() for w in words]
    shape = "".join("X" if c.isupper() else "x" if c.isalpha() else "0" if c.isdigit() else c for c in word)
    made: dict[str, str | None] = {"lower": lower[t], "shape": shape, "short": short(words[t])}
    for n in (2, 3, 4):
        made[f"prefix{n}"] = lower[t][:n] if len(word) > n else None
        made[f"suffix{n}"] = lower[t][-n:] if len(word) > n else None
    before = lower[t - 1] if t else "_B-1"
    after = lower[t + 1] if t + 1 < len(words) else "_B+1"
    made["lower[-1…0]"], made["lower[0…1]"] = f"{before}/{lower[t]}", f"{lower[t]}/{after}"
    around = [short(words[t - 1]) if t else "_B-1", short(word), short(words[t + 1]) if t + 1 < len(words) else "_B+1"]
    made["short[-1…1]"] = "/".join(around)
    return made


def short(word: str) -> str:
    shape = word_shape(word)
    return "".join(c for i, c in enumerate(shape) if i == 0 or shape[i - 1] != c)


WORD = st.text(st.sampled_from("aBc1-.é"), min_size=1, max_size=7)


@given(st.lists(st.lists(WORD, min_size=1, max_size=5), min_size=1, max_size=4))
def test_columns_are_what_dicts_would_be(sentences: list[list[str]]) -> None:
    made = word_features(sentences, "ner")
    assert [list(one) for one in made] == [[twin(words, t) for t in range(len(words))] for words in sentences]


def test_other_columns_stay_and_are_joined() -> None:
    X, _ = read_conll(["The DT B", "cat NN I", "", "sat VB O"], columns=["word", "pos", "chunk"])
    made = word_features(X, "chunk")
    first = made[0]
    assert first[1]["pos"] == "NN"
    assert first[1]["pos[-1…0]"] == "DT/NN"
    assert first[1]["pos[-1]"] == "DT"
    assert first[0]["pos[0…2]"] == "DT/NN/_B+1"
    assert word_features(made, "chunk") is made
    assert word_features([["the", "Cat"]], clusters={"cat": "0110100"})[0][1]["cluster4"] == "0110"
    numbers = Sequences({"size": np.zeros(2)}, np.array([0, 2]), {"size": "numeric"})
    with pytest.raises(InputError, match="there is no column of words"):
        word_features(numbers)
    with pytest.raises(InputError, match="kind is 'srl'"):
        word_features([["a"]], "srl")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"sequence 0: is a str.*wrap it"):
        word_features(["the", "cat"])
    with pytest.raises(InputError, match="sequence 1: is empty"):
        word_features([["the"], []])


@pytest.mark.parametrize(
    "model", [LinearCRF(features="ner"), TreeCRF(features=["ner"], n_estimators=3, random_state=0)]
)
def test_models_make_them_at_fit_and_at_prediction(model, tmp_path) -> None:
    X, y = SENTENCES * 4, LABELS * 4
    by_hand = model.__class__(**model.get_params() | {"features": None, "window": word_window("ner")})
    by_hand.fit(word_features(X), y)
    model.fit(X, y)
    assert model.features_ == ("ner",)
    new = [["IL-2", "met", "Mr.", "Q"], ["x"]]
    wanted = by_hand.predict_proba(word_features(new))
    for found, probs in zip(model.predict_proba(new), wanted):
        np.testing.assert_array_equal(found, probs)
    np.testing.assert_array_equal(model.predict_proba(new[:1])[0], wanted[0])  # which has a way of its own elsewhere
    assert model.score(X, y) == by_hand.score(word_features(X), y)
    model.save(tmp_path / "m")
    loaded = hedgerow.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.predict_proba(new)[0], wanted[0])
    assert loaded.plan_ == model.plan_


def test_where_they_are_not_made_that_is_said() -> None:
    with pytest.raises(InputError, match="are of words, and AutoLabeler"):
        AutoLabeler(features="ner").fit(SENTENCES, LABELS)
    with pytest.raises(InputError, match="partial_fit does not make features='ner'"):
        LinearCRF(features="ner").partial_fit(SENTENCES, LABELS)
    with pytest.raises(InputError, match="features has 'ner', 'pos'"):
        LinearCRF(features=["ner", "pos"]).fit(SENTENCES, LABELS)
    with pytest.raises(InputError, match=r"Known are lag, .*, ner, pos, chunk"):
        LinearCRF(features="srl").fit(SENTENCES, LABELS)


def test_features_of_another_kind_are_refused() -> None:
    made = word_features([["He", "sleeps"]], "ner")
    assert word_features(made, "ner") is made
    with pytest.raises(InputError, match=r"these are features of words, and not of kind 'chunk'"):
        word_features(made, "chunk")
    with pytest.raises(InputError, match="not of kind 'pos'"):
        LinearCRF(features="pos").fit(made, [["a", "b"]])
