"""Many threads read Python source at the same time, as graders do, and none of them disturbs another."""

from __future__ import annotations

import ast
import gc
import re
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import goldsmith
from goldsmith.courses.guard.similarity import SolutionPart, matches
from goldsmith.foundation.syntax import syntax_tree
from goldsmith.source_code.provided import changed_provided

SOURCE = Path(goldsmith.__file__).parent


@pytest.fixture(autouse=True)
def threads_take_turns_inside() -> Iterator[None]:
    """Converting a tree lets other threads run only where garbage is collected meanwhile, by code that waits."""

    def wait(phase: str, info: object) -> None:
        time.sleep(0)

    before = gc.get_threshold()
    gc.callbacks.append(wait)
    gc.set_threshold(200)
    yield
    gc.set_threshold(*before)
    gc.callbacks.remove(wait)


def in_threads(work: Callable[[bytes], object]) -> list[BaseException]:
    texts = [path.read_bytes() for path in sorted((SOURCE / "mutants").rglob("*.py"))]
    assert texts

    def one(text: bytes) -> BaseException | None:
        try:
            work(text)
        except Exception as error:
            return error
        return None

    with ThreadPoolExecutor(8) as pool:
        return [error for error in pool.map(one, texts) if error is not None]


def test_threads_that_parse_at_the_same_time_all_get_their_trees() -> None:
    assert in_threads(syntax_tree) == []


def test_graders_may_look_for_provided_code_at_the_same_time() -> None:
    assert in_threads(lambda text: changed_provided(text, text, [])) == []
    part = SolutionPart("a.f", frozenset("0"))
    assert in_threads(lambda text: matches([part], {"a.py": text})) == []


def test_source_becomes_a_tree_at_one_place_only() -> None:
    for path in SOURCE.rglob("*.py"):
        if path not in (SOURCE / "foundation/syntax.py", SOURCE / "courses/handout/kit_check.py"):  # a kit stands alone
            assert not re.search(r"\bast\.parse\(|PyCF_ONLY_AST", path.read_text()), path


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="other versions count the depth for each tree")
def test_without_the_lock_they_would_not() -> None:
    assert any(isinstance(error, SystemError) for _ in range(5) for error in in_threads(ast.parse))


@pytest.mark.parametrize("source", ["-" * 100_000 + "1", "x" + "+ 1" * 100_000], ids=["nested", "chained"])
def test_source_that_no_parser_can_follow_is_wrong_syntax_and_no_error_of_ours(source: str) -> None:
    with pytest.raises(SyntaxError, match="nested too deeply"):
        syntax_tree(f"y = {source}\n")
