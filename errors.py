"""Every error that toolcrib raises on purpose.

::

    ToolcribError
    ├── DefinitionError             a tool can't be defined like this
    ├── InvalidInputError           arguments do not fit a tool's input schema
    ├── InvalidOutputError          a handler returned what its schema refuses
    ├── ConfigurationError          something is set up wrongly; nothing started
    │   ├── ServerConflictError     another MCP server uses a name that is ours
    │   ├── ProfileError            the source profile can't be used
    │   ├── ProviderNotFoundError   the provider's command is not there
    │   └── UnsupportedError        the driver can't do what an option asks for
    ├── GatewayError                the tools' listener could not start
    ├── AgentClosedError            the Agent takes no more runs
    ├── CloseTimeout                close did not finish in time (TimeoutError)
    ├── AskTimeout                  an actor did not answer in time (TimeoutError)
    ├── ApprovalError               an approval can't be settled like this
    │   ├── ApprovalResolvedError   it is settled already
    │   │   └── ApprovalExpiredError  its deadline or its run is over
    │   ├── ApprovalKindError       a question is answered, the rest approved
    │   └── ApprovalDetachedError   it belongs to no run of this process
    ├── RunError                    a run failed; has the partial result
    │   └── ResumeRejectedError     the provider does not know the conversation
    └── ThreadError                 about threads and their store
        ├── ThreadBusyError         another run holds the thread
        ├── ThreadIncompatibleError the stored conversation can't go on
        ├── LeaseLostError          somebody else holds the thread now
        └── StoreError              the store can't be read or written

What a tool handler raises to talk to the model is made by `tool.reject`; it
is not in this tree, since it is an answer and not a fault.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .messages.results import Result, RunReason

__all__ = [
    "AgentClosedError",
    "ApprovalDetachedError",
    "ApprovalError",
    "ApprovalExpiredError",
    "ApprovalKindError",
    "ApprovalResolvedError",
    "AskTimeout",
    "CloseTimeout",
    "ConfigurationError",
    "DefinitionError",
    "GatewayError",
    "InvalidInputError",
    "InvalidOutputError",
    "LeaseLostError",
    "ProfileError",
    "ProviderNotFoundError",
    "ResumeRejectedError",
    "RunError",
    "ServerConflictError",
    "StoreError",
    "ThreadBusyError",
    "ThreadError",
    "ThreadIncompatibleError",
    "ToolcribError",
    "UnsupportedError",
]


def _rebuild(
    make: Callable[..., ToolcribError], args: tuple[Any, ...], state: dict[str, Any]
) -> ToolcribError:
    error = make(*args)
    error.__dict__.update(state)
    return error


def _blank(cls: type[ToolcribError], *args: Any) -> ToolcribError:
    error = cls.__new__(cls)
    error.args = args
    return error


class ToolcribError(Exception):
    """Base of all errors of toolcrib. Its message names the next step."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Subclasses take keyword arguments, so the default would call their
        # __init__ with the message alone and fail.
        return _rebuild, (_blank, (type(self), *self.args), self.__dict__.copy())


class DefinitionError(ToolcribError):
    """Raised when a tool, or a set of tools, can't be defined like this.

    Args:
        reason: What is wrong and what to do instead.
        tool: The tool's name.
        parameter: The parameter, field or option that is at fault.
    """

    def __init__(
        self, reason: str, *, tool: str | None = None, parameter: str | None = None
    ) -> None:
        where = f"tool {tool}: " if tool else ""
        what = f"{parameter}: " if parameter else ""
        super().__init__(f"{where}{what}{reason}")
        self.tool = tool
        self.parameter = parameter
        self.reason = reason


class InvalidInputError(ToolcribError):
    """Raised by `Tool.invoke` when the arguments do not fit the input schema.

    The text holds the path and the rule, never a value; it is what the model
    reads too.
    """


class InvalidOutputError(ToolcribError):
    """Raised by `Tool.invoke` when the handler's value does not fit its schema."""


class ConfigurationError(ToolcribError):
    """Raised when something is set up wrongly; nothing has been started."""


class ServerConflictError(ConfigurationError):
    """Raised when another MCP server uses our server key or token variable."""


class ProfileError(ConfigurationError):
    """Raised when the source profile is missing or can't be cloned."""


class ProviderNotFoundError(ConfigurationError):
    """Raised when the provider's command is not there."""


class UnsupportedError(ConfigurationError):
    """Raised when an option asks for what the driver can't do; nothing started.

    Args:
        message: What can't be done, and the next step.
        provider: The driver's provider name.
        option: The option, such as ``policy.approvals.permission``.
        value: Its value.
    """

    def __init__(self, message: str, *, provider: str, option: str, value: object) -> None:
        super().__init__(message)
        self.provider = provider
        self.option = option
        self.value = value


class ApprovalError(ToolcribError):
    """Base of the errors of settling an approval; the run is not affected."""


class ApprovalResolvedError(ApprovalError):
    """Raised when a request is settled already."""


class ApprovalExpiredError(ApprovalResolvedError):
    """Raised when a request's deadline has passed, or its run is over."""


class ApprovalKindError(ApprovalError):
    """Raised when a question is approved, or something else answered."""


class ApprovalDetachedError(ApprovalError):
    """Raised when a request is a copy that belongs to no run of this process."""


class GatewayError(ToolcribError):
    """Raised when the loopback listener for tools could not start."""


class AgentClosedError(ToolcribError):
    """Raised when a run is asked of an Agent that is closing or closed."""


class CloseTimeout(ToolcribError, TimeoutError):
    """Raised when close did not finish in time; call close again to go on.

    Args:
        phase: The phase that close was in, such as ``draining_runs``.
        remaining: What it still waits for, one phrase each.
        timeout: The deadline that passed, in seconds.
    """

    def __init__(self, phase: str, remaining: tuple[str, ...], timeout: float) -> None:
        left = ", ".join(remaining) or "nothing that it can name"
        super().__init__(
            f"close is still {phase.replace('_', ' ')} after {timeout:g} s; "
            f"left: {left}. Call close again to go on from there."
        )
        self.phase = phase
        self.remaining = remaining
        self.timeout = timeout


class AskTimeout(ToolcribError, TimeoutError):
    """Raised when an actor did not answer a handle in time."""


class RunError(ToolcribError):
    """Raised when a run failed.

    Args:
        message: What happened, and the next step.
        reason: Why, from a closed list.
        result: The result as far as it came.
        causes: Further errors, such as those of the clean-up.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: RunReason,
        result: Result,
        causes: tuple[BaseException, ...] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.result = result
        self.causes = causes


class ResumeRejectedError(RunError):
    """Raised when the provider does not know the thread's conversation."""


class ThreadError(ToolcribError):
    """Base of the errors about threads and their store."""


class ThreadBusyError(ThreadError):
    """Raised when another run holds the thread."""


class ThreadIncompatibleError(ThreadError):
    """Raised when the thread can't be continued by this Agent."""


class LeaseLostError(ThreadError):
    """Raised when somebody else took the thread over in the meantime."""


class StoreError(ThreadError):
    """Raised when the store's data can't be read or written."""
