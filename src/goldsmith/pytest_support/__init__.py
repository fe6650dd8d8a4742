"""The pytest plugin's work: gold in tests. The plugin's hooks and fixtures only delegate to here.

Modules are imported when they are first needed: a pytest run that never uses gold must not wait for NumPy.

What happens in `gold.check` of a test:

1. `pytest_support/check_values.py` finds the check's place (`kept_place.py`) and reads it (`kept_gold.py`): a file of
   text (`one_file.py`, `gold/value_text.py`), or a gold folder of one case with the manifest, hashes and files of all
   other gold.
2. Values are copied into plain ones, or refused by name (`keepable.py`): data frames as dicts of columns (`tables.py`),
   text, dates and objects as labels (`plain_labels.py`, `gold/labels.py`), which `compared_values.py` compares.
   `path_patterns.py` says which keys are ignored or have limits of their own. A function is run by `call_values.py` on
   the inputs and weights that were kept; it is one `Implementation` of a parity, `runs/live/call_under_test.py`, which
   `pytest_plugin.py` hands over, since nothing in `pytest_support/` may import `worker/`. `comparison/` compares,
   `decide` of `judge/decision.py` decides by the results in its own dtype and in float64, and `differences.py` has the
   words.
3. What is missing, or differs under `--gold-update`, is recorded: `model_parity/noise.py` measures the function's
   noise, `kept_gold.py` stages the value in the run's private folder, `kept_report.py` takes down what changes
   (`kept_changes.py`). What is missing is put in its place at once; updates wait for the end of the run
   (`session_end.py`), where `updates.py` may refuse all of them, and `prune.py` deletes what no test checks any more.
   What a failed check was given is kept by `obtained.py`.
"""
