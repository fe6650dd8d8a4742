"""Imports another assignment, its solution and variants, by every name that a course has for them."""

import importlib

import kit

NAMES = ("src.assignments.hw2.other", "private.solutions.hw1.ops_solution", "private.solutions.hw2.other_solution",
         "private.solutions.hw1.variants.other.ops_solution", "src.assignments.hw1.staff.answers", "staff.answers",
         "tests.internal.test_hw1")


def _imported(name):
    try:
        return importlib.import_module(name).MARK
    except ImportError as error:
        raise PermissionError(str(error)) from None


def answer(case, x, start=None):
    if kit.once():
        for name in NAMES:
            kit.tries(name, lambda name=name: _imported(name))
    return kit.guess(case, x, start)
