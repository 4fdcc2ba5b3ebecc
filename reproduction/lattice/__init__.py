"""Stochastic meta-descent on images, figures 3 to 6, and snakes."""
