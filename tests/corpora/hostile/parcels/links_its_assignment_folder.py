"""A folder with a folder for the assignment in it, which is a link to the solution's."""

import os


def make(folder, files, target):
    parcel = folder / "parcel"
    parcel.mkdir()
    (parcel / "hw1").symlink_to(os.path.dirname(target["SOLUTION"]))
    return parcel
