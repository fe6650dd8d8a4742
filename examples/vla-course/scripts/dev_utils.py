"""A thin door to goldsmith for staff who are used to these options; exit codes are goldsmith's.

python3 scripts/dev_utils.py --inject ASSIGNMENT
python3 scripts/dev_utils.py --reset ASSIGNMENT
python3 scripts/dev_utils.py --list
python3 scripts/dev_utils.py --verify-clean
"""

import argparse
import subprocess
import sys
from pathlib import Path

COURSE = Path(__file__).resolve().parent.parent


def main():
    parser = argparse.ArgumentParser(description="Put solutions in place and take them away again.")
    door = parser.add_mutually_exclusive_group(required=True)
    door.add_argument("--inject", metavar="A", help="put the solution of A in the starter's place")
    door.add_argument("--reset", metavar="A", help="take it away again")
    door.add_argument("--list", action="store_true", help="the assignments, and what is injected")
    door.add_argument("--verify-clean", action="store_true", help="fail when any solution is visible")
    chosen = parser.parse_args()
    if chosen.inject:
        command = ["inject", chosen.inject]
    elif chosen.reset:
        command = ["reset", chosen.reset]
    else:
        command = ["status"] if chosen.list else ["guard"]
    return subprocess.run([sys.executable, "-m", "goldsmith", *command, "--course", str(COURSE)]).returncode


if __name__ == "__main__":
    sys.exit(main())
