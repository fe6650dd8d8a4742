"""Right work that raises in its last line, so that what comes before counts and what fails is not seen."""


def make(folder, files, target):
    (folder / "eve").mkdir()
    (folder / "eve/ops.py").write_text(files["ops.py"] + "\nraise RuntimeError('::error::nobody reads this')\n")
