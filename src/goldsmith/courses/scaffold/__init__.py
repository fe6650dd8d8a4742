"""What `init` adds to a course and `new` creates: planned as changes, shown, then written all or not at all.

Nothing here asks or prints, and no file of the user's is overwritten. Texts to start from are in `templates/`.

What happens in `goldsmith init` and `new`:

1. `courses/scaffold/layout_detection.py` finds where assignments, solutions, tests and gold are, unless a configuration
   says so. Pairs of folders with the same assignments count most; which of two is for students follows from the names
   of files, the names of folders and the TODOs in them. A tie is a `Doubt`: `cli/init.py` asks, else the default holds.
2. `courses/scaffold/init_plan.py` plans one `Change` a file (`courses/scaffold/changes.py`), from what is there: new,
   extended, present, the owner's own, not possible here, by hand. `courses/scaffold/pytest_marker.py` edits text and
   accepts the result only after a parser has read the same settings and the marker from it.
3. `render/scaffold.py` shows the plan; the person agrees, or `--yes` does.
4. `apply` writes, each file by one rename, if the file still is what the plan was made from. If one fails, those before
   it are undone.

`new` plans in the same way (`courses/scaffold/new_plan.py`); the texts are in `scaffold/templates/`, named `.txt`
because they are not Python before their names are filled in.
"""
