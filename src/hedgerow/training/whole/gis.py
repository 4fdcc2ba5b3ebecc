"""Generalised iterative scaling (Darroch and Ratcliff 1972): improved iterative scaling with one T for all sequences.

Without a penalty a step is then log(Õ f / E f) / T, T the most features that a labeling of any sequence has. A slack
feature, by which all labelings would have as many, is not needed: that they have at most T is enough for the loss to
fall. One long sequence makes the steps of all short.
"""

from hedgerow.training.whole.iis import GROUPS

N_GROUPS = {"gis": 1, "iis": GROUPS}  # of sequences that have one T
