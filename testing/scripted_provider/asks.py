"""The steps that ask for a decision, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .telling import Answer, Call, Verdict

if TYPE_CHECKING:
    from .claude.desk import Desk, Request
    from .player import Player
    from .script import Step

__all__ = ["ask", "permitted"]

_QUESTION = "AskUserQuestion"
_PLAN = "ExitPlanMode"
_REJECTED = "The call was refused, and the turn is to end here."
_INTERRUPTED = {
    "subtype": "error_during_execution",
    "is_error": True,
    "result": None,
    "errors": ["The turn was interrupted."],
    "terminal_reason": "aborted_tools",
}


def ask(player: Player, step: Step) -> None:
    """Ask for one thing, or for several together, and play what follows."""
    desk = player.desk
    assert desk is not None  # else the script was refused
    steps = step.value if step.verb == "together" else (step,)
    asked = {_asked(player, desk, each): each for each in steps}
    for request in desk.settle(asked):
        _settled(player, asked[request], request.call, _verdict(player, request))


def permitted(player: Player, call: Call) -> Verdict:
    """Ask for leave to call a server's tool, where the CLI does."""
    if player.desk is None:
        return Verdict(allowed=True, arguments=call.arguments)
    (request,) = player.desk.settle([player.desk.ask(call)])
    return _verdict(player, request)


def _verdict(player: Player, request: Request) -> Verdict:
    verdict = request.verdict
    assert verdict is not None  # it is settled
    if verdict.interrupt:
        rejected = Answer((_REJECTED,), is_error=True)
        player.teller.returned(request.call, rejected)
        player.break_off(_INTERRUPTED)
    return verdict


def _asked(player: Player, desk: Desk, step: Step) -> Request:
    name, arguments = _CALLS[step.verb](player, step)
    call = Call(player.teller.call_id(), name, arguments)
    player.teller.started(call)
    withdraw = step.options.get("withdraw")
    file = player.path(step, withdraw) if isinstance(withdraw, str) else None
    return desk.ask(call, for_people=step.verb != "ask", at_once=withdraw is True, file=file)


def _settled(player: Player, step: Step, call: Call, verdict: Verdict) -> None:
    _save(player, step, call, verdict)
    text = _OUTPUTS[step.verb](player, step, verdict) if verdict.allowed else verdict.message
    player.teller.returned(call, Answer((text,), is_error=not verdict.allowed))
    player.conversation.add("tool", text, name=call.name, is_error=not verdict.allowed)
    if not verdict.allowed:
        code = "withdrawn" if verdict.withdrawn else "denied"
        player.scope["error"] = {"code": code, "message": verdict.message}
    player.steps(step.options.get("on_allow" if verdict.allowed else "on_deny", ()))


def _save(player: Player, step: Step, call: Call, verdict: Verdict) -> None:
    if "save" not in step.options:
        return
    value: object = _answered(player, step, verdict)
    if step.verb != "question":
        arguments = verdict.arguments if verdict.allowed else call.arguments
        value = {"allowed": verdict.allowed, "arguments": arguments}
    player.scope["results"][step.options["save"]] = value


def _answered(player: Player, step: Step, verdict: Verdict) -> str:
    answers = verdict.arguments.get("answers")
    given = answers.get(player.text(step, step.value)) if isinstance(answers, Mapping) else None
    return given if isinstance(given, str) else ""


def _own_call(player: Player, step: Step) -> tuple[str, dict[str, Any]]:
    return player.text(step, step.value), player.fill(step, step.options.get("arguments", {}))


def _question_call(player: Player, step: Step) -> tuple[str, dict[str, Any]]:
    question = {
        "question": player.text(step, step.value),
        "header": "Question",
        "options": list(_options(player.fill(step, step.options.get("choices", [])))),
        "multiSelect": False,
    }
    return _QUESTION, {"questions": [question]}


def _options(choices: list[Any]) -> Iterable[dict[str, str]]:
    for choice in choices:
        yield {"description": "", **(choice if isinstance(choice, dict) else {"label": choice})}


def _plan_call(player: Player, step: Step) -> tuple[str, dict[str, Any]]:
    return _PLAN, {"plan": player.text(step, step.value)}


_CALLS: Mapping[str, Callable[[Player, Step], tuple[str, dict[str, Any]]]] = {
    "ask": _own_call,
    "question": _question_call,
    "plan": _plan_call,
}
_OUTPUTS: Mapping[str, Callable[[Player, Step, Verdict], str]] = {
    "ask": lambda player, step, _: player.text(step, step.options.get("output", "")),
    "question": lambda player, step, verdict: (
        f'"{player.text(step, step.value)}"="' + f'{_answered(player, step, verdict)}"'
    ),
    "plan": lambda _, __, ___: "The plan was approved.",
}
