"""A source in which one expression negates the next, a hundred thousand times."""


def make(folder, files, target):
    parcel = folder / "parcel"
    parcel.mkdir()
    for name, content in files.items():
        (parcel / name).write_text(content)
    (parcel / "ops.py").write_text(files["ops.py"] + "\n\nDEEP = " + "-" * 100_000 + "1\n")
    return parcel
