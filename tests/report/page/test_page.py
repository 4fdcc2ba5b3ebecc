"""The page: it stands alone, shows what is hostile and runs none of it, and is there for every kind of model."""

from __future__ import annotations

import base64
import io
import re
from html.parser import HTMLParser
from itertools import chain

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from hedgerow import HMM, IOHMM, MEMM, AutoLabeler, BeamSearchTagger, InputError, LinearCRF, TreeCRF
from hedgerow.report import Report, make_report
from hedgerow.report.page import svg

from .made import HOSTILE, lattice_model, sensor_corpus, sensor_model, shapes, text_corpus, text_model

VOID = {"meta", "img", "input", "br", "hr", "link"}
OPTIONAL = {"td", "tr"}  # whose end may be left out
SECTIONS = ["about", "data", "scores", "confidence", "worst", "learnt", "suspects"]


class Read(HTMLParser):
    """The elements and texts of a page; complains of elements that are closed in another order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.texts, self.faults = [], [], [], []
        self.feed(text)
        self.close()
        self.faults += [f"<{name}> is not closed" for name in self.open]

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        if name not in VOID:
            self.open.append(name)

    def handle_startendtag(self, name, attributes):
        self.elements.append((name, dict(attributes)))

    def handle_endtag(self, name):
        while self.open and self.open[-1] in OPTIONAL and name not in OPTIONAL:
            self.open.pop()
        if not self.open or self.open.pop() != name:
            self.faults.append(f"</{name}> closes something else, line {self.getpos()}")

    def handle_data(self, text):
        self.texts.append(text)


@pytest.fixture(scope="module")
def text_report():
    X, y = text_corpus()
    return text_model().report(X[40:], y[40:], X_train=X[:40], y_train=y[:40], title=HOSTILE[0], command="x <y>")


@pytest.fixture(scope="module")
def sensor_report():
    X, y = sensor_corpus()
    return sensor_model().report(X[8:], y[8:])


@pytest.fixture(scope="module")
def lattice_report():
    images, masks = shapes()
    return lattice_model().report(images[5:], masks[5:], X_train=images[:5], y_train=masks[:5])


@pytest.fixture(params=["text_report", "sensor_report", "lattice_report"])
def page(request):
    return request.getfixturevalue(request.param).to_html()


def test_the_page_is_sound_and_has_all_sections(page):
    read = Read(page)
    assert read.faults == []
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert [name for name in ids if name in SECTIONS] == SECTIONS
    assert len(ids) == len(set(ids))
    asked = [attributes["href"][1:] for name, attributes in read.elements if name == "a"]
    assert set(asked) <= set(ids)
    assert sum(name.startswith("w") and "-" in name for name in asked) > 3


def test_the_page_loads_nothing(page):
    addresses = [
        value
        for _, attributes in Read(page).elements
        for key, value in attributes.items()
        if key in ("src", "href", "action", "srcset", "data", "poster")
    ]
    assert addresses
    assert [one for one in addresses if not one.startswith(("#", "data:image/png;base64,"))] == []
    assert re.findall(r"url\((?!#tip)|@import|fetch\(|XMLHttpRequest", page) == []
    assert "default-src 'none'" in page


def test_the_only_script_is_our_own(page):
    scripts = re.findall(r"<script[^>]*>", page)
    assert scripts == ["<script>"]
    assert "<style>" in page
    read = Read(page)
    assert [key for _, attributes in read.elements for key in attributes if key.startswith("on")] == []


def test_what_is_hostile_is_shown_and_not_run(text_report):
    html = text_report.to_html()
    read = Read(html)
    shown = "".join(read.texts)
    for word in HOSTILE:
        assert word in shown
    assert "B-<b>" in shown
    assert "49" not in {text.strip() for text in read.texts}  # of {{ 7 * 7 }}
    assert [attributes for name, attributes in read.elements if "onmouseover" in attributes] == []
    assert html.count("<script") == 1
    assert html.count("</style") == 1
    assert re.search(r"<title>[^<]*&lt;script&gt;", html)


def test_right_to_left_words_do_not_turn_their_neighbours(text_report):
    assert "<bdi>שלום</bdi>" in text_report.to_html()


@pytest.mark.parametrize(
    "model", [MEMM(), HMM(order=2), BeamSearchTagger(max_iter=3), IOHMM(max_iter=3, random_state=0)]
)
@pytest.mark.filterwarnings("ignore:training stopped")
def test_other_models(model):
    X, y = text_corpus()
    found = model.fit(X[:40], y[:40]).report(X[40:50], y[40:50], n_explained=5)
    assert Read(found.to_html()).faults == []
    assert found.scores is not None
    has_probs = hasattr(model, "predict_proba")
    assert (found.confidence is not None, found.suspects is not None) == (has_probs, has_probs)
    if not has_probs:
        with pytest.raises(InputError, match="no probabilities"):
            found.save_suspects("suspects.csv")


def test_a_model_that_was_looked_for():
    X, y = text_corpus()
    model = AutoLabeler(n_trials=2, cv=2, random_state=0, n_jobs=1, candidates=[LinearCRF(max_iter=5), HMM()])
    found = model.fit(X[:40], y[:40]).report(X[40:], y[40:], n_explained=3)
    assert found.learnt.trials
    assert Read(found.to_html()).faults == []


def test_scores_that_are_not_finite_are_left_out():
    """A held-out labeling that training forbids has the log-likelihood −inf."""
    X, y = [["a", "b"]] * 12 + [["a", "a"]], [["x", "y"]] * 12 + [["x", "x"]]
    model = LinearCRF(transitions="forbid_unseen", early_stopping=True, scoring="log_likelihood", n_jobs=1)
    model.fit(X, y, X_val=[["b", "a"]], y_val=[["y", "x"]])
    assert any(step.score == -np.inf for step in model.history_)
    found = model.report(X, y)
    assert Read(found.to_html()).faults == []
    assert list(found.learnt.curves) == ["loss"]


def test_no_sequences_are_shown_where_none_are_asked_for():
    X, y = text_corpus()
    found = text_model().report(X[40:], y[40:], n_shown=0, n_explained=0)
    assert found.items == []
    assert Read(found.to_html()).faults == []


def test_a_report_without_labels():
    X, _ = text_corpus()
    found = text_model().report(X[40:])
    assert (found.scores, found.confidence) == (None, None)
    assert found.suspects.next
    html = found.to_html()
    assert Read(html).faults == []
    assert "no true labels" in html
    assert "wrong and at least" not in html
    assert 'id="by-error"' not in html


def test_a_drawing_without_labels_has_no_row_of_errors():
    X, y = sensor_corpus()
    for labels in (y[8:], None):
        html = sensor_model().report(X[8:], labels).to_html()
        assert Read(html).faults == []
        assert (">wrong</text>" in html) == (labels is not None)
        assert ('<th scope="col">true</th>' in html) == (labels is not None)


def test_a_frame_with_and_without_its_labels():
    X, y = sensor_corpus()
    rows = [{**row, "day": i, "state": s} for i in range(14) for row, s in zip(X[i], y[i])]
    frame = pd.DataFrame(rows)
    test = frame[frame.day >= 8]
    model = TreeCRF(n_estimators=3, early_stopping=False).fit(frame[frame.day < 8], by="day", label="state")
    found = model.report(test, X_train=frame[frame.day < 8], n_explained=2)
    assert found.scores.headlines[1].value == pytest.approx(model.score(test), rel=1e-12)
    assert (found.data.shared, found.view.numbers[0]) == (0, "pulse")
    assert model.report(test.drop(columns="state"), n_explained=0).scores is None
    apart = model.report(test.drop(columns="state"), test.state, n_explained=0)
    assert apart.scores.headlines == found.scores.headlines


def test_gaps_and_sets_among_labels():
    X, y = text_corpus()
    some = [[None, *row[1:]] for row in y[40:]]
    sets = [[{"O", "B-<b>"}, *row[1:]] for row in y[40:]]
    values = [make_report(text_model(), X[40:], labels).scores.headlines for labels in (some, sets)]
    assert values[0] == values[1]


def test_nothing_is_wrong():
    X, _ = text_corpus()
    model = text_model()
    html = model.report(X[:5], model.predict(X[:5])).to_html()
    assert "Nothing is wrong" in html
    assert Read(html).faults == []


def test_long_texts_are_cut_around_errors():
    X, y = text_corpus()
    long, labels = (list(chain.from_iterable(rows)) for rows in (X, y))
    found = text_model().report([long], [labels], n_explained=4)
    assert found.items[0].n_places == len(long)
    assert 0 < sum(map(len, found.items[0].pieces)) < len(long)
    assert "…" in found.to_html()


def test_saving(text_report, tmp_path):
    for name, save in (
        ("r.html", text_report.save),
        ("s.csv", text_report.save_suspects),
        ("n.csv", text_report.save_next),
    ):
        save(tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8")
    assert (tmp_path / "s.csv").read_text().startswith("sequence,position,value,label,suggested")
    assert len((tmp_path / "n.csv").read_text().splitlines()) == 21


@pytest.mark.parametrize("cv", [None, 2])
def test_files_have_all_suspects_where_the_page_has_some(tmp_path, cv):
    X, y = text_corpus()
    found = text_model().report(X[40:], y[40:], n_suspects=1, n_shown=0, cv=cv)
    assert (len(found.suspects.labels), len(found.suspects.next)) == (1, 1)
    assert found.suspects.total > 1
    found.save_suspects(tmp_path / "s.csv")
    found.save_next(tmp_path / "n.csv")
    lines = (tmp_path / "s.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + found.suspects.total
    first = found.suspects.labels[0]
    assert lines[1].startswith(f"{first.sequence},{first.position},")
    assert len((tmp_path / "n.csv").read_text(encoding="utf-8").splitlines()) == 1 + 20


def test_in_a_notebook_it_keeps_to_itself(text_report):
    html = text_report._repr_html_()
    assert html.startswith("<iframe sandbox=")
    assert "<script" not in html
    assert repr(text_report).startswith("Report(")
    assert isinstance(text_report, Report)


def test_cross_validated_suspects():
    X, y = text_corpus()
    wrong = [list(row) for row in y[:40]]
    found = make_report(text_model(), X[40:], y[40:], X_train=X[:40], y_train=wrong, cv=2, n_explained=0)
    assert found.suspects.source == "by cross-validated probabilities"
    assert max(one.sequence for one in found.suspects.labels) > 20  # of the training sequences
    own = make_report(text_model(), X[40:], y[40:], cv=2, n_explained=0)
    assert {one.sequence for one in own.suspects.labels} <= set(range(20))


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"n_shown": -1}, "n_shown is -1"),
        ({"y_train": [["O"]]}, "without X_train"),
        ({"cv": 50}, "cv is 50"),
        ({"X_train": [["a", "b"]], "y_train": [["O"]]}, "2 positions and y_train has 1"),
        ({"X_train": [["a", "b"], ["a"]], "y_train": [["O"], ["O", "O"]]}, "sequence 0: X_train has 2 positions"),
        ({"X_train": [["a", "b"]], "y_train": [["O"], ["O"]]}, "X_train has 1 sequences and y_train has 2"),
    ],
)
def test_refusals(options, what):
    X, y = text_corpus()
    with pytest.raises(InputError, match=what):
        make_report(text_model(), X[40:], y[40:], **options)


def test_refusals_of_data():
    X, y = text_corpus()
    model = text_model()
    with pytest.raises(InputError, match="y has 1"):
        model.report(X[40:], y[:1])
    with pytest.raises(InputError, match="sequence 0: X has"):
        model.report(X[40:42], [["O"], y[41]])
    with pytest.raises(InputError, match="X is a Dataset"):
        model.report(model.encode(X[40:]), y[40:])
    with pytest.raises(InputError, match="nothing to report on"):
        model.report([], [])


def test_ticks_are_round_and_inside():
    for low, high in ((0, 1), (0.13, 0.91), (-3.2, 812), (5, 5.00001), (1e-9, 3e-9)):
        found = svg.ticks(low, high)
        assert 1 <= len(found) <= 6
        assert all(low - 1e-9 * (high - low) <= one <= high * (1 + 1e-9) + 1e-12 for one in found)


def test_an_image_is_a_png_file():
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3)).astype(np.uint8)
    data = base64.b64decode(svg.png(pixels).partition(",")[2])
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(data))), pixels)
