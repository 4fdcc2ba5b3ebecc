"""`hedgerow eval`: how good a model is on a labelled file."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from hedgerow.cli import train_options as options
from hedgerow.cli.flags import in_flags
from hedgerow.cli.inputs import Input, load_chain
from hedgerow.cli.train_options import option
from hedgerow.errors import plain

if TYPE_CHECKING:
    from hedgerow.metrics.spans import SpanReport
    from hedgerow.metrics.tokens import LabelReport


def command(
    model: options.ModelFile,
    data: Annotated[str, options.file("DATA", "A labelled file; - is standard input.")],
    scheme: options.Scheme = None,
    as_json: options.AsJson = False,
    format: Annotated[str | None, option("NAME", "The data's format. \\[by suffix; as in training]")] = None,
) -> None:
    """Compare a model's labels with those of a file.

    Counts are by label, by span where the labels look like B-NP, and by whole sequence.
    """
    with in_flags(command):
        report = evaluate(model, data, scheme=scheme, format=format)
    if report.unknown:
        names = ", ".join(f"{plain(label)} ({count})" for label, count in report.unknown.items())
        print(f"hedgerow: labels that the model does not know, counted as wrong: {names}", file=sys.stderr)
    print(json.dumps(report.to_dict(), indent=2, ensure_ascii=False) if as_json else report)


@dataclass(frozen=True)
class Evaluation:
    """What `evaluate` returns. `spans` is None where the labels are not those of spans; `unknown` counts the labels
    of the file that the model does not know."""

    n_sequences: int
    labels: LabelReport
    sequence_accuracy: float
    spans: SpanReport | None
    unknown: dict[Any, int]

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as nested dicts of plain numbers."""
        return {
            "sequences": self.n_sequences,
            "label_accuracy": self.labels.accuracy,
            "sequence_accuracy": self.sequence_accuracy,
            "labels": self.labels.to_dict(),
            "spans": None if self.spans is None else self.spans.to_dict(),
        }

    def __str__(self) -> str:
        right = f"sequence accuracy {self.sequence_accuracy:.4f} ({self.n_sequences} sequences)"
        return f"{self.labels}\n{right}" + ("" if self.spans is None else f"\n\n{self.spans}")


def evaluate(model: str, data: str, *, scheme: str | None = None, format: str | None = None) -> Evaluation:
    """Compare the labels that a model predicts with those of a file. The parameters are the options of the command."""
    from hedgerow.cli.recipe import recipe_of
    from hedgerow.metrics import label_report, sequence_accuracy, span_report
    from hedgerow.metrics.spans import looks_like_spans

    crf = load_chain(model)
    source = Input(data)
    recipe = recipe_of(crf, source, format)
    X, y = recipe.read_labelled(source, "Label it first, or use `hedgerow tag` to predict its labels.")
    predicted = crf.predict(X)
    labels = label_report(y, predicted)
    spans = None
    if scheme is not None or looks_like_spans({label for row in (*y, *predicted) for label in row}):
        spans = span_report(y, predicted, scheme or "auto")  # type: ignore[arg-type]
    known = {None, *crf.classes_.tolist()}
    unknown = Counter(label for row in y for label in row if label not in known)
    return Evaluation(len(y), labels, sequence_accuracy(y, predicted), spans, dict(unknown))
