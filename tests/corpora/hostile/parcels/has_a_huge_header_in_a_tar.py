"""A tar of a few kilobytes with a PAX header of forty megabytes, which whoever lists it would read whole."""

import io
import tarfile


def make(folder, files, target):
    path = folder / "parcel.tar.gz"
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for name, content in {**files, "data": ""}.items():
            item = tarfile.TarInfo(name)
            item.size = len(content.encode())
            item.pax_headers = {"comment": "x" * 40_000_000} if name == "data" else {}
            archive.addfile(item, io.BytesIO(content.encode()))
    return path
