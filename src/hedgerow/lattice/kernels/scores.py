"""Features to scores and gradients back to weights, in one fixed order of sums."""

from hedgerow.jit import kernel


@kernel
def times(rows, tables, group, result):
    """result[r] = rows[r] · tables[group[r]]. IN rows (n, F), tables (G, F, P), group (n,); OUT result (n, P)"""
    for r in range(rows.shape[0]):
        table = tables[group[r]]
        for p in range(result.shape[1]):
            result[r, p] = 0.0
        for f in range(rows.shape[1]):
            x = rows[r, f]
            for p in range(result.shape[1]):
                result[r, p] += x * table[f, p]


@kernel
def pull(rows, gradient, group, result):
    """result[g] += Σ_r rows[r]ᵀ gradient[r] over the rows of group g: the way back of `times`.

    IN rows (n, F), gradient (n, P), group (n,); IN/OUT result (G, F, P)
    """
    for r in range(rows.shape[0]):
        into = result[group[r]]
        for f in range(rows.shape[1]):
            x = rows[r, f]
            for p in range(gradient.shape[1]):
                into[f, p] += x * gradient[r, p]
