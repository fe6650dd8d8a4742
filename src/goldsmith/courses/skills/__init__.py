"""Skills for coding agents: the texts that goldsmith ships, and their installation in a course.

`texts/<name>/SKILL.md` are the skills themselves. They call goldsmith's commands and say how to read the answers; they
decide nothing that goldsmith decides. Nothing here runs code of the course or prints.

What happens in `goldsmith skills install`:

`courses/skills/bundled.py` reads `skills/texts/<name>/SKILL.md` and makes a shortcut for each;
`courses/skills/signature.py` adds the last line, with version and digest. `courses/skills/installed_state.py` says what
is in each place of the course, `courses/skills/install.py` writes what is missing or outdated. The texts hold no logic:
`tests/docs/test_skill_texts.py` parses every command line in them against the real command line, and finds every field
of their tables (those headed "in `goldsmith …`") in what the command prints.
"""
