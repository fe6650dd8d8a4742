"""What is said about attacks on the walls between submissions, and between a submission and the grader that reads it.

One part of what `test_hostile.py` expects; the attacks are in `hostile/`.
"""

from __future__ import annotations

from pathlib import Path

from goldsmith.gold.load import load_gold
from goldsmith.process.result_log import write_run
from goldsmith.runs.run import Run

SAYS = {
    "links_a_folder_of_results": "exit code 0",
    "links_results_through_proc": "exit code 0",
    "links_step_by_step": "exit code 0",
    "names_results_twice": "exit code 0",
    "puts_folders_and_pipes_where_files_are_read": "exit code 0",
}
PARCELS_SAY = {
    "begins_like_a_notebook": "",
    "has_dense_code_beside": "",
    "has_a_very_long_name_in_a_revision": "a file with a very long name",
    "has_a_very_long_path_in_a_zip": "a very long name",
    "is_a_link_in_a_class": "is a link",
    "is_a_link_to_a_neighbour": "is a link",
    "is_a_link_to_an_archive": "is a link",
    "is_a_link_to_the_solution": "is a link",
    "is_a_notebook_of_empty_cells": "more than 20000 cells",
    "is_a_notebook_of_very_many_statements": "more than 4 MiB",
    "is_in_an_encoding_of_no_text": "could not be imported",
    "links_its_assignment_folder": "points outside it",
    "names_a_branch_after_the_solution": "it has no src/assignments/hw1",
    "puts_a_folder_in_place_of_the_recipe": "generate_fixtures.py is a folder in it",
}


def write_right_results(folder: Path, gold_folder: Path) -> None:
    """Leave in `folder` what a right submission would, for whatever it is asked: to be read by nobody else's link."""
    folder.mkdir(parents=True)
    gold = load_gold(gold_folder)
    for request in ("1", "2", "3", "4"):
        for name in gold:
            for run in ("plain", "repeat", "traced", "float64"):
                write_run(folder / request, name, run, Run(values={"output": gold[name].output}))
