"""A script that says it is a notebook, of millions of statements, which take a gigabyte for each megabyte to parse."""


def make(folder, files, target):
    parcel = folder / "parcel"
    parcel.mkdir()
    head = "import marimo\n\napp = marimo.App()\n"
    (parcel / "ops.py").write_text(head + "a;" * 8_000_000)
    return parcel
