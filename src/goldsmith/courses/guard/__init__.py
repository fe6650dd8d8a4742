"""`goldsmith guard`: look for solutions in what students get. It only reads and reports; nothing is changed or run.

What happens in `goldsmith guard`:

`courses/guard/scan.py` gathers what must not be seen: parts of solutions that students have to write, without what the
starter shows of them; hashes of gold and of all other private files. `courses/guard/public_files.py` lists what
students get, `courses/guard/nested_files.py` opens the files in them within bounds, `courses/guard/extract_code.py`
finds code in files of any kind, `courses/guard/code_fragments.py` cuts it into pieces, identified by short runs of
their syntax tree without names, and `courses/guard/leaks.py` says which piece holds how much of what. What a solution
leaves to students, too, what another assignment's starter gives, and statements that everybody writes alike are not
looked for. `courses/guard/class_folders.py` makes one finding of a folder of submissions.
"""
