"""The names of sklearn-crfsuite and python-crfsuite over hedgerow. A script changes its imports and nothing else:

- `from hedgerow.compat import CRF, metrics, scorers` for `from sklearn_crfsuite import CRF, metrics, scorers`
- `from hedgerow.compat.metrics import flat_f1_score` for `from sklearn_crfsuite.metrics import flat_f1_score`
- `from hedgerow.compat import pycrfsuite` for `import pycrfsuite`
"""

import sys

from hedgerow.compat import flattening as utils
from hedgerow.compat import metrics, scorers
from hedgerow.compat.estimator import CRF

sys.modules[f"{__name__}.utils"] = utils  # for `from hedgerow.compat.utils import flatten`

__all__ = ["CRF", "metrics", "scorers", "utils"]
