"""Checks and copies of the values of options, one function an option."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..messages.frozen import FrozenMap
from ..messages.numbers import checked_count, checked_timeout
from ..messages.policy import Policy
from ..messages.resources import Identity
from ..messages.services import RunService
from .resources import checked_resources, checked_servers, checked_skills
from .tools.catalog import Catalog

__all__ = ["CHECKS", "joined_services"]

Check = Callable[[Any], Any]

_STORE_METHODS = ("acquire", "load", "commit", "release")


def joined_services(
    first: tuple[RunService, ...], then: tuple[RunService, ...]
) -> tuple[RunService, ...]:
    """Return the services of both; the same object once, where it came first."""
    return tuple({id(service): service for service in (*first, *then)}.values())


def _text(option: str) -> Check:
    def check(given: Any) -> str:
        _require(given, str, option, "a str")
        if not given or "\0" in given:
            what = "holds a NUL character" if given else "is empty"
            msg = f"{option} {what}; pass a text, or None for none."
            raise ValueError(msg)
        return str(given)

    return check


def _seconds(option: str) -> Check:
    def check(given: Any) -> float:
        return checked_timeout(option, given)

    return check


def _count(option: str, of: str) -> Check:
    def check(given: Any) -> int:
        return checked_count(option, given, of)

    return check


def _flag(option: str) -> Check:
    def check(given: Any) -> Any:
        if not isinstance(given, bool):
            _refuse(given, option, "True or False")
        return given

    return check


def _workspace(given: Any) -> Path:
    if not isinstance(given, (str, os.PathLike)):
        _refuse(given, "workspace", "a path")
    return Path(given).absolute()


def _metadata(given: Any) -> Mapping[str, str]:
    _require(given, Mapping, "metadata", "a mapping of str to str")
    copied = FrozenMap[str](given)
    for part in (*copied, *copied.values()):
        if not isinstance(part, str):
            msg = f"metadata holds a {type(part).__name__}; its keys and values are str."
            raise TypeError(msg)
    return copied


def _identity(given: Any) -> Any:
    _require(given, Identity, "identity", "an Identity")
    for part in (given.id, given.tenant, given.name):
        _require(part, str, "a part of identity", "a str")
    if not given.id:
        msg = "identity.id is empty; pass your own id of the person or service."
        raise ValueError(msg)
    return given


def _policy(given: Any) -> Any:
    _require(given, Policy, "policy", "a Policy")
    return given


def _callback(given: Any) -> Any:
    if not callable(given):
        _refuse(given, "on_approval", "a function, sync or async, that takes an ApprovalRequest")
    return given


def _services(given: Any) -> tuple[RunService, ...]:
    services = tuple(_many(given, "services", "a list of RunService"))
    for service in services:
        if not isinstance(service, RunService):
            _refuse(service, "a part of services", "an instance of a subclass of RunService")
    return joined_services((), services)


def _store(given: Any) -> Any:
    if not all(callable(getattr(given, name, None)) for name in _STORE_METHODS):
        _refuse(given, "store", "a ThreadStore, such as MemoryStore()")
    return given


def _many(given: Any, option: str, wanted: str) -> Any:
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        _refuse(given, option, wanted)
    return given


def _require(given: Any, kind: Any, option: str, wanted: str) -> None:
    # A bool is an int, but none that anybody means.
    if not isinstance(given, kind) or isinstance(given, bool):
        _refuse(given, option, wanted)


def _refuse(given: object, option: str, wanted: str) -> None:
    msg = f"{option} is a {type(given).__name__}; pass {wanted}."
    raise TypeError(msg)


CHECKS: Mapping[str, Check] = MappingProxyType(
    {
        "model": _text("model"),
        "instructions": _text("instructions"),
        "workspace": _workspace,
        "timeout": _seconds("timeout"),
        "idle_timeout": _seconds("idle_timeout"),
        "spawn": _flag("spawn"),
        "metadata": _metadata,
        "identity": _identity,
        "policy": _policy,
        "on_approval": _callback,
        "skills": lambda given: checked_skills(_many(given, "skills", "a list of Skill")),
        "mcp": lambda given: checked_servers(_many(given, "mcp", "a list of servers")),
        "resources": checked_resources,
        "services": _services,
        "tools": Catalog,
        "store": _store,
        "event_buffer": _count("event_buffer", "events"),
        "blocking_events": _flag("blocking_events"),
        "max_runs": _count("max_runs", "runs"),
    }
)
"""For each option what returns a checked copy of a value other than ``None``;
raises `TypeError`, `ValueError` or `ConfigurationError`, and runs in the caller."""
