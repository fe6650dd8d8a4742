"""Waiting that a byte in a pipe ends."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from goldsmith.foundation.signals import pause


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    yield reader, writer
    os.close(reader)
    os.close(writer)


def test_a_byte_in_the_pipe_ends_a_pause_and_only_that_one(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    os.write(writer, b"..")
    assert pause(600, reader)
    assert not pause(0.01, reader)


def test_a_pause_without_a_byte_ends_by_itself(pipe: tuple[int, int]) -> None:
    assert not pause(0.01, pipe[0])
    assert not pause(0.01)
