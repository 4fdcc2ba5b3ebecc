"""Data to learn from, try out and measure with: real data by loaders, and seeded made-up data."""

from hedgerow.datasets.conll2000 import chunking_features, load_conll2000
from hedgerow.datasets.future import make_future
from hedgerow.datasets.hyphenation import load_hyphenation
from hedgerow.datasets.made import MadeChain, make_chunking_like, make_sequences
from hedgerow.datasets.missing import make_missing
from hedgerow.datasets.shapes import make_shapes

__all__ = [
    "MadeChain",
    "chunking_features",
    "load_conll2000",
    "load_hyphenation",
    "make_chunking_like",
    "make_future",
    "make_missing",
    "make_sequences",
    "make_shapes",
]
