"""Why a position has its label: the log-odds of two labels as a sum of parts, and how it is shown."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from hedgerow.data.dataset import OUTSIDE_COLUMN, Label

Kind = Literal["feature", "base", "before", "after", "rest"]

_WORDS = ("missing", "outside", "inside", "absent")  # values that are none of the data's
_SHOWN = 12  # parts of a table
_WIDTH = 24  # characters of the longest bar


class Part(NamedTuple):
    """One part of the log-odds. Positive ones speak for the label, negative ones for the other.

    kind : "feature", "base" (what the model adds whatever the input), "before" and "after" (the labels on either side,
        taken for those that the model thinks most probable), "rest" (what it adds that these are not certain)
    name : the column, the attribute, or the label that stands before or after
    offset : the place in the window; None where there is none
    value : what the feature is here; "" for attributes
    """

    kind: Kind
    name: str
    offset: int | None
    value: str
    log_odds: float

    @property
    def text(self) -> str:
        """The part in words."""
        if self.kind != "feature":
            return self.name
        name = "position" if self.name == OUTSIDE_COLUMN else self.name
        name = f"{name}[{self.offset:+d}]" if self.offset else name
        between = "is" if self.value in _WORDS else "="
        return f"{name} {between} {self.value}" if self.value else name


class Change(NamedTuple):
    """Something that turns the label: other values at the position, or a label that is given to a neighbour.

    what : in words; label : what the position's label becomes; probability : that of it, after the change
    """

    kind: Literal["features", "neighbour"]
    what: str
    label: Label
    probability: float


@dataclass(frozen=True, repr=False)
class Explanation:
    """What `explain` returns. The parts add up to `log_odds`, exactly but for rounding.

    position : of the sequence, from 0; of an image its row and column
    label, against : the label that is explained, and the one it is compared with
    probability, probability_against : of the two at this position, as in `predict_proba`; of an AutoLabeler those of
        its best model
    log_odds : log(probability / probability_against)
    parts : the largest first; features come before the others in `table`
    changes : what would turn the label, the smallest change first; empty where it was not asked for
    """

    position: int | tuple[int, ...]
    label: Label
    against: Label
    probability: float
    probability_against: float
    log_odds: float
    parts: tuple[Part, ...]
    changes: tuple[Change, ...] = ()

    def total(self, kind: Kind) -> float:
        """The sum of the parts of one kind."""
        return sum(part.log_odds for part in self.parts if part.kind == kind)

    @property
    def title(self) -> str:
        """One sentence."""
        odds = f"log-odds {self.log_odds:+.2f}"
        label, other = f"{self.label} ({self.probability:.1%})", f"{self.against} ({self.probability_against:.1%})"
        return f"position {self.position}: {label} against {other}, {odds}"

    def table(self, top: int = _SHOWN) -> str:
        """The parts as text, the largest features first and their rest summed; then the labels around."""
        rows, changes = self.rows(top), self.changes
        largest = max((abs(value) for _, value in rows), default=0.0) or 1.0
        lines = [f"  {value:+8.3f}  {_bar(value, largest)}  {text}" for text, value in rows]
        told = ["", "what would turn the label:", *(f"  {_change_text(change)}" for change in changes)]
        return "\n".join([self.title, *lines, *(told if changes else [])])

    def __repr__(self) -> str:
        return self.table()

    def to_dict(self) -> dict[str, Any]:
        """Everything as what JSON can hold."""
        own = {name: getattr(self, name) for name in ("position", "label", "against", "log_odds")}
        probs = {"probability": self.probability, "probability_against": self.probability_against}
        parts, changes = [part._asdict() for part in self.parts], [change._asdict() for change in self.changes]
        return own | probs | {"parts": parts, "changes": changes}

    def to_json(self) -> str:
        """`to_dict` as text."""
        return json.dumps(self.to_dict(), ensure_ascii=False, indent=1)

    def to_html(self, top: int = _SHOWN) -> str:
        """A table with bars, which stands by itself in a page or a notebook."""
        rows = self.rows(top)
        largest = max((abs(value) for _, value in rows), default=0.0) or 1.0
        body = "".join(_html_row(text, value, value / largest) for text, value in rows)
        items = "".join(f"<li>{html.escape(_change_text(change))}</li>" for change in self.changes)
        changes = f"<p>What would turn the label:</p><ul>{items}</ul>" if items else ""
        return (
            '<table style="border-collapse:collapse;font-variant-numeric:tabular-nums">'
            f'<caption style="text-align:left">{html.escape(self.title)}</caption>{body}</table>{changes}'
        )

    def _repr_html_(self) -> str:
        return self.to_html()

    def rows(self, top: int = _SHOWN) -> list[tuple[str, float]]:
        """(text, log-odds): the largest features, what the others add, and the parts that are no features."""
        features = [part for part in self.parts if part.kind == "feature"]
        rows = [(part.text, part.log_odds) for part in features[:top]]
        if len(features) > top:
            hidden = features[top:]
            rows.append((f"{len(hidden)} more features", sum(part.log_odds for part in hidden)))
        order: tuple[Kind, ...] = ("base", "before", "after", "rest")
        return rows + [(part.text, part.log_odds) for kind in order for part in self.parts if part.kind == kind]


def _bar(value: float, largest: float) -> str:
    """A bar from the middle: to the right where it speaks for the label."""
    half = _WIDTH // 2
    n = round(half * abs(value) / largest)
    return f"{'█' * n if value < 0 else '':>{half}}│{'█' * n if value > 0 else '':<{half}}"


def _html_row(text: str, value: float, share: float) -> str:
    color = "#2b7a4b" if value >= 0 else "#b2472f"
    left = 50.0 if value >= 0 else 50.0 - 50.0 * abs(share)
    bar = f"position:absolute;left:{left:.1f}%;width:{50 * abs(share):.1f}%;height:100%;background:{color}"
    field = f'<div style="position:relative;width:12em;height:.9em"><div style="{bar}"></div></div>'
    cells = f'<td style="text-align:right;padding:0 .6em">{value:+.3f}</td><td>{field}</td>'
    return f'<tr>{cells}<td style="text-align:left;padding:0 .6em">{html.escape(text)}</td></tr>'


def _change_text(change: Change) -> str:
    return f"{change.what}: {change.label} ({change.probability:.1%})"
