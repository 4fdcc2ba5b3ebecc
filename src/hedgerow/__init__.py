"""hedgerow labels sequences: conditional random fields that are fast, clear on errors and safe to load."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from hedgerow import compat as compat
    from hedgerow import datasets as datasets
    from hedgerow import explain as explain
    from hedgerow import lattice as lattice
    from hedgerow import metrics as metrics
    from hedgerow import model_selection as model_selection
    from hedgerow import report as report
    from hedgerow.data.encoding import learn as learn
    from hedgerow.data.readers.tables import sequences as sequences
    from hedgerow.data.rows import Item as Item
    from hedgerow.data.sequences import Sequences as Sequences
    from hedgerow.errors import InputError as InputError
    from hedgerow.errors import ModelFileError as ModelFileError
    from hedgerow.lattice.model import LatticeCRF as LatticeCRF
    from hedgerow.lattice.tree_model import TreeLatticeCRF as TreeLatticeCRF
    from hedgerow.models.files import load as load
    from hedgerow.models.future_feature_memm import FutureFeatureMEMM as FutureFeatureMEMM
    from hedgerow.models.hmm import HMM as HMM
    from hedgerow.models.iohmm import IOHMM as IOHMM
    from hedgerow.models.linear_crf import LinearCRF as LinearCRF
    from hedgerow.models.max_margin import MaxMarginMarkovNetwork as MaxMarginMarkovNetwork
    from hedgerow.models.memm import MEMM as MEMM
    from hedgerow.models.recurrent_sliding_window import RecurrentSlidingWindow as RecurrentSlidingWindow
    from hedgerow.models.search_tagger import BeamSearchTagger as BeamSearchTagger
    from hedgerow.models.sliding_window import SlidingWindow as SlidingWindow
    from hedgerow.models.tree_crf import TreeCRF as TreeCRF
    from hedgerow.models.virtual_evidence import VirtualEvidence as VirtualEvidence

# Lazy exports: `import hedgerow` costs nothing until a name is used.
_EXPORTS = {
    "BeamSearchTagger": "hedgerow.models.search_tagger",
    "FutureFeatureMEMM": "hedgerow.models.future_feature_memm",
    "HMM": "hedgerow.models.hmm",
    "IOHMM": "hedgerow.models.iohmm",
    "InputError": "hedgerow.errors",
    "Item": "hedgerow.data.rows",
    "LatticeCRF": "hedgerow.lattice.model",
    "LinearCRF": "hedgerow.models.linear_crf",
    "MEMM": "hedgerow.models.memm",
    "MaxMarginMarkovNetwork": "hedgerow.models.max_margin",
    "ModelFileError": "hedgerow.errors",
    "RecurrentSlidingWindow": "hedgerow.models.recurrent_sliding_window",
    "Sequences": "hedgerow.data.sequences",
    "SlidingWindow": "hedgerow.models.sliding_window",
    "TreeCRF": "hedgerow.models.tree_crf",
    "TreeLatticeCRF": "hedgerow.lattice.tree_model",
    "VirtualEvidence": "hedgerow.models.virtual_evidence",
    "learn": "hedgerow.data.encoding",
    "load": "hedgerow.models.files",
    "sequences": "hedgerow.data.readers.tables",
}
_MODULES = ("compat", "datasets", "explain", "lattice", "metrics", "model_selection", "report")

__all__ = [
    "HMM",
    "IOHMM",
    "MEMM",
    "BeamSearchTagger",
    "FutureFeatureMEMM",
    "InputError",
    "Item",
    "LatticeCRF",
    "LinearCRF",
    "MaxMarginMarkovNetwork",
    "ModelFileError",
    "RecurrentSlidingWindow",
    "Sequences",
    "SlidingWindow",
    "TreeCRF",
    "TreeLatticeCRF",
    "VirtualEvidence",
    "compat",
    "datasets",
    "explain",
    "lattice",
    "learn",
    "load",
    "metrics",
    "model_selection",
    "report",
    "sequences",
]


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        return getattr(importlib.import_module(_EXPORTS[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"hedgerow.{name}")
    raise AttributeError(f"module 'hedgerow' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
