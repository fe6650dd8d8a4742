"""A source in an encoding that is none of text, so that whoever reads it fails, as if the grader had."""


def make(folder, files, target):
    parcel = folder / "parcel"
    parcel.mkdir()
    (parcel / "ops.py").write_text("# coding: zlib\n" + files["ops.py"])
    return parcel
