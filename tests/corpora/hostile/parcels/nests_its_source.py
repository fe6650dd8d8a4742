"""A source so deep that whoever parses it runs out of stack."""


def make(folder, files, target):
    parcel = folder / "parcel"
    parcel.mkdir()
    for name, content in files.items():
        (parcel / name).write_text(content)
    deep = "\n\ndef deep(x):\n    return " + "x" + ".y" * 100_000 + "\n"
    (parcel / "ops.py").write_text(files["ops.py"] + deep)
    return parcel
