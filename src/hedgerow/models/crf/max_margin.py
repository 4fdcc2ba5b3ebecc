"""MaxMarginMarkovNetwork: a name for the linear chain that is trained for a margin."""

from __future__ import annotations

from typing import ClassVar

from hedgerow.declarations import declared, documented
from hedgerow.models.crf.linear import LinearCRF
from hedgerow.models.crf.parameters import LinearParameters


@declared
class MarginParameters(LinearParameters):
    """The parameters of a LinearCRF but its objective.

    Parameters
    ----------
    l2
        The penalty l2·‖w‖². With C as SVMs have it, and the loss a sum over the sequences, it is 1 / (2·C).
    """

    objective: ClassVar[str] = "margin"  # type: ignore[misc]


@documented
class MaxMarginMarkovNetwork(MarginParameters, LinearCRF):
    """A max-margin Markov network (Taskar et al. 2004): a linear chain whose true labeling should beat every other one
    by as much as that one costs.

    It is `LinearCRF(objective="margin")`: the loss of a sequence is the most that a labeling gains, cost and score
    together, over the true one. Its scores are not meant as probabilities. `predict_proba` treats them as if they were,
    and is too sure or too unsure where no held-out sequences set a temperature (`calibrate`). `trainer="auto"` is
    "frank_wolfe" (block-coordinate, on the dual, which knows how far from the minimum it is) where every label is
    known, else "adagrad".

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
