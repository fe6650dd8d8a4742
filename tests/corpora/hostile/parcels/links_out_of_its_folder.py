"""A folder with links that lead up to the gold, into a circle and to nowhere."""

import os


def make(folder, files, target):
    parcel = folder / "parcel"
    parcel.mkdir()
    for name, content in files.items():
        (parcel / name).write_text(content)
    (parcel / "gold").symlink_to(os.path.relpath(target["GOLD"], parcel))
    (parcel / "circle").symlink_to("circle")
    return parcel
