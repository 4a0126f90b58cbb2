"""The client of the benchmark of the gateway: wrk, in a process of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from .gateway_requests import Request
from .gateway_servers import Server

__all__ = ["Sample", "loaded", "wrk"]

_SCRIPT = Path(__file__).with_suffix(".lua")


@dataclass(frozen=True, slots=True)
class Sample:
    """What one run of the client saw."""

    rate: float
    """Requests a second."""
    p50: float
    """The median of the answers' times, in microseconds."""
    p99: float
    """The 99th percentile of them, in microseconds."""
    cpu: float
    """The server's processor time for a request, in microseconds."""


def wrk() -> str:
    """Return the program.

    Raises:
        SystemExit: It is not installed.
    """
    program = shutil.which("wrk")
    if program is None:
        msg = "The client, wrk, is not installed. On Debian: apt-get install wrk"
        raise SystemExit(msg)
    return program


def loaded(server: Server, asked: Request, connections: int, seconds: int) -> Sample:
    """Send requests, one after the other on each connection.

    Raises:
        RuntimeError: Not every request got a good answer.
    """
    headers = "\n".join(f"{name}: {value}" for name, value in asked.headers.items())
    variables = os.environ | {"BENCH_HEADERS": headers, "BENCH_BODY": asked.body}
    options = ["-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s", "-s", str(_SCRIPT)]
    before = server.cpu()
    done = subprocess.run(
        [wrk(), *options, f"http://127.0.0.1:{server.port}"],
        env=variables,
        capture_output=True,
        text=True,
        check=True,
    )
    used = server.cpu() - before
    figures = json.loads(done.stdout.partition("RESULT ")[2])
    if figures["refused"] or figures["broken"]:
        msg = f"{server.name} did not answer all requests: {figures}"
        raise RuntimeError(msg)
    requests = figures["requests"]
    return Sample(
        rate=requests * 1e6 / figures["microseconds"],
        p50=figures["p50"],
        p99=figures["p99"],
        cpu=used * 1e6 / max(1, requests),
    )
