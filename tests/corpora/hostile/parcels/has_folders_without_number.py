"""A tar of thousands of folders with nothing in them."""

import io
import tarfile


def make(folder, files, target):
    path = folder / "parcel.tar.bz2"
    with tarfile.open(path, "w:bz2") as archive:
        for name, content in files.items():
            item = tarfile.TarInfo(name)
            item.size = len(content.encode())
            archive.addfile(item, io.BytesIO(content.encode()))
        for number in range(5200):
            item = tarfile.TarInfo(f"f{number}")
            item.type = tarfile.DIRTYPE
            archive.addfile(item)
    return path
