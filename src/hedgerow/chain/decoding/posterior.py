"""At each position the label that is most probable there: the most positions right, on average.

The labeling as a whole may be less probable than Viterbi's, and may even be impossible.
"""

from __future__ import annotations

import numpy as np

from hedgerow.chain.inference import Workspace, node_marginals
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.legend import CODE, CodeArray


def posterior(potentials: ChainPotentials, workspace: Workspace | None = None) -> CodeArray:
    """int32 (n,). Of equally probable labels, the lowest."""
    labels: CodeArray = np.argmax(node_marginals(potentials, workspace), axis=1).astype(CODE)
    return labels
