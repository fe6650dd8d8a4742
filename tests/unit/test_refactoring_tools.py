"""`make behaviour` sees a change of a word or a digit; `make lint` refuses what grows and keeps what shrinks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import behaviour
import pytest
import ratchets

KEPT = {"torch": {"a.py": 1}, "imports": {"torch": 12}, "closures": {"judge": 30}, "walk": {"check, parent": 90}}


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("torch", {"a.py": 1, "b.py": 1}),
        ("imports", {"torch": 13}),
        ("closures", {"judge": 31}),
        ("walk", {"check, parent": 99}),
    ],
)
def test_what_grows_is_refused_by_name(kind: str, change: dict[str, int]) -> None:
    (problem,) = ratchets.worse(KEPT, KEPT | {kind: change})
    assert "b.py" in problem or "and it was" in problem


@pytest.mark.parametrize(
    ("kind", "change"),
    [("torch", {}), ("imports", {"torch": 11}), ("closures", {"judge": 29}), ("walk", {"check, parent": 80})],
)
def test_what_shrinks_is_to_be_kept(kind: str, change: dict[str, int]) -> None:
    assert not list(ratchets.worse(KEPT, KEPT | {kind: change}))
    assert ratchets.is_better(KEPT, KEPT | {kind: change})
    assert not ratchets.is_better(KEPT, KEPT)


@pytest.fixture
def said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    """What the program is made to say, by a name; compared in a folder of its own."""
    found: dict[str, object] = {"one": {"why": "off by 1.5e-3 of its size", "seconds": 3}}

    def section() -> Iterator[behaviour.Subject]:
        for name, document in found.items():
            yield behaviour.Subject(name, "differs", document)

    monkeypatch.setattr(behaviour, "ROOT", tmp_path)
    monkeypatch.setattr(behaviour, "KEPT", tmp_path / "kept")
    monkeypatch.setattr(behaviour, "HERE", tmp_path / "here")
    monkeypatch.setattr(behaviour, "SECTIONS", {"some": section})
    assert behaviour.main(["--accept"]) == 0
    return found


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({"one": {"why": "off by 1.5e-3 of its size", "seconds": 9}}, False),
        ({"one": {"why": "off by 1.6e-3 of its size"}}, True),
        ({"one": {"why": "wrong by 1.5e-3 of its size"}}, True),
        ({"two": {}}, True),
    ],
)
def test_a_change_of_a_word_or_a_digit_is_seen_and_times_are_not(
    said: dict[str, object], change: dict[str, object], differs: bool
) -> None:
    said.update(change)
    assert behaviour.main([]) == differs
    assert behaviour.main(["--accept"]) == 0
    assert behaviour.main(["some"]) == 0


def test_another_machine_sees_words_and_not_its_own_digits(said: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "here" / "some.json").unlink()
    said["one"] = {"why": "off by 1.6e-3 of its size"}
    assert behaviour.main([]) == 0
    (tmp_path / "here" / "some.json").unlink()
    said["one"] = {"why": "wrong by 1.6e-3 of its size"}
    assert behaviour.main([]) == 1


def test_a_section_that_is_not_there_is_named() -> None:
    assert behaviour.main(["words"]) == 2
