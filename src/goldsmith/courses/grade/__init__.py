"""Grading: turn verdicts into scores, and scores into the files that people use.

Submissions are collected and opened with suspicion, and judged in a sandbox by an engine. Rubrics, scores, feedback and
tables are pure functions over verdicts. Whether a submission is right is decided in `check`. All text that comes from a
submission passes through `redaction` before it is shown.

What happens in `goldsmith grade`:

1. `courses/grade/collection.py` says which folder is one submission and which a class, and accounts for every entry of
   a class; `courses/grade/submissions.py` opens each, follows no link in it, and copies it once;
   `courses/grade/archives.py` unpacks archives without trusting them, and `courses/submissions/size_limits.py` counts
   folders, archives and revisions while they are listed.
2. An engine (`engines/`) runs a `Grader` (`courses/grade/grader.py`) on each: in threads here, or on a Dask cluster's
   workers, which are sent what that takes (`courses/grade/rounds.py`). What it needs in a process it opens once
   (`courses/grade/open_contexts.py`).
   `courses/grade/grade_class.py` has it run in two rounds, `replay` and `conclude`, so that nobody is given values of
   gold's before everybody's cases are judged; `check/replayed.py` is what lies between. What failed for want of
   something shared (`check/shortages.py`) runs again, alone (`courses/grade/turns.py`).
3. A grader looks for a cached verdict by a hash of everything that it depends on; else `check/` judges the submission,
   with every child in a `Confinement` (`sandbox/`): it may read Python and what it is given, and write into its own
   workspace. `sandbox/packages.py` says which packages it may import, and `sandbox/interpreter.py` starts a fork server
   that imports nothing else; `workspace/selection.py` says which files of the course go into a workspace. Workspaces
   and inputs are in one temporary folder (`workspace/copies.py`). Where bubblewrap works, the fork server and its
   children see that folder and Python, and no other files. Modules that run alone on gold's inputs get theirs one at a
   time. The fork server measures what each child uses, with all that it started (`worker/supervisor.py`,
   `process/descendants.py`, `process/resource_use.py`), ends what exceeds its quota, and says why. A child that is slow
   to measure delays no other. Where cgroups can be made, each child is moved into one before it runs anything
   (`process/launcher.py`, `sandbox/cgroups.py`), and the kernel limits what is quicker than any measurement. What comes
   back is read within the bounds of `judge/bounds.py`, each with its unit and reason.
4. `courses/grade/class_results.py` scores each verdict as it comes (`scoring.py`), and writes feedback and, at the end,
   the class, with what the run was made of and what it found (`courses/grade/run_record.py`). With `--html`, pages are
   made of what `courses/grade/error_steps.py` leaves of a verdict (`html_report/class_page.py`).
   `courses/grade/hints.py` makes what a model or a tutor may know, out of closed lists, and `courses/grade/regrade.py`
   says whose points moved since an earlier run (`earlier_run.py`) and because of what. `courses/grade/output_folder.py`
   keeps what is in the folder already, from earlier runs or from a person.
5. With `--fresh`, `courses/grade/secret_gold.py` makes gold from a secret seed in a private copy of the course first.
6. With `--shard`, only a record is written. `courses/grade/merge_shares.py` makes one record of those of all shares
   (`foundation/shares.py`), from which the class is written as in step 4.

Points for Canvas go through `courses/grade/canvas.py`: students are matched with submissions before anything is graded,
and cells are replaced by their place in the text (`courses/grade/csv_cells.py`), so that all other bytes stay.
"""
