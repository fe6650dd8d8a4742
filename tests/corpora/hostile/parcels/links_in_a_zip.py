"""A zip with a symbolic link to the solution in place of a file."""

import stat
import zipfile


def make(folder, files, target):
    path = folder / "parcel.zip"
    with zipfile.ZipFile(path, "w") as archive:
        link = zipfile.ZipInfo("ops.py")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, target["SOLUTION"])
    return path
