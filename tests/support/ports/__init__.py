"""Pairs of models as different people write them: a reference in the style of a large library, and a port of it in
another style that takes the name of one `mistake` to make. `pairs.py` lists them."""
