"""A source with null bytes, in an encoding that decodes to something else."""


def make(folder, files, target):
    parcel = folder / "parcel"
    parcel.mkdir()
    for name, content in files.items():
        (parcel / name).write_text(content)
    (parcel / "ops.py").write_bytes(b"# coding: utf-7\n+AGE-\0" + files["ops.py"].encode() + b"\xff\xfe")
    return parcel
