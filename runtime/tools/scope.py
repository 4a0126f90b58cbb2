"""Names in annotations, looked up where the handler was written."""

from __future__ import annotations

import builtins
import inspect
import sys
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import FrameType, FunctionType, SimpleNamespace
from typing import Any

from ...errors import DefinitionError

__all__ = ["Declared", "Scope", "alias_target", "class_hints", "function_hints", "scope_of"]


@dataclass(frozen=True, slots=True)
class Scope:
    """The function (or module) that defines a tool, as it was at that moment."""

    qualname: str
    """The qualified name of the code that runs."""
    module: Mapping[str, Any]
    """Its globals."""
    local: Mapping[str, Any]
    """Its locals."""


@dataclass(frozen=True, slots=True)
class Declared:
    """A field, as the class that declares it has it."""

    name: str
    """Its name."""
    annotation: Any
    """Its type as written, maybe a text."""
    owner: type
    """The class that declares it."""


def scope_of(frame: FrameType) -> Scope:
    """Return the scope of a frame, without holding on to the frame."""
    return Scope(frame.f_code.co_qualname, frame.f_globals, dict(frame.f_locals))


def function_hints(function: FunctionType, scope: Scope, tool: str) -> dict[str, Any]:
    """Return a function's annotations with all names resolved.

    Raises:
        DefinitionError: A name is not known where the function was written.
    """
    names = _local_names(function.__qualname__, function.__globals__, scope)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # assigned only after the tool is defined
            continue
    names |= {one.__name__: one for one in getattr(function, "__type_params__", ())}
    return _resolved(lambda: inspect.get_annotations(function), function.__globals__, names, tool)


def class_hints(declared: Iterable[Declared], scope: Scope, tool: str) -> dict[str, Any]:
    """Return the types of a class's fields with all names resolved.

    Raises:
        DefinitionError: A name is not known where the class was written.
    """
    owned: dict[type, dict[str, Any]] = {}
    for one in declared:
        owned.setdefault(one.owner, {})[one.name] = one.annotation
    hints: dict[str, Any] = {}
    for owner, types in owned.items():
        module = _globals(owner.__module__)
        names = _local_names(owner.__qualname__, module, scope)
        if "<locals>" in owner.__qualname__ or owner.__name__ not in module:
            names[owner.__name__] = owner
        names |= {one.__name__: one for one in getattr(owner, "__type_params__", ())}
        hints |= _resolved(types.copy, module, names, tool)
    return hints


def alias_target(alias: Any, scope: Scope, tool: str) -> Any:
    """Return what a ``type`` alias stands for, with all names resolved.

    Raises:
        DefinitionError: A name is not known where the alias was written.
    """
    module = _globals(alias.__module__)
    names = _local_names("", module, scope)
    names |= {one.__name__: one for one in alias.__type_params__}
    return _resolved(lambda: {"value": alias.__value__}, module, names, tool)["value"]


def _globals(module: str | None) -> Mapping[str, Any]:
    return vars(sys.modules.get(module or "", builtins))


def _local_names(qualname: str, module: Mapping[str, Any], scope: Scope) -> dict[str, Any]:
    written_here = qualname.rpartition(".<locals>.")[0] == scope.qualname
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
        plain = {name: _evaluated(one, module, names) for name, one in read().items()}
        holder: Any = SimpleNamespace(__annotations__=plain)
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


def _evaluated(annotation: Any, module: Mapping[str, Any], names: dict[str, Any]) -> Any:
    """Evaluate a text here, where it may be any object: typing wants types only."""
    if isinstance(annotation, typing.ForwardRef):
        # TypedDicts inherit annotations from classes that they do not name.
        origin = getattr(annotation, "__forward_module__", None)
        module = _globals(origin) if isinstance(origin, str) else module
        annotation = annotation.__forward_arg__
    if not isinstance(annotation, str):
        return annotation
    return eval(annotation, dict(module), names)  # noqa: S307 - the host's own source
