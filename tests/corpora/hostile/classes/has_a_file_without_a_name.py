"""A zip with a file that has no name, so that grading itself would fail and nobody would be at fault."""

import zipfile


def make(folder, files, target):
    with zipfile.ZipFile(folder / "eve.zip", "w") as archive:
        archive.writestr("ops.py", files["ops.py"])
        archive.writestr("NONAME", "x = 1\n")
    content = (folder / "eve.zip").read_bytes()
    (folder / "eve.zip").write_bytes(content.replace(b"NONAME", b"\0ONAME"))
