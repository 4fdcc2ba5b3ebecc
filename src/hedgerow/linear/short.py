"""The node scores of one short sequence, in one call and without the lists that a chunk is compiled into."""

from __future__ import annotations

import numpy as np

from hedgerow.data.dataset import Dataset
from hedgerow.legend import INDEX, FloatArray
from hedgerow.linear import kernels
from hedgerow.linear.chain import LinearChain

_NOTHING: FloatArray = np.empty(0)
_NOTHING.flags.writeable = False  # as the arrays of a Dataset are


def score_sequence(chain: LinearChain, dataset: Dataset, scores: FloatArray, i: int) -> None:
    """Write the node scores (m, K) of a corpus of one sequence, from position i on, as `LinearChain.potentials` has
    them without those of starts and ends.

    The sequence has no features of the whole, and the chain none of label pairs.
    """
    nodes, begin = chain.nodes, int(dataset.start[0]) + i
    index, streams = nodes.index, nodes.index.streams
    kernels.sparse.score_sequence(
        dataset.codes, begin, streams.column, streams.shift, streams.base, dataset.attr_ptr, dataset.attr_id,
        _NOTHING if dataset.attr_val is None else dataset.attr_val, streams.attr_shift, streams.attr_base,
        index.row_ptr, nodes.table_row, index.slot_label, nodes.weights, nodes.table, scores,
    )  # fmt: skip
    if len(nodes.number_weights):
        places = np.arange(begin, begin + len(scores), dtype=INDEX)
        nodes.add_numbers(dataset.numeric, places, streams.number_reads, nodes.number_weights, scores)
