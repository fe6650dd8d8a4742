"""A submission, and a file in it, with names that a log takes for commands."""


def make(folder, files, target):
    home = folder / "::error::x ##[add-mask]y"
    home.mkdir()
    for name, content in files.items():
        (home / name).write_text(content)
    (home / "::warning::x.py").write_text("pass\n")
    return home
