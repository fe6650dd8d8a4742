"""A zip of a kilobyte, packed by bzip2, of which every few bytes unpack to a megabyte."""

import zipfile


def make(folder, files, target):
    path = folder / "parcel.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        with archive.open("data.bin", "w", force_zip64=True) as file:
            for _ in range(400):
                file.write(b"\0" * 2**20)
    return path
