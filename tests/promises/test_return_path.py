"""Whatever a child leaves behind, the parent follows nothing, hangs nowhere, stays small, and gives no points for it.

`make soak` tries ten thousand generated children; these are a few of them, and proof that the rest could fail.
"""

from __future__ import annotations

import pytest

from goldsmith.sandbox.capabilities import probe
from support.generated_worker import PLAIN, Player
from support.return_path import KINDS, ReturnPath

pytestmark = [
    pytest.mark.skipif(not probe().sufficient, reason=f"grading is refused here: {probe().name}"),
]
IN_THIS_PROCESS, AS_PROCESSES = range(1000, 1020), range(2000, 2003)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> ReturnPath:
    return ReturnPath(tmp_path_factory.mktemp("return-path"))


def test_what_random_children_leave_behind_earns_nothing_and_harms_nothing(path: ReturnPath) -> None:
    found = path.try_all(IN_THIS_PROCESS, processes=False)
    assert found.problems == []
    assert found.tried == len(IN_THIS_PROCESS)
    assert found.outcomes.keys() <= {"differs", "could-not-run"}


def test_so_do_children_that_are_processes_and_end_as_they_like(path: ReturnPath) -> None:
    found = path.try_all(AS_PROCESSES, processes=True)
    assert found.problems == []
    assert found.children >= found.tried == len(AS_PROCESSES)


# --- whether all this could fail ------------------------------------------------------------------------------------


def test_what_is_damaged_is_worth_something_as_it_was(path: ReturnPath) -> None:
    """Results of honest children, put back by the same stand-in, earn what they earned."""
    assert path.earned == {"wrong": 0.0, "mostly": 2.0, PLAIN: 6.0}
    for processes in (False, True):
        found = path.honest_again(processes=processes)
        assert (found.score, found.outcome) == (6.0, "agrees")


def test_points_are_noticed(path: ReturnPath, monkeypatch: pytest.MonkeyPatch) -> None:
    """Children that damage right answers earn something now and then."""
    monkeypatch.setattr(path, "known", path.known | dict.fromkeys(KINDS, path.known[PLAIN]))
    assert any("and is worth" in text for text in path.try_all(range(3000, 3010), processes=False).problems)


def test_looks_outside_are_noticed(path: ReturnPath, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = Player.begin

    def look_and_begin(player: Player, kind: str) -> None:
        player.baits.secret.read_bytes()
        begin(player, kind)

    monkeypatch.setattr(Player, "begin", look_and_begin)
    (problem,) = path.try_all([3010], processes=False).problems
    assert problem == "3010: something outside was read or changed"
