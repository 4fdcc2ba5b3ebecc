"""Edges by the nodes they leave, and an order of the nodes in which each comes after one of its neighbours."""

from hedgerow.jit import kernel


@kernel
def breadth_first(ends, ptr, out, order, seen):
    """The nodes, breadth first, component by component; returns the number of components.

    In a graph without a circle each node then has one neighbour before it at most.

    IN ends (M, 2), ptr (n+1,), out (2M,); OUT order (n,); WORK seen (n,) of zeros
    """
    n_components, filled, done = 0, 0, 0
    for root in range(order.shape[0]):
        if seen[root]:
            continue
        n_components += 1
        order[filled] = root
        seen[root] = 1
        filled += 1
        while done < filled:
            i = order[done]
            done += 1
            for a in range(ptr[i], ptr[i + 1]):
                h = out[a]
                j = ends[h >> 1, 1 - (h & 1)]
                if not seen[j]:
                    seen[j] = 1
                    order[filled] = j
                    filled += 1
    return n_components


@kernel
def half_edges(ends, order, rank, ptr, out, middle, by_target):
    """The half-edges that leave each node, by the place of their targets in the order; counted, not compared.

    IN ends (M, 2), order (n,), rank (n,), the place of each node in it; OUT ptr (n+1,), out (2M,), and middle (n,),
    where the targets after a node begin; WORK by_target (2M,)
    """
    n, M = rank.shape[0], ends.shape[0]
    for i in range(n + 1):
        ptr[i] = 0
    for e in range(M):
        for side in range(2):
            ptr[ends[e, side] + 1] += 1
    for i in range(n):
        ptr[i + 1] += ptr[i]
        middle[i] = ptr[i]
    # Every node has as many half-edges that arrive as that leave: the same places serve both sorts.
    for e in range(M):
        for side in range(2):
            j = ends[e, 1 - side]
            by_target[middle[j]] = 2 * e + side
            middle[j] += 1
    for i in range(n):
        middle[i] = ptr[i]
    for place in range(n):
        j = order[place]
        for a in range(ptr[j], ptr[j + 1]):
            h = by_target[a]
            i = ends[h >> 1, h & 1]
            out[middle[i]] = h
            middle[i] += 1
    for i in range(n):
        middle[i] = ptr[i]
        while middle[i] < ptr[i + 1]:
            h = out[middle[i]]
            if rank[ends[h >> 1, 1 - (h & 1)]] > rank[i]:
                break
            middle[i] += 1


@kernel
def depth_first(ends, ptr, out, order, turn, stack):
    """The nodes, depth first, component by component: long paths along which the place in the order rises.

    IN ends (M, 2), ptr (n+1,), out (2M,); OUT order (n,); WORK turn (n,) of −1, stack (n,)
    """
    filled = 0
    for root in range(order.shape[0]):
        if turn[root] >= 0:
            continue
        stack[0], height = root, 1
        order[filled] = root
        turn[root] = ptr[root]
        filled += 1
        while height > 0:
            i = stack[height - 1]
            if turn[i] == ptr[i + 1]:
                height -= 1
                continue
            h = out[turn[i]]
            turn[i] += 1
            j = ends[h >> 1, 1 - (h & 1)]
            if turn[j] < 0:
                turn[j] = ptr[j]
                order[filled] = j
                filled += 1
                stack[height] = j
                height += 1


@kernel
def peel(ends, ptr, out, peeled, degree, removed):
    """Take nodes with one edge away until there are none, each after what hung on it; returns how many.

    What is left are circles, what joins them, and a single node of each part that has none.

    IN ends (M, 2), ptr (n+1,), out (2M,); OUT peeled (n,), whose first places are filled; removed (n,) of zeros, 1
    for those taken; WORK degree (n,)
    """
    filled, done, n_peeled = 0, 0, 0
    for i in range(degree.shape[0]):
        degree[i] = ptr[i + 1] - ptr[i]
        if degree[i] == 1:
            peeled[filled] = i
            filled += 1
    while done < filled:
        i = peeled[done]
        done += 1
        if degree[i] == 0:  # the last node of its part
            continue
        peeled[n_peeled] = i
        n_peeled += 1
        removed[i] = 1
        for a in range(ptr[i], ptr[i + 1]):
            h = out[a]
            j = ends[h >> 1, 1 - (h & 1)]
            if not removed[j]:
                degree[j] -= 1
                if degree[j] == 1:
                    peeled[filled] = j
                    filled += 1
    return n_peeled


@kernel
def raise_weights(ends, rank, removed, weights, sums):
    """One round of `inference/chains.py`: weights of edges, over the larger sum of those that leave the end which comes
    first and of those that arrive at the other. An edge of a removed node has weight 1. Returns the sum of the others.

    IN ends (M, 2), rank (n,), removed (n,); IN/OUT weights (M,); WORK sums (2, n), by nodes before and after an edge
    """
    sums[:] = 0.0
    for e in range(ends.shape[0]):
        i, j = ends[e, 0], ends[e, 1]
        if removed[i] or removed[j]:
            weights[e] = 1.0
            continue
        rises = rank[i] < rank[j]
        sums[0, i if rises else j] += weights[e]
        sums[1, j if rises else i] += weights[e]
    total = 0.0
    for e in range(ends.shape[0]):
        i, j = ends[e, 0], ends[e, 1]
        if not (removed[i] or removed[j]):
            rises = rank[i] < rank[j]
            weights[e] /= max(sums[0, i if rises else j], sums[1, j if rises else i])
            total += weights[e]
    return total
