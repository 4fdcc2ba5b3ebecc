"""Online use of a linear chain: one pass over the sequences at hand, call after call, while the model grows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hedgerow import objectives
from hedgerow.data.dataset import Dataset
from hedgerow.data.extension import begin, extend
from hedgerow.errors import InputError
from hedgerow.legend import FloatArray
from hedgerow.models.constraints import legal_space
from hedgerow.models.costs import cost_table
from hedgerow.models.extension import extend_layout, extend_space
from hedgerow.models.layout import lay_out
from hedgerow.models.linear_training import ONLINE, Plan
from hedgerow.scorers.chain import ChainLayout
from hedgerow.scorers.linear import check_numbers
