"""Nothing is left of a run that ended in the middle of a tool."""

from __future__ import annotations

import pytest

from .conftest import Scene

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]

SOON = 5.0
GRANDCHILD = "sleep 987"


def test_a_cancelled_run_ends_and_says_so(broken: Scene) -> None:
    error = broken.host.turns[0]["error"]
    assert error["reason"] == "cancelled"


@pytest.mark.parametrize("signal", [1, 2], ids=["SIGTERM", "SIGKILL"])
def test_a_run_whose_provider_was_killed_ends_and_says_so(broken: Scene, signal: int) -> None:
    error = broken.host.turns[signal]["error"]
    assert error["reason"] in {"provider_died", "provider_failed"}
    assert error["message"]
    assert len(broken.host.calls) == 3  # and was not run again


@pytest.mark.parametrize("act", [0, 1, 2], ids=["cancel", "SIGTERM", "SIGKILL"])
def test_no_process_of_the_tree_outlives_a_broken_run(broken: Scene, act: int) -> None:
    assert GRANDCHILD in str(broken.host.all("call")[act]["tree"])
    gone = broken.host.gone[act]
    assert "left processes" not in gone, gone
    assert gone["processes"] < SOON, gone


def test_the_clone_goes_with_the_agent(broken: Scene) -> None:
    assert broken.host.code == 0, broken.host.stderr
    assert broken.host.all("closed")[0]["clones"] == []
    assert broken.host.gone[-1]["clones"] < SOON


def test_a_host_that_is_killed_leaves_no_process_and_no_clone(broken: Scene) -> None:
    dead = broken.hosts[1]
    assert dead.code == -9
    assert dead.turns == []
    assert GRANDCHILD in str(dead.all("call")[0]["tree"])
    (gone,) = dead.gone
    assert gone.get("processes", 99) < SOON, gone
    assert gone.get("clones", 99) < SOON, gone
