"""The one path of a call: arguments in, handler, result out."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

from ...errors import InvalidInputError, InvalidOutputError
from .canonical import canonical, canonical_in_pieces
from .context import Context
from .extent import DEPTH_LIMIT, extent, is_surely_larger
from .handler import Handler
from .shape import Misfit, Shape
from .validation import Validator

__all__ = ["OUTPUT_LIMIT", "Answer", "OutputTooLarge", "Plan", "canonical"]

OUTPUT_LIMIT = 4 * 1024 * 1024
"""The largest result, in bytes of its JSON text."""

# Below this, encoding it takes less than a millisecond.
_SMALL = 64 * 1024


class OutputTooLarge(InvalidOutputError):
    """A result is fine but for its size."""


class Answer(NamedTuple):
    """A handler's result, ready to send."""

    value: Any
    """The result as JSON values."""
    text: str
    """The same as canonical JSON."""
    structured: Mapping[str, Any]
    """The same as the object that the output schema describes."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a tool is called. Keeps no state; safe to use from any thread."""

    tool: str
    """The tool's name."""
    handler: Handler
    """What is called."""
    is_async: bool
    """Whether calling it only makes a coroutine."""
    context: str | None
    """The parameter that takes the `Context`."""
    record: str | None
    """The parameter that takes the arguments as one dataclass, else ``None``."""
    input: Shape
    """The arguments' shape."""
    output: Shape
    """The result's shape."""
    wrapped: bool
    """Whether the output schema has the result under ``result``."""
    accepts: Validator
    """Judges arguments."""
    returns: Validator
    """Judges results, wrapped where they are."""

    def arguments(self, given: object) -> dict[str, Any]:
        """Validate and convert arguments; return them for `start`.

        Raises:
            InvalidInputError: They do not fit.
        """
        # Asking for a Mapping costs more than the validation of a small object.
        plain = given
        if type(given) is not dict and isinstance(given, Mapping):
            plain = dict(given)
        if not self.accepts.accepts(plain):
            raise InvalidInputError(self.accepts.explain(plain))
        try:
            value = self.input.load(plain)
        except Misfit as misfit:
            from .explanation import misfit_text

            raise InvalidInputError(misfit_text(misfit.path, misfit.reason)) from misfit
        return value if self.record is None else {self.record: value}

    def start(self, arguments: Mapping[str, Any], context: Context) -> Any:
        """Call the handler; return what it returns: an awaitable where it is async.

        Raises:
            InvalidOutputError: A handler that is not async returns an awaitable.
        """
        extra = {} if self.context is None else {self.context: context}
        result = self.handler(**arguments, **extra)
        if not self.is_async and hasattr(type(result), "__await__"):
            if inspect.iscoroutine(result):
                result.close()
            self._refuse("is awaitable; write it with `async def`, or await inside")
        return result

    def answer(self, result: Any, limit: int = OUTPUT_LIMIT) -> Answer:
        """Convert and validate a result.

        Raises:
            InvalidOutputError: It is not what the handler says it returns.
            OutputTooLarge: It is larger than the limit, in bytes.
        """
        if is_surely_larger(result, limit):
            self._refuse_size(limit)
        value = self._dumped(result)
        depth, size = extent(value, limit)
        if depth + self.wrapped > DEPTH_LIMIT:
            self._refuse("nests too deeply")
        if size > limit:
            self._refuse_size(limit)
        structured = {"result": value} if self.wrapped else value
        if not self.returns.fits(structured):
            self._refuse("does not fit the output schema")
        text = self._text(value, size)
        if len(text) > limit or len(text.encode()) > limit:
            self._refuse_size(limit)
        return Answer(value, text, structured)

    def _dumped(self, result: Any) -> Any:
        try:
            return self.output.dump(result)
        except Misfit as misfit:
            place = "".join(f"/{part}" for part in misfit.path)
            self._refuse(f"{place} {misfit.reason}".lstrip(), misfit)
        except RecursionError as error:
            self._refuse("nests too deeply, or contains itself", error)

    def _text(self, value: Any, size: int) -> str:
        try:
            return canonical(value) if size < _SMALL else canonical_in_pieces(value)
        except ValueError as error:
            self._refuse("has no JSON text, such as an integer of too many digits", error)

    def _refuse(self, reason: str, cause: BaseException | None = None) -> NoReturn:
        msg = f"tool {self.tool}: the handler's result {reason}"
        raise InvalidOutputError(msg) from cause

    def _refuse_size(self, limit: int) -> NoReturn:
        msg = f"tool {self.tool}: the result is larger than {limit} bytes; return less"
        raise OutputTooLarge(msg)
