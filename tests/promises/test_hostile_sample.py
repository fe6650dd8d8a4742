"""A few attacks in one quick run, so that a wall that is gone is noticed; `make hostile` tries them all, at both levels
of the sandbox and as both users."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from support.hostile_class import TOKEN, Result, Scene, is_safe_here, make_scene, running, secrets_of

pytestmark = [
    pytest.mark.skipif(not is_safe_here(), reason="nothing here is ever run on a machine without Landlock and seccomp"),
]

TRIED = [
    "reads_gold_by_path", "reads_the_parents_memory", "sends_by_tcp", "links_results_to_gold", "forges_results",
    "leaves_a_daemon",
]  # fmt: skip
"""Files, processes, the network, links, forged results, what outlives its run."""


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Scene, Result]]:
    scene = make_scene(tmp_path_factory.mktemp("walls"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SECRET_TOKEN", TOKEN)
        items = {name: scene.hand_in(name) for name in TRIED} | {"right": scene.honest("right")}
        yield scene, scene.grade(items, "graded")
    scene.close()


def test_attacks_gain_nothing_and_learn_nothing(graded: tuple[Scene, Result]) -> None:
    scene, result = graded
    secrets = secrets_of(scene.course)
    for name in TRIED:
        notes = result.told(name)
        if name != "leaves_a_daemon":  # which wants no marks, and does the exercise
            assert result.grades[name].score == 0.0, name
        assert [note for note in notes if "got" in note] == [], name
        assert [secret for secret in secrets if json.dumps(secret)[1:-1] in json.dumps(notes)] == [], name
    assert scene.listeners.heard == []


def test_who_is_honest_beside_them_gets_full_marks(graded: tuple[Scene, Result]) -> None:
    assert (graded[1].grades["right"].outcome, graded[1].grades["right"].score) == ("agrees", 6.0)


def test_nothing_of_them_is_left_running(graded: tuple[Scene, Result]) -> None:
    assert running() == []
