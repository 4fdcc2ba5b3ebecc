"""The parameters of LinearCRF and TreeCRF, and which values of TreeCRF's go together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from hedgerow.chain.objectives import BOOSTED, COSTLY, NAMES, check_weighted
from hedgerow.chain.structure.histories import MAX_ORDER
from hedgerow.declarations import Check, Count, NonNegative, OneOf, Positive, Range, check_value, declared
from hedgerow.errors import InputError
from hedgerow.estimators.parameters import (
    BeamWidth,
    BoostedTrees,
    Calibrated,
    ClassWeighted,
    Constrained,
    Drawing,
    EarlyStopping,
    ErrorCosts,
    LinearFitting,
    MinFrequency,
    MissingValues,
    Penalty,
    Refitting,
    Running,
    Scored,
    Transitions,
    WarmStart,
    Windowed,
)
from hedgerow.estimators.values import LOG_LIKELIHOOD, Scoring, check_scoring
from hedgerow.trainers import TRAINERS, FeatureInduction, Trainer, check_induction, check_trainer

TREE_OBJECTIVES = (*(name for name in NAMES if name != "perceptron"), *BOOSTED)  # a sum of trees has no average


@declared
class ConstrainedCRF(Constrained):
    """When constraints hold, and what becomes of labels that break them.

    Parameters
    ----------
    constraints_at
        "prediction" trains as if there were no constraints, on labels that may break them, and obeys them afterwards;
        for `order` up to 1.
    repair
        Labels of y that break the constraints are changed to the nearest that do not: as few as can be, and those of
        the same type first (I-X to B-X). A warning says how many. Otherwise they are an error.
    """

    constraints_at: Literal["training", "prediction"] = "training"
    repair: bool = False


@declared
class LinearParameters(
    Penalty,
    LinearFitting,
    Windowed,
    ErrorCosts,
    ClassWeighted,
    MissingValues,
    MinFrequency,
    ConstrainedCRF,
    BeamWidth,
    EarlyStopping,
    Calibrated,
    Scored,
    WarmStart,
    Drawing,
    Running,
):
    """The parameters of a LinearCRF.

    Parameters
    ----------
    order
        How many labels before it a label may depend on. 0 scores each position by itself. From 2 on every run of up to
        order+1 labels that training shows has a weight, and one that it does not show is scored by the shorter runs
        inside it.
    objective : str
        What is minimised: "log_likelihood", "pseudo_likelihood", "pointwise" (the likelihood of each label by itself),
        "labelwise" (a smooth count of wrong labels), "expected_accuracy", "margin", "slack_margin",
        "classification_error" (a smooth count of wrong labelings), "perceptron". "auto" is the log-likelihood, or what
        the trainer is for.
    trainer : str or Trainer
        How: "lbfgs", "conjugate_gradient", "gradient_descent", and the slow "gis" and "iis", on the whole corpus;
        "sgd", "annealed_sgd", "adagrad", "adam", "smd" (stochastic meta-descent) on a few sequences at a time;
        "averaged_perceptron",
        "passive_aggressive" and "arow" on the mistakes in one sequence at a time; "frank_wolfe" for the margin, which
        knows how far from the minimum it is. "auto" is "lbfgs" where the objective is smooth, "averaged_perceptron" for
        "perceptron", and for the margins "adagrad", or "frank_wolfe" where every label is known, l2 is above 0 and
        training begins at zero. L-BFGS takes objectives with kinks too, but may stop at one. Settings of a trainer are
        given by an object of `hedgerow.trainers`: SGD(gain=0.1, batch_size=4).
    l2
        The penalty l2·‖w‖² (CRFsuite's c2). Objectives that count errors have smaller losses than the likelihood, and
        want a smaller one.
    l1
        The penalty l1·‖w‖₁ (CRFsuite's c1). It is for "lbfgs"; who learns from mistakes has no penalty at all.
    max_iter
        The most iterations of a stage, by default 500; of an online trainer the most passes, by default 50, and 200 of
        "frank_wolfe".
    tol
        Training ends when the loss fell by less than this share in ten iterations, or is known to be nearer than
        this share to its minimum; of "frank_wolfe", whose bound is a loose one, a thousand times this share.
    sharpness : float or list of float
        λ of the sigmoid that "labelwise" (default 5, then 15) and "classification_error" (default 1) count errors with;
        a list is a stage each, which begins with the weights of the one before.
    start
        Where weights start: at 0, at the solution for the log-likelihood (the default of objectives that are not
        convex), at the counted weights of a hidden Markov model, or after at most ten passes of "annealed_sgd" for the
        log-likelihood ("sgd"), which halves the iterations of "lbfgs" on large sparse corpora; finding the gain costs
        some passes more, and on small ones nothing is gained.
    min_frequency
        Features seen less often with a label get no weight for it, nor do transitions seen less often, where
        `transitions` is "observed"; from order 2 on these are runs of labels. A number other than 0 counts as seen
        once, whatever its size; 0 is not seen.
    transitions
        Transitions that have a weight; with "forbid_unseen" those not seen in training are impossible, and from order 2
        on every label that training does not show after the last `order` labels. Neighbours with label sets show every
        transition that the sets allow; an unlabelled position (None) shows none, and "forbid_unseen" is an error where
        it cannot be filled by the transitions seen elsewhere.
    transition_columns : list of column names
        Columns whose values also score pairs of labels ("*" for the attributes). Costs K² scores per position.
    induction : FeatureInduction
        Find conjunctions of features while training: for the log-likelihood and a trainer on the whole corpus.
    decoder
        "posterior" gives each position its most probable label, "viterbi" the most probable labeling, and "beam" that
        which a search finds that keeps `beam_width` labels, or histories, at each position. "auto" is "posterior", and
        "viterbi" where labels make spans (B-NP, I-NP), where there are constraints or forbidden transitions, and for
        the objectives that compare labelings (margins, perceptron, classification error).
    early_stopping
        Hold out `validation_fraction` of the sequences and stop when `scoring` has not risen for `n_iter_no_change`
        iterations; the best iteration is kept. Sequences given to `fit` as X_val, y_val do the same. With `warm_start`
        the starting weights are scored too, and may be the best.
    warm_start
        Start from the weights of the previous fit; features are matched by name.
    random_state : int or RandomState
        Which sequences are held out, and in which order an online trainer sees them. A RandomState cannot be saved with
        the model.
    """

    objective: Annotated[str, OneOf(("auto", *NAMES))] = "auto"
    trainer: Annotated[str | Trainer, Check(check_trainer("auto", *TRAINERS))] = "auto"
    order: Annotated[int, Range(0, MAX_ORDER)] = 1
    sharpness: float | Iterable[float] | None = None
    start: Literal["auto", "zero", "log_likelihood", "counts", "sgd"] = "auto"
    transitions: Literal["all", "observed", "forbid_unseen"] = "all"
    transition_columns: Iterable[str] | None = None
    induction: Annotated[FeatureInduction | None, Check(check_induction)] = None
    decoder: Literal["auto", "viterbi", "posterior", "beam"] = "auto"


def _check_init(init: Any) -> None:
    from hedgerow.models.crf.linear import LinearCRF

    if not isinstance(init, LinearCRF):
        check_value("init", init, Literal["auto", "zero", "constant"])


@declared
class TreeParameters(
    BoostedTrees,
    Windowed,
    ErrorCosts,
    ClassWeighted,
    MissingValues,
    MinFrequency,
    Transitions,
    ConstrainedCRF,
    BeamWidth,
    EarlyStopping,
    Calibrated,
    Refitting,
    Scored,
    WarmStart,
    Drawing,
    Running,
):
    """The parameters of a TreeCRF.

    Parameters
    ----------
    objective : str
        What is minimised: "log_likelihood", "pseudo_likelihood", "pointwise" (the likelihood of each label by itself),
        "labelwise" (a smooth count of wrong labels), "expected_accuracy", "margin", "slack_margin",
        "classification_error" (a smooth count of wrong labelings) or "virtual_evidence".
    edges
        "joint" trees split on the previous label too, which costs K² scores per position. "shared" trees score
        positions, and one boosted table scores transitions: for many labels. "auto" is "shared" above 12 labels and
        from order 2 on; below, both are trained and held-out sequences decide, and where there are none it is "joint"
        up to 6 labels. `edges_` says what it came to.
    multi_strategy
        "one_output_per_tree" grows a tree for each label in every iteration; "multi_output_tree" grows one tree for all
        labels, whose leaves have a value for each: for shared edges with Newton's leaves, and columns, which it splits
        one value against the rest; of a column of over 254 values the rarest are one. "auto" is that above 6 labels,
        where it can be.
    order
        How many labels before it a label may depend on. 0 scores each position by itself. From 2 on trees of joint
        edges ask for each of the last `order` labels, which is for few labels; shared edges have a weight for every run
        of up to order+1 labels that training shows. "auto" is 1, or up to 3 where labels spell words: where, by counts
        of labels alone, it makes held-out ones clearly more probable, `edges` and `init` are "auto", and there are
        1,000 positions. `order_` says what it came to.
    leaves
        "newton" divides by Σp(1−p) + λ instead of rows + λ: longer steps, which do not depend on the number of labels.
        "auto" is "newton" for the log-likelihood, and "mean", the papers' leaves, for the other objectives.
    learning_rate
        What the values of leaves are multiplied with; 1 is the papers'. "line_search" finds one step for all labels in
        each iteration. Steps above 1, found steps and Newton's are shortened until the loss does not rise. "auto" is
        0.1 with Newton's leaves and 0.3 with means. Where `n_estimators` is "auto" as well and all sequences are
        trained on in the end (`refit`), Newton's steps before that are 0.3, and an iteration stands for four of the
        last training, and for three of `n_iter_no_change`.
    l2_regularization
        λ: the value of a leaf is Σ(−gradient) / (rows + λ), with Newton's leaves Σ(−gradient) / (Σp(1−p) + λ). "auto"
        is 5 with Newton's leaves and shared edges, and 20 elsewhere.
    n_estimators
        The most iterations. "auto" is 10,000 where held-out sequences stop training, and 500 where they do not.
    init : {"auto", "zero", "constant"} or LinearCRF
        The scores before any tree: none, the best constant table of transitions, or those of a linear model, to which
        trees add interactions. A LinearCRF that is not fitted is fitted to the training sequences first. "auto" is a
        LinearCRF of the same columns where one of these has over 200 values, as words have, or there are over 500
        attributes, for the log-likelihood, `order` 1 and no bags, unless there are at most 6 labels and held-out
        sequences are labelled better by joint trees from zero; and "zero" elsewhere.
    pseudo_likelihood_steps
        So many first iterations follow the gradient of the pseudo-likelihood. Every label must then be known.
    likelihood_steps
        So many iterations follow the likelihood before the objective takes over. "auto" is none where the objective is
        convex, and elsewhere as many as are best on held-out sequences, or half of all where there are none.
    sharpness
        λ of the sigmoid that "labelwise" (default 15) and "classification_error" (default 1) count errors with.
    min_samples_leaf
        The least rows of a leaf; with Newton's leaves the least Σp(1−p).
    min_frequency
        Attributes, and values of columns with very many, that are rarer are not split on.
    missing : {"learned", "weighting", "surrogate", "impute", "indicator"}
        What is done where a value is missing. "learned" takes it for one more value: a number goes to the side that
        gains more, a category is one more category. "weighting": the row goes to both sides of a split, in shares.
        "surrogate": the columns that predict the split best tell its side. "impute" fills in the most common value, or
        the mean. "indicator" fills numbers in and adds a flag that says so; a category is one more category.
    n_surrogates
        How many columns a split keeps as surrogates, the best first, where `missing` is "surrogate". "all" keeps every
        one that tells the side better than always taking the larger, as CART does.
    subsample
        The share of sequences, or of positions (`subsample_by`), that a tree is fitted to, drawn for each.
    subsample_by
        What `subsample` is a share of.
    trim
        Influence trimming: rows with the smallest gradients, which make up at most this share of their sum, are left
        out of the fitting of a tree.
    trees_per_step
        Trees per label and iteration, averaged; they differ where max_features or subsample is below 1.
    n_bags
        Train so many ensembles, each on a bootstrap sample of the sequences, and average them. The sequences left out
        of a sample stop its training.
    validation_folds
        Hold out `validation_fraction` of the sequences so many times, each time others, and take the median number of
        iterations for the last training, on all sequences. "auto" is 3 where fewer than 20 sequences are held out, and
        1 elsewhere and without `refit`. Fewer than five sequences are cut into blocks for that.
    tol
        A score on held-out sequences that rose by less than this share of it in `n_iter_no_change` iterations ends
        training; of a log-likelihood near 0, this share of 0.3 a label. 0 counts every rise.
    decoder
        "posterior" gives each position its most probable label, which is right most often; "viterbi" gives the most
        probable labeling, which hangs together and obeys the constraints; "beam" searches for it. "auto" is as in
        LinearCRF.
    scoring : str or callable
        A name ("log_likelihood", "accuracy", "label_f1", "span_f1", "sequence_accuracy"), a scorer(estimator, X, y) or
        a function f(y_true, y_pred), as in LinearCRF. "auto" is the log-likelihood where it or the pseudo-likelihood is
        the objective, and the accuracy elsewhere.
    warm_start
        Keep the trees of the previous fit and add to them, up to `n_estimators` iterations in all. The data must have
        the same columns and labels.
    """

    objective: Annotated[str, OneOf(TREE_OBJECTIVES)] = LOG_LIKELIHOOD
    edges: Literal["auto", "joint", "shared"] = "auto"
    multi_strategy: Literal["auto", "one_output_per_tree", "multi_output_tree"] = "auto"
    order: Annotated[int, Range(0, MAX_ORDER)] | Literal["auto"] = "auto"
    leaves: Literal["auto", "mean", "newton"] = "auto"
    learning_rate: Annotated[float, Range(above=0, most=10)] | Literal["auto", "line_search"] = "auto"  # type: ignore[assignment]
    l2_regularization: NonNegative | Literal["auto"] = "auto"  # type: ignore[assignment]
    n_estimators: Count | Literal["auto"] = "auto"  # type: ignore[assignment]
    init: Annotated[Any, Check(_check_init)] = "auto"
    pseudo_likelihood_steps: Annotated[int, Range(0)] = 0
    likelihood_steps: Annotated[int, Range(0)] | Literal["auto"] = "auto"
    sharpness: Positive | None = None
    min_frequency: NonNegative = 1.0
    missing: Any = "learned"
    n_surrogates: Count | Literal["all"] = 5
    subsample_by: Literal["sequences", "positions"] = "sequences"
    trim: Annotated[float, Range(0, 0.999)] = 0.0
    trees_per_step: Count = 1
    n_bags: Annotated[int, Range(0)] = 0
    decoder: Literal["auto", "posterior", "viterbi", "beam"] = "auto"
    early_stopping: bool = True
    validation_folds: Count | Literal["auto"] = "auto"
    n_iter_no_change: Count = 20
    tol: NonNegative = 1e-3
    scoring: Annotated[Scoring, Check(check_scoring)] = "auto"


def check_tree_parameters(model: Any) -> None:
    """Refuse values of the parameters of a TreeCRF that do not go together."""
    if model.leaves == "newton" and model.l2_regularization == 0:
        hint = "Give a value above 0, such as 1."
        raise InputError("⟦leaves='newton'⟧ with ⟦l2_regularization=0⟧ has no bound", hint=hint)
    if model.n_bags and model.warm_start:
        raise InputError("⟦warm_start⟧ is not supported with bags", hint="Set ⟦warm_start=False⟧, or ⟦n_bags=0⟧.")
    for name in ("sharpness", "softness"):
        if getattr(model, name) is not None and model.objective not in ("labelwise", "classification_error"):
            hint = "'labelwise' and 'classification_error' have; leave it None elsewhere."
            raise InputError(f"⟦objective⟧ {model.objective!r} has no ⟦{name}⟧", hint=hint)
    if model.costs is not None and model.objective not in COSTLY:
        hint = f"{', '.join(map(repr, sorted(COSTLY)))} have."
        raise InputError(f"⟦objective⟧ {model.objective!r} has no ⟦costs⟧", hint=hint)
    if model.class_weight is not None:
        check_weighted(model.objective, model.class_weight)
    # With shared edges the gradient of virtual evidence is P − truth, too, and Newton's leaves are LogitBoost's.
    curved = model.objective == LOG_LIKELIHOOD or (model.objective in BOOSTED and model.edges == "shared")
    if model.leaves == "newton" and not curved:
        what = "⟦leaves='newton'⟧ is for ⟦objective='log_likelihood'⟧, or virtual evidence with ⟦edges='shared'⟧"
        raise InputError(what, hint="Use ⟦leaves='mean'⟧.")
    if model.order not in (1, "auto"):
        _check_tree_order(model)
    if model.multi_strategy == "multi_output_tree" and (reason := against_vectors(model)):
        hint = "Leave that as it is by default, or use ⟦multi_strategy='one_output_per_tree'⟧."
        raise InputError(f"⟦multi_strategy='multi_output_tree'⟧ is not available with {reason}", hint=hint)


def against_vectors(model: Any) -> str:
    """What keeps one tree from growing for all labels; "" where nothing does."""
    reasons = {
        "⟦edges='joint'⟧": model.edges == "joint",
        "⟦order⟧ 0": model.order == 0,
        "leaves that are not Newton's": model.leaves == "mean"
        or model.objective != LOG_LIKELIHOOD
        or model.l2_regularization == 0,
        "⟦learning_rate='line_search'⟧": model.learning_rate == "line_search",
        "⟦trees_per_step⟧ above 1": model.trees_per_step > 1,
        "⟦trim⟧": model.trim > 0,
        f"⟦missing={model.missing!r}⟧": model.missing in ("weighting", "surrogate"),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def _check_tree_order(model: Any) -> None:
    """Refuse what a TreeCRF of another order than 1 cannot do."""
    if not isinstance(model.init, str):
        hint = "Leave ⟦init⟧ at 'auto', or use 'constant'."
        raise InputError(f"a linear model as ⟦init⟧ is for ⟦order⟧ 1, and ⟦order⟧ is {model.order}", hint=hint)
    if model.order == 0 and model.init == "constant":
        raise InputError("⟦init='constant'⟧ is for ⟦order⟧ 1 and more, and ⟦order⟧ is 0", hint="Leave ⟦init⟧ as it is.")
    if model.order > 1 and model.objective in BOOSTED:
        what = f"⟦objective={model.objective!r}⟧ is not available for ⟦order={model.order}⟧"
        raise InputError(what, hint="⟦order⟧ 1 and 0 have it; all other objectives go with every order.")
