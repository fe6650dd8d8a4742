"""A tar that names one folder over a million times, which costs its reader half a minute."""

import gzip
import tarfile


def make(folder, files, target):
    item = tarfile.TarInfo("the same folder")
    item.type = tarfile.DIRTYPE
    with gzip.open(folder / "eve.tar.gz", "wb", 1) as archive:
        for _ in range(1_200):
            archive.write(item.tobuf() * 1_000)
