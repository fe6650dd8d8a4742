"""A zip with `..`, an absolute path and a backslash in its names."""

import zipfile


def make(folder, files, target):
    path = folder / "parcel.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.writestr(f"../{target['MARK']}.py", "evil")
        archive.writestr(f"{target['SENTINEL']}/precious", "evil")
        archive.writestr("..\\..\\escaped.py", "evil")
    return path
