"""Brings settings, a recipe and an environment file of its own, which must not be taken for the course's."""


def make(folder, files, target):
    home = folder / "brings"
    home.mkdir()
    own = {"goldsmith.toml": "forbid = []\n", "pyproject.toml": "[tool.goldsmith]\nseed = 1\n", ".env": "A=1\n"}
    for name, content in {**files, **own, "conftest.py": "raise SystemExit(0)\n"}.items():
        (home / name).write_text(content)
    return home
