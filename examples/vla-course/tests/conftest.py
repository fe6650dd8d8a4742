"""Makes the code of every assignment importable by its file's name: `from backbone import RMSNorm`."""

import sys
from pathlib import Path

ASSIGNMENTS = Path(__file__).parent.parent / "src" / "assignments"

for folder in sorted(ASSIGNMENTS.iterdir()):
    if folder.is_dir() and str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
