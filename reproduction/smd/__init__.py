"""Stochastic meta-descent on chains: figures 1 and 2."""
