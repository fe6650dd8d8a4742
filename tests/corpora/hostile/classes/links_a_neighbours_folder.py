"""A folder in which the assignment's place is a link to a neighbour's work."""


def make(folder, files, target):
    (folder / "eve").mkdir()
    (folder / "eve/hw1").symlink_to("../ada")
