"""What tests share: throw-away courses, real terminals and processes, generated workers.

NumPy is imported here, before anything else imports it, with one thread for its linear algebra: the threads of two
pytest workers take the cores from each other and spin. Nothing of it stays in the environment.
"""

import os

_NAME = "OPENBLAS_NUM_THREADS"
_before = os.environ.get(_NAME)
os.environ[_NAME] = "1"
import numpy  # noqa: E402, F401

if _before is None:
    del os.environ[_NAME]
else:
    os.environ[_NAME] = _before
