"""Data to learn from, try out and measure with: real data by loaders, and seeded made-up data."""

from __future__ import annotations

from hedgerow.datasets.chunking import chunking_features
from hedgerow.datasets.chunking_np import load_np_chunking
from hedgerow.datasets.conll2000 import load_conll2000
from hedgerow.datasets.denoise import load_denoise
from hedgerow.datasets.future import make_future
from hedgerow.datasets.genes import load_genes, trimers
from hedgerow.datasets.headers import load_header_lines
from hedgerow.datasets.hmm import make_hmm
from hedgerow.datasets.hyphenation import load_hyphenation
from hedgerow.datasets.jnlpba import load_jnlpba
from hedgerow.datasets.letters import load_letters
from hedgerow.datasets.lines import line_features
from hedgerow.datasets.made import MadeChain, make_chunking_like, make_sequences
from hedgerow.datasets.manmade import load_manmade
from hedgerow.datasets.missing import make_missing
from hedgerow.datasets.nettalk import load_nettalk
from hedgerow.datasets.orientations import orientation_features, quadratic_features
from hedgerow.datasets.orthography import ORTHOGRAPHY, entity_features
from hedgerow.datasets.papers import load_paper_lines
from hedgerow.datasets.protein import load_protein
from hedgerow.datasets.shapes import make_shapes
from hedgerow.datasets.snakes import load_snakes
from hedgerow.datasets.sparse_windows import SparseWindows, load_hyphen_windows, read_sparse_windows
from hedgerow.datasets.two_states import make_two_states

__all__ = [
    "ORTHOGRAPHY",
    "MadeChain",
    "SparseWindows",
    "chunking_features",
    "entity_features",
    "line_features",
    "load_conll2000",
    "load_denoise",
    "load_genes",
    "load_header_lines",
    "load_hyphen_windows",
    "load_hyphenation",
    "load_jnlpba",
    "load_letters",
    "load_manmade",
    "load_nettalk",
    "load_np_chunking",
    "load_paper_lines",
    "load_protein",
    "load_snakes",
    "make_chunking_like",
    "make_future",
    "make_hmm",
    "make_missing",
    "make_sequences",
    "make_shapes",
    "make_two_states",
    "orientation_features",
    "quadratic_features",
    "read_sparse_windows",
    "trimers",
]
