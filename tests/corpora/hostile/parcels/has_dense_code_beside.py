"""A folder with the right answer, and code beside it that takes a gigabyte for each megabyte to parse."""


def make(folder, files, target):
    parcel = folder / "parcel"
    parcel.mkdir()
    for name, content in files.items():
        (parcel / name).write_text(content)
    for number in range(9):
        (parcel / f"a{number}.py").write_text("a;" * 500_000)
    return parcel
