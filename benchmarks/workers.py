"""What a Dask cluster costs: a class judged by threads and by workers of one machine, and what it takes to ship it.

python benchmarks/workers.py [SUBMISSIONS] [JOBS]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from goldsmith.courses.grade.collection import collect
from goldsmith.courses.grade.grade_class import GradingOptions, grade_all
from goldsmith.courses.grade.grader import Grader, rubric_for
from goldsmith.courses.layout.layout import find_course
from goldsmith.engines.dask_cluster import Dask
from goldsmith.engines.engine import Engine, Local
from goldsmith.generate.options import Options
from support.check_course import checked_course, hand_in


def main(count: int, jobs: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        course = checked_course(Path(folder) / "course")
        for index in range(count):
            change = [("x * factor", "x + factor")] if index % 10 == 3 else []
            with (Path(hand_in(course, *change, name=f"class/s{index:03}")) / "ops.py").open("a") as file:
                file.write(f"\n# {index}\n")
        assignment = find_course(course.root).assignment("hw1")
        whole = Path(hand_in(course, name="class/s000")).parent
        items = collect(assignment, [str(whole)], []).items
        cluster = Dask(jobs=jobs)
        engines: dict[str, Engine] = {"threads": Local(jobs), "workers": cluster}
        for name, engine in engines.items():
            rubric = rubric_for(assignment, allow_stale=False)
            grader = Grader(assignment, rubric, Options(seed=42, threads=1, timeout=60), 20, 4, keep=False)
            arrived: list[float] = []
            options = GradingOptions(
                grader,
                items,
                Path(folder) / name,
                engine,
                lambda grade, kept: arrived.append(time.perf_counter()),  # noqa: B023
            )
            began = time.perf_counter()
            grade_all(options)
            each = (arrived[-1] - arrived[0]) / max(1, len(arrived) - 1)
            first = arrived[0] - began
            print(f"{name}: first after {first:.1f} s, then {1000 * each:.0f} ms for each of {len(arrived)}")
        sent = cluster.shipped
        print(
            f"sent once to each of {sent.workers} workers: {sent.files_bytes // max(1, sent.workers)} bytes, open in "
            f"{1000 * sent.files_seconds / max(1, sent.workers):.0f} ms; with each of {sent.items} orders "
            f"{sent.items_bytes // max(1, sent.items)} bytes, answered with {sent.answers_bytes // max(1, sent.items)}"
        )


if __name__ == "__main__":
    given = list(map(int, sys.argv[1:]))
    main(*given, *(40, 2)[len(given) :])
