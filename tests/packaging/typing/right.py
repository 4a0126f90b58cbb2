"""Uses of the handles that type checkers accept, with the types that they see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict, assert_never, assert_type

from toolcrib import (
    Agent,
    AgentDefinition,
    AgentOptions,
    ApprovalRequest,
    ApprovalSettled,
    Dropped,
    Event,
    Notice,
    Options,
    Policy,
    ProcessInfo,
    Resources,
    Result,
    RunFinished,
    Runner,
    RunStarted,
    Skill,
    Stream,
    Subagent,
    TextDelta,
    Thinking,
    Thread,
    ToolCall,
    ToolResult,
)
from toolcrib.tool import Tool


@dataclass
class Issue:
    """A dataclass to answer with."""

    key: str


class Labels(TypedDict):
    """A TypedDict to answer with."""

    labels: list[str]


def asks(agent: Agent, thread: Thread, runner: Runner) -> None:
    """See the types of the sync calls."""
    assert_type(agent.run("p"), Result)
    assert_type(thread.stream("p"), Stream)
    assert_type(agent.run_as(Issue, "p"), Issue)
    assert_type(thread.run_as(Labels, "p"), Labels)
    assert_type(runner.run_as(list[int], "p"), list[int])
    assert_type(agent.run_as(str, "p", Options(model="m"), timeout=3), str)
    runner = agent
    runner = thread
    assert_type(runner.run("p"), Result)


async def waits(agent: Agent) -> None:
    """See the types of the async calls."""
    assert_type(await agent.arun("p"), Result)
    assert_type(await agent.arun_as(Issue, "p", model=None), Issue)
    assert_type(await agent.stream_as(Issue, "p").aresult(), Result)
    async for event in agent.stream("p"):
        assert_type(event, Event)


def composes(tools: list[Tool]) -> None:
    """Join options of both kinds."""
    shared = Options(policy=Policy(), skills=[Skill(name="s", content="")], metadata={"a": "b"})
    agent = AgentDefinition(name="a", description="d", instructions="i", tools=("Read",))
    given = Resources(agents=(agent,), config={"hooks": {"Stop": []}})
    assert_type(Options(resources=given) | Options(resources=None), Options)
    assert_type(shared | Options(timeout=None), Options)
    assert_type(AgentOptions(tools=tools) | shared, AgentOptions)
    assert_type(shared | AgentOptions(max_runs=None), AgentOptions)


def names(event: Event) -> str:
    """Match every event there is."""
    match event:
        case RunStarted() | RunFinished() | TextDelta() | Thinking() | ToolCall():
            return "plain"
        case ToolResult() | ProcessInfo() | Notice() | Subagent() | Dropped():
            return "plain"
        case ApprovalRequest() | ApprovalSettled():
            return "decision"
        case _:
            assert_never(event)
