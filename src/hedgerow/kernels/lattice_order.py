"""An order of the nodes of a graph in which each comes after one of its neighbours."""

from __future__ import annotations

from hedgerow.kernels._jit import kernel


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
