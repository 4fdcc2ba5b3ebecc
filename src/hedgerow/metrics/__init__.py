"""How good labelings are, by label, span and sequence; whether probabilities hold; significance tests; scorers."""

from hedgerow.metrics.calibration import calibration_curve, expected_calibration_error
from hedgerow.metrics.flat import (
    flat_accuracy_score,
    flat_classification_report,
    flat_f1_score,
    flat_fbeta_score,
    flat_precision_score,
    flat_recall_score,
    sequence_accuracy_score,
)
from hedgerow.metrics.labelings import check_labels
from hedgerow.metrics.scorers import (
    get_metric,
    label_accuracy_scorer,
    label_f1_scorer,
    make_scorer,
    sequence_accuracy_scorer,
    span_f1_scorer,
)
from hedgerow.metrics.significance import mcnemar, two_proportions
from hedgerow.metrics.spans import span_f1, span_report, spans
from hedgerow.metrics.tokens import label_accuracy, label_f1, label_report, sequence_accuracy

__all__ = [
    "calibration_curve",
    "check_labels",
    "expected_calibration_error",
    "flat_accuracy_score",
    "flat_classification_report",
    "flat_f1_score",
    "flat_fbeta_score",
    "flat_precision_score",
    "flat_recall_score",
    "get_metric",
    "label_accuracy",
    "label_accuracy_scorer",
    "label_f1",
    "label_f1_scorer",
    "label_report",
    "make_scorer",
    "mcnemar",
    "sequence_accuracy",
    "sequence_accuracy_score",
    "sequence_accuracy_scorer",
    "span_f1",
    "span_f1_scorer",
    "span_report",
    "spans",
    "two_proportions",
]
