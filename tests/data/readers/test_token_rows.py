"""Datasets of Hugging Face, dicts of lists and spaCy's Docs, by the packages themselves."""

from __future__ import annotations

import datasets
import pandas as pd
import pytest
import spacy
from spacy.tokens import Doc

import hedgerow
from hedgerow import InputError, LinearCRF
from hedgerow.compat.spacy import Labels

TOKENS = [["Ada", "met", "Bob"], ["He", "met", "Eve", "Lu"]] * 4
TAGS = [[1, 0, 1], [0, 0, 1, 2]] * 4
NAMES = ["O", "B-PER", "I-PER"]
LABELS = [[NAMES[tag] for tag in tags] for tags in TAGS]


def named_dataset(tags=TAGS):
    """As on the hub: labels are numbers, with their names beside."""
    label = datasets.ClassLabel(names=NAMES)
    kind = getattr(datasets, "List", None) or datasets.Sequence
    features = datasets.Features({"tokens": kind(datasets.Value("string")), "ner_tags": kind(label)})
    return datasets.Dataset.from_dict({"tokens": TOKENS, "ner_tags": tags}, features=features)


def test_a_dataset_gives_the_names_of_its_labels(tmp_path) -> None:
    reference = LinearCRF(window=1).fit(TOKENS, LABELS)
    model = LinearCRF(window=1).fit(named_dataset(), tokens="tokens", label="ner_tags")
    assert model.classes_.tolist() == sorted(NAMES)
    assert (model.weights_ == reference.weights_).all()
    assert model.predict(named_dataset()).tolist() == reference.predict(TOKENS).tolist()
    assert model.score(named_dataset()) == reference.score(TOKENS, LABELS)
    model.save(tmp_path / "m")
    assert hedgerow.load(tmp_path / "m").score(named_dataset()) == model.score(named_dataset())
    assert model.predict([["Ada"]]).tolist() == reference.predict([["Ada"]]).tolist()


@pytest.mark.parametrize("make", [dict, pd.DataFrame, datasets.Dataset.from_dict])
def test_rows_of_lists_with_words_made_into_features(make) -> None:
    rows = make({"words": TOKENS, "tags": LABELS})
    model = LinearCRF(features="ner").fit(rows, tokens="words", label="tags")
    assert model.predict(rows).tolist() == LinearCRF(features="ner").fit(TOKENS, LABELS).predict(TOKENS).tolist()
    with pytest.raises(InputError, match="there is no column 'tokens'"):
        LinearCRF().fit({"words": TOKENS, "tags": LABELS}, label="tags")


def test_100_below_zero_is_unlabelled() -> None:
    open_tags = [[-100, *tags[1:]] for tags in TAGS]
    hidden = [[None, *labels[1:]] for labels in LABELS]
    model = LinearCRF().fit(named_dataset(open_tags), label="ner_tags")
    assert (model.weights_ == LinearCRF().fit(TOKENS, hidden).weights_).all()


def test_what_is_missing_is_said() -> None:
    with pytest.raises(InputError, match=r"y is missing\. Name the column of labels: label='ner_tags'"):
        LinearCRF().fit(named_dataset())
    with pytest.raises(InputError, match=r"X is several datasets. Give one of them: X\['train'\]"):
        LinearCRF().fit(datasets.DatasetDict({"train": named_dataset()}), label="ner_tags")
    with pytest.raises(InputError, match="label and tokens name columns, and X is of type list"):
        LinearCRF().fit(TOKENS, label="ner_tags")


def docs():
    nlp = spacy.blank("en")
    made = []
    for words, labels in zip(TOKENS, LABELS):
        made.append(Doc(nlp.vocab, words=words, ents=labels, tags=["T" + label[:1] for label in labels]))
    return nlp, made


def test_docs_bring_their_entities_and_tags() -> None:
    _, made = docs()
    reference = LinearCRF(window=1).fit(TOKENS, LABELS)
    model = LinearCRF(window=1).fit(made)
    assert (model.weights_ == reference.weights_).all()
    assert model.predict(made[0]).tolist() == reference.predict(TOKENS[:1]).tolist()
    assert model.score(made) == reference.score(TOKENS, LABELS)
    tagger = LinearCRF(window=1).fit(made, label="tag")
    assert tagger.classes_.tolist() == ["TB", "TI", "TO"]
    blank = Doc(made[0].vocab, words=["Ada"])
    with pytest.raises(InputError, match="no label at all"):
        LinearCRF().fit([blank])
    with pytest.raises(InputError, match="have no text 'mood_'"):
        LinearCRF().fit(made, label="mood")


def test_a_pipeline_sets_entities_or_tags_and_is_kept(tmp_path) -> None:
    nlp, made = docs()
    LinearCRF(features="ner").fit(made).save(tmp_path / "ents.hedgerow")
    LinearCRF(window=1).fit(made, label="tag").save(tmp_path / "tags.hedgerow")
    nlp.add_pipe("hedgerow", config={"model": str(tmp_path / "ents.hedgerow")})
    nlp.add_pipe("hedgerow", name="tags", config={"model": str(tmp_path / "tags.hedgerow"), "sets": "tag"})
    doc = nlp("He met Eve Lu")
    assert [(one.text, one.label_) for one in doc.ents] == [("Eve Lu", "PER")]
    assert [token.tag_ for token in doc] == ["TO", "TO", "TB", "TI"]
    assert [len(one.ents) for one in nlp.pipe(["He met Eve Lu", "", "Ada met Bob"])] == [1, 0, 2]
    nlp.to_disk(tmp_path / "pipe")
    (tmp_path / "ents.hedgerow").unlink()
    again = spacy.load(tmp_path / "pipe")
    assert [(one.text, one.label_) for one in again("He met Eve Lu").ents] == [("Eve Lu", "PER")]
    with pytest.raises(InputError, match="the component has no model"):
        Labels(None)(doc)
