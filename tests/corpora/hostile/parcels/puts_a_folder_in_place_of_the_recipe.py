"""A folder that is called like the recipe, which then has no place: as if the grader had failed."""

RECIPE = "generate_fixtures.py"


def make(folder, files, target):
    parcel = folder / "parcel"
    (parcel / RECIPE).mkdir(parents=True)
    for name, content in files.items():
        (parcel / name).write_text(content)
    (parcel / RECIPE / "more.py").write_text("more = 1\n")
    return parcel
