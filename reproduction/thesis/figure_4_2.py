"""Figure 4.2 of Hao 2009: how often each feature of a line is true. Where it seldom is, imputation is seldom wrong."""

from __future__ import annotations

from typing import Any

import numpy as np

from hedgerow.data.sequences import Sequences
from reproduction.drawing import draw_shares
from reproduction.problems import load_problem
from reproduction.report import Grid, Report, Row
from reproduction.settings import Settings

TITLE = "Hao 2009, figure 4.2: how often a feature of a line is true"
RARE = 0.1


def run(settings: Settings) -> Report:
    """Count, in all lines of papers."""
    shares = count_true(load_problem("papers", settings).X)
    settings.say(f"{len(shares)} features")
    rows: list[Row] = [(name, f"{100 * share:.1f} %") for name, share in shares.items()]
    rare = sum(share < RARE for share in shares.values())
    right = 100 * float(np.mean([max(share, 1 - share) for share in shares.values()]))
    notes = [
        f"{rare} of {len(shares)} features are true in fewer than {RARE:.0%} of the lines; of the 20 features of the"
        " FAQs 11 are called rarely true.",
        f"A missing value that is filled in with the more common one is right in {right:.1f} % of the cases.",
    ]
    return Report("thesis-fig-4.2", [Grid(TITLE, ("feature", "true"), rows)], notes, {"shares": shares})


def count_true(X: Any) -> dict[str, float]:
    """The share of positions at which each column of yes and no says yes; of tokens, at which each token stands."""
    if not isinstance(X, Sequences):
        tokens = [token for x in X for token in x]
        return {str(token): tokens.count(token) / len(tokens) for token in sorted(set(tokens))}
    columns = X.compact()[0]
    return {name: float(np.mean(columns[name])) for name, kind in X.kinds.items() if kind == "boolean"}


def draw(data: dict[str, Any]) -> Any:
    """A bar for each feature."""
    return draw_shares(data["shares"], x="lines in which it is true, %")
