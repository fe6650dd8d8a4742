"""Calls itself until the stack is used up, with no limit of Python's in the way."""

import sys

import kit


def _deeper(function, *rest):
    return function(function, *rest)


def answer(case, x, start=None):
    kit.only_inside()
    if case == "centred":
        return _deeper(_deeper)
    sys.setrecursionlimit(2**31 - 1)
    nested = []
    for _ in range(10**5):
        nested = [nested]
    return nested if case == "scaled" else repr(nested)
