"""VirtualEvidence: a CRF of trees that is boosted with its neighbours' labels as soft input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hedgerow.data.dataset import Label, Window
from hedgerow.models.crf.tree import TreeCRF
from hedgerow.trees.binning import MAX_VALUES


class VirtualEvidence(TreeCRF):
    """Virtual evidence boosting (Liao, Choudhury, Fox and Kautz 2007): a conditional random field of stumps or trees.

    Before every iteration belief propagation tells what each position's neighbours think of it. That is its evidence:
    soft labels in place of the true ones of the pseudo-likelihood. Trees and transitions are fitted to the likelihood
    of each label given it, with the evidence held fixed. The result is a chain like that of TreeCRF, which differs in
    what is followed in training (`TreeCRF(objective="virtual_evidence")`, without iterations of the likelihood first).

    Steps are those of gradient boosting. The paper's are LogitBoost's, which weight positions by P(1−P).

    Parameters
    ----------
    n_estimators : int, default 500
        The most iterations.
    max_leaf_nodes : int, default 32
        The most leaves of a tree; 2 are stumps, as in the paper, and take many more iterations.
    edges : {"shared", "joint"}, default "shared"
        "shared": trees score positions, and one boosted table scores transitions, as in the paper. "joint": trees ask
        for the previous label too.
    l2_regularization, learning_rate, window, columns, min_samples_leaf, max_features, max_bins, min_frequency, \
missing, fill_numbers, categorical, subsample, transitions, constraints, decoder, early_stopping, validation_fraction, \
n_iter_no_change, refit, n_jobs, random_state, verbose : as in TreeCRF
    metric : str or callable, default "log_likelihood"
        What counts on held-out sequences. It is a finer measure than the accuracy, though not what is followed.

    Attributes
    ----------
    those of TreeCRF

    Examples
    --------
    >>> from hedgerow import VirtualEvidence
    >>> X, y = [["the", "cat"], ["a", "dog", "barks"]], [["D", "N"], ["D", "N", "V"]]
    >>> model = VirtualEvidence(window=1, l2_regularization=0.5, early_stopping=False).fit(X, y)
    >>> model.predict([["the", "dog"]]).tolist()
    [['D', 'N']]
    """

    def __init__(
        self,
        *,
        n_estimators: int = 500,
        max_leaf_nodes: int = 32,
        l2_regularization: float = 20.0,
        learning_rate: float = 0.3,
        window: Window = 0,
        columns: Mapping[str, str] | None = None,
        edges: str = "shared",
        min_samples_leaf: float = 1.0,
        max_features: float = 1.0,
        max_bins: int = MAX_VALUES,
        min_frequency: float = 1.0,
        missing: str = "learned",
        fill_numbers: str = "mean",
        categorical: str = "subset",
        subsample: float = 1.0,
        transitions: str = "all",
        constraints: str | Iterable[tuple[Label, Label]] | None = None,
        decoder: str = "auto",
        beam_width: int = 20,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 20,
        refit: bool = True,
        metric: str | Callable[[Any, Any], float] = "log_likelihood",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            objective="virtual_evidence",
            likelihood_steps=0,
            n_estimators=n_estimators,
            max_leaf_nodes=max_leaf_nodes,
            l2_regularization=l2_regularization,
            learning_rate=learning_rate,
            window=window,
            columns=columns,
            edges=edges,
            min_samples_leaf=min_samples_leaf,
            max_features=max_features,
            max_bins=max_bins,
            min_frequency=min_frequency,
            missing=missing,
            fill_numbers=fill_numbers,
            categorical=categorical,
            subsample=subsample,
            transitions=transitions,
            constraints=constraints,
            decoder=decoder,
            beam_width=beam_width,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            refit=refit,
            metric=metric,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
