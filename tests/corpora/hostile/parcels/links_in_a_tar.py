"""A tar with a symbolic link to a folder outside, and a file that is written through it."""

import io
import tarfile


def make(folder, files, target):
    path = folder / "parcel.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        link = tarfile.TarInfo("out")
        link.type, link.linkname = tarfile.SYMTYPE, target["SENTINEL"]
        archive.addfile(link)
        for name, content in {**files, "out/precious": "evil"}.items():
            item = tarfile.TarInfo(name)
            item.size = len(content.encode())
            archive.addfile(item, io.BytesIO(content.encode()))
    return path
