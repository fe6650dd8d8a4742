"""The only notebook of a class, so that the class would be its submission, which imports what a neighbour wrote."""

import json


def make(folder, files, target):
    source = "from ada.ops import *\nfrom ops import *\n"
    cell = {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], "execution_count": None}
    (folder / "eve").mkdir()
    book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "eve/homework.ipynb").write_text(json.dumps(book))
