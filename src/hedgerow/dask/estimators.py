"""TreeCRF and LinearCRF whose `fit` leads the workers of a Dask cluster, and whose `predict` is lazy."""

from __future__ import annotations

from copy import copy
from dataclasses import fields
from functools import partial
from typing import Any, Self

import numpy as np

import hedgerow.models.crf.linear as linear
import hedgerow.models.crf.tree as tree
from hedgerow.dask.engine import explained, find_client
from hedgerow.dask.reading import find_source, is_dask_frame, open_engine
from hedgerow.data.parts.corpus import SharedCorpus
from hedgerow.declarations import declared, documented
from hedgerow.errors import InputError
from hedgerow.estimators.base import StoppedChain
from hedgerow.estimators.kept import Kept, keeping
from hedgerow.estimators.shared import check_shared, prepare_shared, read_shared
from hedgerow.models.crf.parameters import LinearParameters, TreeParameters
from hedgerow.training.ctrl_c import stages
from hedgerow.training.monitor import say


class _Shared(StoppedChain):
    """What the estimators of this module share. A subclass says what they are where no workers are wanted (`_local`),
    and what its parameters may be (`_only`)."""

    client: Any
    n_read_: tuple[int, int, int]  # sequences and positions that the kept model learnt from, and sequences held out
    _local: type[StoppedChain]
    _only: dict[str, tuple[Any, ...]]

    @explained()
    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        *,
        by: Any = None,
        label: Any = None,
        time: Any = None,
        max_gap: Any = None,
        time_columns: Any = None,
        shuffle: bool = False,
        checkpoint: Kept = None,
        callbacks: Any = None,
    ) -> Self:
        """Train on labelled sequences that workers read.

        Parameters
        ----------
        X : a Dask DataFrame, a row a position, of which each sequence lies in one partition; paths of Parquet files,
            which are read as one; a Bag of sequences, or of pairs (sequence, labels); a list of Delayed, each a frame,
            or a pair of lists of sequences and of labels
        y : a Bag of lists of labels, where X is a Bag of sequences
        sample_weight : of frames the name of a column, in which all rows of a sequence have its weight; of a Bag a Bag
            of numbers, one for each sequence. Each of a list of Delayed may give sequences, labels and weights
        X_val, y_val : held-out sequences that stop training, of the same form as X and y
        by, label, time, max_gap, time_columns : of frames, as in the ordinary `fit`
        shuffle : bring sequences that lie in several partitions together first; their order is then Dask's
        checkpoint, callbacks : as in the ordinary `fit`; training goes on from the checkpoint with the same partitions
        """
        self._check_parameters()
        if X_val is None and y_val is not None:
            raise InputError("y_val is given without X_val", hint="Give both, or neither.")
        check_shared(self, self._only, self._scoring() if self.early_stopping or X_val is not None else None)
        client = find_client(self.client)
        if self.verbose:
            say("Dask: %d workers, dashboard at %s", len(client.nthreads()), client.dashboard_link)
        named = {"by": by, "label": label, "time": time, "max_gap": max_gap, "time_columns": time_columns}
        source = find_source(X, y, sample_weight, self.columns, shuffle=shuffle, **named)
        beside = None if X_val is None else find_source(X_val, y_val, None, self.columns, shuffle=shuffle, **named)
        wanted = self._preparation()
        engine, plan = open_engine(client, source, wanted.schema)
        engines = [engine]
        try:
            with stages(), keeping(self, checkpoint, callbacks):
                whole, held = read_shared(wanted, engine), None
                if beside is not None:
                    engines.append(open_engine(client, beside._replace(plan=plan), whole.schema)[0])
                    held = SharedCorpus.by(engines[-1], whole.schema)
                    if held.weight_seq is not None:
                        raise InputError("X_val has weights", hint="Held-out sequences count as one each: give none.")
                ready = prepare_shared(wanted, whole, held)
                self._train_all(ready)
        finally:
            for one in engines:
                one.close()
        unseen = () if ready.held is None or getattr(self, "refitted_", False) else ready.held
        lengths = np.delete(np.diff(whole.offsets), list(unseen))
        self.n_read_ = len(lengths), int(lengths.sum()), len(unseen)
        return self._finish(plan)

    def to_local(self) -> Any:
        """The ordinary estimator, fitted: it is saved, explained and predicts anywhere."""
        names = {field.name for field in fields(self)} - {"client"}
        made = self._local(**{name: getattr(self, name) for name in names})
        made.__dict__.update({name: value for name, value in self.__getstate__().items() if name != "client"})
        return made

    def save(self, path: Any) -> None:
        """Write the ordinary estimator to a file that `hedgerow.load` reads."""
        self.to_local().save(path)

    def predict(self, X: Any, **more: Any) -> Any:
        """The labels: of a Dask frame or a Bag lazily, partition by partition, a label a row or a list a sequence; of
        anything else as the ordinary estimator does."""
        if is_dask_frame(X):
            import pandas as pd  # type: ignore[import-untyped]

            name = "predicted" if self.plan_ is None or self.plan_.label is None else self.plan_.label
            meta = pd.Series(self.classes_.tolist()[:1], name=name).iloc[:0]
            return X.map_partitions(_predict_frame, self.to_local(), meta.dtype, more, meta=meta)
        if hasattr(X, "map_partitions"):
            return X.map_partitions(partial(_predict_list, self.to_local(), more))
        return super().predict(X, **more)

    def __sklearn_clone__(self) -> Self:
        made: Self = super(_Shared, copy(self)).__sklearn_clone__()  # the copy has no client, which cannot be copied
        made.client = self.client
        return made

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"client": None}  # a pickle has no cluster


def _predict_frame(frame: Any, model: Any, dtype: Any, more: dict[str, Any]) -> Any:
    return model.predict(frame, **more).astype(dtype)


def _predict_list(model: Any, more: dict[str, Any], sequences: Any) -> list[Any]:
    return list(model.predict(list(sequences), **more))


@declared
class Workers:
    """Where to train.

    Parameters
    ----------
    client
        The dask.distributed.Client of the workers; by default the one there is.
    """

    client: Any = None


@declared
class DaskTreeParameters(TreeParameters, Workers):
    """The parameters of a TreeCRF that workers train."""


@documented
class TreeCRF(DaskTreeParameters, _Shared, tree.TreeCRF):
    """A TreeCRF that the workers of a Dask cluster train, to the bits of the ordinary one on the same sequences.

    Parameters that it cannot train by are refused before it begins; docs/distributed.md has the list.
    """

    _local = tree.TreeCRF
    _only = {  # noqa: RUF012
        "objective": ("log_likelihood", "pseudo_likelihood"), "order": ("auto", 0, 1), "missing": ("learned",),
        "init": ("auto", "zero", "constant"), "features": (None,), "subsample": (1.0, 1), "trim": (0.0, 0),
        "trees_per_step": (1,), "n_bags": (0,), "repair": (False,),
    }  # fmt: skip


@declared
class DaskLinearParameters(LinearParameters, Workers):
    """The parameters of a LinearCRF that workers train."""


@documented
class LinearCRF(DaskLinearParameters, _Shared, linear.LinearCRF):
    """A LinearCRF that the workers of a Dask cluster train, to the bits of the ordinary one on the same sequences.

    Parameters that it cannot train by are refused before it begins; docs/distributed.md has the list.
    """

    _local = linear.LinearCRF
    _only = {  # noqa: RUF012
        "objective": ("auto", "log_likelihood"), "trainer": ("auto", "lbfgs", "conjugate_gradient", "gradient_descent"),
        "order": (0, 1), "missing": (None, "indicator"), "features": (None,), "transition_columns": (None,),
        "start": ("auto", "zero"), "repair": (False,), "induction": (None,),
    }  # fmt: skip
