"""Private copies of a course, the solution in place and back, proofs that a tree is unchanged, the course's lock.

What runs in a workspace is not known here, nor what gold is.
"""
