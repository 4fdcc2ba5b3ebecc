"""What is legal: the states of a chain and the arcs between them."""

from hedgerow.chain.structure.states import StateSpace

__all__ = ["StateSpace"]
