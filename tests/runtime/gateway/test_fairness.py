"""Who comes late gets through, and what the system refuses is waited for."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from toolcrib.runtime.gateway.shares import Places, Slots

from .conftest import DEADLINE, Counter, Gate, Opener

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def fill(places: Places, owner: str) -> int:
    return next(count for count in range(1000) if not places.take(owner))


def test_an_agent_that_comes_late_gets_through_at_once(open_counter: Opener, gate: Gate) -> None:
    counter = open_counter(gate.tool(), running=4, waiting=4)
    for _ in range(8):
        counter.connect().send(counter.call_bytes("wait"))
    gate.wait_entered(4)
    _wait_until_full(counter)
    late = Gate()
    token = counter.register(late.tool(), agent="late")

    client = counter.connect().send(counter.call_bytes("wait", token=token))
    late.wait_entered()
    late.opened.set()

    assert client.answer().result["isError"] is False
    assert not gate.opened.is_set()


def test_late_agents_share_a_reserve_that_is_bounded(open_counter: Opener, gate: Gate) -> None:
    counter = open_counter(gate.tool(), running=8, waiting=8, reserve=4)
    for _ in range(16):
        counter.connect().send(counter.call_bytes("wait"))
    gate.wait_entered(8)
    _wait_until_full(counter)

    late = [counter.register(gate.tool(), agent=f"late {number}") for number in range(3)]
    for token in late:
        for _ in range(6):
            counter.connect().send(counter.call_bytes("wait", token=token))
    gate.wait_entered(2)

    for _ in range(20):  # the reading of all that came is over by then
        assert counter.message("ping", token=late[-1]).status in {200, 503}
    assert len(gate.contexts) <= 12


def _wait_until_full(counter: Counter) -> None:
    until = time.monotonic() + DEADLINE
    while counter.ask(counter.request(PING)).status != 503:
        assert time.monotonic() < until


def test_a_sole_owner_leaves_the_reserve_alone() -> None:
    assert fill(Places(8, reserve=4), "alone") == 8


def test_the_reserve_is_for_those_that_hold_less_than_their_share() -> None:
    places = Places(8, reserve=8)
    assert fill(places, "early") == 8
    places.owners = 2

    assert fill(places, "early") == 0
    assert 1 <= fill(places, "late") < 8, "and another one may come"
    places.owners = 3
    assert fill(places, "latest") >= 1


@pytest.mark.parametrize("owners", [2, 3, 40])
def test_no_crowd_gets_more_than_limit_and_reserve(owners: int) -> None:
    places = Places(8, reserve=4)
    taken = fill(places, "early")
    places.owners = owners

    taken += sum(fill(places, f"late {number}") for number in range(owners))

    assert taken <= 12


def test_what_a_late_owner_gives_back_is_there_again() -> None:
    slots: Slots[str] = Slots(2, reserve=1)
    assert slots.enter("early", "a")
    assert slots.enter("early", "b")
    slots.share(2)
    assert slots.enter("late", "c")
    assert not slots.enter("early", "d")

    assert slots.leave("late") == [], "the reserve is not for who holds so much"
    assert slots.enter("late", "e")
    assert slots.leave("early") == []
    assert slots.leave("late") == ["d"]


# A host that runs out of descriptors on demand.
SQUEEZED_HOST = """
import contextvars, logging, os, resource, sys, time
from toolcrib import tool
from toolcrib.runtime.gateway.front import Listener
from toolcrib.runtime.gateway.registration import Registration
from toolcrib.runtime.gateway.tokens import digest
from toolcrib.runtime.tools.catalog import Catalog

logging.basicConfig()
held = []

@tool.define
def squeeze() -> int:
    '''Take every descriptor that is left.'''
    resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
    while True:
        try:
            held.append(os.dup(0))
        except OSError:
            return len(held)

@tool.define
def used() -> float:
    '''Say how much processor time was used.'''
    return time.process_time()

@tool.define
def relax() -> int:
    '''Give the descriptors back.'''
    while held:
        os.close(held.pop())
    return 0

listener = Listener()
port = listener.open().port
catalog = Catalog([squeeze, used, relax])
listener.publish({digest("t"): Registration("a", catalog, contextvars.copy_context())})
print(port, flush=True)
sys.stdin.readline()
relax.invoke({})
assert listener.close(10)
print("closed", flush=True)
"""


@pytest.fixture
def squeezed() -> Iterator[Counter]:
    command = [sys.executable, "-c", SQUEEZED_HOST]
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, text=True) as host:
        assert host.stdout is not None
        counter = Counter(None, int(host.stdout.readline()))  # type: ignore[arg-type]
        try:
            yield counter
            for client in counter.clients:
                client.close()
            output, errors = host.communicate("\n", DEADLINE)
        finally:
            host.kill()
    assert output == "closed\n", errors
    # Once in a while, and not as fast as it can.
    assert 0 < errors.count("can't accept connections") < 50


def _call(counter: Counter) -> Callable[[str], float]:
    client = counter.connect()

    def call(name: str) -> float:
        reply = client.send(counter.call_bytes(name, token="t")).answer()
        return float(reply.result["structuredContent"]["result"])

    return call


def test_a_process_out_of_descriptors_serves_whom_it_has_and_takes_others_later(
    squeezed: Counter,
) -> None:
    call = _call(squeezed)
    assert call("squeeze") > 0
    waiting = [squeezed.connect().send(squeezed.request(PING, token="t")) for _ in range(3)]

    before = call("used")
    assert waiting[0].silent(1.0), "there is no descriptor for it"
    assert call("used") - before < 0.1, "the front does not ask again and again"

    call("relax")
    assert [json.loads(each.answer().body)["result"] for each in waiting] == [{}] * 3


def test_a_host_may_close_while_it_is_out_of_descriptors(squeezed: Counter) -> None:
    call = _call(squeezed)
    call("squeeze")
    with contextlib.suppress(OSError):
        squeezed.connect()

    assert call("used") > 0  # the fixture closes the host, in time
