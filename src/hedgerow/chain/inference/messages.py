"""Forward-backward messages that stay, so that more than marginals can be made from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hedgerow.chain import kernels
from hedgerow.chain.inference import passes
from hedgerow.chain.inference.forward import (
    checked,
    faint_sequences,
    log_backward,
    log_forward,
    scaled_log_partition,
    total_log_sum,
)
from hedgerow.chain.inference.workspace import Workspace, slices
from hedgerow.chain.potentials import ChainPotentials
from hedgerow.legend import AnyArray, FloatArray


@dataclass(frozen=True, slots=True)
class LogMessages:
    """The messages of one sequence in the log domain, as `log_forward` and `log_backward` give them.

    log_alpha, log_beta : (T, K), the largest of each position taken out
    alpha_tops, beta_tops : (T,), those
    log_probs : (T, K), log P_t(v)
    """

    potentials: ChainPotentials
    log_alpha: FloatArray
    alpha_tops: FloatArray
    log_beta: FloatArray
    beta_tops: FloatArray
    log_probs: FloatArray

    @classmethod
    def of(cls, one: ChainPotentials) -> LogMessages:
        """Of a chunk of one sequence."""
        log_alpha, alpha_tops = log_forward(one)
        log_beta, beta_tops = log_backward(one)
        log_probs = log_alpha + log_beta
        log_probs -= log_probs.max(axis=1, keepdims=True)
        log_probs -= np.log(np.exp(log_probs).sum(axis=1, keepdims=True))
        return cls(one, log_alpha, alpha_tops, log_beta, beta_tops, log_probs)

    def edge_probs(self) -> FloatArray:
        """P_t(u, v) as (to, T, from); summed, (to, 1, from), for shared edges."""
        one = self.potentials
        n, K = one.node_scores.shape
        edge_scores = one.tables.scores_to
        first, probs = one.first(), np.zeros(edge_scores.shape)
        messages = self.log_alpha, self.alpha_tops, self.log_beta
        for t0, t1 in slices(n, 60 * K * K):
            kernels.log_chain.edge_probs(one.node_scores, edge_scores, first, *messages, probs, t0, t1)
        return probs


@dataclass(frozen=True, slots=True)
class Messages:
    """The messages of a chunk, in a workspace: alpha, node_exp (β'), node_probs. The next call overwrites them.

    log_partition : (s,)
    redone : the sequences that the scaled pass cannot carry. Their node_probs are right; their alpha and β' are 0.
    """

    potentials: ChainPotentials
    first: AnyArray
    work: Workspace
    log_partition: FloatArray
    redone: dict[int, LogMessages]

    @property
    def node_probs(self) -> FloatArray:
        """P_t(v), (n, K)."""
        return self.work.node_probs

    def redo(self, i: int) -> LogMessages:
        """Put sequence i on messages in the log domain, where it is not on them already, and return those."""
        if i not in self.redone:
            rows = self.potentials.rows(i)
            self.redone[i] = found = LogMessages.of(self.potentials.sequence(i))
            self.work.node_probs[rows] = np.exp(found.log_probs)
            self.work.alpha[rows] = 0.0  # what the scaled pass made of it must not enter any sum
            self.work.node_exp[rows] = 0.0
            self.log_partition[i] = total_log_sum(found.log_alpha, found.alpha_tops)
        return self.redone[i]


def messages(potentials: ChainPotentials, workspace: Workspace | None = None) -> Messages:
    """Both passes over a chunk."""
    work = workspace or Workspace()
    first = potentials.first()
    passes.forward(potentials, first, work)
    passes.backward(potentials, first, work)
    found = Messages(potentials, first, work, scaled_log_partition(potentials, first, work), {})
    for i in faint_sequences(potentials, work, both_ways=True):
        found.redo(i)
    checked(found.log_partition, potentials)
    return found
