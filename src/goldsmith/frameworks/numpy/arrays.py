"""Arrays of NumPy."""

from __future__ import annotations

import numpy as np

TYPES = (np.ndarray,)
