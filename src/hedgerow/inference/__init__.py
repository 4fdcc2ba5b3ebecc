"""Sums and searches over labelings, as functions of potentials."""

from hedgerow.inference.forward import log_partition
from hedgerow.inference.k_best import k_best
from hedgerow.inference.labelings import KBest
from hedgerow.inference.marginals import Marginals, marginals, node_marginals
from hedgerow.inference.probability import entropy, log_probability, position_scores, span_log_probability
from hedgerow.inference.sampling import sample
from hedgerow.inference.viterbi import best_labelings
from hedgerow.inference.workspace import Workspace

__all__ = [
    "KBest",
    "Marginals",
    "Workspace",
    "best_labelings",
    "entropy",
    "k_best",
    "log_partition",
    "log_probability",
    "marginals",
    "node_marginals",
    "position_scores",
    "sample",
    "span_log_probability",
]
