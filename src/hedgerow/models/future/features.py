"""Training of a maximum entropy Markov model that finds future features (Hao 2009, section 5.3.2).

Trees on the last labels, the input and the future features known so far are added until that no longer helps. Then a
new feature is looked for in the bags ahead (`multiple_instance`), and becomes one more column for trees to come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from hedgerow.estimators.codec.steps import refuse
from hedgerow.estimators.codec.trees import plain_trees, trees_of
from hedgerow.estimators.values import FILLING
from hedgerow.legend import INDEX, FloatArray, IndexArray
from hedgerow.models.future.corpus import Kept, ScoredCorpus
from hedgerow.models.future.multiple_instance import (
    SMALL,
    Candidate,
    FutureFeature,
    Growth,
    RowTrees,
    best_eta,
    best_step,
    discover,
)
from hedgerow.models.future.parameters import FutureParameters
from hedgerow.training.checkpoint import Maybe, checked, restore, restoring, state_of
from hedgerow.training.monitor import ENDED_EARLY, Monitor
from hedgerow.trees.binning import Binning
from hedgerow.trees.growing import LEARNED, Tree
from hedgerow.trees.nodes import LEAF

_LEAST_STEP = 0.1  # a search begins no lower: a step that was short must not make those after it slow


Addition = list[Tree] | FutureFeature
_State = tuple[int, Kept, Kept | None]


class Alternation:
    """The state of a training. `run` fills `additions`: trees, one per label, and features, in the order they came.

    rounds : the iterations of trees that were kept before the first features, and after the features of each round
    final_loss : the loss of the training sequences at the end
    """

    KEPT: ClassVar[tuple[str, ...]] = ("_step", "_round_best", "_best", "_mark", "_waited", "_n", "corpus")

    def __init__(
        self,
        corpus: ScoredCorpus,
        held_out: ScoredCorpus | None,
        instances: Binning,
        binning: Binning,
        settings: FutureParameters,
    ) -> None:
        self.corpus, self.held_out, self.settings = corpus, held_out, settings
        self.additions: list[Addition] = []
        self.rounds, self.final_loss = [0], np.inf
        self._binning, self._inputs = binning, instances
        self._growth = Growth(
            int(settings.max_leaf_nodes),
            float(settings.l2_regularization),
            float(settings.min_samples_leaf),
            settings.categorical == "subset",
            LEARNED if settings.missing in FILLING else settings.missing,
        )
        weights = corpus.bags.spread(corpus.loss.weights)
        self._instances = RowTrees(instances, corpus.data, weights, self._growth)
        self._step = 1.0
        self._refresh()
        judged = corpus if held_out is None else held_out
        self._floor = SMALL * float(judged.loss.weights.sum())
        self._before: _State | None = None  # what to go back to where the features and trees of a round do not help
        self._round_best = -np.inf
        self._start_trees()

    @property
    def features(self) -> list[FutureFeature]:
        return [one for one in self.additions if isinstance(one, FutureFeature)]

    @property
    def n_trees(self) -> int:
        return len(self.additions) - len(self.features)

    def loss(self) -> float:
        """The loss of the training sequences."""
        return self.corpus.loss(self.corpus.scores)

    def score(self) -> float:
        """The log-likelihood that counts: of the held-out sequences, where there are any."""
        judged = self.corpus if self.held_out is None else self.held_out
        return -judged.loss(judged.scores)

    def run(self, monitor: Monitor) -> None:
        """Rounds of features and trees until one no longer helps, or no more are wanted."""
        if not self._begin(monitor, 1 + int(self.settings.max_future_features)):
            return
        full = self._add_trees(monitor)
        while self._end_round() and not _is_over(monitor) and len(self.features) < self.settings.max_future_features:
            self._before = self._remember()
            if not self.add_features():
                break
            self._start_trees()
            full = self._add_trees(monitor)
        self.final_loss = self.loss()
        if monitor.interrupted:
            monitor.finish("interrupted")
        elif not full and not _is_over(monitor):
            monitor.finish("converged" if self.held_out is None else "early_stopping")

    def run_again(self, rounds: Sequence[int], monitor: Monitor) -> None:
        """As many rounds, of as many iterations each, as another training kept; features are looked for anew."""
        if not self._begin(monitor, len(rounds)):
            return
        while True:
            while self.rounds[-1] < rounds[len(self.rounds) - 1] and not _is_over(monitor) and self._add_tree():
                self.rounds[-1] += 1
                monitor.step(self.loss(), state=self.state)
            if _is_over(monitor) or len(self.rounds) >= len(rounds):
                break
            self.add_features()
            self.rounds.append(0)
        self.final_loss = self.loss()
        monitor.finish("interrupted" if monitor.interrupted else "converged")

    def _begin(self, monitor: Monitor, most: int) -> bool:
        """Go on from a checkpoint of at most so many rounds, or from the start; whether there is anything to do."""
        saved = monitor.resume(self.state)
        if saved is not None:
            with restoring():
                self._restore(saved)
                if not 0 < len(self.rounds) <= most:
                    refuse(f"{len(self.rounds)} rounds")
        else:
            monitor.begin(self.loss())
            self._start_trees()
        return not monitor.done

    def _end_round(self) -> bool:
        """Drop the features and trees of a round that did not help; whether it did by more than the share `tol`."""
        score, best, before = self.score(), self._round_best, self._before
        if before is None:
            self.rounds = [self.n_trees]
        elif score > best:
            self.rounds.append(self.n_trees - sum(self.rounds))
        else:
            self._recall(before)
        self._round_best = score
        return before is None or self._is_better(score, best)

    def _is_better(self, score: float, than: float) -> bool:
        """Whether a score is better by more than the share `tol`."""
        return score - than > float(self.settings.tol) * max(abs(than), self._floor)

    # ---------------------------------------------------------------------------------------- trees, first option

    def _start_trees(self) -> None:
        self._best = self._mark = self.score()
        self._kept, self._waited, self._n = self._remember(), 0, 0

    def _add_trees(self, monitor: Monitor) -> bool:
        """Trees until they no longer help, whether there are as many as may be; those after the best are dropped."""
        settings = self.settings
        while not _is_over(monitor) and self._waited < settings.n_iter_no_change and self._n < settings.n_estimators:
            if not self._add_tree():
                break
            score = self.score()
            self._n += 1
            self._waited += 1
            if self._is_better(score, self._mark):
                self._mark, self._waited = score, 0
            if score > self._best:
                self._best, self._kept = score, self._remember()
            monitor.step(self.loss(), state=self.state)
        if self._kept[0] < len(self.additions):
            self._recall(self._kept)
        return self._n == settings.n_estimators

    def _add_tree(self) -> bool:
        """One tree per label, fitted to the residuals, with a share of the best step for all; whether it lowers the
        loss."""
        corpus = self.corpus
        residuals = corpus.loss.residuals(corpus.scores)
        K = len(residuals)
        direction: FloatArray = np.zeros_like(residuals)
        trees = []
        for k in range(1 if K == 2 else 0, K):  # of two labels one has all that counts: the difference of their scores
            tree, direction[k] = self._trees.fit(residuals[k])
            trees.append(tree)
        if K == 2:
            trees.insert(0, _leaf(trees[0]))
        step = best_step(self._slope(direction), float(self.settings.max_step), max(self._step, _LEAST_STEP))
        if step == 0.0:
            return False
        self._step = step
        step *= float(self.settings.learning_rate)
        corpus.scores += step * direction
        scaled = [tree.scaled(step) for tree in trees]
        if self.held_out is not None:
            self.held_out.add_trees(scaled)
        self.additions.append(scaled)
        return True

    def _slope(self, direction: FloatArray) -> Callable[[float], float]:
        """The derivative of the loss by the step in a direction (K, N)."""
        corpus = self.corpus
        if len(direction) == 2:  # the odds say it all, and cost less
            margins, ahead = corpus.loss.margins(corpus.scores, 1), direction[1]
            return lambda a: -float((margins.residuals(a * ahead) * ahead).sum())
        return lambda a: -float((corpus.loss.residuals(corpus.scores + a * direction) * direction).sum())

    # ---------------------------------------------------------------------------------------- features, second option

    def add_features(self) -> int:
        """A feature for each label that gains by one, the best first; of two labels only for the one that gains more,
        since what speaks for one speaks against the other."""
        corpus, K = self.corpus, len(self.corpus.scores)
        n_allowed = self.settings.max_future_features - len(self.features)
        if K == 1:  # one label has none to be told from
            return 0
        candidates = [one for one in map(self._discover, range(K)) if one is not None]
        candidates.sort(key=lambda one: -one.gain)
        added = 0
        for one in candidates[: 1 if K == 2 else n_allowed]:
            feature = self._weigh(one) if added else one.feature
            if feature is None:
                continue
            j = len(self.features)
            corpus.add_feature(feature, j, one.probs)
            if self.held_out is not None:
                self.held_out.add_feature(feature, j)
            self.additions.append(feature)
            added += 1
        if added:
            self._refresh()
        return added

    def _discover(self, k: int) -> Candidate | None:
        corpus, settings = self.corpus, self.settings
        return discover(
            corpus.loss.margins(corpus.scores, k),
            corpus.bags,
            self._instances,
            label=k,
            start=float(settings.initial_score),
            max_steps=int(settings.feature_steps),
            max_weight=float(settings.max_weight),
            tol=float(settings.tol),
        )

    def _weigh(self, candidate: Candidate) -> FutureFeature | None:
        """A feature with η found anew, as features of other labels were added before; None where it gains nothing."""
        corpus, Q = self.corpus, candidate.probs
        margins = corpus.loss.margins(corpus.scores, candidate.feature.label)
        weight = best_eta(margins, Q, float(self.settings.max_weight))
        before = margins.loss(np.zeros(1))
        if before - margins.loss(weight * Q) <= float(self.settings.tol) * before:
            return None
        return replace(candidate.feature, weight=weight)

    # ---------------------------------------------------------------------------------------- going back, and going on

    def _remember(self) -> _State:
        held_out = None if self.held_out is None else self.held_out.remember()
        return len(self.additions), self.corpus.remember(), held_out

    def _recall(self, state: _State) -> None:
        """Go back to an earlier state."""
        n_features = len(self.features)
        del self.additions[state[0] :]
        self.corpus.recall(state[1])
        if self.held_out is not None and state[2] is not None:
            self.held_out.recall(state[2])
        if len(self.features) != n_features:
            self._refresh()

    def state(self, ended: bool) -> dict[str, Any]:
        """What a checkpoint keeps; where training has ended, the result alone."""
        K, features = len(self.corpus.scores), self.features
        top = [tree for one in self.additions if isinstance(one, list) for tree in one]
        lower = [tree for feature in features for tree in feature.trees]
        taken = {
            "is_feature": [isinstance(one, FutureFeature) for one in self.additions],
            "features": [[one.label, one.weight, one.start, len(one.trees)] for one in features],
            "trees": [plain_trees(K, top), plain_trees(1, lower)],
            "rounds": self.rounds,
            "final_loss": self.final_loss,
        }
        if ended:
            return taken
        held_out = None if self.held_out is None else state_of(self.held_out, self.held_out.KEPT)
        return taken | state_of(self, self.KEPT) | {"held": held_out, "kept": self._kept, "before": self._before}

    def _restore(self, state: Any) -> None:
        """Go on from such a state."""
        self._restore_additions(state)
        restore(self, ("rounds", "final_loss"), state)
        if "corpus" not in state:
            return
        restore(self, self.KEPT, state)
        if self.held_out is not None:
            restore(self.held_out, self.held_out.KEPT, state["held"])
        for name, nullable in (("kept", False), ("before", True)):
            form = self._remember()
            found = checked(state[name], Maybe(form) if nullable else form, name)
            if found is not None and found[0] > len(self.additions):
                refuse(f"{found[0]} additions are remembered, of {len(self.additions)}")
            setattr(self, f"_{name}", found)
        self._refresh()

    def _restore_additions(self, state: Any) -> None:
        K, is_feature = len(self.corpus.scores), checked(state["is_feature"], [bool], "is_feature")
        found = checked(state["features"], [(frozenset(range(K)), float, float, int)], "features")
        top = trees_of(state["trees"][0], K, self._binning)
        lower = trees_of(state["trees"][1], 1, self._inputs)
        n, n_trees = sum(is_feature), sum(size for *_, size in found)
        if (n, n_trees, K * (len(is_feature) - n)) != (len(found), len(lower), len(top)) or n > len(self.corpus.probs):
            refuse("trees and future features do not go together")
        trees, below, features = iter(top), iter(lower), iter(found)
        for one in is_feature:
            if one:
                label, weight, start, size = next(features)
                self.additions.append(FutureFeature(label, weight, start, tuple(islice(below, size))))
            else:
                self.additions.append(list(islice(trees, K)))

    def _refresh(self) -> None:
        """Columns of features have changed: bins are made anew."""
        self.corpus.bin_rows()
        if self.held_out is not None:
            self.held_out.bin_rows()
        self._trees = RowTrees(self._binning, self.corpus.top, self.corpus.loss.weights, self._growth)


def _is_over(monitor: Monitor) -> bool:
    """Whether something else than the training itself ends it."""
    return monitor.interrupted or monitor.outcome in ENDED_EARLY


def _leaf(like: Tree) -> Tree:
    """A tree that adds nothing, of the form of another."""
    nodes: IndexArray = np.array([[LEAF, 0, 0, 0, 0]], dtype=INDEX)
    leaf = Tree(nodes, np.zeros(1), np.zeros(1), like.counts[:1], like.sets[:0])
    if like.surrogates is None or like.surrogate_sets is None:
        return leaf
    return leaf._replace(shares=np.zeros(1), surrogates=like.surrogates[:0], surrogate_sets=like.surrogate_sets[:0])
