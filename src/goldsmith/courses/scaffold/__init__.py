"""What `init` adds to a course and `new` creates: planned as changes, shown, then written all or not at all.

Nothing here asks or prints, and no file of the user's is overwritten. Texts to start from are in `templates/`.
"""
