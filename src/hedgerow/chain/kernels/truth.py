"""What a chunk's true labels score, and what they take from gradients. labels (n,), −1 where not known."""

from hedgerow.jit import kernel


@kernel
def position_scores(node, edges, first, labels, none, scores, moves, t0, t1):
    """scores[t] = node_t(y_t), 0 where the label is unknown, and moves[t] = edge_t(y_{t−1}, y_t), `none` where a label
    of the two is unknown or not there.

    node (n, K) IN, edges (K, n | 1, K) as [to, ·, from] IN, first (n+1,) IN, scores, moves (n,) OUT.
    """
    for t in range(t0, t1):
        y = labels[t]
        scores[t], moves[t] = 0.0, none
        if y >= 0:
            scores[t] = node[t, y]
            if not first[t] and labels[t - 1] >= 0:
                moves[t] = edges[y, 0 if edges.shape[1] == 1 else t, labels[t - 1]]


@kernel
def subtract(first, labels, weights, node_gradient, edge_gradient):
    """Take weights[t] from the gradients of node_t(y_t) and of edge_t(y_{t−1}, y_t).

    labels (n,) IN, −1 where a position is passed over, with all others of its sequence; node_gradient (n, K),
    edge_gradient (K, n | 1, K) [to, ·, from] IN and OUT.
    """
    for t in range(len(labels)):
        y = labels[t]
        if y >= 0:
            node_gradient[t, y] -= weights[t]
            if not first[t]:
                edge_gradient[y, 0 if edge_gradient.shape[1] == 1 else t, labels[t - 1]] -= weights[t]
