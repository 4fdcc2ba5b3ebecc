"""MaxMarginMarkovNetwork: a name for the linear chain that is trained for a margin."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hedgerow.data.dataset import Label, Window
from hedgerow.models.crf.linear import LinearCRF


class MaxMarginMarkovNetwork(LinearCRF):
    """A max-margin Markov network (Taskar et al. 2004): a linear chain whose true labeling should beat every other one
    by as much as that one costs.

    It is `LinearCRF(objective="margin")` with the parameters that matter for it: the loss of a sequence is the most
    that a labeling gains, cost and score together, over the true one. Its scores are not meant as probabilities.
    `predict_proba` treats them as if they were, and tends to be too sure or too unsure.

    Parameters
    ----------
    window, columns, min_frequency, pairs, transitions, transition_columns, constraints : as in LinearCRF
    l2 : float, default 1.0
        The penalty l2·‖w‖². With C as SVMs have it, and the loss a sum over the sequences, it is 1 / (2·C).
    costs : mapping or list, optional
        What a wrong label costs, where it is not 1: {label: cost} or [(true, predicted, cost), …].
    trainer : str, default "auto"
        "frank_wolfe" (block-coordinate, on the dual, which knows how far from the minimum it is), or "adagrad", "adam",
        "sgd", "lbfgs". "auto" is "frank_wolfe" where every label is known, else "adagrad".
    max_iter, tol : as in LinearCRF: passes, and the gap at which Frank–Wolfe ends
    decoder, beam_width : as in LinearCRF
    early_stopping, validation_fraction, n_iter_no_change, metric, n_jobs, random_state, verbose : as in LinearCRF

    Attributes
    ----------
    those of LinearCRF

    Examples
    --------
    >>> from hedgerow import MaxMarginMarkovNetwork
    >>> model = MaxMarginMarkovNetwork(l2=0.1, random_state=0)
    >>> model = model.fit([["the", "cat"], ["a", "dog", "barks"]], [["D", "N"], ["D", "N", "V"]])
    >>> model.predict([["the", "dog"]]).tolist()
    [['D', 'N']]
    """

    def __init__(
        self,
        *,
        window: Window = 0,
        columns: Mapping[str, str] | None = None,
        l2: float = 1.0,
        costs: Mapping[Label, float] | Iterable[tuple[Label, Label, float]] | None = None,
        trainer: str = "auto",
        max_iter: int | None = None,
        tol: float = 1e-5,
        min_frequency: float = 0.0,
        pairs: str = "observed",
        transitions: str = "all",
        transition_columns: Iterable[str] | None = None,
        constraints: str | Iterable[tuple[Label, Label]] | None = None,
        decoder: str = "auto",
        beam_width: int = 20,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        metric: str | Callable[[Any, Any], float] = "accuracy",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            objective="margin",
            window=window,
            columns=columns,
            l2=l2,
            costs=costs,
            trainer=trainer,
            max_iter=max_iter,
            tol=tol,
            min_frequency=min_frequency,
            pairs=pairs,
            transitions=transitions,
            transition_columns=transition_columns,
            constraints=constraints,
            decoder=decoder,
            beam_width=beam_width,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            metric=metric,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
