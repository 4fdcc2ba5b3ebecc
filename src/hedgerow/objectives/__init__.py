"""Objectives: potentials and true labels in, a loss and its gradient with respect to the potentials out."""

from hedgerow.objectives.log_likelihood import log_likelihood
from hedgerow.objectives.pseudo_likelihood import pseudo_likelihood
from hedgerow.objectives.result import LossAndGradient

__all__ = ["LossAndGradient", "log_likelihood", "pseudo_likelihood"]
