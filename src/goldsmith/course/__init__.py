"""Where things are: the course's layout, its configuration, its assignments and their solutions.

Nothing here runs code of the course, writes files or knows what gold is.
"""
