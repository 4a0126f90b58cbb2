"""How long a ping takes while other calls work: a client in a process of its own."""

from __future__ import annotations

import http.client
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["ping_times"]

_LOADS: dict[str, tuple[str, dict[str, object]] | None] = {
    "nothing": None,
    "a handler that computes": ("compute", {"rounds": 2_000_000}),
    "20,000 objects as arguments": (
        "count_rows",
        {
            "rows": [
                {"id": n, "name": f"a row with number {n}", "open": True} for n in range(20_000)
            ]
        },
    ),
    "a result of 4 MiB": ("give_rows", {"count": 80_000}),
}


def ping_times(seconds: float = 6.0) -> dict[str, dict[str, float]]:
    """Return the median and the 99th percentile of a ping's seconds, for each load."""
    return {name: _beside(load, seconds) for name, load in _LOADS.items()}


def _beside(load: tuple[str, dict[str, object]] | None, seconds: float) -> dict[str, float]:
    # Each in a host of its own: what one load leaves in memory, the garbage
    # collector would look through during the next.
    script = Path(__file__).with_name("gateway_host.py")
    with subprocess.Popen(
        [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as host:
        assert host.stdin is not None
        assert host.stdout is not None
        place = json.loads(host.stdout.readline())
        _send(_connection(place), place, "ping", {})  # the first one loads the SDK
        result = _under(place, load, seconds)
        host.stdin.close()
    return result


def _under(
    place: Mapping[str, Any], load: tuple[str, dict[str, object]] | None, seconds: float
) -> dict[str, float]:
    with _repeated(place, load) as calls:
        connection = _connection(place)
        times: list[float] = []
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            began = time.perf_counter()
            _send(connection, place, "ping", {})
            times.append(time.perf_counter() - began)
    cuts = statistics.quantiles(times, n=100)
    return {"p50": cuts[49], "p99": cuts[98], "pings": len(times), "calls": len(calls)}


@contextmanager
def _repeated(
    place: Mapping[str, Any], load: tuple[str, dict[str, object]] | None
) -> Iterator[list[int]]:
    """Make one call after the other in a thread, which mostly waits."""
    over, answered = threading.Event(), []

    def work() -> None:
        assert load is not None
        connection = _connection(place)
        params = {"name": load[0], "arguments": load[1]}
        while not over.is_set():
            body = _send(connection, place, "tools/call", params)
            assert b'"isError":false' in body[-200:], body[:200]
            answered.append(len(body))

    thread = threading.Thread(target=work)
    if load is not None:
        thread.start()
    yield answered
    over.set()
    if load is not None:
        thread.join()


def _connection(place: Mapping[str, Any]) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", place["port"], timeout=60)


def _send(
    connection: http.client.HTTPConnection,
    place: Mapping[str, Any],
    method: str,
    params: Mapping[str, object],
) -> bytes:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {
        "Host": f"127.0.0.1:{place['port']}",
        "Authorization": f"Bearer {place['token']}",
        "Content-Type": "application/json",
    }
    connection.request("POST", "/mcp", _encoded(message), headers)
    response = connection.getresponse()
    body = response.read()
    assert response.status == 200, (response.status, body[:200])
    return body


_known: dict[int, bytes] = {}


def _encoded(message: Mapping[str, Any]) -> bytes:
    # A large body is made once: making it would hold up the pings of this process.
    params = message["params"]
    if "arguments" not in params:
        return json.dumps(message).encode()
    key = id(params["arguments"])
    if key not in _known:
        _known[key] = json.dumps(message).encode()
    return _known[key]
