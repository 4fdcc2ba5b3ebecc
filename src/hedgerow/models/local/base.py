"""What SlidingWindow, RecurrentSlidingWindow and MEMM share: a classifier of positions that sees the last labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from hedgerow.chain.potentials import ChainPotentials
from hedgerow.data.dataset import Dataset, Label
from hedgerow.data.labels import allowed_labels
from hedgerow.errors import InputError
from hedgerow.estimators.base import StoppedChain
from hedgerow.estimators.prepare import Prepared
from hedgerow.estimators.scored import ScoredChain
from hedgerow.estimators.values import seen_part
from hedgerow.legend import CodeArray
from hedgerow.models.local.potentials import order_many, order_one, order_zero
from hedgerow.models.local.previous_labels import label_histories
from hedgerow.models.local.rows import Rows, Scorer, TiltedRows
from hedgerow.models.local.search import Tabled, search
from hedgerow.parallel import CHUNK_POSITIONS, Chunk, over_chunks

SEARCHES = ("greedy", "beam")
MAX_SCORES = 100_000  # of a position, in sums over all labelings
_CHUNK_SCORES = 4_000_000
_SEARCH_POSITIONS = 20_000  # trees are made ready once per step: the more sequences take it, the better


class SeenLabels(NamedTuple):
    """The labels that each position sees, int32 (N, order): of the sequences that train, of those that are held out,
    and of all of them; None where there are none such."""

    training: CodeArray
    held_out: CodeArray | None
    everything: CodeArray | None


class RowChain(StoppedChain, ScoredChain):
    """P(label | last labels, window), scored by rows, one per position. A subclass says which labels a row sees, and
    trains what scores rows."""

    order_: int  # how many labels a position sees
    backward_: bool  # whether labels that a position sees are those after it

    def _order(self) -> int:
        """How many labels a position is to see."""
        return int(self.order)

    def _backward(self) -> bool:
        """Whether a position is to see the labels after it, not those before it."""
        return getattr(self, "direction", "left_to_right") == "right_to_left"

    def _seen_labels(self, ready: Prepared) -> SeenLabels:
        """The labels that rows are trained with: those that the corpus has."""
        everything = None if ready.everything is None else self._true_histories(ready.everything)
        held_out = None if ready.held_given is None else self._true_histories(ready.held_given)
        return SeenLabels(self._true_histories(ready.given), held_out, everything)

    def _true_histories(self, dataset: Dataset) -> CodeArray:
        """int32 (N, order): the labels before each position, as the corpus has them."""
        assert dataset.labels is not None
        backward = self._backward()
        return label_histories(dataset.labels, dataset.offsets, dataset.n_labels, self._order(), backward=backward)

    def _calibrated_on(self, ready: Prepared) -> Dataset | None:
        wanted = getattr(getattr(self, "estimator", self), "calibrate", True)  # a name is an estimator as it comes
        sums = count_scores(ready.given.n_labels, self._order()) <= MAX_SCORES
        return ready.held_given if wanted and sums else None

    # -------------------------------------------------------------------------------------------- potentials

    def _prepare(self) -> None:
        if self.__dict__.get("_ready", (None,))[0] is not self._learnt():
            self._ready = (self._learnt(), self._scores())

    def _is_ours(self) -> bool:
        """Whether a score of a row is cheap: not by a classifier of the user's."""
        return True

    def _learnt(self) -> Any:
        """The fitted classifier of rows."""
        raise NotImplementedError

    def _scores(self) -> Scorer:
        """A Scorer made of the fitted classifier."""
        raise NotImplementedError

    def _rows(self, dataset: Dataset, first: int, last: int) -> Rows:
        self._prepare()
        scorer: Scorer = self._ready[1]
        return scorer.rows(*seen_part(self, dataset, first, last))

    def _potentials(self, dataset: Dataset, first: int, last: int) -> ChainPotentials:
        order, offsets = self.order_, dataset.offsets[first : last + 1] - dataset.offsets[first]
        check_scores(len(self.classes_), order)
        rows = self._rows(dataset, first, last)
        if order == 0:
            return order_zero(rows, offsets, self.space_, first)
        if order == 1:
            return order_one(rows, offsets, self.space_, first, backward=self.backward_)
        return order_many(rows, offsets, self.space_, first, order, backward=self.backward_)

    def _chunk_positions(self) -> int:
        return max(1, min(CHUNK_POSITIONS, _CHUNK_SCORES // count_scores(len(self.classes_), self.order_)))

    def _no_stream(self) -> str:
        return "labels that go from right to left have no stream" if self.backward_ else super()._no_stream()

    # -------------------------------------------------------------------------------------------- prediction

    def _decoder_name(self, labels: Sequence[Label] | None = None) -> str:
        many = hasattr(self, "order_") and count_scores(len(self.classes_), self.order_) > MAX_SCORES
        return "beam" if many and self.decoder == "auto" else super()._decoder_name(labels)

    def _decoding(self, decoder: str | None) -> Callable[[Dataset], list[CodeArray]]:
        name = self._decoder_name() if decoder is None else decoder
        if name not in SEARCHES or not self.order_:
            return super()._decoding("viterbi" if name in SEARCHES else name)
        width = 1 if name == "greedy" else int(self.beam_width)
        return lambda dataset: self._searched(dataset, width)

    def _searched(self, dataset: Dataset, width: int) -> list[CodeArray]:
        """The label codes (n,) of each chunk, found by a search."""
        order, K = self.order_, len(self.classes_)
        longest = int(np.diff(dataset.offsets).max(initial=1))
        # A classifier of the user's is asked once per step, or once per label: whichever is less.
        tabled = order == 1 and (self._is_ours() or longest >= K)
        stepped = self.runs_ is None and not tabled
        size = _SEARCH_POSITIONS if stepped else max(1, min(CHUNK_POSITIONS, _CHUNK_SCORES // (K * (K + 1))))

        def work(chunk: Chunk) -> CodeArray:
            rows = self._rows(dataset, chunk.first, chunk.last)
            if self.tilt_ is not None:
                rows = TiltedRows(rows, self.tilt_)
            return search(
                Tabled(rows, int(chunk.offsets[-1])) if tabled else rows,
                chunk.offsets,
                self.space_,
                order,
                width,
                backward=self.backward_,
                allowed=allowed_labels(dataset, chunk.rows),
                first_sequence=chunk.first,
            )

        self._prepare()
        return over_chunks(work, dataset.offsets, self.n_jobs, size)


def count_scores(n_labels: int, order: int) -> int:
    """How many scores a position has: one per label and history."""
    return n_labels * sum(n_labels**d for d in range(order + 1)) if order else 1


def check_scores(n_labels: int, order: int) -> None:
    """Refuse sums over more histories than a position can have scores for."""
    n = count_scores(n_labels, order)
    if order > 1 and n > MAX_SCORES:
        what = f"⟦order⟧ {order} of {n_labels} labels has {n:,} scores a position, too many for sums over all labelings"
        raise InputError(what, hint="Predict with ⟦decoder='beam'⟧ or 'greedy', or give a lower ⟦order⟧.")
