"""`handout`: make a kit with which students check their own work, without the answers, and judge work by it.

What happens in `goldsmith handout`:

1. `courses/handout/make_kit.py` takes fresh gold and a recipe that students may see. `courses/handout/case_sketches.py`
   takes from each case its inputs and weights, and sketches its records, their references and its traced calls
   (`gold/sketches/sketch.py`), with as many sums as `gold/sketches/privacy.py` allows; what may have none is left out,
   by name. Nothing else of gold is read into a kit.
2. Cases are left out until it is small enough; `gold/kit_files.py` encodes it, every array and sketch once;
   `gold/publish.py` swaps it in.
3. `check.py` in the kit is `courses/handout/kit_check.py`. Where goldsmith is installed, it calls
   `courses/handout/judge_kit.py`: `courses/handout/kit_gold.py` makes a gold of the kit, whose values are sketches
   (`gold/trace_tensors.py`), and `check/` judges by it as by any other. `comparison/sketched.py` compares a record with
   a sketch, `judge/traces.py` a traced tensor.
4. `courses/guard/kits.py` says whether a kit holds what no kit may.
"""
