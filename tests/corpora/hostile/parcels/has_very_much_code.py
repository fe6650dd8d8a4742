"""A folder with the right answer, and megabytes of code beside it that whoever looks for copied code would parse."""


def make(folder, files, target):
    made = folder / "parcel"
    made.mkdir()
    for name, content in files.items():
        (made / name).write_text(content)
    for number in range(60):
        (made / f"more_{number}.py").write_text("# x = f(1)\n# y = 2 +\n\n" * 8000)
    (made / "deep.py").write_text(f"x = {'+'.join(['a(b)'] * 3000)}\n")
    return made
