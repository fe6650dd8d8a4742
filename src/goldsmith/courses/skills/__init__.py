"""Skills for coding agents: the texts that goldsmith ships, and their installation in a course.

`texts/<name>/SKILL.md` are the skills themselves. They call goldsmith's commands and say how to read the answers; they
decide nothing that goldsmith decides. Nothing here runs code of the course or prints.
"""
