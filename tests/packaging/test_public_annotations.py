"""No public annotation names a type of a library that we build on."""

from __future__ import annotations

import ast
import importlib
import inspect
import sys
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# What applications meet beside the names of `toolcrib` itself.
PUBLIC_MODULES = (
    "toolcrib",
    "toolcrib.errors",
    "toolcrib.messages.events",
    "toolcrib.messages.results",
    "toolcrib.runtime.drivers.interface",
    "toolcrib.runtime.threads.interface",
    "toolcrib.testing",
    "toolcrib.tool",
)


def _typing_only_names(module: types.ModuleType) -> dict[str, object]:
    """Import what the module imports for type checkers only."""
    tree = ast.parse(inspect.getsource(module))
    blocks = [
        node
        for node in tree.body
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    ]
    names: dict[str, object] = {}
    package = module.__name__ if hasattr(module, "__path__") else module.__package__
    for statement in (statement for block in blocks for statement in block.body):
        source = ast.unparse(statement)
        exec(source, {"__package__": package, "__name__": module.__name__}, names)  # noqa: S102 - our own source
    return names


def _hints(owner: type | types.FunctionType) -> dict[str, object]:
    """Return an owner's own annotations; its bases have their own modules."""
    module = sys.modules[owner.__module__]
    known = vars(module) | _typing_only_names(module)
    hints = inspect.get_annotations(owner, globals=known, eval_str=True)
    if not typing.is_typeddict(owner):
        return hints
    # A TypedDict keeps the texts of its annotations as forward references.
    return {name: _referred(hint, known) for name, hint in hints.items()}


def _referred(hint: object, known: dict[str, Any]) -> object:
    text = getattr(hint, "__forward_arg__", None)
    return hint if text is None else eval(text, known)  # noqa: S307 - our own source


def _parts(hint: object) -> Iterator[object]:
    """Yield a type and everything that it is made of."""
    yield hint
    if typing.get_origin(hint) is typing.Literal:
        return
    for part in typing.get_args(hint):
        for inner in part if isinstance(part, list) else [part]:
            yield from _parts(inner)
    origin = typing.get_origin(hint)
    if origin is not None:
        yield origin
    if isinstance(hint, typing.TypeVar) and hint.__bound__ is not None:
        yield hint.__bound__


def _functions(owner: type) -> Iterator[types.FunctionType]:
    for name, member in vars(owner).items():
        if name.startswith("_") and name not in {"__init__", "__call__", "__enter__", "__iter__"}:
            continue
        plain: Any = member.fget if isinstance(member, property) else member
        plain = inspect.unwrap(getattr(plain, "__func__", plain))
        if isinstance(plain, types.FunctionType) and plain.__module__ == owner.__module__:
            yield plain


def _foreign(hint: object) -> bool:
    if isinstance(hint, typing.TypeVar | typing.ParamSpec):
        return False
    if isinstance(hint, str | typing.ForwardRef):
        return True  # a quoted name inside an annotation: nobody can tell what it is
    top = str(getattr(hint, "__module__", "builtins")).partition(".")[0]
    return top not in sys.stdlib_module_names | {"toolcrib", "typing_extensions"}


class _Walk:
    """Goes from public names along their annotations, to whatever they reach."""

    def __init__(self) -> None:
        self.seen: set[object] = set()
        self.foreign: list[str] = []

    def visit(self, value: object) -> None:
        if isinstance(value, type):
            self._visit_class(value)
        elif isinstance(value, types.FunctionType):
            self._visit_hints(value)
        elif isinstance(value, types.ModuleType):
            for name in value.__all__:
                self.visit(getattr(value, name))
        elif typing.get_origin(value) is not None:
            self._visit_hint("an alias", value)

    def _visit_class(self, owner: type) -> None:
        if owner in self.seen or not owner.__module__.startswith("toolcrib"):
            return
        self.seen.add(owner)
        for base in owner.__mro__:
            self._visit_hint(f"{owner.__name__}'s base", base)
        self._visit_hints(owner)
        for function in _functions(owner):
            self._visit_hints(function)

    def _visit_hints(self, owner: type | types.FunctionType) -> None:
        for name, hint in _hints(owner).items():
            if not name.startswith("_"):
                self._visit_hint(f"{owner.__module__}.{owner.__qualname__}, {name}", hint)

    def _visit_hint(self, where: str, hint: object) -> None:
        for part in _parts(hint):
            if _foreign(part):
                self.foreign.append(f"{where}: {part!r}")
            elif isinstance(part, type):
                self._visit_class(part)


@pytest.mark.parametrize("name", PUBLIC_MODULES)
def test_no_public_annotation_names_a_type_of_another_library(name: str) -> None:
    walk = _Walk()
    walk.visit(importlib.import_module(name))

    assert walk.seen
    assert not walk.foreign, "\n".join(walk.foreign)


@pytest.mark.parametrize(
    "source",
    [
        "def visible(request: mcp_types.Tool) -> None: ...",
        "def visible() -> list[dict[str, mcp_types.Tool | None]]: ...",
        "def visible() -> Callable[[mcp_types.Tool], None]: ...",
        "class visible:\n    field: mcp_types.Tool",
        "class visible:\n    def method(self) -> mcp_types.Tool: ...",
        "class visible:\n    @property\n    def method(self) -> mcp_types.Tool: ...",
        "class visible(mcp_types.Tool): ...",
        "class visible(TypedDict):\n    field: mcp_types.Tool",
        "class inner:\n    field: mcp_types.Tool\nclass visible:\n    field: inner",
        "visible = tuple[mcp_types.Tool, ...]",
    ],
)
def test_a_foreign_type_is_found_wherever_it_hides(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "toolcrib_sample.py").write_text(
        "from __future__ import annotations\n"
        "from collections.abc import Callable\n"
        "from typing import TYPE_CHECKING, TypedDict\n"
        "if TYPE_CHECKING:\n    import mcp_types\n"
        + ("import mcp_types\n" if "(mcp_types" in source or "visible =" in source else "")
        + f"{source}\n__all__ = ['visible']\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    walk = _Walk()
    walk.visit(importlib.import_module("toolcrib_sample"))
    monkeypatch.delitem(sys.modules, "toolcrib_sample")

    assert any("mcp_types" in found for found in walk.foreign)
