"""Which proteins are related: they share runs of residues far more often than chance has it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hedgerow.legend import IndexArray

RUN = 4  # residues
SHARE = 0.1  # of the runs of the shorter protein; of shuffled ones one pair in a thousand shares 0.06


def families(sequences: Sequence[Sequence[str]]) -> IndexArray:
    """int64 (n,): the family of each sequence. Two are of one family where a chain of relatives joins them."""
    from scipy.sparse.csgraph import connected_components

    runs = [{tuple(own[i : i + RUN]) for i in range(len(own) - RUN + 1)} for own in sequences]
    related = [[len(a & b) > SHARE * max(1, min(len(a), len(b))) for b in runs] for a in runs]
    family: IndexArray = connected_components(np.array(related), directed=False)[1].astype(np.int64)
    return family
