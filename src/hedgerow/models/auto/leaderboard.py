"""What was tried, and how well each did, as records and as a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hedgerow.models.auto.judging import standard_error
from hedgerow.models.auto.search import Search
from hedgerow.models.auto.trials import Trial

# Field → its type, for whoever reads a record from a file.
FIELDS: dict[str, type | tuple[type, ...]] = {
    "model": str,
    "score": (float, type(None)),
    "standard_error": (float, type(None)),
    "log_loss": (float, type(None)),
    "decoder": str,
    "folds": int,
    "iterations": (int, type(None)),
    "seconds": float,
    "trial": int,
    "chosen": bool,
    "error": str,
}


class Leaderboard(list[dict[str, Any]]):
    """A record per model that was tried, the best first. `str()` gives a table.

    model : as Python makes it; score and its standard_error, over all held-out sequences that it was scored on;
    log_loss : −log of the probability of a true label, on average; folds : how many it was scored on, 0 where a first
    look at few sequences was enough; iterations : of trees; seconds : of all its trainings; trial : when it came;
    chosen : whether it is, or is a part of, the result; error : why it could not be trained
    """

    def rows(self, n: int | None = None) -> list[tuple[str, ...]]:
        """The first n records in words: mark, score, error, log-loss, folds, seconds, model."""
        found = []
        for record in self[:n]:
            numbers = [record["score"], record["standard_error"], record["log_loss"]]
            shown = ["–" if x is None else f"{x:.4f}" for x in numbers]
            folds = str(record["folds"]) if record["folds"] else "look" if record["score"] is not None else "–"
            mark = "→" if record["chosen"] else ""
            model = record["model"] + (f"  ({record['error']})" if record["error"] else "")
            found.append((mark, *shown, folds, f"{record['seconds']:.1f}", model))
        return found

    def __str__(self) -> str:
        heads = ("", "score", "± error", "log-loss", "folds", "seconds", "model")
        table = [heads, *self.rows()]
        widths = [max(len(row[i]) for row in table) for i in range(len(heads))]
        lines = []
        for row in table:
            cells = [f"{cell:<{w}}" if i in (0, 6) else f"{cell:>{w}}" for i, (cell, w) in enumerate(zip(row, widths))]
            lines.append("  ".join(cells).rstrip())
        return "\n".join(lines)


def make_leaderboard(search: Search, members: Iterable[Trial]) -> Leaderboard:
    """The records of a search."""
    chosen = {trial.number for trial in members}
    return Leaderboard(_record(search, trial, trial.number in chosen) for trial in search.ranking())


def _record(search: Search, trial: Trial, chosen: bool) -> dict[str, Any]:
    score = error = loss = None
    folds = tuple(sorted(trial.answers))
    if trial.error is None and (folds or trial.looked is not None):
        stages = search.tries.stages(trial, folds)
        score, loss = float(stages[0]), -float(search.tries.log_probs(trial, folds)[0])
        spread = standard_error(stages)
        error = spread if spread < float("inf") else None
    return {
        "model": trial.line,
        "score": score,
        "standard_error": error,
        "log_loss": loss,
        "decoder": search.tries.decoder(trial),
        "folds": len(folds),
        "iterations": trial.length and trial.length.n_iterations,
        "seconds": round(trial.seconds, 3),
        "trial": trial.number,
        "chosen": chosen,
        "error": "" if trial.error is None else str(trial.error),
    }
