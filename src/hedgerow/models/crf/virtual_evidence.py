"""VirtualEvidence: a CRF of trees that is boosted with its neighbours' labels as soft input."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from hedgerow.declarations import Check, declared, documented
from hedgerow.estimators.values import Scoring, check_scoring
from hedgerow.models.crf.parameters import TreeParameters
from hedgerow.models.crf.tree import TreeCRF


@declared
class EvidenceParameters(TreeParameters):
    """The parameters of a TreeCRF but its objective and what belongs to that.

    Parameters
    ----------
    max_leaf_nodes
        The most leaves of a tree; 2 are stumps, as in the paper, and take many more iterations.
    edges
        "shared": trees score positions, and one boosted table scores transitions, as in the paper. "joint": trees ask
        for the previous label too.
    scoring : str or callable
        As in TreeCRF. The log-likelihood is a finer measure than the accuracy, though not what is followed.
    """

    objective: ClassVar[str] = "virtual_evidence"  # type: ignore[misc]
    likelihood_steps: ClassVar[int] = 0  # type: ignore[misc]
    order: ClassVar[int] = 1  # type: ignore[misc]
    init: ClassVar[str] = "zero"  # type: ignore[misc]
    edges: Literal["joint", "shared"] = "shared"
    scoring: Annotated[Scoring, Check(check_scoring)] = "log_likelihood"


@documented
class VirtualEvidence(EvidenceParameters, TreeCRF):
    """Virtual evidence boosting (Liao, Choudhury, Fox and Kautz 2007): a conditional random field of stumps or trees.

    Before every iteration belief propagation tells what each position's neighbours think of it. That is its evidence:
    soft labels in place of the true ones of the pseudo-likelihood. Trees and transitions are fitted to the likelihood
    of each label given it, with the evidence held fixed. The result is a chain like that of TreeCRF, which differs in
    what is followed in training (`TreeCRF(objective="virtual_evidence")`, without iterations of the likelihood first).

    Steps are those of gradient boosting. The paper's are LogitBoost's, of the working response (truth − P) / P(1−P)
    with weights P(1−P): `leaves="newton"`, with shared edges, `max_leaf_nodes=2` and `learning_rate=1`.

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
