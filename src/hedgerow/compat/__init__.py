"""sklearn-crfsuite's names over hedgerow. A script changes its imports and nothing else:

- `from hedgerow.compat import CRF, metrics, scorers` for `from sklearn_crfsuite import CRF, metrics, scorers`
- `from hedgerow.compat.metrics import flat_f1_score` for `from sklearn_crfsuite.metrics import flat_f1_score`
"""

from hedgerow.compat import metrics, scorers
from hedgerow.compat.estimator import CRF

__all__ = ["CRF", "metrics", "scorers"]
