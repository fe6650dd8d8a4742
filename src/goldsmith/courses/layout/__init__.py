"""The course on disk: its layout, its configuration, its assignments and their solutions.

Nothing here runs code of the course, writes files (but for copying out the example) or knows what gold is.
"""
