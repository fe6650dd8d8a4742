"""Where the gold is, for tests that read it with plain `torch.load`."""

from pathlib import Path

import pytest

FIXTURES = Path(__file__).parent / "fixtures"


@pytest.fixture
def gold_folder(request):
    """The folder of the assignment whose tests these are: test_scratch_1.py reads fixtures/scratch-1/."""
    return FIXTURES / request.path.stem.removeprefix("test_").replace("_", "-")
