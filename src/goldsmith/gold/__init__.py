"""Gold: its files, manifest, checks, documentation and publication.

Nothing here knows about terminals, the folders of a course, or pytest. NumPy and torch are imported only by the
functions that use arrays.
"""
