"""The environment of a provider's process."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...errors import ConfigurationError
from ..profiles.clone import Clone

__all__ = ["check_variables", "child_environment"]

_LOOPBACK = "127.0.0.1"
_NO_PROXY = ("NO_PROXY", "no_proxy")
_TEMPORARY = ("TMPDIR", "TMP", "TEMP")


def child_environment(
    base: Mapping[str, str], clone: Clone, variables: Mapping[str, str]
) -> dict[str, str]:
    """Return a child's whole environment.

    Temporary files go into the clone, and loopback never through a proxy: the
    user's list of exceptions is kept and ``127.0.0.1`` added. IPv6 in brackets
    is not, as some clients can't read it.

    Args:
        base: The environment to start from.
        clone: The clone that the child works in.
        variables: What the driver sets, over all else.
    """
    environment = dict(base)
    environment.update(_proxy_exceptions(base))
    environment.update(dict.fromkeys(_TEMPORARY, str(clone.temp)))
    environment.update(variables)
    return environment


def _proxy_exceptions(base: Mapping[str, str]) -> dict[str, str]:
    upper, lower = (base.get(name, "") for name in _NO_PROXY)
    # Programs read one of the two, so that a new one must not hide the other.
    return {"NO_PROXY": _with_loopback(upper or lower), "no_proxy": _with_loopback(lower or upper)}


def _with_loopback(value: str) -> str:
    hosts = [host for host in re.split(r"[\s,]+", value) if host]
    if _LOOPBACK in hosts or "*" in hosts:
        return value
    return ",".join((*hosts, _LOOPBACK))


def check_variables(variables: Mapping[str, str]) -> None:
    """Check variables that a user gave, before a process is started with them.

    Raises:
        ConfigurationError: A name or a value can't be in an environment.
    """
    for name, value in variables.items():
        if not name or "=" in name or "\0" in name:
            msg = f"{name!r} can't be the name of an environment variable. Correct it."
            raise ConfigurationError(msg)
        if "\0" in value:
            msg = f"The environment variable {name} holds a NUL character. Remove it."
            raise ConfigurationError(msg)
