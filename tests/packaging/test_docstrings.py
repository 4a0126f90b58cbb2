"""Every public name says what it is."""

from __future__ import annotations

import ast
import dataclasses
import enum
import importlib
import inspect
import itertools
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from toolcrib import errors
from toolcrib.errors import ToolcribError


def _is_public(module: str) -> bool:
    return not any(part.startswith("_") for part in module.split("."))


def _described(body: list[ast.stmt]) -> set[str]:
    """Return the names that a string follows, in a module or a class."""
    return {
        target.id
        for statement, following in itertools.pairwise(body)
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        for target in _targets(statement)
    }


def _targets(statement: ast.stmt) -> Iterator[ast.Name]:
    found = statement.targets if isinstance(statement, ast.Assign) else ()
    for target in (*found, getattr(statement, "target", None)):
        if isinstance(target, ast.Name):
            yield target


def _bare_module(module: ModuleType, tree: ast.Module) -> Iterator[str]:
    if not module.__doc__:
        yield module.__name__
    described = _described(tree.body)
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    functions = {
        node.name: node
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assigned = {target.id for node in tree.body for target in _targets(node)}
    for name in getattr(module, "__all__", ()):
        where = f"{module.__name__}.{name}"
        value = getattr(module, name)
        if name in classes:
            yield from _bare_class(where, value, classes[name])
        elif name in functions:
            if not inspect.getdoc(value):
                yield where
        elif name in assigned and name not in described:
            yield where


def _bare_class(where: str, value: type, node: ast.ClassDef) -> Iterator[str]:
    docstring = _docstring(value)
    if not docstring:
        yield where
    for name, member in vars(value).items():
        plain = inspect.unwrap(getattr(member, "__func__", member))
        documented = inspect.isroutine(plain) or isinstance(plain, property)
        if not name.startswith("_") and documented and not inspect.getdoc(plain):
            yield f"{where}.{name}"
    described = _described(node.body)
    inherited = {name for base in value.__mro__[1:] for name in inspect.get_annotations(base)}
    for name in _fields(value, node):
        if name in inherited:
            continue
        if name not in described and not re.search(rf"^\s*{name}:", docstring, re.MULTILINE):
            yield f"{where}.{name}"


def _docstring(value: type) -> str:
    """Return the class's own; a dataclass without one gets its signature in its place."""
    made = dataclasses.is_dataclass(value) and (value.__doc__ or "").startswith(
        f"{value.__name__}("
    )
    return "" if made else value.__doc__ or ""


def _fields(value: type, node: ast.ClassDef) -> Iterator[str]:
    if not dataclasses.is_dataclass(value) and not issubclass(value, enum.Enum):
        return
    for statement in node.body:
        yield from (t.id for t in _targets(statement) if not t.id.startswith("_"))


def _bare(module: str, path: Path) -> list[str]:
    return list(
        _bare_module(importlib.import_module(module), ast.parse(path.read_text(encoding="utf-8")))
    )


def test_every_public_name_has_a_docstring(modules: dict[str, Path]) -> None:
    bare = [
        name
        for module, path in modules.items()
        if _is_public(module)
        for name in _bare(module, path)
    ]

    assert not bare, "\n".join(bare)


def test_every_public_module_lists_its_names(modules: dict[str, Path]) -> None:
    silent = [
        module
        for module, path in modules.items()
        if _is_public(module)
        and path.stem != "__init__"
        and "__all__" not in vars(importlib.import_module(module))
    ]

    assert not silent


def test_a_bare_name_of_any_kind_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    source = '''
import dataclasses, enum
__all__ = ["CONSTANT", "Data", "Kind", "Plain", "function"]
CONSTANT = 1
def function(): ...
class Plain:
    """Said."""
    def method(self): ...
    @property
    def value(self): ...
    @classmethod
    def make(cls): ...
@dataclasses.dataclass
class Data:
    field: int
class Kind(enum.Enum):
    """Said."""
    ONE = 1
'''
    module = ModuleType("sample")
    monkeypatch.setitem(sys.modules, "sample", module)
    exec(source, vars(module))  # noqa: S102 - the sample is the line above

    assert set(_bare_module(module, ast.parse(source))) == {
        "sample",
        "sample.CONSTANT",
        "sample.function",
        "sample.Plain.method",
        "sample.Plain.value",
        "sample.Plain.make",
        "sample.Data",
        "sample.Data.field",
        "sample.Kind.ONE",
    }


def test_the_error_tree_at_the_top_of_errors_shows_every_error() -> None:
    def tree(error: type[ToolcribError]) -> Iterator[str]:
        yield error.__name__
        for child in error.__subclasses__():
            yield from tree(child)

    drawn = {word for line in (errors.__doc__ or "").splitlines() for word in line.split()}
    ours = {name for name in tree(ToolcribError) if name in errors.__all__}
    assert ours == set(errors.__all__)
    assert ours <= drawn
