"""Sums and searches over labelings, as functions of potentials."""

from hedgerow.chain.inference.forward import log_partition
from hedgerow.chain.inference.k_best import k_best
from hedgerow.chain.inference.labelings import KBest
from hedgerow.chain.inference.marginals import Marginals, marginals, node_marginals
from hedgerow.chain.inference.probability import entropy, log_probability, position_scores, span_log_probability
from hedgerow.chain.inference.sampling import sample
from hedgerow.chain.inference.viterbi import best_labelings
from hedgerow.chain.inference.workspace import Workspace

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
