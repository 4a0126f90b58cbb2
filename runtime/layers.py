"""How options compose: layers of values, of which the nearest wins."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..messages.frozen import FrozenMap
from ..messages.options import OutputSchema, RunOptions
from ..messages.policy import Policy
from .resources import joined_skills
from .settings import CHECKS, joined_services

__all__ = ["CONSTRUCTION", "SHARED", "Layer", "make_layer"]

SHARED = (
    "model",
    "instructions",
    "workspace",
    "timeout",
    "idle_timeout",
    "spawn",
    "metadata",
    "identity",
    "policy",
    "on_approval",
    "skills",
    "mcp",
    "resources",
    "services",
)
"""The options of Agents and of their runs."""

CONSTRUCTION = ("tools", "store", "event_buffer", "blocking_events", "max_runs", "system")
"""The options of Agents alone."""

# For these ``None`` is no value: there is always one.
_NEVER_NONE = frozenset({"spawn", "tools", "event_buffer", "blocking_events"})


@dataclass(frozen=True, slots=True)
class _Joined:
    """A value that joins those of the layers below, instead of hiding them."""

    value: Any
    alone: bool
    """Whether it hides them after all."""


def _merged(first: Mapping[str, str], then: Mapping[str, str]) -> Mapping[str, str]:
    return FrozenMap({**first, **then})


# How two values of an option become one, and the value of none at all.
_JOINING: Mapping[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "metadata": (_merged, FrozenMap[str]()),
    "skills": (joined_skills, ()),
    "services": (joined_services, ()),
}


@dataclass(frozen=True, slots=True)
class Layer:
    """Options that were given, checked and copied; nothing for the others."""

    values: Mapping[str, Any]
    """The values by the option's name, as layers keep them."""

    def __or__(self, nearer: Layer) -> Layer:
        """Return both as one, where the nearer values win, or join.

        Raises:
            ConfigurationError: Two skills that differ have the same name.
        """
        both = dict(self.values)
        for name, value in nearer.values.items():
            below = both.get(name)
            if isinstance(value, _Joined) and not value.alone and isinstance(below, _Joined):
                join, _ = _JOINING[name]
                value = _Joined(join(below.value, value.value), below.alone)  # noqa: PLW2901
            both[name] = value
        return Layer(MappingProxyType(both))

    def value(self, name: str, default: Any) -> Any:
        """Return an option's value, the default where there is none or it is ``None``."""
        value = self.values.get(name)
        if isinstance(value, _Joined):
            value = value.value
        return default if value is None else value

    def run_options(self, workspace: Path, output: OutputSchema | None) -> RunOptions:
        """Return what one run needs to know.

        Args:
            workspace: The working directory where no layer names one.
            output: What the answer has to be, if anything.
        """
        defaults: dict[str, Any] = {
            "workspace": workspace,
            "policy": Policy(),
            "spawn": False,
            "mcp": (),
            **{name: nothing for name, (_, nothing) in _JOINING.items()},
        }
        shared = {field.name for field in fields(RunOptions)} & set(SHARED)
        values = {name: self.value(name, defaults.get(name)) for name in shared}
        return RunOptions(**values, output=output)


def make_layer(
    given: Mapping[str, Any], names: Collection[str], where: str, checks: Mapping[str, Any]
) -> Layer:
    """Check options and copy what is mutable in them.

    Args:
        given: The options by name.
        names: Those that may be given here.
        where: Who was given them, for messages.
        checks: Further checks, by the option's name.

    Raises:
        TypeError: There is no such option here, or a value is of a wrong type.
        ValueError: A value is none that the option takes.
        ConfigurationError: Values do not go together.
    """
    checks = {**CHECKS, **checks}
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in names:
            raise TypeError(_misplaced(name, names, where))
        checked = value if _clears(name, value) else checks[name](value)
        if name in _JOINING:
            _, nothing = _JOINING[name]
            checked = _Joined(nothing if checked is None else checked, checked is None)
        values[name] = checked
    return Layer(MappingProxyType(values))


def _clears(name: str, value: object) -> bool:
    return value is None and name not in _NEVER_NONE


def _misplaced(name: str, names: Collection[str], where: str) -> str:
    if name in CONSTRUCTION:
        return f"{where} can't take {name}, which is fixed with its Agent; pass it to Agent(...)."
    if name == "output":
        return f"{where} can't take output; pass the type of the answer to run_as."
    return f"{where} has no option {name!r}; it has {', '.join(names)}."
