"""`pack`: an assignment with its gold, ready to grade submissions elsewhere; without solutions.

What runs there is `run_pack.py`, from the wheel of this goldsmith that every pack holds. It grades as `goldsmith grade`
does, by the same code.

What happens in `goldsmith pack`:

1. `courses/packs/contents.py` asks whether gold is fresh, gathers what a workspace would get
   (`workspace/selection.py`), gold, settings and a private recipe, and has the guard look for solutions in it. Which
   stubs the solution leaves as they are is written down by name, since grades depend on it (`check/provided_code.py`).
2. `courses/packs/requirements.py` lists packages with their versions, `courses/packs/wheel.py` makes a wheel of the
   goldsmith that is running.
3. `courses/packs/pack.py` adds the place's scripts (`packs/templates/`); `courses/packs/archive.py` writes archives
   that are the same for the same files.
4. There, `courses/packs/run_pack.py` makes a `Grader` as `cli/grade.py` does, has `grade_all` grade one submission into
   a private folder, and hands over the one file that the place reads.

A bundle for Classroom 50 is public. `courses/packs/classroom50.py` puts a kit into it (`courses/handout/`), with the
items of the rubric that the kit decides; there, `courses/packs/run_classroom50.py` judges by the kit, and
`courses/grade/classroom50.py` writes the result.
"""
