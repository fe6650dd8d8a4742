"""A tar of a few kilobytes with a file whose name has forty million letters."""

import io
import tarfile


def make(folder, files, target):
    path = folder / "parcel.tar.xz"
    with tarfile.open(path, "w:xz", format=tarfile.GNU_FORMAT, preset=1) as archive:
        for name, content in {**files, "x" * 40_000_000: ""}.items():
            item = tarfile.TarInfo(name)
            item.size = len(content.encode())
            archive.addfile(item, io.BytesIO(content.encode()))
    return path
