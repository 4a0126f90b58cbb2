"""What the provider asks while it works, and the answers to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ....messages.approvals import Choice
from ....messages.events import Notice
from ....messages.policy import ApprovalKind, Mode
from ..interface import Ask, Decision, Emit, Step, Withdraw
from .control import answer
from .records import Call, call_of, text_of

__all__ = ["APPROVALS", "Approval", "Asking"]

APPROVALS: Mapping[ApprovalKind, frozenset[Mode]] = MappingProxyType(
    {
        "permission": frozenset({"ask", "auto_approve", "auto_reject"}),
        "plan_review": frozenset({"ask", "auto_approve", "auto_reject"}),
        "question": frozenset({"ask", "auto_reject"}),
    }
)
"""Who may decide what a CLI of this protocol asks."""

Approval = Callable[[Decision, str, Mapping[str, Any]], Mapping[str, Any]]
"""Makes the answer to ``can_use_tool`` from a decision, the call's id and the
arguments to use."""

_QUESTION = "AskUserQuestion"
_PLAN = "ExitPlanMode"


@dataclass(slots=True)
class _Request:
    """A control request that waits for its answer."""

    number: str
    asked: Mapping[str, Any]
    questions: list[Mapping[str, Any]] = field(default_factory=list)
    answers: dict[str, str] = field(default_factory=dict)

    @property
    def arguments(self) -> Mapping[str, Any]:
        given = self.asked.get("input")
        return given if isinstance(given, dict) else {}

    @property
    def call_id(self) -> str:
        return text_of(self.asked, "tool_use_id")


class Asking:
    """Turns the requests of one process into asks, and decisions into answers.

    A request may hold several questions. They are asked one after another, and
    answered together.

    Args:
        product: The provider, as people know it.
        approval: Makes its answers.
        server_key: The key of the hosted server; ``None`` where there is none.
        plans_end: Whether a plan that is denied ends the turn.
    """

    refused_plan = ""
    """Why a plan was denied that ended the turn; empty where none did."""

    def __init__(
        self,
        product: str,
        approval: Approval,
        server_key: str | None,
        *,
        plans_end: bool = False,
    ) -> None:
        self._plans_end = plans_end
        self._product = product
        self._approval = approval
        self._server_key = server_key
        self._waiting: dict[str, _Request] = {}
        self._plan: tuple[str, str] = ("", "")

    def called(self, call: Call) -> None:
        """Take note of a call, which may write the plan that is reviewed later."""
        path = text_of(call.arguments, "file_path")
        if call.server or not path.endswith(".md") or "/plans/" not in path:
            return
        content, (known, text) = call.arguments.get("content"), self._plan
        if call.name == "Write" and isinstance(content, str):
            self._plan = (path, content)
        elif call.name == "Edit" and path == known:
            old, new = (text_of(call.arguments, name) for name in ("old_string", "new_string"))
            self._plan = (path, text.replace(old, new) if old else text)

    def asked(self, number: str, asked: Mapping[str, Any], *, masked: bool = False) -> list[Step]:
        """Take a ``can_use_tool`` request.

        Args:
            number: Its id.
            asked: What it asks.
            masked: Whether a secret in it was masked. Its arguments would go back as
                they are here, and the tool would do something else.
        """
        request = _Request(number, asked)
        if twice := self._forget(number):
            # The provider can't tell the two apart, so neither is allowed.
            reason = "Another request with this id waits already."
            return [*twice, *self._denied(request, Decision(approved=False, reason=reason))]
        if masked:
            reason = "It holds a secret of this run. Name the variable that has it instead."
            return self._denied(request, Decision(approved=False, reason=reason))
        if text_of(asked, "tool_name") == _QUESTION:
            return self._question(request)
        ask = self._ask(request)
        self._waiting[ask.id] = request
        return [ask]

    def withdrawn(self, record: Mapping[str, Any]) -> list[Step]:
        """Take the record that the provider waits no longer for a request."""
        return self._forget(text_of(record, "request_id"))

    def decided(self, ask: Ask, decision: Decision) -> list[Step]:
        """Return what to do about a decision; nothing where nobody waits for it."""
        request = self._waiting.pop(ask.id, None)
        if request is None:
            return []
        if not decision.approved:
            return self._denied(request, decision)
        arguments = request.arguments if decision.arguments is None else decision.arguments
        if ask.kind == "question":
            request.answers[text_of(ask.arguments, "question")] = decision.answer
            if len(request.answers) < len(request.questions):
                return self._next(request)
            arguments = {**request.arguments, "answers": request.answers}
        return [self._answer(request, decision, arguments)]

    def _forget(self, number: str) -> list[Step]:
        gone = [name for name, request in self._waiting.items() if request.number == number]
        for name in gone:
            del self._waiting[name]
        return [Withdraw(name) for name in gone]

    def _ask(self, request: _Request) -> Ask:
        asked, arguments = request.asked, request.arguments
        name = text_of(asked, "tool_name")
        call = call_of({"id": request.call_id, "name": name, "input": arguments}, self._server_key)
        assert call is not None
        if name == _PLAN and not call.server:
            # CodeBuddy leaves the plan in the file that it was written to.
            plan = {"plan": self._plan[1]} if self._plan[1] else {}
            arguments = {**plan, **arguments}
            title = f"{self._product} has a plan."
        else:
            what = text_of(asked, "description")
            title = f"{self._product} asks to use {call.name}" + (f": {what}" if what else ".")
        return Ask(
            id=request.number,
            kind="plan_review" if name == _PLAN else "permission",
            title=title,
            tool=call.name,
            call_id=call.id,
            hosted=call.hosted,
            arguments=arguments,
        )

    def _question(self, request: _Request) -> list[Step]:
        listed = request.arguments.get("questions")
        by_text = {
            text_of(question, "question"): question
            for question in (listed if isinstance(listed, list) else ())
            if isinstance(question, dict) and text_of(question, "question")
        }
        request.questions = list(by_text.values())
        if not request.questions:
            reason = "There is no question in it."
            return self._denied(request, Decision(approved=False, reason=reason))
        return self._next(request)

    def _next(self, request: _Request) -> list[Step]:
        place = len(request.answers)
        question = request.questions[place]
        ask = Ask(
            id=f"{request.number}/{place + 1}" if place else request.number,
            kind="question",
            title=" ".join(text_of(question, "question").split()),
            tool=_QUESTION,
            call_id=request.call_id,
            arguments=question,
            choices=_choices(question),
        )
        self._waiting[ask.id] = request
        return [ask]

    def _denied(self, request: _Request, decision: Decision) -> list[Step]:
        reason = decision.reason or "It was not allowed."
        notice = Notice(kind="provider.permission", message=reason, data=request.asked)
        ends = self._plans_end and text_of(request.asked, "tool_name") == _PLAN
        if ends:
            self.refused_plan = reason
        told = Decision(approved=False, reason=reason, interrupt=decision.interrupt or ends)
        return [self._answer(request, told, request.arguments), Emit(notice)]

    def _answer(self, request: _Request, decision: Decision, arguments: Mapping[str, Any]) -> Step:
        return answer(request.number, self._approval(decision, request.call_id, arguments))


def _choices(question: Mapping[str, Any]) -> tuple[Choice, ...]:
    options = question.get("options")
    found = []
    for option in options if isinstance(options, list) else ():
        whole = option if isinstance(option, dict) else {"label": option}
        # The label is what the provider wants to hear.
        if label := text_of(whole, "label"):
            more = text_of(whole, "description")
            found.append(Choice(key=label, label=label, description=more))
    return tuple(found)
