"""Hostile submissions to a course that lets sockets in, `loopback = true` under `[grade]`: they talk to nobody."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from goldsmith.sandbox import private_network
from support.course import wait_until
from support.hostile_class import TOKEN, Result, Scene, attacks, is_safe_here, make_scene, running, secrets_of

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not is_safe_here(), reason="nothing here is ever run on a machine without Landlock and seccomp"),
    pytest.mark.skipif(bool(private_network.why_not()), reason=f"no private network: {private_network.why_not()}"),
]

AT_ONCE = ["listens_for_another_submission", "calls_another_submission"]
TRIED = [*AT_ONCE, *(name for name in attacks("loopback") if name not in AT_ONCE)]


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Scene, Result]]:
    scene = make_scene(tmp_path_factory.mktemp("loopback"), loopback=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SECRET_TOKEN", TOKEN)
        items = {name: scene.hand_in(name, "loopback") for name in TRIED} | {"right": scene.honest("right")}
        yield scene, scene.grade(items, "graded")
    scene.close()


@pytest.mark.parametrize("name", TRIED)
def test_nobody_is_reached_and_nothing_is_gained(graded: tuple[Scene, Result], name: str) -> None:
    scene, result = graded
    notes = result.told(name)
    assert (result.grades[name].outcome != "agrees", result.grades[name].score) == (True, 0.0)
    assert [note for note in notes if "got" in note] == [], "went through"
    assert [note for note in notes if "error" in note and not note["refused"]] == [], "did not even try"
    assert [secret for secret in secrets_of(scene.course) if json.dumps(secret)[1:-1] in json.dumps(notes)] == []
    assert result.grades[name].seconds < 60


def test_what_waits_in_connections_counts_as_memory(graded: tuple[Scene, Result]) -> None:
    said = {case.why for case in graded[1].grades["keeps_memory_in_sockets"].cases}
    assert [text for text in said if "took more than 512 MiB of memory together" in text], said


def test_nobody_outside_heard_anything(graded: tuple[Scene, Result]) -> None:
    assert graded[0].listeners.heard == []


def test_who_is_honest_beside_them_gets_full_marks(graded: tuple[Scene, Result]) -> None:
    assert (graded[1].grades["right"].outcome, graded[1].grades["right"].score) == ("agrees", 6.0)


def test_nothing_of_them_is_left_running(graded: tuple[Scene, Result]) -> None:
    wait_until(lambda: not running())


@pytest.mark.long
def test_without_walls_two_of_them_do_meet_and_servers_are_reached(graded: tuple[Scene, Result]) -> None:
    """So it is the walls that keep them apart, and these tests would notice if they were gone."""
    scene, folder = graded[0], graded[0].handed_in
    scene.handed_in = scene.folder / "without walls"
    scene.handed_in.mkdir()
    names = [*AT_ONCE, "reaches_for_the_machines_servers"]
    try:
        found = scene.grade({name: scene.hand_in(name, "loopback") for name in names}, "open", sandboxed=False)
    finally:
        scene.handed_in = folder
    assert [note for note in found.told("listens_for_another_submission") if "got" in note]
    assert [note for note in found.told("calls_another_submission") if "got" in note]
    assert scene.listeners.heard
    scene.listeners.heard.clear()
