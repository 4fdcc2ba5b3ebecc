"""Dietterich, Ashenfelter and Bulatov (ICML 2004)."""
