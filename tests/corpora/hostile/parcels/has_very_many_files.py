"""A zip with more files than anybody hands in."""

import zipfile


def make(folder, files, target):
    path = folder / "parcel.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        for number in range(5200):
            archive.writestr(f"f/{number}", b"")
    return path
