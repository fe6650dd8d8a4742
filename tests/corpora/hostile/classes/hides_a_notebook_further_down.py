"""Right work in a notebook where no file of the assignment's would lie: what is taken from there may be anybody's."""

import json


def make(folder, files, target):
    cell = {"cell_type": "code", "source": files["ops.py"], "metadata": {}, "outputs": [], "execution_count": None}
    (folder / "eve/from/ada").mkdir(parents=True)
    book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "eve/from/ada/homework.ipynb").write_text(json.dumps(book))
    (folder / "eve/notes").mkdir()
