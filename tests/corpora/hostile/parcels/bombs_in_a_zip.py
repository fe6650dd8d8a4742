"""A zip of a few kilobytes that unpacks to gigabytes."""

import zipfile


def make(folder, files, target):
    path = folder / "parcel.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        with archive.open("data.bin", "w", force_zip64=True) as file:
            for _ in range(300):
                file.write(b"\0" * 2**20)
    return path
