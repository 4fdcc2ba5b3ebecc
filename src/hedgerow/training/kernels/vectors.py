"""Sums over long vectors in one fixed order. BLAS would give other bits for other numbers of threads."""

from hedgerow.jit import chain_kernel


@chain_kernel
def dot(x, y):
    """Σ_i x[i]·y[i]."""
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@chain_kernel
def add_scaled(x, a, y):
    """y += a·x. OUT y."""
    for i in range(len(x)):
        y[i] += a * float(x[i])  # x may be single precision; the product is not
