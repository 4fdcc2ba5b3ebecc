"""hedgerow labels sequences: conditional random fields that are fast, clear on errors and safe to load."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from hedgerow import compat as compat
    from hedgerow import datasets as datasets
    from hedgerow import explain as explain
    from hedgerow import features as features
    from hedgerow import lattice as lattice
    from hedgerow import metrics as metrics
    from hedgerow import model_selection as model_selection
    from hedgerow import report as report
    from hedgerow import trainers as trainers
    from hedgerow.data.encoding import learn as learn
    from hedgerow.data.readers.tables import sequences as sequences
    from hedgerow.data.rows import Item as Item
    from hedgerow.data.sequences import Sequences as Sequences
    from hedgerow.errors import InputError as InputError
    from hedgerow.errors import ModelFileError as ModelFileError
    from hedgerow.estimators.files import load as load
    from hedgerow.lattice.model import LatticeCRF as LatticeCRF
    from hedgerow.lattice.tree_model import TreeLatticeCRF as TreeLatticeCRF
    from hedgerow.models.auto.estimator import AutoLabeler as AutoLabeler
    from hedgerow.models.crf.linear import LinearCRF as LinearCRF
    from hedgerow.models.crf.max_margin import MaxMarginMarkovNetwork as MaxMarginMarkovNetwork
    from hedgerow.models.crf.tree import TreeCRF as TreeCRF
    from hedgerow.models.crf.virtual_evidence import VirtualEvidence as VirtualEvidence
    from hedgerow.models.future.estimator import FutureFeatureMEMM as FutureFeatureMEMM
    from hedgerow.models.hmm.estimator import HMM as HMM
    from hedgerow.models.iohmm.estimator import IOHMM as IOHMM
    from hedgerow.models.local.memm import MEMM as MEMM
    from hedgerow.models.local.recurrent_sliding_window import RecurrentSlidingWindow as RecurrentSlidingWindow
    from hedgerow.models.local.sliding_window import SlidingWindow as SlidingWindow
    from hedgerow.models.search.estimator import BeamSearchTagger as BeamSearchTagger
    from hedgerow.trainers import FeatureInduction as FeatureInduction
    from hedgerow.training.checkpoint import Checkpoint as Checkpoint

# Lazy exports: `import hedgerow` costs nothing until a name is used.
_EXPORTS = {
    "AutoLabeler": "hedgerow.models.auto.estimator",
    "BeamSearchTagger": "hedgerow.models.search.estimator",
    "Checkpoint": "hedgerow.training.checkpoint",
    "FeatureInduction": "hedgerow.trainers",
    "FutureFeatureMEMM": "hedgerow.models.future.estimator",
    "HMM": "hedgerow.models.hmm.estimator",
    "IOHMM": "hedgerow.models.iohmm.estimator",
    "InputError": "hedgerow.errors",
    "Item": "hedgerow.data.rows",
    "LatticeCRF": "hedgerow.lattice.model",
    "LinearCRF": "hedgerow.models.crf.linear",
    "MEMM": "hedgerow.models.local.memm",
    "MaxMarginMarkovNetwork": "hedgerow.models.crf.max_margin",
    "ModelFileError": "hedgerow.errors",
    "RecurrentSlidingWindow": "hedgerow.models.local.recurrent_sliding_window",
    "Sequences": "hedgerow.data.sequences",
    "SlidingWindow": "hedgerow.models.local.sliding_window",
    "TreeCRF": "hedgerow.models.crf.tree",
    "TreeLatticeCRF": "hedgerow.lattice.tree_model",
    "VirtualEvidence": "hedgerow.models.crf.virtual_evidence",
    "learn": "hedgerow.data.encoding",
    "load": "hedgerow.estimators.files",
    "sequences": "hedgerow.data.readers.tables",
}
_MODULES = ("compat", "datasets", "explain", "features", "lattice", "metrics", "model_selection", "report", "trainers")

__all__ = [*_EXPORTS, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        return getattr(importlib.import_module(_EXPORTS[name]), name)
    if name in _MODULES:
        return importlib.import_module(f"hedgerow.{name}")
    raise AttributeError(f"module 'hedgerow' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
