"""A source of millions of statements, which takes gigabytes to parse."""


def make(folder, files, target):
    parcel = folder / "parcel"
    parcel.mkdir()
    (parcel / "ops.py").write_text(files["ops.py"] + "0\n" * 5_000_000)
    return parcel
