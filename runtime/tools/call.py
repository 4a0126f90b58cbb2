"""A hosted call: whatever a handler does, the caller gets an outcome to send."""

from __future__ import annotations

import contextlib
import contextvars
import inspect
import logging
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...errors import InvalidInputError
from .canonical import canonical
from .context import Context
from .loop import AsyncRunner, shared_runner
from .plan import OUTPUT_LIMIT, OutputTooLarge, Plan
from .rejection import find_rejection
from .tool import Tool, plan_of

__all__ = ["CallOutcome", "call"]

_log = logging.getLogger("toolcrib.tools")

_MESSAGES = {
    "canceled": "The call was canceled.",
    "deadline_exceeded": "The tool did not finish before its deadline.",
    "internal_error": "The tool failed.",
}


class CallOutcome(NamedTuple):
    """What the model gets."""

    ok: bool
    """Whether the tool succeeded."""
    text: str
    """Canonical JSON of the result; of ``{"code", "message"}`` where it failed."""
    structured: Mapping[str, Any] | None
    """The object that the output schema describes; ``None`` where it failed."""


def call(
    tool: Tool,
    arguments: object,
    context: Context,
    *,
    within: contextvars.Context | None = None,
    runner: AsyncRunner | None = None,
    output_limit: int = OUTPUT_LIMIT,
) -> CallOutcome:
    """Call a tool for a model, in this thread, and never raise.

    A sync handler runs in this thread, an async one on the runner's loop while
    this thread waits. A handler that returns after its call was cancelled or
    its deadline passed is answered as such.

    Args:
        tool: The tool.
        arguments: The arguments as parsed JSON.
        context: The call's deadline and cancellation.
        within: The context variables that the handler sees, as a copy; those of
            this thread by default.
        runner: Where async handlers run; by default one for the process.
        output_limit: The largest result, in bytes of its JSON text, of a tool
            that has no limit of its own.

    Returns:
        The outcome. Codes of failures: that of a rejection, ``invalid_input``,
        ``deadline_exceeded``, ``canceled`` and ``internal_error``; what raised
        the last is logged with its traceback and not told.
    """
    attempt = _Attempt(tool, context, runner, tool.output_limit or output_limit)
    scope = contextvars.copy_context() if within is None else within.copy()
    try:
        return scope.run(attempt.outcome, arguments)
    except BaseException as error:
        return attempt.crashed(error)


@dataclass(slots=True)
class _Attempt:
    tool: Tool
    context: Context
    runner: AsyncRunner | None
    output_limit: int

    def outcome(self, arguments: object) -> CallOutcome:
        if self.context.cancelled:
            return self._stopped()
        plan = plan_of(self.tool)
        try:
            values = plan.arguments(arguments)
        except InvalidInputError as error:
            _log.debug("tool %s: arguments refused: %s", self.tool.name, error)
            return _failure("invalid_input", str(error))
        if self.context.cancelled:
            return self._stopped()
        try:
            result = self._run(plan, values)
        except BaseException as error:
            return self._raised(error)
        if self.context.cancelled:
            return self._stopped()
        answer = plan.answer(result, self.output_limit)
        return CallOutcome(ok=True, text=answer.text, structured=answer.structured)

    def _run(self, plan: Plan, values: Mapping[str, Any]) -> Any:
        result = plan.start(values, self.context)
        if not (plan.is_async and inspect.isawaitable(result)):
            return result
        runner = self.runner or shared_runner()
        # A copy, since the loop's thread can't enter what this thread is in.
        return runner.run(result, self.context, contextvars.copy_context())

    def _raised(self, error: BaseException) -> CallOutcome:
        if self.context.cancelled:
            return self._stopped()
        rejection = find_rejection(error)
        if rejection is None:
            return self.crashed(error)
        _log.info("tool %s rejected a call: %s", self.tool.name, rejection[0])
        return _failure(*rejection)

    def _stopped(self) -> CallOutcome:
        code = self.context.reason or "canceled"
        _log.info("tool %s: %s", self.tool.name, code)
        return _failure(code, _MESSAGES[code])

    def crashed(self, error: BaseException) -> CallOutcome:
        # The host's logging handlers may fail too.
        with contextlib.suppress(BaseException):
            _log.error("tool %s failed", self.tool.name, exc_info=_printable(error))
        if isinstance(error, OutputTooLarge):
            text = f"The tool's result is larger than {self.output_limit} bytes; ask for less."
            return _failure("internal_error", text)
        return _failure("internal_error", _MESSAGES["internal_error"])


def _printable(error: BaseException) -> BaseException:
    """Return the error; one in its place where printing it would raise."""
    try:
        "".join(traceback.format_exception(error))
    except BaseException:
        name = type.__dict__["__name__"].__get__(type(error))
        return RuntimeError(f"{name}, which can't be printed").with_traceback(error.__traceback__)
    return error


def _failure(code: str, message: str) -> CallOutcome:
    return CallOutcome(
        ok=False, text=canonical({"code": code, "message": message}), structured=None
    )
