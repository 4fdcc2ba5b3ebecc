"""Chains: scores of labels and of moves, and every function of them. Who makes the scores is not known here."""
