"""Notebooks as Python modules, by their definitions: read cells, leave out what is no definition, keep track of lines.

Nothing of a notebook is run here, and no kernel is started.
"""
