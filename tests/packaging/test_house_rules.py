"""What the code promises about itself, read from its syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

FILE_LINES = 500
FUNCTION_LINES = 60

# The one home of each library whose names should not spread.
HOMES = {
    "mcp": {"toolcrib.runtime.gateway.protocol", "toolcrib.testing.scripted_provider.mcp_client"},
    "werkzeug": {"toolcrib.runtime.gateway.http"},
    "pykka": {"toolcrib.actors.base"},
}
HOMES["mcp_types"] = HOMES["mcp"]
# Pydantic is the SDK's; besides, a tool may take a model of the application's.
HOMES["pydantic"] = HOMES["mcp"] | {"toolcrib.runtime.tools.types.pydantic_schemas"}
HOMES["pydantic_core"] = HOMES["pydantic"]

# An actor that waits holds up everybody who sends to it.
BLOCKING_FUNCTIONS = {"open", "input", "sleep"}
BLOCKING_METHODS = {"ask", "result", "sleep", "read_text", "read_bytes", "write_text"} | {
    *("write_bytes", "mkdir", "unlink", "rmdir", "rmtree", "rename"),
}
BLOCKING_MODULES = {"subprocess", "socket", "select", "selectors"}
# The one-shot mailbox of the public handles, which do wait, on their caller's thread.
WAITS_FOR_HANDLES = "toolcrib.actors.inbox"
# How the public handle of the whole system asks, on its caller's thread; and how the base
# actor passes on what Pykka's own stop asks, and empties a dead actor's mailbox.
NO_ACTOR_WAITS = {
    ("toolcrib.actors.system", "inbox.ask"),
    ("toolcrib.actors.base", "super().ask"),
    ("toolcrib.actors.base", "self.actor_inbox.get"),
}

# Documented, whatever its name says.
PRIVATE_BY_NAME_ONLY = {"sys._getframe"}
# What every NamedTuple has, under names that can't be those of its fields.
NAMED_TUPLE = {"_fields", "_field_defaults"}

Rule = Callable[[str, ast.Module], Iterator[str]]


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.lineno, node.module or ""


def libraries_away_from_home(module: str, tree: ast.Module) -> Iterator[str]:
    for line, name in _imports(tree):
        homes = HOMES.get(name.partition(".")[0])
        if homes is not None and module not in homes:
            yield f"{module}:{line} imports {name}; its home is {' and '.join(sorted(homes))}"


def blocking_actors(module: str, tree: ast.Module) -> Iterator[str]:
    if not module.startswith("toolcrib.actors") or module == WAITS_FOR_HANDLES:
        return
    for line, name in _imports(tree):
        if name.partition(".")[0] in BLOCKING_MODULES:
            yield f"{module}:{line} imports {name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _blocks(node):
            function = ast.unparse(node.func)
            if (module, function) not in NO_ACTOR_WAITS:
                yield f"{module}:{node.lineno} calls {function}"


def _blocks(call: ast.Call) -> bool:
    match call.func:
        case ast.Name(id=name):
            return name in BLOCKING_FUNCTIONS
        case ast.Attribute(attr="get"):
            # A mapping's `get` names a key, a future's or a queue's does not.
            return not call.args or any(word.arg in {"timeout", "block"} for word in call.keywords)
        case ast.Attribute(attr=name):
            return name in BLOCKING_METHODS
    return False


def private_names_of_others(module: str, tree: ast.Module) -> Iterator[str]:
    own = _defined(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _is_private(node.attr):
            mine = node.attr in own or ast.unparse(node.value) in {"self", "cls", "super()"}
            documented = ast.unparse(node) in PRIVATE_BY_NAME_ONLY or node.attr in NAMED_TUPLE
            if not mine and not documented:
                yield f"{module}:{node.lineno} uses {ast.unparse(node)}"
        elif isinstance(node, ast.ImportFrom):
            private = [alias.name for alias in node.names if _is_private(alias.name)]
            yield from (f"{module}:{node.lineno} imports {name}" for name in private)


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__")


def _defined(tree: ast.Module) -> set[str]:
    """Return the names that a module gives: to functions, fields and attributes."""
    names = {function.name for function in _functions(tree)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def long_functions(module: str, tree: ast.Module) -> Iterator[str]:
    for function in _functions(tree):
        lines = (function.end_lineno or function.lineno) - function.lineno + 1
        if lines > FUNCTION_LINES:
            yield f"{module}:{function.lineno} {function.name} has {lines} lines"


def unfinished_work(module: str, tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and "NotImplemented" in ast.unparse(node):
            yield f"{module}:{node.lineno} raises NotImplementedError"


def absolute_imports_of_ourselves(module: str, tree: ast.Module) -> Iterator[str]:
    for line, name in _imports(tree):
        if name.partition(".")[0] == "toolcrib":
            yield f"{module}:{line} imports {name}; inside the package imports are relative"


RULES: tuple[tuple[Rule, str, str], ...] = (
    (libraries_away_from_home, "toolcrib.agent", "import mcp.types"),
    (libraries_away_from_home, "toolcrib.tool", "def f():\n    from pydantic import BaseModel"),
    (libraries_away_from_home, "toolcrib.runtime.gateway.front", "from werkzeug import http"),
    (libraries_away_from_home, "toolcrib.actors.run", "import pykka"),
    (blocking_actors, "toolcrib.actors.run", "ref.ask(message)"),
    (blocking_actors, "toolcrib.actors.run", "future.get()"),
    (blocking_actors, "toolcrib.actors.run", "future.get(timeout=5)"),
    (blocking_actors, "toolcrib.actors.run", "future.result(1)"),
    (blocking_actors, "toolcrib.actors.run", "import time\ntime.sleep(1)"),
    (blocking_actors, "toolcrib.actors.run", "open('file')"),
    (blocking_actors, "toolcrib.actors.run", "path.read_text()"),
    (blocking_actors, "toolcrib.actors.run", "import subprocess"),
    (blocking_actors, "toolcrib.actors.run", "from socket import socket"),
    (private_names_of_others, "toolcrib.agent", "tool._plan"),
    (private_names_of_others, "toolcrib.agent", "from .tool import _plan"),
    (long_functions, "toolcrib.tool", "def f():\n" + "    pass\n" * FUNCTION_LINES),
    (unfinished_work, "toolcrib.tool", "raise NotImplementedError"),
    (absolute_imports_of_ourselves, "toolcrib.tool", "from toolcrib.errors import ToolcribError"),
)


@pytest.mark.parametrize("rule", dict.fromkeys(rule for rule, _, _ in RULES))
def test_the_code_keeps_the_rule(rule: Rule, modules: dict[str, Path]) -> None:
    broken = [
        offence
        for module, path in modules.items()
        for offence in rule(module, ast.parse(path.read_text(encoding="utf-8")))
    ]

    assert not broken, "\n".join(broken)


@pytest.mark.parametrize(("rule", "module", "offence"), RULES)
def test_the_rule_finds_what_breaks_it(rule: Rule, module: str, offence: str) -> None:
    assert list(rule(module, ast.parse(offence)))


@pytest.mark.parametrize("harmless", ["names.get(key)", "names.get(key, 0)", "listener.open()"])
def test_an_actor_may_call_what_does_not_block(harmless: str) -> None:
    assert not list(blocking_actors("toolcrib.actors.run", ast.parse(harmless)))


def test_no_file_is_longer_than_a_reader_bears(root: Path, source_files: tuple[str, ...]) -> None:
    lengths = {
        name: len((root / name).read_text(encoding="utf-8").splitlines())
        for name in source_files
        if name.endswith(".py")
    }

    assert not {name: lines for name, lines in lengths.items() if lines > FILE_LINES}
