"""The names of sklearn_crfsuite.metrics."""

from hedgerow.metrics.flat import *  # noqa: F403
from hedgerow.metrics.flat import __all__ as __all__
