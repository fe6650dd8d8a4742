"""Generation: the nine steps from a solution to published gold, and whether gold is still fresh.

Parses no arguments and prints nothing: `cli` and `render` do that.

What happens in `goldsmith generate scratch-1`:

1. `cli/generate.py` finds the course, chooses, asks what is to be asked, takes the course's lock (`workspace/lock.py`)
   and calls `generate/pipeline.py`. From here on nothing is asked but whether gold may be replaced, at the very end,
   once or case by case (`cli/review.py`).
2. `generate/ensure_recipe.py` checks the recipe's syntax, or has one drafted: `generate/draft_parts.py` lists what
   students write, `drafts/` (in a child) finds out how it is called and writes and proves the cases, each part in a
   fork of its own (`drafts/alone.py`): inputs within what is said (`drafts/contracts.py`), replayed, and tried on other
   right solutions (`drafts/other_solutions.py`, from `source_code/rewriting/`). What gold refuses all the same is taken
   out again (`generate/refusals.py`). `generate/interface_check.py` refuses a solution that drifted from its starter
   (`generate/starter_diff.py`). `generate/sources.py` hashes solution, starter and recipe *before* the run.
3. `workspace/copies.py` makes two equal private copies with the solution's files in place
   (`courses/layout/solutions.py` says which file goes where), in private temporary folders (`workspace/temporary.py`).
4. `process/launcher.py` starts two children with everything set that must be set before an interpreter starts: hash
   seed, threads, cuBLAS.
5. `worker/run_job.py` runs the recipe as `__main__` would run. `goldsmith.main()` inside it calls
   `worker/record_session.py`, which seeds, runs and writes case after case, and reads each file back. The two sides
   talk through JSON files (`process/messages.py`); a missing `result.json` is never taken for a finished run. At the
   same time a third child builds the starter's models (`worker/build_models.py`), unless fresh gold shows that they are
   known to fit. Cases that accept variants of the solution are recorded from those, too (`generate/variants.py`). Where
   there is gold already, cases draw as usual, and then recorded inputs and weights take the place of what came out
   differently (`recipe/reused_draws.py`), as long as a case's own code is the same (`source_code/case_code.py`,
   `generate/previous_gold.py`).
6. `generate/two_runs.py` puts both runs side by side, `gold/checks.py` judges: pure functions over facts
   (`gold/facts.py`), no array in sight; `generate/refusals.py` says what would accept a refusal.
   `generate/compare_with_previous.py` compares every case with the gold that is there (`gold/drift.py`): same bits,
   within noise, or moved. For the cases that moved, `generate/measure_tolerances.py` has two more children replay the
   solution on its own gold under conditions that must not matter (`worker/tolerance_trials.py`,
   `frameworks/torch/rounding.py`, `instruments/call_noise.py`), and `gold/calibration.py` makes tolerances of
   what came out. `generate/contents.py` puts the cases that stay and those that are rewritten together.
7. `gold/manifest.py` and `gold/readme.py` describe it in a staging folder next to its place (`gold/publish.py`).
   `gold/trivial_answers.py` tries what costs nothing to return against every record; then a copy of the solution is
   checked against it in the grading sandbox (`check/solution_copy.py`; passed in by the command, since `check/` is a
   layer above `generate/`).
8. Starter and solution are compared with their snapshots; then the staging folder is exchanged with the old gold by one
   atomic rename.
9. `render/summary.py` prints it, `render/json_output.py` as JSON.

`goldsmith record parity_cases.py` is the same way without a course. A command begins with a `Target`
(`targets/target.py`): whose gold it is, its settings, where its files are and where they go, all as data.
`courses/layout/resolve.py` makes it of an `Assignment` (`courses/layout/layout.py`) or of a recipe by itself; nothing
below the commands asks a course, and `make lint` checks that. A recipe by itself has no starter to compare with and no
solution to put in place: `workspace/copies.py` gives it its own folder instead of a copy, and
`recipe/in_place_imports.py` finds its modules, from their sources, with what `--with` says in the place of some
(`targets/replacements.py`). What it ran on is known once it has run: `worker/imported_code.py` reports it,
`generate/imported_sources.py` hashes it, and refuses what changed meanwhile.

`goldsmith verify --reproduce`, `goldsmith diff` and `generate --check` use `dry_run` of `generate/pipeline.py`: the
same steps into a temporary folder, with nothing written into the course and nothing measured.
`generate/change_cause.py` says what caused a difference: it replays the solution as it is and, from git
(`generate/old_sources.py`), as it was.
"""
