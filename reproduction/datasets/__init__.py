"""Data sets of the papers, as files in the folder that HEDGEROW_DATA names."""

from __future__ import annotations

from reproduction.datasets.chunking_np import load_np_chunking
from reproduction.datasets.denoise import load_denoise
from reproduction.datasets.genes import load_genes, trimers
from reproduction.datasets.headers import load_header_lines
from reproduction.datasets.hmm import make_hmm
from reproduction.datasets.jnlpba import load_jnlpba
from reproduction.datasets.letters import load_letters
from reproduction.datasets.lines import line_features
from reproduction.datasets.manmade import load_manmade
from reproduction.datasets.nettalk import load_nettalk
from reproduction.datasets.orientations import orientation_features, quadratic_features
from reproduction.datasets.orthography import ORTHOGRAPHY, entity_features
from reproduction.datasets.papers import load_paper_lines
from reproduction.datasets.protein import load_protein
from reproduction.datasets.snakes import load_snakes
from reproduction.datasets.sparse_windows import SparseWindows, load_hyphen_windows, read_sparse_windows

__all__ = [
    "ORTHOGRAPHY",
    "SparseWindows",
    "entity_features",
    "line_features",
    "load_denoise",
    "load_genes",
    "load_header_lines",
    "load_hyphen_windows",
    "load_jnlpba",
    "load_letters",
    "load_manmade",
    "load_nettalk",
    "load_np_chunking",
    "load_paper_lines",
    "load_protein",
    "load_snakes",
    "make_hmm",
    "orientation_features",
    "quadratic_features",
    "read_sparse_windows",
    "trimers",
]
