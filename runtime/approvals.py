"""One request for an approval: the one place where its outcome is claimed.

Whoever holds the request may settle it in any thread; so may its deadline and
the end of its run. `Slot` lets exactly one of them have it.
"""

from __future__ import annotations

import copy
import json
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Literal, NoReturn

from ..errors import (
    ApprovalDetachedError,
    ApprovalExpiredError,
    ApprovalKindError,
    ApprovalResolvedError,
)
from ..messages.approvals import Ask, Choice, Decision
from ..messages.events import ApprovalRequest

__all__ = ["Slot", "live_request"]


class Slot:
    """The responder of one request, and its run's hold on it. Thread-safe.

    Args:
        request_id: The request's id.
        ask: What the provider asks.
        decided: Told once, in the thread of whoever settles the request; must
            return at once and not raise.
    """

    def __init__(self, request_id: str, ask: Ask, decided: Callable[[Decision], None]) -> None:
        self._request_id = request_id
        self._kind = ask.kind
        self._choices = ask.choices
        self._decided = decided
        self._lock = threading.Lock()
        self._state: Literal["open", "settled", "expired"] = "open"
        self._decision: Decision | None = None

    @property
    def decision(self) -> Decision | None:
        """What the application decided; ``None`` where it did not, or not yet."""
        return self._decision

    def expire(self) -> bool:
        """Let nobody settle it any more; return whether nobody had."""
        with self._lock:
            if self._state == "open":
                self._state = "expired"
            return self._state == "expired"

    def approve(self, arguments: Mapping[str, Any] | None) -> None:
        """Allow what was asked for. See `ApprovalRequest.approve`.

        Raises:
            TypeError: The arguments are no mapping, or hold what JSON can't.
            ApprovalError: It can't be settled like this.
        """
        if self._kind == "question":
            self._refuse_kind("is a question; answer it, or deny it")
        self._settle(Decision(approved=True, arguments=_copied(arguments)))

    def deny(self, reason: str) -> None:
        """Refuse it. See `ApprovalRequest.deny`."""
        self._settle(Decision(approved=False, reason=_text("reason", reason)))

    def answer(self, text: str) -> None:
        """Answer a question. See `ApprovalRequest.answer`."""
        if self._kind != "question":
            self._refuse_kind("is no question; approve or deny it")
        answer = _chosen(_text("answer", text), self._choices)
        self._settle(Decision(approved=True, answer=answer))

    def _settle(self, decision: Decision) -> None:
        with self._lock:
            state = self._state
            if state == "open":
                self._state, self._decision = "settled", decision
        match state:
            case "open":
                self._decided(decision)
            case "settled":
                msg = f"approval {self._request_id} is settled already; only the first one counts."
                raise ApprovalResolvedError(msg)
            case "expired":
                msg = f"approval {self._request_id} has expired: its time or its run is over."
                raise ApprovalExpiredError(msg)

    def _refuse_kind(self, what: str) -> NoReturn:
        msg = f"approval {self._request_id} {what}."
        raise ApprovalKindError(msg)

    def __copy__(self) -> Slot:
        return self

    def __deepcopy__(self, memo: object) -> _Detached:
        return _Detached(self._request_id)

    def __reduce__(self) -> tuple[type[_Detached], tuple[str]]:
        return _Detached, (self._request_id,)


class _Detached:
    """The responder of a pickled or deep copy, which belongs to no run."""

    def __init__(self, request_id: str) -> None:
        self._request_id = request_id

    def approve(self, arguments: Mapping[str, Any] | None) -> None:
        self._refuse()

    def deny(self, reason: str) -> None:
        self._refuse()

    def answer(self, text: str) -> None:
        self._refuse()

    def _refuse(self) -> NoReturn:
        msg = (
            f"this copy of approval {self._request_id} belongs to no run; settle the event "
            "that the run published, or a plain reference to it."
        )
        raise ApprovalDetachedError(msg)


def live_request(
    slot: Slot, request_id: str, ask: Ask, *, attempt: int, deadline: datetime | None
) -> ApprovalRequest:
    """Return the event that asks the application, with the slot as its responder."""
    return ApprovalRequest(
        request_id=request_id,
        kind=ask.kind,
        title=ask.title,
        tool=ask.tool,
        call_id=ask.call_id,
        hosted=ask.hosted,
        # A copy of its own: whoever changes it changes nothing for the provider.
        arguments=copy.deepcopy(dict(ask.arguments)),
        choices=ask.choices,
        attempt=attempt,
        deadline=deadline,
        responder=slot,
        source="toolcrib",
    )


def _chosen(text: str, choices: tuple[Choice, ...]) -> str:
    keys = [choice.key for choice in choices]
    labels = (choice.key for choice in choices if choice.label == text)
    return text if text in keys else next(labels, text)


def _text(what: str, value: str) -> str:
    if not isinstance(value, str):
        msg = f"{what} is a {type(value).__name__}; pass a str."
        raise TypeError(msg)
    return value


def _copied(arguments: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if arguments is None:
        return None
    if not isinstance(arguments, Mapping):
        msg = f"arguments is a {type(arguments).__name__}; pass a mapping, or None."
        raise TypeError(msg)
    try:
        copied: dict[str, Any] = json.loads(json.dumps(dict(arguments), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        msg = f"arguments hold what JSON can't ({error}); pass JSON values only."
        raise TypeError(msg) from error
    return copied
