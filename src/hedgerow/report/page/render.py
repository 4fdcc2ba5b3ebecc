"""The parts of a report as one page: pictures are made, and a template of `assets/` says where all goes."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from markupsafe import Markup

from hedgerow import __version__
from hedgerow.legend import UNLABELLED, AnyArray
from hedgerow.report.page import svg
from hedgerow.report.page.svg import tag
from hedgerow.report.page.tested import Tested
from hedgerow.report.page.worst import Cell, Item, Why

if TYPE_CHECKING:
    from hedgerow.report.page.report import Report

_SECTIONS = [
    ("about", "What this is"), ("data", "Data"), ("scores", "Scores"), ("confidence", "Confidence"),
    ("worst", "Worst"), ("learnt", "Learnt"), ("suspects", "Suspects"),
]  # fmt: skip
# As in page.css, for pixels: the colours of Okabe and Ito, which most colour-blind people tell apart.
_COLOURS = ("0072b2", "e69f00", "009e73", "cc79a7", "d55e00", "56b4e9", "b8a800", "8a8f98")
_RGB = np.array([[int(one[i : i + 2], 16) for i in (0, 2, 4)] for one in _COLOURS], dtype=np.uint8)
_OUTSIDE = "O"
_LARGEST = 160  # pixels of a side of an image that is shown as it is


class Shown(NamedTuple):
    """A sequence as the template writes it."""

    number: int
    told: str
    labels: str
    errors: str
    sure: int
    body: Markup
    whys: list[Why]


def page(template: str, title: str, sections: list[tuple[str, str]], parts: Mapping[str, Any]) -> str:
    """A template filled in. All text in it is escaped but what is marked as HTML; the only script is our own."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("hedgerow.report.page", "assets"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"percent": percent, "points": points}
    style, script = (files("hedgerow.report.page").joinpath("assets", name).read_text("utf-8") for name in _ASSETS)
    digest = base64.b64encode(hashlib.sha256(script.encode("utf-8")).digest()).decode("ascii")
    own = {"style": Markup(style), "script": Markup(script), "script_hash": digest, "version": __version__}
    return environment.get_template(template).render(title=title, sections=sections, **own, **parts)


_ASSETS = ("page.css", "page.js")


def percent(share: float, digits: int = 1) -> str:
    """A share from 0 to 1 as a percentage."""
    return f"{100 * share:.{digits}f} %" if share else "0 %"


def _sure(p: float) -> str:
    """A probability as a percentage; never 100 %, which only rounding would make of it."""
    return f"{100 * min(p, 0.9999):.2f} %" if p > 0.99 else f"{100 * p:.0f} %"


def points(share: float) -> str:
    """A difference of shares in percentage points, as a bare number."""
    return f"{100 * share:.2f}"


def notebook(text: str) -> str:
    """A page inside of another one: what it says of fonts and colours stays its own."""
    frame = "width:100%;height:42rem;border:1px solid #8a8f98;border-radius:6px"
    return f'<iframe sandbox="allow-scripts allow-downloads" style="{frame}" srcdoc="{html.escape(text)}"></iframe>'


def render_report(report: Report) -> str:
    """The page of a report."""
    tested, learnt = report.tested, report.learnt
    colours = _label_colours(tested)
    labels = sorted({name for item in report.items for name in item.labels})
    pairs = sorted({pair for item in report.items for pair in item.pairs})
    label_of, pair_of = ({name: k for k, name in enumerate(names)} for names in (labels, pairs))
    shown = [_shown(report, item, colours, label_of, pair_of) for item in report.items]
    as_text = tested.shapes is None and report.view.text is not None
    cells = [cell for row in learnt.columns for cell in row.cells]
    parts = {
        "about": report.about,
        "data": report.data,
        "scores": report.scores,
        "confidence": report.confidence,
        "learnt": learnt,
        "suspects": report.suspects,
        "words": tested.words,
        "n_items": tested.n_sequences,
        "shown": shown,
        "shown_as": "text" if as_text else "numbers",
        "whys": any(item.whys for item in report.items),
        "legend": _legend(tested, colours),
        "label_choices": [(name, k) for name, k in label_of.items()],
        "error_choices": [(f"{a} → {b}", k) for (a, b), k in pair_of.items()],
        "has_probs": tested.probs is not None,
        "heat": max(cells, default=0.0) or 1.0,
        "pictures": _pictures(report),
    }
    return page("report.html", report.about.title, _SECTIONS, parts)


def _pictures(report: Report) -> dict[str, Any]:
    found, words, counts = report.confidence, report.tested.words, report.data.lengths
    made: dict[str, Any] = dict.fromkeys(("lengths", "labels", "spans", "handed", "graph")) | {"curves": []}
    if len(counts) > 1:
        made["lengths"] = svg.bars(counts, f"How long {words['items']} are", words["places"])
    if found is not None:
        for curve in (found.labels, found.spans):
            if curve is not None:
                total = sum(n for _, _, n in curve.points)
                made[curve.what] = svg.chart(
                    {curve.what: [(p, r) for p, r, _ in curve.points]}, f"Reliability of {curve.what}",
                    "probability", "right", x=(0.0, 1.0), y=(0.0, 1.0), percent=True, diagonal=(0.0, 1.0),
                    sizes={curve.what: [n / total for _, _, n in curve.points]},
                )  # fmt: skip
        made["handed"] = svg.chart(
            found.curves, "Errors left", "handed to a person", "errors left", x=(0.0, 1.0), y=(0.0, 1.0), percent=True,
            diagonal=(1.0, 0.0),
        )  # fmt: skip
    learnt = report.learnt
    if learnt.states:
        made["graph"] = svg.graph(learnt.states, learnt.moves, learnt.frequency)
    for name, curve_points in learnt.curves.items():
        last = curve_points[-1][0]
        mark = None
        if name != "loss" and learnt.best_iteration is not None and learnt.best_iteration <= last:
            mark = float(learnt.best_iteration), f"kept: {learnt.best_iteration}"
        picture = svg.chart({name: curve_points}, f"{name} by iteration", "iteration", name, mark=mark)
        made["curves"].append((picture, f"{name.capitalize()} in the course of training."))
    return made


# ------------------------------------------------------------------------------------------------ sequences


def _label_colours(tested: Tested) -> dict[str, int]:
    """Label → its colour, the most frequent first; −1 for "O". The labels of a span have one colour."""
    counts = np.bincount(np.concatenate([tested.true[tested.labelled], tested.predicted]), minlength=len(tested.labels))
    place: dict[str, int] = {}
    colours = {}
    for k in np.argsort(-counts, kind="stable").tolist():
        name = str(tested.labels[k])
        kind = _kind(tested, name)
        colours[name] = -1 if name == _OUTSIDE else place.setdefault(kind, len(place))
    return colours


def _kind(tested: Tested, label: str) -> str:
    return label.partition("-")[2] or label if tested.scheme is not None else label


def _legend(tested: Tested, colours: Mapping[str, int]) -> list[tuple[str, int]]:
    kinds = {_kind(tested, name): k for name, k in colours.items() if k >= 0}
    return [(name, k % svg.N_COLOURS) for name, k in sorted(kinds.items(), key=lambda pair: pair[1])][:24]


def _shown(report: Report, item: Item, colours: Mapping[str, int], label_of: Any, pair_of: Any) -> Shown:
    tested, words = report.tested, report.tested.words
    told = f"{item.n_places:,} {words['places']}"
    if report.scores is not None:
        told += f", {item.n_wrong:,} wrong"
    if item.confidence is not None:
        sure = _sure(item.confidence)
        told += f", up to {sure} sure of that" if item.n_wrong else f", at least {sure} sure"
    if tested.shapes is not None:
        body = _images(tested, item, colours)
    elif item.pieces:
        body = Markup('<div class="text-line">{}</div>').format(_text(tested, item, colours))
    else:
        body = _timeline(tested, item, colours)
    share = 0 if item.confidence is None else int(100 * item.confidence)
    labels, errors = (
        " ".join(str(of[name]) for name in names) for of, names in ((label_of, item.labels), (pair_of, item.pairs))
    )
    return Shown(item.number, told, labels, errors, share, body, item.whys)


def _text(tested: Tested, item: Item, colours: Mapping[str, int]) -> Markup:
    """Positions as small columns: what is true, the token, what was predicted."""
    parts: list[Markup] = []
    for p, piece in enumerate(item.pieces):
        skipped = piece[0].position - (item.pieces[p - 1][-1].position + 1 if p else 0)
        if skipped:
            parts.append(Markup('<span class="gap">… {} …</span>').format(skipped))
        before: Cell | None = None
        for cell in piece:
            parts.append(_cell(tested, cell, before, colours))
            before = cell
    if item.pieces[-1][-1].position < item.n_places - 1:
        parts.append(Markup('<span class="gap">… {} …</span>').format(item.n_places - 1 - item.pieces[-1][-1].position))
    return Markup("").join(parts)


def _cell(tested: Tested, cell: Cell, before: Cell | None, colours: Mapping[str, int]) -> Markup:
    names = []
    for label, last in ((cell.true, before and before.true), (cell.predicted, before and before.predicted)):
        if cell.wrong or not label or label == _OUTSIDE:
            names.append(label if cell.wrong else "")
        elif tested.scheme is not None:  # as displaCy does, a span has its name once
            begins = label[:1] in "BSU" or not last or last == _OUTSIDE or _kind(tested, last) != _kind(tested, label)
            names.append(_kind(tested, label) if begins else "")
        else:
            names.append("" if label == last else label)
    marks = [_colour(colours.get(label, -1)) for label in (cell.true, cell.predicted)]
    q = "" if cell.probability is None or not marks[1] else Markup(' style="--q:{:.2f}"').format(cell.probability)
    inner = Markup("<i{}>{}</i><b><bdi>{}</bdi></b><u{}{}>{}</u>").format(
        marks[0], names[0], cell.text if cell.text.strip() else "␣", marks[1], q, names[1]
    )
    kind = "p e" if cell.wrong else "p"
    if not cell.why:
        return Markup('<span class="{}">{}</span>').format(kind, inner)
    sure = "" if cell.probability is None else f", {_sure(cell.probability)} sure"
    told = f"{cell.text}: true {cell.true or 'not known'}, predicted {cell.predicted}{sure}. Why?"
    return Markup('<a class="{}" href="#{}" title="{}">{}</a>').format(kind, cell.why, told, inner)


def _colour(k: int) -> Markup:
    return Markup("") if k < 0 else Markup(' class="c{}"').format(k % svg.N_COLOURS)


def _timeline(tested: Tested, item: Item, colours: Mapping[str, int]) -> Markup:
    begin, end = int(tested.offsets[item.number]), int(tested.offsets[item.number + 1])
    by_code = np.array([*(colours[str(label)] for label in tested.labels), -1])
    true, predicted = tested.true[begin:end], tested.predicted[begin:end]
    bands = {"true": by_code[true], "predicted": by_code[predicted]}
    if not tested.labelled[begin:end].any():
        del bands["true"]
    names = [*map(str, tested.labels), "not known"]
    marks = [
        (t, mark, f"Position {t}: true {names[true[t]]}, predicted {names[predicted[t]]}. Why?")
        for t, mark in item.places
    ]
    sure = None if tested.confidence is None else tested.confidence[begin:end]
    drawn = svg.timeline(item.lines, bands, sure, tested.wrong[begin:end], marks, f"Sequence {item.number}")
    return Markup('<div class="wide" tabindex="0" role="region" aria-label="Sequence {}, drawn">{}</div>').format(
        item.number, drawn
    )


def _images(tested: Tested, item: Item, colours: Mapping[str, int]) -> Markup:
    """The image, what is true, what was predicted, what is wrong, and how sure the model was."""
    i, begin, end = item.number, int(tested.offsets[item.number]), int(tested.offsets[item.number + 1])
    assert tested.shapes is not None
    shape = tested.shapes[i]
    if len(shape) != 2:
        return Markup('<p class="note">{}</p>').format(f"{item.n_wrong} of {item.n_places} nodes are wrong.")
    by_code = np.array([*(colours[str(label)] for label in tested.labels), len(_RGB) - 1])
    true, predicted = (codes[begin:end].reshape(shape) for codes in (tested.true, tested.predicted))
    panels: dict[str, AnyArray] = {"image": _grey(np.asarray(tested.dataset.nodes[begin:end]).reshape(*shape, -1))}
    wrong = tested.wrong[begin:end].reshape(shape)
    if tested.labelled[begin:end].any():
        panels["true"] = np.where((true == UNLABELLED)[..., None], 255, _RGB[by_code[true] % len(_RGB)])
    panels["predicted"] = _RGB[by_code[predicted] % len(_RGB)]
    if wrong.any():
        pale = 255 - (255 - panels["image"].astype(np.int64)) // 3
        panels["wrong"] = np.where(wrong[..., None], _RGB[4], pale)
    if tested.confidence is not None:
        sure = tested.confidence[begin:end].reshape(shape)[..., None]
        panels["how sure (dark: not)"] = np.broadcast_to(255 * sure, (*shape, 3))
    step = -(-max(shape) // _LARGEST)
    pins = _pins(item, shape)
    pinned, figures = "wrong" if "wrong" in panels else "predicted", []
    for name, pixels in panels.items():
        image = tag("img", "", alt=f"Image {i}: {name}", src=svg.png(pixels[::step, ::step]))
        frame = tag("div", "frame", image, pins if name == pinned else Markup(""))
        figures.append(Markup("<figure>{}<figcaption>{}</figcaption></figure>").format(frame, name))
    return Markup('<div class="images">{}</div>').format(Markup("").join(figures))


def _pins(item: Item, shape: tuple[int, ...]) -> Markup:
    made = []
    for why in item.whys:
        row, column = np.unravel_index(int(why.mark.rpartition("-")[2]), shape)
        told = f"Pixel {why.place}: why?"
        place = f"left:{100 * (column + 0.5) / shape[1]:.1f}%;top:{100 * (row + 0.5) / shape[0]:.1f}%"
        made.append(tag("a", "pin", Markup(""), href=f"#{why.mark}", aria_label=told, title=told, style=place))
    return Markup("").join(made)


def _grey(pixels: AnyArray) -> AnyArray:
    """Channels as bytes, each from its smallest to its largest: three as colours, else the first in grey."""
    shown = pixels[..., :3] if pixels.shape[-1] >= 3 else np.repeat(pixels[..., :1], 3, axis=-1)
    low, high = (f(shown, axis=(0, 1)) for f in (np.nanmin, np.nanmax))
    scaled = (shown - low) / np.where(high > low, high - low, 1.0)
    grey: AnyArray = np.nan_to_num(255 * scaled).astype(np.uint8)
    return grey
