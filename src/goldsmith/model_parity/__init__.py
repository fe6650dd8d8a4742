"""`parity`: two implementations of the same model, run on the same inputs and judged side by side.

Nothing here runs a model. Both sides are asked as `runs/implementation.py` says: one in this process is `runs/live/`,
one in a process of its own is `process_side`.

What happens in `goldsmith.parity` and `goldsmith parity`:

1. `parity_api.py` makes an `Implementation` (`runs/implementation.py`) of each: `runs/live/live_side.py` runs a model
   of this process, on a copy or put back as it was (`frameworks/torch/models.py`: tensors are exchanged, never
   written over).
2. `model_parity/parity.py` asks both sides, in order, and `model_parity/judge.py` judges their values, which runs
   nothing. `model_parity/carry_weights.py` has the reference's weights put into the candidate (`weights/`, as for a
   submission) and tries other arrangements where the two differ then. Where neither names nor rules say where they go,
   `weights/guesses.py` guesses: it makes units of both models' weights (`weights/units.py`), all layers at once, and
   pairs them (`weights/unit_pairs.py`) by what their names are for (`weights/roles.py`) or by the order of calls, in a
   layout that shapes and kinds allow (`weights/unit_fits.py`).
   `guess_score.py` counts the modules that agree by a guess. Where both keep their own weights, `own_weights.py` looks
   for those that hold the same numbers (`weights/held_numbers.py`).
3. `model_parity/both_sides.py` runs both in their own dtype and in float64, traced; `model_parity/output_pairs.py` says
   which outputs correspond. `model_parity/noise.py` runs the reference again with disturbed rounding, and
   `gold/calibration.py` makes tolerances of that. `decide` of `judge/decision.py` decides, as for a case of a course.
4. `model_parity/module_pairs.py` pairs modules by weights, name, adapter, value and class,
   `model_parity/aligned_calls.py` aligns what they take and return (`given_inputs.py` sets aside what only one of them
   was given from outside, `input_forms.py` compares masks and tables in another form); calls of `forward` by its name
   are seen, too (`frameworks/torch/observers.py`). `model_parity/modules.py` hands the calls to `judge/trace_pairs.py`
   and `judge/localisation.py`, which judge them as they judge a submission's, and has modules run alone on the
   reference's inputs. A pair of calls is compared in `TracePair.add`; nothing else needs its tensors, but for calls
   made alone.
5. `goldsmith parity` does the same with each side in a process of its own: `model_parity/process_side.py` starts it and
   asks, `runs/live/serve.py` answers, with a `LiveSide` of what `runs/live/build_target.py` has imported and built.
   Requests are lines of JSON; runs come back in the same log as replays (`process/result_log.py`), in a private folder.
6. `model_parity/first_wrong.py` says what leads to the line of the first wrong module, `brief.py` prints little else
   (`--brief`). `model_parity/words.py` and `judge/words.py` have the words, `render/parity.py` and
   `render/parity_html.py` the renderings.
"""
