"""Claude Code and CodeBuddy ask, and do what they are answered."""

from __future__ import annotations

from typing import Any

import pytest
from ahead import Ahead, begun

from .conftest import Scene, play

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]

ASK = {"permission": "ask", "plan_review": "ask", "question": "ask"}
GO_ON = {**ASK, "on_reject": "continue", "on_timeout": "continue"}
PLAN = "1. Look.\n2. Leap."
QUESTIONS = [
    {
        "question": "Which colour?",
        "header": "Colour",
        "multiSelect": False,
        "options": [
            {"label": "Red", "description": "It is warm."},
            {"label": "Blue", "description": "It is cold."},
        ],
    },
    {
        "question": "Which size?",
        "header": "Size",
        "multiSelect": False,
        "options": [
            {"label": "Small", "description": "It fits."},
            {"label": "Large", "description": "It does not."},
        ],
    },
]
QUOTE = {"say": "It said: {{result}}"}
NOWHERE = {"prompt": "What is there?"}


def _touch(name: str) -> dict[str, Any]:
    return {"when": f"^{name}$", "steps": [{"shell": f"touch {name}.txt"}, QUOTE]}


def _turn(prompt: str, approvals: dict[str, Any], *answers: Any, **more: Any) -> dict[str, Any]:
    policy = {"approvals": approvals}
    return {"prompt": prompt, "policy": policy, "answers": list(answers), **more}


@pytest.fixture(scope="session", params=["claude", "codebuddy"])
def provider(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@begun
def shell(ahead: Ahead, provider: str) -> Scene:
    """A shell command that nothing allows, and what an application may say to it."""
    turns = [
        _turn("approved", ASK, {"approve": None}),
        _turn("denied", GO_ON, {"deny": "Not on a Sunday."}),
        _turn("aborted", ASK, {"deny": "Never."}),
        _turn("edited", ASK, {"approve": {"command": "touch other.txt", "description": "x"}}),
    ]
    return _commands(ahead, provider, turns)


@begun
def unanswered(ahead: Ahead, provider: str) -> Scene:
    """The same command where nobody answers."""
    turns = [
        _turn("slow", {**GO_ON, "timeout": 0.5}),
        _turn("late", {**ASK, "timeout": 0.5}),
        _turn("silent", GO_ON, silent=True),
        _turn("cancelled", ASK, {"cancel": True}),
    ]
    return _commands(ahead, provider, turns)


@begun
def decided(ahead: Ahead, provider: str) -> Scene:
    """The same command where a policy decides, or none does."""
    turns = [
        _turn("granted", {"permission": "auto_approve"}),
        _turn("barred", {"permission": "auto_reject"}),
        {"prompt": "unset"},
    ]
    return _commands(ahead, provider, turns)


def _commands(ahead: Ahead, provider: str, turns: list[dict[str, Any]]) -> Scene:
    model = [_touch(turn["prompt"]) for turn in turns]
    return play(ahead, provider, allowed=[], model=model, hosts=[{"turns": turns}])


@begun
def hosted(ahead: Ahead, provider: str) -> Scene:
    """A hosted tool under several policies."""
    lookup = [{"call": "lookup_issue", "arguments": {"key": "ISSUE-42"}}, QUOTE]
    turns = [
        _turn("approved", ASK, {"approve": {"key": "ISSUE-43"}}),
        _turn("denied", GO_ON, {"deny": "No issues today."}),
        _turn("free", {"permission": "auto_approve"}),
        _turn("shut", {"permission": "auto_reject", "on_reject": "continue"}),
    ]
    model = [{"when": "", "steps": lookup}]
    return play(ahead, provider, allowed=[], model=model, hosts=[{"turns": turns}])


@begun
def questions(ahead: Ahead, provider: str) -> Scene:
    """Two questions in one request, and two requests at once."""
    both: list[dict[str, Any]] = [
        {"call": "WebFetch", "arguments": {"url": f"http://127.0.0.{n}:9/", **NOWHERE}}
        for n in (1, 2)
    ]
    answers: list[Any] = [{"hold": True}, {"deny": "First."}, {"deny": "Second."}]
    # CodeBuddy fetches without asking, asks for one thing after another, and
    # after a denial for no more of the same reply.
    if provider == "codebuddy":
        answers = [{"approve": None}, {"approve": None}]
        both = [{"call": "lookup_issue", "arguments": {"key": f"ISSUE-{n}"}} for n in (1, 2)]
    ask = {"call": "AskUserQuestion", "arguments": {"questions": QUESTIONS}}
    turns = [
        _turn("ask", ASK, {"answer": "Blue"}, {"answer": "Something between"}),
        _turn("ask", GO_ON, {"deny": "Ask nobody."}),
        _turn("two", GO_ON, *answers),
    ]
    return play(
        ahead,
        provider,
        allowed=[],
        model=[
            {"when": "^ask", "steps": [ask, QUOTE]},
            {"when": "^two", "steps": [both, {"say": "Done."}]},
        ],
        environment={"ENABLE_TOOL_SEARCH": "false"},
        hosts=[{"turns": turns}],
    )


@begun
def plans(ahead: Ahead, provider: str) -> Scene:
    """Plans, in the mode in which a provider makes them."""
    steps = [{"plan": PLAN}, {"call": "ExitPlanMode"}, QUOTE]
    turns = [
        _turn("approved", ASK, {"approve": None}),
        _turn("denied", GO_ON, {"deny": "Make it shorter."}),
    ]
    return play(
        ahead,
        provider,
        driver={"permission_mode": "plan"},
        model=[{"when": "", "steps": steps}],
        environment={"ENABLE_TOOL_SEARCH": "false"},
        hosts=[{"turns": turns}],
    )


def _of(turn: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [event for event in turn["events"] if event["type"] == kind]


def _outcome(turn: dict[str, Any]) -> tuple[str, str]:
    (settled,) = _of(turn, "ApprovalSettled")
    return settled["outcome"], settled["by"]


def _made(scene: Scene, name: str) -> bool:
    return (scene.folder / "workspace" / f"{name}.txt").exists()


def _results(scene: Scene, prompt: str) -> str:
    """What the model read last of the calls in a run."""
    results: list[str] = scene.asked(prompt)[-1]["results"]
    return "\n".join(results)


def test_an_approved_command_runs(shell: Scene) -> None:
    turn = shell.host.turns[0]
    (request,) = _of(turn, "ApprovalRequest")

    assert turn["error"] is None, turn["error"]
    assert (request["kind"], request["tool"], request["hosted"]) == ("permission", "Bash", False)
    assert request["arguments"]["command"] == "touch approved.txt"
    (call,) = _of(turn, "ToolCall")
    assert request["call_id"] == call["call_id"]
    assert _outcome(turn) == ("approved", "application")
    assert _made(shell, "approved")


def test_a_denied_command_does_not_run_and_the_model_reads_why(shell: Scene) -> None:
    turn = shell.host.turns[1]

    assert turn["error"] is None, turn["error"]
    assert _outcome(turn) == ("denied", "application")
    assert "Not on a Sunday." in _results(shell, "denied")
    assert not _made(shell, "denied")


def test_a_denial_ends_the_run_where_the_policy_says_so(shell: Scene) -> None:
    turn = shell.host.turns[2]

    assert turn["error"]["reason"] == "approval_denied"
    assert "Never." in turn["error"]["message"]
    assert len(shell.asked("aborted")) == 1
    assert not _made(shell, "aborted")


def test_edited_arguments_are_those_that_are_used(shell: Scene) -> None:
    assert shell.host.turns[3]["error"] is None
    assert _made(shell, "other")
    assert not _made(shell, "edited")


@pytest.mark.parametrize(("turn", "prompt"), [(0, "slow"), (1, "late")])
def test_a_request_that_nobody_answers_in_time_is_a_denial(
    unanswered: Scene, turn: int, prompt: str
) -> None:
    told = unanswered.host.turns[turn]

    assert _outcome(told) == ("timed_out", "deadline")
    reason = told["error"]["reason"] if told["error"] else None
    assert reason == ("approval_timed_out" if prompt == "late" else None)
    assert not _made(unanswered, prompt)


def test_where_nobody_listens_the_request_is_denied(unanswered: Scene) -> None:
    turn = unanswered.host.turns[2]

    assert turn["error"] is None, turn["error"]
    assert turn["result"]["text"].startswith("It said: ")
    assert not _made(unanswered, "silent")


def test_a_run_that_is_cancelled_while_it_asks_ends(unanswered: Scene) -> None:
    turn = unanswered.host.turns[3]

    assert turn["error"]["reason"] == "cancelled"
    assert _outcome(turn) == ("cancelled", "run")
    assert not _made(unanswered, "cancelled")


def test_what_a_policy_decides_by_itself_asks_nobody(decided: Scene) -> None:
    granted, barred = decided.host.turns[:2]

    assert granted["error"] is None, granted["error"]
    assert barred["error"]["reason"] == "approval_denied"
    assert [_of(turn, "ApprovalRequest") for turn in (granted, barred)] == [[], []]
    assert [_outcome(turn) for turn in (granted, barred)] == [
        ("approved", "policy"),
        ("denied", "policy"),
    ]
    assert (_made(decided, "granted"), _made(decided, "barred")) == (True, False)


def test_without_a_policy_nothing_is_asked_and_nothing_allowed(decided: Scene) -> None:
    turn = decided.host.turns[2]

    assert turn["error"] is None, turn["error"]
    assert _of(turn, "ApprovalRequest") == []
    assert not _made(decided, "unset")


def test_a_hosted_tool_is_asked_for_as_anything_else(hosted: Scene) -> None:
    approved, denied = hosted.host.turns[:2]
    (request,) = _of(approved, "ApprovalRequest")

    assert (request["tool"], request["hosted"]) == ("lookup_issue", True)
    assert request["arguments"] == {"key": "ISSUE-42"}
    assert approved["error"] is None, approved["error"]
    assert denied["error"] is None, denied["error"]
    assert "Title of ISSUE-43" in approved["result"]["text"]
    assert "No issues today." in denied["result"]["text"]


def test_a_policy_that_approves_or_rejects_holds_for_hosted_tools(hosted: Scene) -> None:
    free, shut = hosted.host.turns[2:4]

    assert "Title of ISSUE-42" in free["result"]["text"]
    assert shut["error"] is None, shut["error"]
    assert _outcome(shut) == ("denied", "policy")
    # Called once as approved, once under auto_approve, and never else.
    assert [arguments["key"] for _, arguments in hosted.host.calls] == ["ISSUE-43", "ISSUE-42"]


def test_questions_are_answered_one_by_one(questions: Scene) -> None:
    answered, denied = questions.host.turns[:2]
    first, second = _of(answered, "ApprovalRequest")

    assert answered["error"] is None, answered["error"]
    assert (first["kind"], first["title"]) == ("question", "Which colour?")
    assert [choice["label"] for choice in first["choices"]] == ["Red", "Blue"]
    assert second["title"] == "Which size?"
    text = answered["result"]["text"]
    assert text.index("Which colour?") < text.index("Blue") < text.index("Which size?")
    assert "Something between" in text
    assert denied["error"] is None, denied["error"]
    assert "Ask nobody." in denied["result"]["text"]


def test_a_plan_is_shown_whole_and_approved_or_sent_back(plans: Scene) -> None:
    approved, denied = plans.host.turns
    (request,) = _of(approved, "ApprovalRequest")

    assert approved["error"] is None, approved["error"]
    assert (request["kind"], request["tool"]) == ("plan_review", "ExitPlanMode")
    assert request["arguments"]["plan"] == PLAN
    assert "approved" in approved["result"]["text"]
    if plans.provider == "codebuddy":  # which waits for its user after that
        assert denied["error"]["reason"] == "approval_denied"
        assert "Make it shorter." in denied["error"]["message"]
        return
    assert denied["error"] is None, denied["error"]
    assert "Make it shorter." in denied["result"]["text"]


def test_two_requests_are_open_at_once_where_the_provider_makes_two(questions: Scene) -> None:
    turn = questions.host.turns[2]
    first, second = _of(turn, "ApprovalRequest")

    assert turn["error"] is None, turn["error"]
    assert first["request_id"] != second["request_id"]
    if questions.provider == "claude":
        assert [event["reason"] for event in _of(turn, "ApprovalSettled")] == ["First.", "Second."]
    kinds = [event["type"] for event in turn["events"]]
    order = [kind for kind in kinds if kind.startswith("Approval")]
    one, other = "ApprovalRequest", "ApprovalSettled"
    both = [one, other, one, other] if questions.provider == "codebuddy" else [one, one]
    assert order[: len(both)] == both
