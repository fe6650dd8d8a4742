"""What is true of most libraries: the answers of a framework that gives none of its own, by the names of its modules.

Nothing here knows a library: each class is made for one, and asks that through the seam.
"""
