"""A folder whose file is a symbolic link to the solution."""


def make(folder, files, target):
    parcel = folder / "parcel"
    parcel.mkdir()
    (parcel / "ops.py").symlink_to(target["SOLUTION"])
    return parcel
