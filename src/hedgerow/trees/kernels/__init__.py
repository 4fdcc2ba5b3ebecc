"""The tree engine: histograms, splits, leaf masks, words of gradients. It knows positions and bins, not chains."""

from hedgerow.lazy import submodules

__getattr__ = submodules(__name__)
