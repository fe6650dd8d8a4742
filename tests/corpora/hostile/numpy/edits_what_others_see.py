"""Leaves code and data where submissions after it, or the grader, would find them."""

import json
import os
import sys
from pathlib import Path

import kit
import target


def answer(case, x, start=None):
    if kit.once():
        places = [
            *(path for path in sys.path if path),
            os.path.dirname(json.__file__),
            target.TMP,
            target.OTHER,
            target.RESULTS,
            target.SENTINEL,
            target.COURSE,
            f"{target.COURSE}/.goldsmith/grades/hw1",
            os.path.dirname(target.SOLUTION),
            target.GOLD,
            "/tmp",
            "/dev/shm",
            "/var/tmp",
            "/usr/local/lib",
            os.path.expanduser("~root"),
            str(kit.SCRATCH.parent),
            str(kit.SCRATCH.parent / "given"),
            str(kit.SCRATCH.parents[1]),
            str(kit.SCRATCH.parents[2]),
        ]
        own = (str(kit.SCRATCH), str(Path(__file__).parents[3]))
        for place in dict.fromkeys(places):
            if os.path.isdir(place) and not os.path.realpath(place).startswith(own):
                kit.tries(f"write {place}", lambda place=place: Path(place, f"{target.MARK}.py").write_text("evil"))
        kit.tries("edit a package", lambda: open(json.__file__, "ab").close())
        kit.tries("edit goldsmith", lambda: open(sys.modules["goldsmith"].__file__, "ab").close())
        kit.tries("edit another's", lambda: Path(target.OTHER, "ops.py").write_text("evil"))
        kit.tries("read another's", lambda: Path(target.OTHER, "ops.py").read_text())
    return kit.guess(case, x, start)
