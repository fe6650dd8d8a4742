"""An archive that is a link to somebody else's."""

import zipfile


def make(folder, files, target):
    (folder / "elsewhere").mkdir()
    with zipfile.ZipFile(folder / "elsewhere" / "theirs.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    parcel = folder / "parcel.zip"
    parcel.symlink_to("elsewhere/theirs.zip")
    return parcel
