"""Messages on graphs, and what is read from them."""

from hedgerow.lazy import submodules

__getattr__ = submodules(__name__)
