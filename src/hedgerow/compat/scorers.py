"""The names of sklearn_crfsuite.scorers, for `scoring=` in scikit-learn."""

from hedgerow.metrics import flat_accuracy_score, make_scorer, sequence_accuracy_score

__all__ = ["flat_accuracy", "sequence_accuracy"]

flat_accuracy = make_scorer(flat_accuracy_score)
sequence_accuracy = make_scorer(sequence_accuracy_score)
