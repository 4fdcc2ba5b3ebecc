"""The letters, number formats and orientation rules that the whole project shares.

Letters are for kernels and formulas; everywhere else a name is a word.

    S   sequences              T   positions of one sequence       N   positions in all
    K   labels                 n   order of the chain              A   arcs of a state space
    F   features               R   weight rows (one an attribute)  W   weights

Rules
    offsets     int64[S+1]; sequence i owns the flat positions offsets[i] … offsets[i+1]-1. Ragged data is always
                flat arrays plus offsets, never a padded rectangle and never a list of arrays inside a trainer.
    padded      a Dataset stores positions with a gap of `gap` between sequences, so that position t+o of a window
                exists for every |o| ≤ gap. `start[i]` is the padded place of the first position of sequence i.
    scores      are logarithms, higher is better, and end in `_scores`; probabilities end in `_probs`.
    edges       are [from, to]. Per-position edge arrays are stored (to, N, from); only kernels and potentials know.
    losses      are minimised: value = loss, gradient = d loss / d score. Papers maximise; the sign turns here.
    alpha, beta are forward and backward messages and nothing else.
    impossible  is a true −inf, never a large negative number.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

# Weights, scores and messages: log-likelihoods are compared with a peer to 1e-8, which float32 cannot carry.
FLOAT = np.float64
# Positions and offsets: corpora with more than 2^31 positions are ordinary in genomics.
INDEX = np.int64
# Codes of categorical values, attribute ids and label ids: 2^31 distinct values are enough, and half the traffic.
CODE = np.int32

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.int64]
CodeArray = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]
AnyArray = npt.NDArray[Any]

# The first codes of every categorical column. Values start at FIRST_VALUE.
MISSING = 0  # absent, None, or a value that training never saw: contributes nothing to a linear score
OUTSIDE = 1  # a window reaches past the start or the end of the sequence; the sign of the offset tells which
FIRST_VALUE = 2

UNLABELLED = -1  # in `labels`: the label of this position is not known
