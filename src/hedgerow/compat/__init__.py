"""sklearn-crfsuite's names over hedgerow: change the import, and nothing else of a script.

    from sklearn_crfsuite import CRF, metrics, scorers      →  from hedgerow.compat import CRF, metrics, scorers
    from sklearn_crfsuite.metrics import flat_f1_score      →  from hedgerow.compat.metrics import flat_f1_score
"""

from hedgerow.compat import metrics, scorers
from hedgerow.compat.estimator import CRF

__all__ = ["CRF", "metrics", "scorers"]
