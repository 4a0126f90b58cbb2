"""The official conformance suites against a real gateway."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from .conftest import HERE, MODULES, Gateway, Node

Checks = dict[str, list[dict[str, Any]]]

RUNS = (
    ("conformance-0.1", ()),
    ("conformance-0.2", ("--spec-version", "2025-11-25")),
    ("conformance-0.2", ("--spec-version", "2026-07-28")),
)
# What a server of tools has to pass, in the revisions that know it.
APPLICABLE = {
    "server-initialize",
    "ping",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-error",
    "dns-rebinding-protection",
}


def run(node: Node, gateway: Gateway, suite: str, options: tuple[str, ...], out: Path) -> Checks:
    """Run a suite; return each scenario's checks."""
    done = node.run(
        "--import",
        HERE / "bearer.mjs",
        MODULES / suite / "dist" / "index.js",
        "server",
        *("--url", gateway.url, "--suite", "all", "--output-dir", out),
        *options,
        TOOLCRIB_BEARER=gateway.token,
    )
    checks: Checks = {}
    for file in out.glob("*/checks.json"):
        # The folder's name is the scenario's, between "server-" and the time.
        name = re.sub(r"^server-|-20\d\d-.*", "", file.parent.name)
        checks[name] = json.loads(file.read_text(encoding="utf-8"))
    assert checks, done.stdout + done.stderr
    assert gateway.token not in done.stdout + done.stderr
    return checks


@pytest.mark.timeout(180)
@pytest.mark.parametrize(("suite", "options"), RUNS, ids=lambda each: "".join(each[-1:]))
def test_every_check_passes_that_a_server_of_tools_can_pass(
    node: Node, gateway: Gateway, tmp_path: Path, suite: str, options: tuple[str, ...]
) -> None:
    reasons = json.loads((HERE / "expected_failures.json").read_text(encoding="utf-8"))
    expected = {each for checks in reasons.values() for each in checks}

    scenarios = run(node, gateway, suite, options, tmp_path)

    checks = [check for each in scenarios.values() for check in each]
    failed = {
        check["id"]: check.get("errorMessage") for check in checks if check["status"] == "FAILURE"
    }
    ran = {check["id"] for check in checks if check["status"] != "SKIPPED"}
    assert failed.keys() - expected == set(), failed
    assert (expected & ran) - failed.keys() == set(), "what passes now is expected to fail"
    modern = options[-1:] == ("2026-07-28",)
    assert scenarios.keys() >= APPLICABLE - ({"server-initialize", "ping"} if modern else set())


def test_every_routing_header_is_validated(node: Node, gateway: Gateway, tmp_path: Path) -> None:
    options = ("--spec-version", "2026-07-28", "--scenario", "http-header-validation")

    (checks,) = run(node, gateway, "conformance-0.2", options, tmp_path).values()

    assert [each["status"] for each in checks] == ["SUCCESS"] * 14
