"""A folder, and files in it, named with control characters, line feeds, markup, and bytes that are no text."""

import os


def make(folder, files, target):
    parcel = folder / "a\x1b[2J\n\u202e=1+1<pre>"
    parcel.mkdir()
    for name, content in files.items():
        (parcel / name).write_text(content)
    for name in (b"\xff\xfe.py", b"a\nb.py", b"\x1b[2J", "\u202egnp".encode(), b"-rf", b"x" * 255):
        with open(os.path.join(os.fsencode(parcel), name), "wb") as file:
            file.write(b"agrees")
    return parcel
