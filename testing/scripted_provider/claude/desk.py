"""Asking for decisions, and waiting for them."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..printer import Printer
from ..telling import Call, Verdict
from .frames import Frames
from .records import Records, full_name

__all__ = ["Desk", "Request"]

_POLL = 0.01


class Request:
    """Something that is asked for.

    Args:
        call: The call that it is about.
        number: The id that it is answered by; empty where nobody is asked.
        verdict: What came of it; ``None`` while it waits.
        at_once: Whether it is taken back as soon as it is made.
        file: A file to take it back by, once it is there.
    """

    def __init__(
        self,
        call: Call,
        number: str,
        verdict: Verdict | None,
        *,
        at_once: bool = False,
        file: Path | None = None,
    ) -> None:
        self.call = call
        self.number = number
        self.verdict = verdict
        self.at_once = at_once
        self.file = file

    @property
    def is_over(self) -> bool:
        """Whether it is time to take it back."""
        return self.at_once or (self.file is not None and self.file.exists())


class Desk:
    """Asks the host, unless the command line has decided already.

    Args:
        printer: Where requests go.
        frames: Where answers come from.
        records: Makes the records.
        prompts: Whether the host is asked at all.
        allowed: The tools, or ``mcp__`` servers, that need no leave.
        disallowed: The tools that are not there.
    """

    def __init__(
        self,
        printer: Printer,
        frames: Frames,
        records: Records,
        *,
        prompts: bool,
        allowed: Iterable[str],
        disallowed: Iterable[str],
    ) -> None:
        self._printer = printer
        self._frames = frames
        self._records = records
        self._prompts = prompts
        self._allowed = frozenset(allowed)
        self._disallowed = frozenset(disallowed)

    def ask(
        self,
        call: Call,
        *,
        for_people: bool = False,
        at_once: bool = False,
        file: Path | None = None,
    ) -> Request:
        """Ask for leave, without waiting for it.

        Args:
            call: What is to be called.
            for_people: Whether only people can decide, as about questions and plans.
            at_once: Whether the request is taken back at once.
            file: A file to take it back by.
        """
        known = self._known(call, for_people=for_people)
        if known is not None:
            return Request(call, "", known)
        number = str(uuid.uuid4())
        self._printer.record(self._records.can_use_tool(number, call, for_people=for_people))
        return Request(call, number, None, at_once=at_once, file=file)

    def settle(self, requests: Iterable[Request]) -> Iterator[Request]:
        """Wait for the verdicts, and yield each request as it is settled.

        A verdict that ends the turn takes back what waits still.
        """
        waiting = list(requests)
        while waiting:
            for request in waiting:
                if request.verdict is None and request.is_over:
                    self._withdraw(request)
            settled = [request for request in waiting if request.verdict is not None]
            waiting = [request for request in waiting if request.verdict is None]
            for request in settled:
                if request.verdict is not None and request.verdict.interrupt:
                    for other in waiting:
                        self._withdraw(other)
                self._note(request)
                yield request
            if waiting and not settled:
                self._wait(waiting)

    def _known(self, call: Call, *, for_people: bool) -> Verdict | None:
        name = full_name(call)
        if name in self._disallowed or (for_people and not self._prompts):
            return _denied(call, f"Error: No such tool available: {name}")
        if name in self._allowed or f"mcp__{call.server}" in self._allowed:
            return Verdict(allowed=True, arguments=call.arguments)
        if self._prompts:
            return None
        message = f"Nobody was asked about {name}, and nothing allows it."
        self._printer.record(self._records.permission_denied(call, message))
        return _denied(call, message)

    def _withdraw(self, request: Request) -> None:
        self._printer.record(self._records.withdrawal(request.number))
        message = "The request was taken back."
        request.verdict = _denied(request.call, message, withdrawn=True)

    def _wait(self, waiting: list[Request]) -> None:
        watches = any(request.file is not None for request in waiting)
        answers = self._frames.answers(_POLL if watches else None)
        for request in waiting:
            response = answers.get(request.number)
            if response is not None:
                request.verdict = _verdict(request.call, response)
            elif self._frames.closed:
                request.verdict = _failed(request.call, "the input was closed before an answer")

    def _note(self, request: Request) -> None:
        if request.verdict is not None and not request.verdict.allowed:
            self._records.denied(request.call)


def _verdict(call: Call, response: Mapping[str, Any]) -> Verdict:
    body = response.get("response")
    if response.get("subtype") != "success" or not isinstance(body, dict):
        return _failed(call, f"Error: {response.get('error')}")
    if body.get("behavior") == "allow":
        edited = body.get("updatedInput")
        arguments = edited if isinstance(edited, dict) else call.arguments
        return Verdict(allowed=True, arguments=arguments)
    if body.get("behavior") != "deny" or not isinstance(body.get("message"), str):
        return _failed(call, f"the answer is not valid: {body}")
    interrupt = body.get("interrupt") is True
    return _denied(call, body["message"], interrupt=interrupt)


def _failed(call: Call, why: str) -> Verdict:
    return _denied(call, f"Tool permission request failed: {why}")


def _denied(
    call: Call, message: str, *, interrupt: bool = False, withdrawn: bool = False
) -> Verdict:
    return Verdict(
        allowed=False,
        arguments=call.arguments,
        message=message,
        interrupt=interrupt,
        withdrawn=withdrawn,
    )
