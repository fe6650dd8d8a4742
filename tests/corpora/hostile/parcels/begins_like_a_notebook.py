"""A script and a text that begin like notebooks and are none: to find out takes twice as long with every line."""


def make(folder, files, target):
    parcel = folder / "parcel"
    parcel.mkdir()
    head = b"# ---\r\n" + b"# what it is about\r\n" * 200
    (parcel / "ops.py").write_bytes(head + files["ops.py"].encode().replace(b"\n", b"\r\n"))
    (parcel / "README.md").write_bytes(b"---\r\n" + b"title: x\r\n" * 300 + b"---\r\n")
    return parcel
