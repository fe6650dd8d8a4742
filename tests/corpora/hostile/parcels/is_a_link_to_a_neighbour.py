"""What is handed in is itself a link, to what somebody else has handed in."""


def make(folder, files, target):
    other = folder / "somebody"
    other.mkdir()
    for name, content in files.items():
        (other / name).write_text(content)
    parcel = folder / "parcel"
    parcel.symlink_to("somebody")
    return parcel
