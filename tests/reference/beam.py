"""Beam search over the labels of a chain, in plain Python, one sequence at a time."""

from __future__ import annotations

import numpy as np

from hedgerow.legend import FloatArray


def beam(node: FloatArray, edges: FloatArray, width: int) -> tuple[list[int], float]:
    """The labeling that the search finds, and its score. node (T, K), edges (T, K, K) [position, from, to].

    At each position the `width` labels with the best ways to them go on; of equal ones the lower label, and of equal
    ways to a label that from the better one.
    """
    kept = [(float(score), [v]) for v, score in enumerate(node[0])]
    for t in range(len(node)):
        if t > 0:
            ways = []
            for v in range(node.shape[1]):
                scores = [score + edges[t, labels[-1], v] for score, labels in kept]
                best = int(np.argmax(scores))
                ways.append((float(scores[best] + node[t, v]), [*kept[best][1], v]))
            kept = ways
        kept = sorted((way for way in kept if way[0] > -np.inf), key=lambda way: -way[0])[:width]
    return kept[0][1], kept[0][0]
