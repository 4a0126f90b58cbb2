"""Names in annotations, looked up where the handler was written."""

from __future__ import annotations

import builtins
import inspect
import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, fields
from types import FrameType, FunctionType, SimpleNamespace
from typing import Any

from ...errors import DefinitionError

__all__ = ["Scope", "class_hints", "function_hints", "scope_of"]


@dataclass(frozen=True, slots=True)
class Scope:
    """The function (or module) that defines a tool, as it was at that moment."""

    qualname: str
    """The qualified name of the code that runs."""
    module: Mapping[str, Any]
    """Its globals."""
    local: Mapping[str, Any]
    """Its locals."""


def scope_of(frame: FrameType) -> Scope:
    """Return the scope of a frame, without holding on to the frame."""
    return Scope(frame.f_code.co_qualname, frame.f_globals, dict(frame.f_locals))


def function_hints(function: FunctionType, scope: Scope, tool: str) -> dict[str, Any]:
    """Return a function's annotations with all names resolved.

    Raises:
        DefinitionError: A name is not known where the function was written.
    """
    names = _local_names(function, function.__globals__, scope)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # assigned only after the tool is defined
            continue
    return _resolved(lambda: inspect.get_annotations(function), function.__globals__, names, tool)


def class_hints(cls: type, scope: Scope, tool: str) -> dict[str, Any]:
    """Return the types of a dataclass's fields with all names resolved.

    Raises:
        DefinitionError: A name is not known where the class was written.
    """
    owned: dict[type, dict[str, Any]] = {}
    for field in fields(cls):
        owned.setdefault(_owner(cls, field), {})[field.name] = field.type
    hints: dict[str, Any] = {}
    for owner, types in owned.items():
        module = vars(sys.modules.get(owner.__module__, builtins))
        names = _local_names(owner, module, scope)
        if "<locals>" in owner.__qualname__ or owner.__name__ not in module:
            names[owner.__name__] = owner
        hints |= _resolved(types.copy, module, names, tool)
    return hints


def _owner(cls: type, field: Field[Any]) -> type:
    """Return the class that declares a field; its subclasses share the object."""
    known = "__dataclass_fields__"
    return [base for base in cls.__mro__ if base.__dict__.get(known, {}).get(field.name) is field][
        -1
    ]


def _local_names(owner: Any, module: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
    written_here = owner.__qualname__.rpartition(".<locals>.")[0] == scope.qualname
    if written_here and module is scope.module:
        return dict(scope.local)
    # Elsewhere the caller's names only fill gaps; they never shadow.
    known = module.keys() | vars(builtins).keys()
    return {name: value for name, value in scope.local.items() if name not in known}


def _resolved(
    read: Callable[[], Mapping[str, Any]],
    module: Mapping[str, Any],
    names: dict[str, Any],
    tool: str,
) -> dict[str, Any]:
    try:
        # Reading evaluates them where they are deferred (Python 3.14).
        holder: Any = SimpleNamespace(__annotations__=dict(read()))
        return typing.get_type_hints(holder, dict(module), names, include_extras=True)
    except NameError as error:
        msg = (
            f"the name {error.name!r} of an annotation is not known where the tool is defined; "
            "import or define it there, outside `if TYPE_CHECKING`"
        )
        raise DefinitionError(msg, tool=tool) from error
    except Exception as error:
        msg = f"an annotation can't be evaluated ({error}); write a type there"
        raise DefinitionError(msg, tool=tool) from error
