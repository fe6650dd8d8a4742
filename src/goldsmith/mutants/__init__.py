"""`goldsmith rigor`: put one realistic mistake at a time into the solution, and report which ones the gold catches.

`check` judges a mutant's run, as it judges any submission.

What happens in `goldsmith rigor`:

1. `mutants/mutants.py` walks through what students have to write, and asks every operator (`mutants/operators/`,
   registered by `mutants/registry.py`) what it would put there. `mutants/source.py` splices it into the file's own
   bytes; what changes more than one line, or nothing, is dropped.
2. `mutants/cache.py` says which findings of earlier runs still hold: one by a case holds as long as that case does.
3. `mutants/solution_baseline.py` runs the solution itself as its mutants will be run. It must agree. Which lines each
   case runs (`instruments/coverage.py`) and how long it takes decide which cases a mutant is tried on, and in which
   order.
4. `mutants/measure.py` tries several at once, in threads that wait for children of one fork server.
   `mutants/mutant_run.py` replays a mutant case by case; `check/` judges each as it ends, and the first case that sees
   the mutant ends the run.
5. What no case sees runs under conditions that the recipe does not have (`worker/perturbations.py`), and so does the
   solution. `mutants/equivalence.py` measures how far the two are apart: nothing anywhere is equivalent, else the
   condition is the advice.
6. `mutants/right_answers.py` has the solution rewritten in ways that change nothing (`source_code/rewriting/`); the
   same runs say which of these the gold accepts.
7. `mutants/baselines.py` measures the internal tests and a plain comparison on the same mutants. `render/rigor.py`
   shows it all.
8. What people are told follows from `mutants/record.py` alone, which also merges the records of shares.
"""
