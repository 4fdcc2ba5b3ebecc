"""How good labelings are, by label, span and sequence; whether probabilities hold; significance tests; scorers."""

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
from hedgerow.metrics.probabilities import brier_score, calibration_curve, expected_calibration_error, log_loss
from hedgerow.metrics.scorers import (
    get_metric,
    get_scorer,
    label_accuracy_scorer,
    label_f1_scorer,
    macro_f1,
    make_scorer,
    sequence_accuracy_scorer,
    span_f1_scorer,
)
from hedgerow.metrics.segments import boundary_f1, segment_edit_score, segment_f1, segment_report, segments
from hedgerow.metrics.significance import mcnemar, sequence_test, two_proportions
from hedgerow.metrics.span_errors import span_errors
from hedgerow.metrics.spans import span_f1, span_report, spans
from hedgerow.metrics.tokens import confusion_matrix, label_accuracy, label_f1, label_report, sequence_accuracy

__all__ = [
    "boundary_f1",
    "brier_score",
    "calibration_curve",
    "check_labels",
    "confusion_matrix",
    "expected_calibration_error",
    "flat_accuracy_score",
    "flat_classification_report",
    "flat_f1_score",
    "flat_fbeta_score",
    "flat_precision_score",
    "flat_recall_score",
    "get_metric",
    "get_scorer",
    "label_accuracy",
    "label_accuracy_scorer",
    "label_f1",
    "label_f1_scorer",
    "label_report",
    "log_loss",
    "macro_f1",
    "make_scorer",
    "mcnemar",
    "segment_edit_score",
    "segment_f1",
    "segment_report",
    "segments",
    "sequence_accuracy",
    "sequence_accuracy_score",
    "sequence_accuracy_scorer",
    "sequence_test",
    "span_errors",
    "span_f1",
    "span_f1_scorer",
    "span_report",
    "spans",
    "two_proportions",
]
