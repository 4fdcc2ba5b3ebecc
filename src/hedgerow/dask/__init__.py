"""TreeCRF and LinearCRF that Dask's workers train, to the bits of the ordinary ones. `pip install hedgerow[dask]`"""

from hedgerow.dask.estimators import LinearCRF as LinearCRF
from hedgerow.dask.estimators import TreeCRF as TreeCRF

__all__ = ["LinearCRF", "TreeCRF"]
