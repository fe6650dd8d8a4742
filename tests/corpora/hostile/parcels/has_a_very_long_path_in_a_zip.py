"""A path that can just be unpacked, and not be put where the exercise's files are."""

import zipfile


def make(folder, files, target):
    parcel = folder / "parcel.zip"
    with zipfile.ZipFile(parcel, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.writestr("/".join(["\U00020000" * 61] * 15) + "/more.py", "more = 1\n")
    return parcel
