"""Check a submission: replay it against gold, and find out what is wrong with it.

Its code only ever runs in child processes, which are given gold's inputs and weights and never gold's outputs.

What happens in `goldsmith check`:

1. For an assignment `courses/submissions/open_submission.py` finds what was submitted, for a recipe by itself
   `check/implementations.py`; `courses/submissions/file_choice.py` says which file takes which place; recipe and
   adapter are the course's own. `check/check.py` opens the gold, which must be neither missing nor stale, and makes a
   workspace without solutions, gold and internal tests.
2. `check/replay_workspace.py` writes gold's inputs and weights, and nothing else of gold, into it; weights that a model
   computes are left out, as `recipe/computed_weights.py` found them when gold was recorded. `check/replay_strategy.py`
   decides what is run, and under which conditions (`runs/conditions.py`): every case once, in other layouts of the
   adapter's where that may be why it is wrong; then what gave gold's bits again, what came near in float64
   (`frameworks/torch/rounding.py`), what is wrong traced. All requests go to one worker process
   (`process/worker_channel.py`), which writes the results down (`process/result_log.py`); the parent copies them
   (`check/replay_results.py`), opened beneath a folder that it has held open since before the child started, following
   no link (`process/untrusted_files.py`, `foundation/beneath.py`). Children are started by a fork server
   (`process/fork_client.py`), which watches them (`worker/supervisor.py`) and forks them from a zygote
   (`worker/zygote.py`). The zygote has imported torch, knows no more of gold than what all children are given
   (`worker/payload_cache.py`), and is never told what a child will do. One that dies costs the case it was at; one that
   is late by processor time, or idle (`process/clocks.py`), is ended. `worker/failure_reasons.py` says why a case
   failed, by where it did; what the recipe imports and a submission lacks is `recipe/missing_parts.py`.
3. In the child, `frameworks/torch/load.py` puts gold's weights into the submission's models as `weights/transplant.py`
   plans it (by name, by rule, else by `weights/matching.py`), and brings weights and gradients back under gold's names.
   `worker/adapter_calls.py` calls it as the adapter says.
4. `judge/case.py` compares in the parent, which never imports any of that code; what is still to be run,
   `check/replay_strategy.py` says. At the end it sets aside what agrees only because its tolerance is as large as
   itself.
5. For cases that differ, `judge/traces.py` reads both traces (`instruments/module_traces.py`: modules by hooks, methods
   and functions by `instruments/own_calls.py`), `judge/trace_pairs.py` pairs their calls, `judge/call_limits.py` says
   how far each may be off, `judge/localisation.py` judges each in place, or alone on gold's inputs
   (`worker/isolated_calls.py`, in an order that gives nothing away), forwards and, if need be, backwards
   (`frameworks/torch/numerics.py`). What it takes to run calls alone is in `check/isolated_runs.py`, which hands
   judging one function. `judge/attribution.py` leads through all cases, `judge/blame.py` says who is to blame: by
   evidence, by value (`frameworks/torch/observers.py`), or because nothing else is left. `judge/parts.py` says what
   that means for each part, by gold's record of which case runs what: where a case that differs did not show a part to
   be right, it does not count as right (`unseen`); `check/places.py` finds the line. `check/corrected_parts.py` runs
   failing cases again with the solution's own parts in the place of others (`check/solution_parts.py` compiles them,
   `worker/corrected_imports.py` puts them in place), and `judge/corrections.py` searches for the fewest with which they
   agree. What fails because of a function that nobody has written is told as that (`judge/unwritten_code.py`); what a
   stub is, is in `source_code/stubs.py`. Parts without a case of their own are called in isolation once their cases
   pass (`check/parts_without_case.py`); if that result is wrong, a traced run shows whether the submission uses them
   (`judge/part_use.py`).
6. If provided code was changed (`source_code/provided.py` says what that is), `check/provided_code.py` puts the
   starter's own back (`source_code/provided_edits.py`), and what then agrees is `provided-changed`. A notebook
   (`courses/submissions/notebook_modules.py` says which of the starter's files it stands for) is an ordinary module
   from the moment that it is placed: `Placement.read` and the workspace (`workspace/copies.py`) get the module that
   `courses/notebooks/convert.py` makes of it. `courses/notebooks/statements.py` parses cell by cell,
   `courses/notebooks/definitions.py` decides what is kept, and what a line of the module is in the notebook is known
   from there on: `check/places.py` puts it into failures and places.
7. In `goldsmith grade`, `check/grading_sandbox.py` says what a submission may read and use. Where a case could not run
   and no submitted line is to blame, `check/recipe_failures.py` asks how the solution does there
   (`courses/grade/grader.py` runs it, apart from all submissions), and `check/denials.py` says what was denied.
8. `judge/words.py` has the words, `render/verdict.py` and `courses/grade/verdict_markdown.py` the two renderings.
"""
