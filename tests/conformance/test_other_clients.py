"""The official TypeScript clients and the Inspector: every tool, every outcome."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from toolcrib.runtime.tools.catalog import Catalog

from .conftest import HERE, MODULES, Gateway, Node

INSPECTOR = MODULES / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
CALLS: dict[str, dict[str, Any]] = {
    "echo": {"text": "hé\u2028"},
    "refuse": {"key": "ISSUE-1"},
    "crash": {},
    "hang": {},
    "much": {"length": 200_000},
    "test_simple_text": {"more": 1},
    "nope": {},
}
FAILURES = {
    "refuse": "not_found",
    "crash": "internal_error",
    "hang": "deadline_exceeded",
    "much": "internal_error",
    "test_simple_text": "invalid_input",
}


def code(result: dict[str, Any]) -> str | None:
    """The code of a tool that failed, as the model reads it."""
    if not result["isError"]:
        return None
    (block,) = result["content"]
    failed: str = json.loads(block["text"])["code"]
    return failed


@pytest.mark.timeout(180)
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_the_typescript_clients_see_every_tool_and_outcome(
    node: Node, gateway: Gateway, catalog: Catalog, version: str
) -> None:
    done = node.run(
        HERE / "clients.mjs",
        version,
        gateway.url,
        json.dumps(CALLS),
        TOOLCRIB_BEARER=gateway.token,
    )

    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert [each["name"] for each in said["tools"]] == list(catalog.names)
    results = said["results"]
    assert results["echo"]["structuredContent"] == {"text": "hé\u2028"}
    assert not results["echo"]["isError"]
    assert {name: code(results[name]) for name in FAILURES} == FAILURES
    assert "Unknown tool" in results["nope"]["refused"]
    assert "secret" not in done.stdout


def inspect(
    node: Node, gateway: Gateway, *arguments: str, token: str = ""
) -> subprocess.CompletedProcess[str]:
    return node.run(
        INSPECTOR,
        *("--cli", gateway.url, "--transport", "http"),
        *("--header", f"Authorization: Bearer {token or gateway.token}"),
        *arguments,
    )


@pytest.mark.timeout(180)
def test_the_inspector_lists_every_tool(node: Node, gateway: Gateway, catalog: Catalog) -> None:
    done = inspect(node, gateway, "--method", "tools/list")

    assert done.returncode == 0, done.stderr
    assert [each["name"] for each in json.loads(done.stdout)["tools"]] == list(catalog.names)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("name", ["echo", *FAILURES])
def test_the_inspector_gets_every_outcome(node: Node, gateway: Gateway, name: str) -> None:
    given = [f"{key}={value}" for key, value in CALLS[name].items()]
    options = ["--tool-arg", *given] if given else []

    done = inspect(node, gateway, "--method", "tools/call", "--tool-name", name, *options)

    assert done.stdout, done.stderr
    assert code(json.loads(done.stdout)) == FAILURES.get(name)
    assert "secret" not in done.stdout + done.stderr


@pytest.mark.timeout(180)
def test_the_inspector_is_refused_with_a_wrong_token(node: Node, gateway: Gateway) -> None:
    done = inspect(node, gateway, "--method", "tools/list", token="wrong")

    assert done.returncode != 0
    assert "auth_required" in done.stdout + done.stderr
    assert gateway.token not in done.stdout + done.stderr
