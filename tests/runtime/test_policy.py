"""What a driver can't do is refused by name, before anything starts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from toolcrib.errors import UnsupportedError
from toolcrib.messages.options import OutputSchema, RunOptions
from toolcrib.messages.policy import Approvals, Policy
from toolcrib.messages.resources import (
    AgentDefinition,
    HttpServer,
    Resources,
    Skill,
    StdioServer,
)
from toolcrib.runtime.drivers.interface import Capabilities
from toolcrib.runtime.policy import check_options

ALL = Capabilities(
    sandbox=frozenset({"read_only"}),
    web_search=frozenset({"deny"}),
    browser=frozenset({"deny"}),
    approvals={
        "permission": frozenset({"ask"}),
        "plan_review": frozenset({"auto_approve"}),
        "question": frozenset({"ask"}),
    },
    model=True,
    instructions=True,
    skills=True,
    mcp=frozenset({"stdio", "http"}),
    resources=frozenset({"agents", "config"}),
)
STDIO = StdioServer(key="files", command="files")
OKAPI = AgentDefinition(name="okapi", description="Knows okapis.", instructions="Be kind.")
HTTP = HttpServer(key="web", url="http://127.0.0.1:1")
CASES: dict[str, dict[str, Any]] = {
    "policy.sandbox": {"policy": Policy(sandbox="read_only")},
    "policy.web_search": {"policy": Policy(web_search="deny")},
    "policy.browser": {"policy": Policy(browser="deny")},
    "policy.approvals.permission": {"policy": Policy(approvals=Approvals(permission="ask"))},
    "policy.approvals.plan_review": {
        "policy": Policy(approvals=Approvals(plan_review="auto_approve"))
    },
    "policy.approvals.question": {"policy": Policy(approvals=Approvals(question="ask"))},
    "model": {"model": "m"},
    "instructions": {"instructions": "be brief"},
    "skills": {"skills": (Skill(name="s", content="#"),)},
    "mcp (the stdio server files)": {"mcp": (STDIO,)},
    "mcp (the http server web)": {"mcp": (HTTP,)},
    "resources.agents": {"resources": Resources(agents=(OKAPI,))},
    "resources.config": {"resources": Resources(config={"a": 1})},
}


def options(**given: Any) -> RunOptions:
    return RunOptions(workspace=Path.cwd(), **given)


@pytest.mark.parametrize("option", CASES)
def test_what_a_driver_can_not_do_is_named(option: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        check_options(options(**CASES[option]), "cursor", Capabilities())
    error = caught.value
    assert (error.provider, error.option) == ("cursor", option)
    assert "cursor" in str(error)
    assert option in str(error)


@pytest.mark.parametrize("option", CASES)
def test_what_a_driver_can_do_passes(option: str) -> None:
    check_options(options(**CASES[option]), "claude", ALL)


@pytest.mark.parametrize(
    "policy",
    [
        Policy(sandbox="unrestricted"),
        Policy(web_search="allow"),
        Policy(approvals=Approvals(permission="auto_approve")),
        Policy(approvals=Approvals(question="auto_reject")),
    ],
)
def test_another_value_than_those_it_can_do_is_refused(policy: Policy) -> None:
    with pytest.raises(UnsupportedError):
        check_options(options(policy=policy), "claude", ALL)


def test_the_possible_values_are_listed() -> None:
    with pytest.raises(UnsupportedError, match="'read_only'") as caught:
        check_options(options(policy=Policy(sandbox="unrestricted")), "claude", ALL)
    assert caught.value.value == "unrestricted"


def test_unset_options_are_portable_and_an_output_can_always_be_asked_for() -> None:
    output = OutputSchema(name="Answer", schema={}, load=str)
    unset = Policy(approvals=Approvals(timeout=1, on_timeout="continue"))
    check_options(options(output=output, policy=unset, timeout=1), "cursor", Capabilities())


@pytest.mark.parametrize("timeout", [0, float("nan"), float("inf"), 1e12])
def test_a_timeout_of_approvals_that_makes_no_date_is_refused(timeout: float) -> None:
    with pytest.raises(ValueError, match=r"at most 1e\+09 seconds"):
        Approvals(timeout=timeout)
