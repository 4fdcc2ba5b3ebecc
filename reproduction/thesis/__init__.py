"""Hao's thesis (2009): tables and figures."""
