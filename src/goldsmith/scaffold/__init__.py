"""What `init` adds to a course and what `new` makes: planned as changes, shown, then written whole or not at all.

Nothing here asks or prints, and nothing that is somebody's own is overwritten. Texts to start from lie in `templates/`.
"""
