"""Readers: files, frames and arrays in, sequences and labels out. One file per format."""

from hedgerow.data.readers.arrays import SparseRows, split_lengths
from hedgerow.data.readers.conll import label_conll, read_conll
from hedgerow.data.readers.crfsuite import read_crfsuite, write_crfsuite
from hedgerow.data.readers.jsonl import label_jsonl, read_jsonl
from hedgerow.data.readers.table_files import label_table, read_table
from hedgerow.data.readers.tables import sequences
from hedgerow.data.readers.templates import Template

__all__ = [
    "SparseRows",
    "Template",
    "label_conll",
    "label_jsonl",
    "label_table",
    "read_conll",
    "read_crfsuite",
    "read_jsonl",
    "read_table",
    "sequences",
    "split_lengths",
    "write_crfsuite",
]
