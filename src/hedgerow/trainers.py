"""Trainers of weights, each with its settings: `LinearCRF(trainer=SMD(meta_gain=0.05))`.

An estimator takes a trainer by its name too: `LinearCRF(trainer="smd")` is `LinearCRF(trainer=SMD())`. Which objectives
each serves, and when to use it, is in docs/objectives-and-trainers.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Annotated, Any, ClassVar, Literal

from sklearn.base import BaseEstimator

from hedgerow.declarations import (
    Check,
    Count,
    NonNegative,
    OneOf,
    Positive,
    Range,
    Share,
    check_parameters,
    check_value,
    declared,
    documented,
)
from hedgerow.errors import InputError

__all__ = [
    "AROW", "GIS", "IIS", "LBFGS", "SGD", "SMD", "AdaGrad", "Adam", "AnnealedSGD", "AveragedPerceptron",
    "ConjugateGradient", "FeatureInduction", "FrankWolfe", "GradientDescent", "PassiveAggressive",
]  # fmt: skip


@declared
class Trainer(BaseEstimator):  # type: ignore[misc]
    """How weights are found. `name` is what it is called as a word.

    Its settings are parameters as scikit-learn has them: a search may go over `trainer__gain`.
    """

    name: ClassVar[str]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.get_params() == other.get_params()

    __hash__ = None  # type: ignore[assignment]  # settings may be changed


@declared
class OnlineTrainer(Trainer):
    """A trainer that looks at a few sequences, or items, before each step. An iteration is a pass over all of them.

    Parameters
    ----------
    batch_size
        Sequences, or items of a lattice, that it looks at before each step: by default 8, and 1 of AveragedPerceptron,
        PassiveAggressive and AROW, and on lattices.
    """

    batch_size: Count | None = None


@declared
class GainTrainer(OnlineTrainer):
    """An online trainer with a step size.

    Parameters
    ----------
    gain
        The first step size; "auto" finds it on a few sequences.
    """

    gain: Positive | Literal["auto"] = "auto"


class LBFGS(Trainer):
    """L-BFGS on the whole corpus; with an L1 penalty, OWL-QN."""

    name = "lbfgs"


class ConjugateGradient(Trainer):
    """Conjugate gradients on the whole corpus."""

    name = "conjugate_gradient"


class GradientDescent(Trainer):
    """Steepest descent on the whole corpus."""

    name = "gradient_descent"


class GIS(Trainer):
    """Generalised iterative scaling, a baseline: many short steps, each weight by itself, of features that are not
    negative."""

    name = "gis"


class IIS(Trainer):
    """Improved iterative scaling, a baseline: as GIS, with longer steps where sequences have fewer features."""

    name = "iis"


class FrankWolfe(Trainer):
    """Block-coordinate Frank–Wolfe for the margin, on the dual: it knows how far from the minimum it is."""

    name = "frank_wolfe"


class MistakeTrainer(OnlineTrainer):
    """An online trainer that learns from mistakes alone, by the objective "perceptron": it has no gain and no penalty,
    and looks at one sequence before each step."""


@documented
class AveragedPerceptron(MistakeTrainer):
    """Collins' averaged perceptron: steps of size one on mistakes, and the average of all weights."""

    name = "averaged_perceptron"


@documented
@declared
class PassiveAggressive(MistakeTrainer):
    """The passive-aggressive algorithm (Crammer and others 2006): on a mistake the smallest step after which the truth
    scores higher than the labeling that was found, by a margin.

    Parameters
    ----------
    slack
        How steps are held back, for one that mends a wrong label does harm: "linear" (PA-I) caps them at
        `aggressiveness`, "squared" (PA-II) shortens the longest most, "none" takes them as they are.
    aggressiveness
        C: with a smaller one steps are shorter. It does nothing where `slack` is "none".
    count_errors
        Whether the margin is the root of how many labels are wrong; else it is 1.
    average
        Whether the weights are the average of those after every step.
    """

    name = "passive_aggressive"
    slack: Literal["linear", "squared", "none"] = "linear"
    aggressiveness: Positive = 1.0
    count_errors: bool = True
    average: bool = True


@documented
@declared
class AROW(MistakeTrainer):
    """Adaptive regularization of weights (Crammer, Kulesza and Dredze 2009): each weight has a variance, which falls as
    its feature takes part in mistakes, and steps go where variances are large.

    Parameters
    ----------
    variance
        What each weight begins with.
    gamma
        How slowly variances fall, and how much shorter steps are.
    """

    name = "arow"
    variance: Positive = 1.0
    gamma: Positive = 1.0


@documented
class SGD(GainTrainer):
    """Stochastic gradient descent with a fixed gain."""

    name = "sgd"


@documented
class AdaGrad(GainTrainer):
    """AdaGrad: every weight has a gain of its own, smaller the more it has been pulled already."""

    name = "adagrad"


@documented
class Adam(GainTrainer):
    """Adam, with means that move only when a batch touches their weight."""

    name = "adam"


@documented
@declared
class AnnealedSGD(GainTrainer):
    """Stochastic gradient descent with a gain that falls.

    Parameters
    ----------
    schedule
        How it falls. "inverse" is the classic η₀/(1 + r·t), t in passes. "published" is η₀/t, t the number of the step,
        as Vishwanathan and others (2006) have it: it falls too fast to be good. "averaged" falls more slowly than both,
        and averages weights. "auto" is "averaged" for sequences, and "inverse" for lattices, which have no "averaged".
    """

    name = "annealed_sgd"
    schedule: Literal["auto", "averaged", "inverse", "published"] = "auto"


@documented
@declared
class SMD(GainTrainer):
    """Stochastic meta-descent (Vishwanathan, Schraudolph, Schmidt and Murphy 2006): each weight has a gain that learns.

    Parameters
    ----------
    meta_gain
        μ: how fast gains change.
    gain_decay
        λ: how long a gain remembers.
    lazy
        Whether a step moves only the weights that its batch touches, which is an approximation; without it a step costs
        as much as there are weights. Lattices have few weights, and move them all.
    schedule
        "plain" is as published, and the form that lattices have. "averaged" gives the average of the weights over the
        last pass. "annealed" lets all gains fall. "auto" is "averaged" for sequences.
    max_growth
        What one step may multiply a gain by. None is any number, as published: on long sequences that diverges.
    """

    name = "smd"
    meta_gain: NonNegative = 0.1
    gain_decay: Annotated[float, Range(0, 1)] = 1.0
    lazy: bool = True
    schedule: Literal["auto", "averaged", "plain", "annealed"] = "auto"
    max_growth: Annotated[float, Range(above=1)] | None = 2.0


def _check_proportions(given: Any) -> None:
    shares = given if isinstance(given, (tuple, list)) else [None]
    if not all(isinstance(x, (int, float)) and not isinstance(x, bool) and 0 < x <= 1 for x in shares):
        hint = "Give a tuple of numbers above 0 and up to 1, one per round; () trains on all sequences."
        raise InputError(f"⟦proportions⟧ is {given!r}", hint=hint)


@documented
@declared
class FeatureInduction(BaseEstimator):  # type: ignore[misc]
    """Feature induction (McCallum 2003): a LinearCRF finds out which conjunctions of its features it needs.

    Training goes in rounds. Each takes a few iterations, and then adds the conjunctions by which the likelihood would
    rise most, each by itself, of all that are a feature of the model and one of the data.

    Parameters
    ----------
    every
        Iterations between two rounds.
    n_features
        The most features that a round adds.
    max_rounds
        The most rounds. Training then goes on to its end.
    start
        The features of the model before the first round: a constant alone, or all features of the data.
    on
        What the new features score: labels, or labels and pairs of labels, which costs K² scores per position.
    threshold
        Only positions whose true label has a smaller probability are looked at for new features.
    proportions : tuple of float
        The share of the sequences that trains before the first round, before the second and so on; all of them train
        once it ends.
    """

    every: Count = 8
    n_features: Count = 500
    max_rounds: Count = 20
    start: Literal["constant", "features"] = "constant"
    on: Literal["labels", "pairs"] = "labels"
    threshold: Share = 0.95
    proportions: Annotated[tuple[float, ...], Check(_check_proportions)] = ()

    @classmethod
    def paper(cls, **settings: Any) -> FeatureInduction:
        """The settings of the papers that measured TreeCRF against MALLET (Dietterich and others 2004, Hao 2009), which
        its author recommended: features of pairs of labels, 500 every 8 iterations, and 20, 50 and 80 % of the
        sequences before the first three rounds. Those given are changed."""
        recipe: dict[str, Any] = {"on": "pairs", "max_rounds": 1000, "proportions": (0.2, 0.5, 0.8)}
        return cls(**recipe | settings)

    __eq__, __hash__ = Trainer.__eq__, None  # type: ignore[assignment]  # as of trainers


def check_induction(induction: Any) -> None:
    """Refuse what is neither None nor a FeatureInduction with sound settings."""
    if induction is None:
        return
    if not isinstance(induction, FeatureInduction):
        raise InputError(f"⟦induction⟧ is {induction!r}", hint="Give hedgerow.FeatureInduction(), or None.")
    check_parameters(induction)


TRAINERS: dict[str, type[Trainer]] = {
    kind.name: kind
    for kind in (
        LBFGS, ConjugateGradient, GradientDescent, GIS, IIS, SGD, AnnealedSGD, AdaGrad, Adam, SMD, AveragedPerceptron,
        PassiveAggressive, AROW, FrankWolfe,
    )
}  # fmt: skip


SETTINGS = {field.name for kind in TRAINERS.values() for field in fields(kind)}


def name_of(trainer: str | Trainer) -> str:
    """What a trainer is called, given as a word or as an object."""
    return trainer if isinstance(trainer, str) else trainer.name


def check_trainer(*names: str) -> Callable[[Any], None]:
    """A check of the parameter `trainer` of an estimator that has trainers of these names."""

    def check(trainer: Any) -> None:
        if isinstance(trainer, Trainer) and trainer.name in names:
            check_parameters(trainer)
        elif isinstance(trainer, Trainer):
            raise InputError(f"⟦trainer⟧ is {trainer!r}", hint=f"Choose one of {', '.join(map(repr, names))}.")
        else:
            check_value("trainer", trainer, Annotated[str, OneOf(names)])

    return check


def make_trainer(name: str, settings: Mapping[str, Any]) -> Trainer:
    """The trainer of that name with these settings, which it must have."""
    known = [field.name for field in fields(TRAINERS[name])]
    for setting in settings:
        if setting not in known:
            hint = f"It has {', '.join(known)}." if known else "It has none."
            raise InputError(f"⟦trainer⟧ {name!r} has no setting {setting!r}", hint=hint)
    return TRAINERS[name](**settings)
