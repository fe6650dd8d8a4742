"""A zip whose compressed bytes are none, so that grading itself would fail and nobody would be at fault."""

import zipfile


def make(folder, files, target):
    with zipfile.ZipFile(folder / "eve.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("ops.py", files["ops.py"])
    content = bytearray((folder / "eve.zip").read_bytes())
    content[36:44] = b"\xff" * 8
    (folder / "eve.zip").write_bytes(content)
