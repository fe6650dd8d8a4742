"""A folder whose own name is no text in any encoding."""

import os
from pathlib import Path


def make(folder, files, target):
    parcel = os.path.join(os.fsencode(folder), b"\xff\xfe-ada")
    os.mkdir(parcel)
    for name, content in files.items():
        with open(os.path.join(parcel, name.encode()), "w") as file:
            file.write(content)
    return Path(os.fsdecode(parcel))
