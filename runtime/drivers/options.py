"""The options that every driver of a command line has."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from ...errors import ConfigurationError
from ...messages.numbers import checked_seconds
from .environment import check_variables

__all__ = ["CommandOptions", "chosen_model", "settle"]


class CommandOptions(Protocol):
    """The fields of a frozen driver that `settle` looks after."""

    @property
    @abstractmethod
    def command(self) -> str | Sequence[str] | None:
        """The command to start."""

    @property
    @abstractmethod
    def model(self) -> str | None:
        """The model's name."""

    @property
    @abstractmethod
    def environment(self) -> Mapping[str, str]:
        """Further variables."""

    @property
    @abstractmethod
    def extra_args(self) -> Sequence[str]:
        """Further arguments."""

    @property
    @abstractmethod
    def grace(self) -> float:
        """Seconds between asking the process to end and ending its group."""


def settle(options: CommandOptions) -> None:
    """Copy what is mutable in a driver's options, and check what all drivers check.

    For ``__post_init__`` of a frozen dataclass. Which arguments the driver
    leaves to its user it checks itself.

    Raises:
        ConfigurationError: An option can't be used; it is named.
    """
    if isinstance(options.extra_args, str):
        msg = "extra_args is one string. Give a sequence of arguments."
        raise ConfigurationError(msg)
    if options.command is not None and not isinstance(options.command, str):
        object.__setattr__(options, "command", tuple(options.command))
    object.__setattr__(options, "extra_args", tuple(options.extra_args))
    object.__setattr__(options, "environment", MappingProxyType(dict(options.environment)))
    check_variables(options.environment)
    chosen_model(options.model, None)
    try:
        checked_seconds("grace", options.grace)
    except (TypeError, ValueError) as error:
        raise ConfigurationError(str(error)) from None


def chosen_model(turns: str | None, drivers: str | None) -> str | None:
    """Return the model of a turn: its own, else the driver's, else none.

    Raises:
        ConfigurationError: It would be taken for a flag.
    """
    model = drivers if turns is None else turns
    if model is not None and (not model or model.startswith("-") or "\0" in model):
        msg = f"model is {model!r}, which is no model's name. Correct it."
        raise ConfigurationError(msg)
    return model
