"""Those who are compared with hedgerow: LightGBM on windows, alone and smoothed by counted transitions, and CRFsuite.

Each takes sequences as hedgerow's estimators do, and gives labels and probabilities as they do.
"""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from hedgerow.data.dataset import Dataset, Window
from hedgerow.data.encoding import encode, learn
from reproduction.windows import window_table

TINIEST = 1e-12


class Baseline:
    """What baselines share: they encode sequences, and cut flat probabilities into sequences."""

    window: Window = 0
    random_state: int | None = None

    def get_params(self, deep: bool = False) -> dict[str, Any]:
        return dict(vars(self))

    def set_params(self, **parameters: Any) -> Any:
        vars(self).update(parameters)
        return self

    def fits(self, dataset: Dataset) -> str:
        """Why it does not apply to such data; "" where it does."""
        return ""

    def predict_proba(self, X: Any) -> list[np.ndarray]:
        """(T, K) for each sequence, columns as in `classes_`."""
        dataset = encode(self.schema_, X)
        return np.split(self._probabilities(dataset), dataset.offsets[1:-1])

    def predict(self, X: Any) -> list[list[Any]]:
        """The most probable label of each position."""
        return [self.classes_[rows.argmax(axis=1)].tolist() for rows in self.predict_proba(X)]

    def _learn(self, dataset: Dataset) -> None:
        self.schema_ = dataset.schema
        self.classes_ = np.array(dataset.schema.labels, dtype=object)

    def _probabilities(self, dataset: Dataset) -> np.ndarray:
        raise NotImplementedError


class LightGBM(Baseline):
    """LightGBM on the table of windows, each position by itself, with its defaults but for one: a leaf has a sum of
    hessians of at least 1, as in XGBoost. With LightGBM's own 0.001 training diverges where labels are rare (validated
    inside the training parts: chorales 59 % right, with 1 it is 81 %).

    A tenth of the sequences (of the positions, where there is one sequence) ends training after 20 rounds without a
    smaller loss; then all are trained on for as many rounds as were best, as TreeCRF does it.
    """

    def __init__(
        self,
        learning_rate: float = 0.1,
        num_leaves: int = 31,
        n_estimators: int = 500,
        min_sum_hessian_in_leaf: float = 1.0,
        window: Window = 0,
        random_state: int | None = None,
    ) -> None:
        self.learning_rate, self.num_leaves, self.n_estimators = learning_rate, num_leaves, n_estimators
        self.min_sum_hessian_in_leaf, self.window, self.random_state = min_sum_hessian_in_leaf, window, random_state

    def fit(self, X: Any, y: Any) -> Any:
        """Train twice: to find the number of rounds, and on all sequences."""
        dataset = learn(X, y, window=self.window)
        self._learn(dataset)
        table, codes = _table(dataset), dataset.require_labels("training")
        held_out = self._held_out(dataset, y)
        best = self._train(table[~held_out], codes[~held_out], (table[held_out], codes[held_out]))
        self.n_rounds_ = max(1, int(best.best_iteration))
        self.booster_ = self._train(table, codes)
        return self

    def _held_out(self, dataset: Dataset, y: Any) -> np.ndarray:
        """(N,) bool: the rows that end training."""
        rows = np.zeros(dataset.n_positions, dtype=bool)
        if len(y) < 2:
            rows[-max(1, len(rows) // 10) :] = True
            return rows
        drawn = np.random.default_rng(self.random_state).permutation(len(y))
        for i in drawn[: -(-len(y) // 10)]:
            rows[dataset.offsets[i] : dataset.offsets[i + 1]] = True
        return rows

    def _train(self, table: Any, codes: Any, held_out: Any = None) -> Any:
        import lightgbm

        K = len(self.classes_)
        options = {"objective": "multiclass", "num_class": K} if K > 2 else {"objective": "binary"}
        options |= {"learning_rate": self.learning_rate, "num_leaves": self.num_leaves, "seed": self.random_state or 0}
        options["min_sum_hessian_in_leaf"] = self.min_sum_hessian_in_leaf
        data = lightgbm.Dataset(table, codes, categorical_feature=self._categorical())
        more: dict[str, Any] = {"num_boost_round": self.n_estimators}
        if held_out is None:
            more = {"num_boost_round": self.n_rounds_}
        else:
            more["valid_sets"] = [data.create_valid(*held_out)]
            more["callbacks"] = [lightgbm.early_stopping(20, verbose=False)]
        return lightgbm.train({**options, "num_threads": 1, "verbosity": -1}, data, **more)

    def _categorical(self) -> list[int]:
        """Which columns of the table are categories; flags are numbers to it."""
        kinds = [column.kind for column in self.schema_.of("categorical", "boolean") for _ in column.offsets]
        return [j for j, kind in enumerate(kinds) if kind == "categorical"]

    def _probabilities(self, dataset: Dataset) -> np.ndarray:
        scores = np.asarray(self.booster_.predict(_table(dataset), num_threads=1))
        return scores if scores.ndim == 2 else np.column_stack([1 - scores, scores])


class LightGBMChain(LightGBM):
    """LightGBM on windows, then forward–backward with transitions counted on the training labels (each count plus 1):
    its probabilities, divided by how frequent the labels are, take the place of the emissions of a hidden Markov model.
    """

    def fit(self, X: Any, y: Any) -> Any:
        """Train LightGBM, and count."""
        super().fit(X, y)
        place = {label: k for k, label in enumerate(self.classes_.tolist())}
        K = len(place)
        self.start_, self.moves_, self.shares_ = np.ones(K), np.ones((K, K)), np.ones(K)
        for labels in y:
            codes = [place[label] for label in labels]
            if codes:
                self.start_[codes[0]] += 1
            np.add.at(self.moves_, (codes[:-1], codes[1:]), 1)
            np.add.at(self.shares_, codes, 1)
        self.start_, self.shares_ = self.start_ / self.start_.sum(), self.shares_ / self.shares_.sum()
        self.moves_ /= self.moves_.sum(axis=1, keepdims=True)
        return self

    def _probabilities(self, dataset: Dataset) -> np.ndarray:
        from hedgerow.chain.edges import chain_from_scores
        from hedgerow.chain.inference import node_marginals

        alone = np.log(np.maximum(super()._probabilities(dataset), TINIEST)) - np.log(self.shares_)
        potentials = chain_from_scores(alone, np.log(self.moves_), dataset.offsets)
        potentials.add_start_end(np.log(self.start_), None)
        return np.asarray(node_marginals(potentials))


class CRFsuite(Baseline):
    """CRFsuite with its defaults (L-BFGS, c2 = 1, the most probable labelling): an attribute for each column, place in
    the window and value."""

    def __init__(self, c1: float = 0.0, c2: float = 1.0, window: Window = 0, random_state: int | None = None) -> None:
        self.c1, self.c2, self.window, self.random_state = c1, c2, window, random_state

    def fits(self, dataset: Dataset) -> str:
        return "numbers are not sparse" if dataset.schema.of("numeric") else ""

    def fit(self, X: Any, y: Any) -> Any:
        """Write the attributes out and train."""
        import pycrfsuite

        dataset = learn(X, y, window=self.window)
        self._learn(dataset)
        trainer = pycrfsuite.Trainer(algorithm="lbfgs", params={"c1": self.c1, "c2": self.c2}, verbose=False)
        for rows, labels in zip(self._items(dataset), y):
            trainer.append(rows, [str(self._place(label)) for label in labels])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            trainer.train(str(path))
            self.model_ = path.read_bytes()
        return self

    def _place(self, label: Any) -> int:
        return self.schema_.labels.index(label)

    def _items(self, dataset: Dataset) -> Any:
        table = _table(dataset).astype(np.int64)
        for begin, end in itertools.pairwise(dataset.offsets.tolist()):
            yield [[f"{j}={code}" for j, code in enumerate(row)] for row in table[begin:end].tolist()]

    def predict(self, X: Any) -> list[list[Any]]:
        """The most probable labelling of each sequence, which is what CRFsuite gives."""
        tagger = self._tagger()
        return [[self.classes_[int(tag)] for tag in tagger.tag(rows)] for rows in self._items(encode(self.schema_, X))]

    def _tagger(self) -> Any:
        import pycrfsuite

        tagger = pycrfsuite.Tagger()
        tagger.open_inmemory(self.model_)
        return tagger

    def _probabilities(self, dataset: Dataset) -> np.ndarray:
        tagger = self._tagger()
        probs = np.zeros((dataset.n_positions, len(self.classes_)))
        known = [(label, int(label)) for label in tagger.labels()]
        t = 0
        for rows in self._items(dataset):
            tagger.set(rows)
            for i in range(len(rows)):
                for label, k in known:
                    probs[t, k] = tagger.marginal(label, i)
                t += 1
        return probs


def _table(dataset: Dataset) -> np.ndarray:
    return np.asarray(window_table(dataset)[0])


BASELINES: dict[str, Any] = {"LightGBM": LightGBM, "LightGBMChain": LightGBMChain, "CRFsuite": CRFsuite}
