"""Private copies of a course with the solution in place, proofs that a tree is unchanged, and the course's lock.

Nothing here knows what runs in a workspace, or what gold is.
"""
