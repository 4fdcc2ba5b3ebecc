"""What the papers print, each figure with the table it stands in. Accuracies are percentages of labels.

Hao 2009      Guohua Hao, Efficient training and feature induction in sequential supervised learning, Oregon State
              University. Tables 3.4, 3.5 and 3.6.
Dietterich 2004   Dietterich, Ashenfelter and Bulatov, Training conditional random fields via gradient tree boosting,
              ICML. Table 3, and figure 1 in words.
Vishwanathan 2006   Vishwanathan, Schraudolph, Schmidt and Murphy, Accelerated training of conditional random fields
              with stochastic gradient methods, ICML. Section 4: what figures 1 and 2 end at, in words.
Gross 2007    Gross, Russakovsky, Do and Batzoglou, Training conditional random fields for maximum labelwise accuracy,
              NIPS. Section 4.1: the three figures that its text has.
Dietterich and Ashenfelter   Conditional random fields for sequential supervised learning, slides, Oregon State
              University. The table "Evaluation of Methods".
"""

from __future__ import annotations

from typing import NamedTuple

# ------------------------------------------------------------------------------------------- Hao 2009, table 3.4


class TreeForms(NamedTuple):
    """Accuracies with λ (by cross-validation, L = 100) and by the original trees (L by cross-validation)."""

    posterior_shrinkage: float
    posterior_original: float
    viterbi_shrinkage: float
    viterbi_original: float


TABLE_3_4 = {
    "protein": TreeForms(64.52, 62.70, 62.05, 59.20),
    "nettalk": TreeForms(85.18, 84.08, 85.20, 84.18),
    "hyphen": TreeForms(92.20, 92.20, 91.76, 92.07),
}

# ------------------------------------------------------------------------------------------- Hao 2009, table 3.5


class Systems(NamedTuple):
    """A row of figures: of TreeCRF, of MALLET with its feature induction, of MALLET without ("baseline")."""

    tree: float
    mallet: float
    baseline: float


TABLE_3_5_ACCURACY = {
    "protein": Systems(64.52, 64.43, 62.44),
    "nettalk": Systems(85.20, 85.94, 82.81),
    "hyphen": Systems(92.20, 92.10, 88.86),
}
TABLE_3_5_SECONDS = {
    "protein": Systems(419.6, 786.9, 32.8),
    "nettalk": Systems(454.6, 941.4, 13.7),
    "hyphen": Systems(39.2, 66.4, 8.8),
}
TABLE_3_5_ITERATIONS = {
    "protein": Systems(142, 123, 66),
    "nettalk": Systems(169, 167, 34),
    "hyphen": Systems(58, 69, 47),
}

# ------------------------------------------------------------------------------------------- Hao 2009, tables 5.3, 5.4


class Discovery(NamedTuple):
    """Test accuracies of labels, of positions that have the pattern ("instance") and of bags, and how many features."""

    accuracy: float
    pattern: float | None
    ahead: float | None
    features: str


# Data → G₀ → what was found.
TABLE_5_3 = {
    "xor": {
        0.0: Discovery(100.0, 100.0, 100.0, "2"),
        -1.0: Discovery(98.97, None, None, ">2"),
        -5.0: Discovery(100.0, 100.0, 100.0, "2"),
        -7.0: Discovery(99.97, 100.0, 100.0, "2"),
    },
    "or": {
        0.0: Discovery(100.0, 100.0, 100.0, "2"),
        -1.0: Discovery(99.97, None, None, ">2"),
        -3.0: Discovery(100.0, None, None, ">2"),
        -5.0: Discovery(100.0, 100.0, 100.0, "1"),
        -7.0: Discovery(100.0, 100.0, 100.0, "1"),
        -10.0: Discovery(100.0, 100.0, 100.0, "2"),
    },
    "extra": {
        0.0: Discovery(100.0, 100.0, 100.0, ">2"),
        -5.0: Discovery(100.0, 100.0, 100.0, "1"),
        -7.0: Discovery(100.0, 100.0, 100.0, "1"),
        -10.0: Discovery(99.93, 100.0, 100.0, ">2"),
    },
}
_METHODS = ("SW", "MEMM-1", "CRF-1", "CRF-2", "CRF-3", "CRF-4", "FF-MEMM-0")
TABLE_5_4 = {
    "xor": dict(zip(_METHODS, (51.6, 50.7, 56.0, 57.3, 57.6, 58.4, 100.0))),
    "or": dict(zip(_METHODS, (67.5, 66.5, 76.6, 85.9, 91.1, 93.9, 100.0))),
    "extra": dict(zip(_METHODS, (84.4, 84.9, 87.1, 90.2, 92.5, 92.9, 100.0))),
}

# ------------------------------------------------------------------------------------------- Hao 2009, table 5.5

# Method → order → accuracy.
TABLE_5_5 = {
    "SW": {0: 84.2},
    "MEMM": {1: 85.7, 2: 87.1, 3: 88.9, 4: 89.0},
    "CRF": {1: 85.7, 2: 90.4, 3: 91.8, 4: 91.4},
    "FF-MEMM (bag 2)": {1: 89.4, 2: 90.4, 3: 90.6, 4: 90.3},
    "FF-MEMM (bag 4)": {1: 88.9, 2: 89.6, 3: 90.5, 4: 89.23},
}

# ------------------------------------------------------------------------------------------- Hao 2009, table 3.6


class IterationCost(NamedTuple):
    """Mean length of sequences, binary features a position, and CPU seconds an iteration of the two systems."""

    mean_length: int
    n_features: int
    passes_tree: float
    passes_mallet: float
    induction_tree: float
    induction_mallet: float


TABLE_3_6 = {
    "protein": IterationCost(163, 231, 1.493, 0.736, 1.433, 48.889),
    "nettalk": IterationCost(7, 351, 0.622, 0.589, 2.049, 25.983),
    "hyphen": IterationCost(6, 162, 0.324, 0.307, 0.332, 4.621),
}
THESIS_MACHINE = "2.4 GHz Intel Xeon with 512 KB of cache"

# ----------------------------------------------------------------------------------- Dietterich 2004, table 3

# Total width of the window → seconds of a training iteration on the protein data.
ICML_LINEAR_SECONDS = {1: 0.04, 3: 0.66, 5: 41.2, 7: 1505.0}
ICML_TREE_SECONDS = {1: 0.8, 3: 1.11, 5: 1.2, 7: 1.4}
ICML_PROTEIN_ACCURACY = 64.7  # figure 1; its stopping point was chosen on the test set

# -------------------------------------------------------------------------------- Vishwanathan 2006, section 4


class OnlineScores(NamedTuple):
    """F in percent where the curves end, and a line from elsewhere; features as the paper counts them.

    perceptron_peak : where the perceptron had its best, if the paper says so
    other, other_name : the horizontal line of the figure
    """

    smd: float
    lbfgs: float
    sgd: float
    perceptron: float
    perceptron_peak: float | None
    other: float
    other_name: str
    n_features: int


SMD_F = {
    "np": OnlineScores(93.6, 93.6, 93.4, 92.7, 92.9, 94.2, "Sha and Pereira 2003", 330_731),
    "jnlpba": OnlineScores(85.8, 85.8, 85.2, 83.0, None, 72.0, "Settles 2004", 106_583),
}

# --------------------------------------------------------------------------------------- Gross 2007, section 4.1

# Without noise: (objective, decoder) → accuracy. The other points of figure 1 are only in its picture.
LABELWISE_ACCURACY = {("generative", "posterior"): 79.6, ("generative", "viterbi"): 71.0, ("margin", "viterbi"): 74.9}

# -------------------------------------------------------------------------------- Hao 2009, table 4.1


class Coefficient(NamedTuple):
    """Of the analysis of deviance: the change in log odds against the baseline, and whether it is significant."""

    value: float
    significant: bool = False


def _coefficients(*rows: str) -> dict[float, tuple[Coefficient, ...]]:
    """Rates → coefficients of three ways; a star marks what is significant."""
    rates = (0.05, 0.1, 0.2, 0.4)
    return {
        rate: tuple(Coefficient(float(text.rstrip("*")), text.endswith("*")) for text in row.split())
        for rate, row in zip(rates, rows)
    }


# Surrogate splits, imputation and indicator features against instance weighting; of the FAQs, instance weighting,
# surrogate splits and indicator features against imputation.
TABLE_4_1 = {
    "protein": _coefficients(
        "-0.018 -0.072* -0.028*", "-0.013 -0.040* 0.001", "-0.025* -0.074* -0.020*", "-0.041* -0.072* -0.020*"
    ),
    "nettalk": _coefficients(
        "-0.051* -0.066* -0.064*", "-0.051* -0.067* -0.059*", "-0.069* -0.057* -0.052*", "-0.080* -0.116* -0.111*"
    ),
    "hyphen": _coefficients(
        "0.036* 0.007 0.023", "-0.031* -0.022 -0.027*", "-0.071* -0.049* -0.040*", "-0.024* -0.054* -0.047*"
    ),
    "faq": _coefficients(
        "-8.824E-16 -0.043 -1.499*", "-2.161* -1.867* -1.961*", "-0.874* 0.072 0.100", "-1.243* -0.584* -0.359*"
    ),
}

# ---------------------------------------------------------- Dietterich and Ashenfelter, "Evaluation of Methods"

_COLUMNS = ("SW", "RSW", "HMM", "MEMM", "IOHMM", "CRF")
SLIDES_ANSWERS = {
    "x → y and y → y?": dict(zip(_COLUMNS, ("NO", "Partly", "YES", "YES", "YES", "YES"))),
    "rich X → y?": dict(zip(_COLUMNS, ("YES", "YES", "NO", "YES", "YES", "YES"))),
    "label bias ok?": dict(zip(_COLUMNS, ("YES", "YES", "YES", "NO", "NO", "YES"))),
    "efficient?": dict(zip(_COLUMNS, ("YES", "YES", "YES", "YES?", "NO", "NO"))),
}

# ---------------------------------------------------------- PyStruct's record of its example on snakes

SNAKES = {"linear, LBP, directions": 84.7, "linear, LBP, ends": 99.9}  # its own are trained by the margin
