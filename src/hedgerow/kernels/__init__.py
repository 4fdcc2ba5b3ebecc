"""Numba kernels: free functions on arrays. Imported lazily, because importing numba takes longer than all the rest.

Write `from hedgerow import kernels` and call `kernels.chain.forward(...)`: the file is imported at the first call.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hedgerow.kernels import arc_covariance as arc_covariance
    from hedgerow.kernels import arcs as arcs
    from hedgerow.kernels import bags as bags
    from hedgerow.kernels import beam as beam
    from hedgerow.kernels import boosting as boosting
    from hedgerow.kernels import chain as chain
    from hedgerow.kernels import covariance as covariance
    from hedgerow.kernels import frank_wolfe as frank_wolfe
    from hedgerow.kernels import growing as growing
    from hedgerow.kernels import histories as histories
    from hedgerow.kernels import history_beam as history_beam
    from hedgerow.kernels import history_search as history_search
    from hedgerow.kernels import history_tables as history_tables
    from hedgerow.kernels import hmm as hmm
    from hedgerow.kernels import iohmm as iohmm
    from hedgerow.kernels import labelwise as labelwise
    from hedgerow.kernels import lattice_log_messages as lattice_log_messages
    from hedgerow.kernels import lattice_mean_field as lattice_mean_field
    from hedgerow.kernels import lattice_messages as lattice_messages
    from hedgerow.kernels import lattice_order as lattice_order
    from hedgerow.kernels import lattice_reweighted as lattice_reweighted
    from hedgerow.kernels import lattice_scores as lattice_scores
    from hedgerow.kernels import lattice_search as lattice_search
    from hedgerow.kernels import leaf_masks as leaf_masks
    from hedgerow.kernels import log_chain as log_chain
    from hedgerow.kernels import log_covariance as log_covariance
    from hedgerow.kernels import log_histories as log_histories
    from hedgerow.kernels import missing as missing
    from hedgerow.kernels import online as online
    from hedgerow.kernels import position_chain as position_chain
    from hedgerow.kernels import position_covariance as position_covariance
    from hedgerow.kernels import pseudo as pseudo
    from hedgerow.kernels import search as search
    from hedgerow.kernels import search_learning as search_learning
    from hedgerow.kernels import search_tables as search_tables
    from hedgerow.kernels import slack as slack
    from hedgerow.kernels import sparse as sparse
    from hedgerow.kernels import truth as truth
    from hedgerow.kernels import updates as updates
    from hedgerow.kernels import vectors as vectors

_FILES = (
    "arc_covariance",
    "arcs",
    "bags",
    "beam",
    "boosting",
    "chain",
    "covariance",
    "frank_wolfe",
    "growing",
    "histories",
    "history_beam",
    "history_search",
    "history_tables",
    "hmm",
    "iohmm",
    "labelwise",
    "lattice_log_messages",
    "lattice_mean_field",
    "lattice_messages",
    "lattice_order",
    "lattice_reweighted",
    "lattice_scores",
    "lattice_search",
    "leaf_masks",
    "log_chain",
    "log_covariance",
    "log_histories",
    "missing",
    "online",
    "position_chain",
    "position_covariance",
    "pseudo",
    "search",
    "search_learning",
    "search_tables",
    "slack",
    "sparse",
    "truth",
    "updates",
    "vectors",
)


def __getattr__(name: str) -> Any:
    if name in _FILES:
        return importlib.import_module(f"hedgerow.kernels.{name}")
    raise AttributeError(f"module 'hedgerow.kernels' has no attribute {name!r}")
