"""Every labeling of a short sequence, its score and its probability: each quantity is read off this one table."""

from __future__ import annotations

import itertools

import numpy as np


class Enumeration:
    """Of one sequence. node (T, K); edges (K, K) [from, to] or (K, T, K) [to, position, from]."""

    def __init__(self, node, edges):
        T, K = node.shape
        self.labelings = np.array(list(itertools.product(range(K), repeat=T)))
        self.scores = np.array([self._score(node, edges, y) for y in self.labelings])
        top = self.scores.max()
        self.log_partition = top + np.log(np.exp(self.scores - top).sum())
        self.probs = np.exp(self.scores - self.log_partition)
        self.shape = T, K

    @staticmethod
    def _score(node, edges, y):
        total = 0.0
        for t, label in enumerate(y):
            total += node[t, label]
            if t > 0:
                total += edges[y[t - 1], label] if edges.ndim == 2 else edges[label, t, y[t - 1]]
        return total

    def node_probs(self):
        T, K = self.shape
        return np.array([[self.probs[self.labelings[:, t] == v].sum() for v in range(K)] for t in range(T)])

    def edge_probs(self):
        """(K, T, K) [to, position, from]."""
        T, K = self.shape
        probs = np.zeros((K, T, K))
        for y, p in zip(self.labelings, self.probs):
            for t in range(1, T):
                probs[y[t], t, y[t - 1]] += p
        return probs

    def entropy(self):
        p = self.probs[self.probs > 0]
        return -(p * np.log(p)).sum()

    def span_prob(self, begin, labels):
        window = self.labelings[:, begin : begin + len(labels)]
        return self.probs[(window == labels).all(axis=1)].sum()


def enumerate_chunk(node, edges, offsets):
    """An Enumeration of each sequence."""
    found = []
    for begin, end in itertools.pairwise(offsets):
        local = edges if edges.ndim == 2 else edges[:, begin:end]
        found.append(Enumeration(node[begin:end], local))
    return found
