"""Answers as values of a type."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pydantic
import pytest
from json_provider import Able, AbleNatively

from toolcrib import Agent, DefinitionError, MemoryStore, RunError, RunReason, System, tool

from .conftest import Scripted


@dataclass
class Issue:
    key: str
    votes: int = 0


class Labels(TypedDict):
    labels: list[str]


class Model(pydantic.BaseModel):
    name: str


@dataclass
class Tree:
    leaves: list[Tree]


def ask(system: System, workspace: Path, driver: Able, kind: Any) -> Any:
    with Agent(driver, workspace=workspace, system=system) as agent:
        return agent.run_as(kind, "Which one?")


@pytest.mark.parametrize(
    ("kind", "answer", "value"),
    [
        (Issue, '{"key": "A", "votes": 3}', Issue("A", 3)),
        (Issue, ' {"key": "A"} ', Issue("A")),
        (Labels, '{"labels": ["a"]}', {"labels": ["a"]}),
        (Model, '{"name": "n"}', Model(name="n")),
        (Tree, '{"leaves": [{"leaves": []}]}', Tree([Tree([])])),
        (list[Issue], '{"result": [{"key": "A"}]}', [Issue("A")]),
        (str, '{"result": "hi"}', "hi"),
        (int | None, '{"result": null}', None),
        (Literal["a", "b"], '{"result": "b"}', "b"),
        (Annotated[int, "How many."], '{"result": 3}', 3),
    ],
    ids=str,
)
def test_an_answer_becomes_a_value(
    system: System, workspace: Path, kind: Any, answer: str, value: object
) -> None:
    assert ask(system, workspace, Able(answer), kind) == value


def test_a_prompt_says_the_schema_where_the_provider_is_not_held_to_it(
    system: System, workspace: Path
) -> None:
    driver = Able('{"key": "A"}')
    ask(system, workspace, driver, Issue)
    (request,) = driver.requests
    assert request.prompt.startswith("Which one?")
    assert "Issue" in request.prompt
    said = json.loads(request.prompt[request.prompt.index("{") :])
    assert said["required"] == ["key"]
    assert said["additionalProperties"] is False


def test_a_provider_that_can_is_held_to_the_schema(system: System, workspace: Path) -> None:
    driver = AbleNatively('{"key": "A"}')
    assert ask(system, workspace, driver, Issue) == Issue("A")
    (request,) = driver.requests
    assert request.prompt == "Which one?"
    assert request.output is not None
    assert request.output.name == "Issue"
    assert request.output.schema["properties"]["votes"]["default"] == 0


@pytest.mark.parametrize(
    ("kind", "answer", "says"),
    [
        (Issue, "It is A.", "not one JSON value"),
        (Issue, '```json {"key": "A"}```', "not one JSON value"),
        (Issue, '{"key": "A"} {"key": "B"}', "not one JSON value"),
        (Issue, '{"key": "A", "key": "B"}', "twice"),
        (Issue, '{"key": 3}', "/key"),
        (Issue, "{}", "key"),
        (Issue, '{"key": "A", "owner": "me"}', "owner"),
        (Issue, "[" * 5000, "JSON|deep"),
        (list[int], "[1]", "an object"),
        (list[int], '{"result": ["1"]}', "/result/0"),
        (float, '{"result": NaN}', "NaN"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_an_answer_that_does_not_fit_fails_the_run(
    system: System, workspace: Path, kind: Any, answer: str, says: str
) -> None:
    with pytest.raises(RunError, match=says) as caught:
        ask(system, workspace, Able(answer), kind)
    assert caught.value.reason is RunReason.INVALID_OUTPUT
    assert caught.value.result.text == answer
    assert caught.value.result.output is None


def test_an_answer_that_does_not_fit_is_no_history(system: System, workspace: Path) -> None:
    store = MemoryStore()
    with Agent(Able("no"), store=store, workspace=workspace, system=system) as agent:
        with pytest.raises(RunError):
            agent.thread("t").run_as(int, "hello")
        assert store.load("t") is None


def test_threads_and_coroutines_answer_with_values_too(system: System, workspace: Path) -> None:
    @dataclass
    class Local:
        issue: Issue

    async def main() -> tuple[Local, Local, object]:
        driver = Able('{"issue": {"key": "A"}}')
        async with Agent(driver, workspace=workspace, system=system) as agent:
            streamed = agent.stream_as(Local, "hello")
            kinds = [type(event).__name__ async for event in streamed]
            assert kinds[-1] == "RunFinished"
            return (
                await agent.arun_as(Local, "hello"),
                await agent.thread("t").arun_as(Local, "hello"),
                (await streamed.aresult()).output,
            )

    assert asyncio.run(main()) == (Local(Issue("A")),) * 3


@pytest.mark.parametrize("kind", [object(), complex, Agent, "Unknown"], ids=str)
def test_a_type_that_no_tool_takes_is_refused_at_once(workspace: Path, kind: Any) -> None:
    agent = Agent(Able(), workspace=workspace)
    for call in (agent.run_as, agent.arun_as, agent.stream_as):
        with pytest.raises(DefinitionError, match="output"):
            call(kind, "hello")


def test_a_run_without_a_type_has_no_output(system: System, workspace: Path) -> None:
    with Agent(Able("3"), workspace=workspace, system=system) as agent:
        assert agent.run("hello").output is None


def test_tools_and_types_go_together(scripted: Scripted, system: System) -> None:
    @tool.define()
    def votes(key: str) -> int:
        """Count votes."""
        return len(key)

    driver = scripted(
        {"call": "votes", "arguments": {"key": "ABC"}, "save": "v"},
        {"say": '{"key": "ABC", "votes": {{results.v.result}}}'},
    )
    with Agent(driver, tools=[votes], system=system) as agent:
        assert agent.run_as(Issue, "hello") == Issue("ABC", 3)
