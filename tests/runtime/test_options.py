"""Options as values: what they remember, how they compose, what they refuse."""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from third_party import Echo

from toolcrib import (
    Agent,
    AgentDefinition,
    AgentKeywords,
    AgentOptions,
    Approvals,
    Attachment,
    ConfigurationError,
    DefinitionError,
    HttpServer,
    Identity,
    McpServer,
    Options,
    Policy,
    Resources,
    RunInfo,
    RunService,
    ServerConflictError,
    SharedKeywords,
    Skill,
    StdioServer,
    tool,
)
from toolcrib.messages.options import RunOptions
from toolcrib.options import layered
from toolcrib.runtime.layers import CONSTRUCTION, SHARED

HERE = Path("/default")
OKAPI = AgentDefinition(name="okapi", description="Knows okapis.", instructions="Be kind.")


class Nothing(RunService):
    def attach(self, run: RunInfo) -> Attachment:
        return Attachment()


def settled(*options: Options, **keywords: Any) -> RunOptions:
    return layered(options, keywords, "A run", construction=False).run_options(HERE, None)


def test_what_is_not_given_has_its_default() -> None:
    assert settled() == RunOptions(workspace=HERE)


def test_the_nearest_value_wins_and_the_rest_stays() -> None:
    far = Options(model="large", timeout=60, instructions="Be kind.")
    near = Options(model="small")
    run = settled(far | near, timeout=5)
    assert (run.model, run.timeout, run.instructions) == ("small", 5.0, "Be kind.")
    assert settled(far, near, timeout=5) == run
    assert settled(near, far).model == "large"


def test_joining_changes_neither() -> None:
    far, near = Options(model="a"), Options(model="b")
    joined = far | near
    assert settled(far).model == "a"
    assert joined == Options(model="b")
    assert joined != far
    assert hash(joined) == hash(near)


def test_none_clears() -> None:
    skill = Skill(name="a", content="x")
    far = Options(
        model="m",
        instructions="i",
        timeout=1,
        idle_timeout=1,
        workspace="/w",
        identity=Identity(id="i"),
        policy=Policy(sandbox="read_only"),
        on_approval=print,
        metadata={"a": "1"},
        skills=[skill],
        services=[Nothing()],
        mcp=[HttpServer(key="k", url="http://h/")],
        resources=Resources(config={"a": 1}),
        spawn=True,
    )
    names = set(SharedKeywords.__optional_keys__) - {"spawn"}
    clear: Any = dict.fromkeys(names)
    assert settled(far, Options(**clear), spawn=False) == RunOptions(workspace=HERE)


def test_metadata_is_merged_by_key() -> None:
    far = Options(metadata={"team": "a", "kind": "test"})
    assert settled(far, metadata={"team": "b"}).metadata == {"team": "b", "kind": "test"}
    assert settled(far, Options(metadata=None), metadata={"x": "y"}).metadata == {"x": "y"}


def test_skills_are_appended_and_equal_ones_are_one() -> None:
    first, second = Skill(name="a", content="x"), Skill(name="b", content="y")
    far = Options(skills=[first])
    assert settled(far, skills=[second, first]).skills == (first, second)
    assert settled(far, skills=()).skills == (first,)
    assert settled(far, Options(skills=None), skills=[second]).skills == (second,)


@pytest.mark.parametrize("name", ["a", "A"])
def test_two_different_skills_of_one_name_are_refused(name: str) -> None:
    far, near = Options(skills=[Skill(name="a", content="x")]), Skill(name=name, content="y")
    with pytest.raises(ConfigurationError, match=f"'{name}'"):
        assert far | Options(skills=[near])
    with pytest.raises(ConfigurationError, match=f"'{name}'"):
        settled(far, skills=[near])


def test_servers_are_replaced_as_a_whole() -> None:
    one, two = HttpServer(key="one", url="http://h/"), StdioServer(key="two", command="c")
    far = Options(mcp=[one])
    assert settled(far, mcp=[two]).mcp == (two,)
    assert settled(far, mcp=()).mcp == ()


def test_policies_are_replaced_as_a_whole() -> None:
    far = Options(policy=Policy(sandbox="read_only"))
    near = Policy(approvals=Approvals(permission="ask"))
    assert settled(far, policy=near).policy == near


def test_resources_are_replaced_as_a_whole() -> None:
    far = Options(resources=Resources(agents=(OKAPI,)))
    near = Resources(config={"a": 1})
    assert settled(far, resources=near).resources == near
    assert settled(far).resources == Resources(agents=(OKAPI,))


def test_resources_are_copied_and_can_be_pickled() -> None:
    hooks: list[Any] = [{"x": [1]}]
    config: dict[str, Any] = {"hooks": hooks}
    tools = ["Read"]
    agents = [replace(OKAPI, tools=tools)]  # type: ignore[arg-type]
    resources = Resources(agents=agents, config=config)  # type: ignore[arg-type]
    options = Options(resources=resources)
    config["b"] = 1
    hooks[0]["x"].append(2)
    for changed in (hooks, tools, agents):
        changed.clear()
    kept = settled(options).resources
    assert kept == Resources(
        agents=(replace(OKAPI, tools=("Read",)),), config={"hooks": [{"x": [1]}]}
    )
    assert pickle.loads(pickle.dumps(kept)) == kept  # noqa: S301
    assert "hooks" not in repr(kept)


@pytest.mark.parametrize(
    ("config", "error", "message"),
    [
        ([], TypeError, "config is a list"),
        ({"a": {"b": [1, {2}]}}, TypeError, r"config\.a\.b\[1\] is a set"),
        ({"a": {1: 2}}, TypeError, r"config\.a has a int as a name"),
        ({"a": float("nan")}, ValueError, r"config\.a is nan"),
        ({"a": float("inf")}, ValueError, r"config\.a is inf"),
        ({"a": "\ud800"}, ValueError, "surrogate"),
    ],
)
def test_settings_are_json(config: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Resources(config=config)


def test_settings_that_hold_themselves_are_refused() -> None:
    config: dict[str, Any] = {}
    config["a"] = [config]
    with pytest.raises(ValueError, match="levels deep"):
        Resources(config=config)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"name": "../x"}, ValueError, "can't be one"),
        ({"name": ""}, ValueError, "can't be one"),
        ({"description": " "}, ValueError, "description is empty"),
        ({"instructions": ""}, ValueError, "instructions is empty"),
        ({"instructions": None}, TypeError, "instructions"),
        ({"model": ""}, ValueError, "model is empty"),
        ({"tools": ()}, ValueError, "tools is empty"),
        ({"tools": ("",)}, ValueError, "empty"),
        ({"tools": "Read"}, TypeError, "one str"),
        ({"tools": (1,)}, TypeError, "int"),
    ],
)
def test_an_agent_that_can_not_be_one_is_refused(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Options(resources=Resources(agents=(replace(OKAPI, **changes),)))


def test_two_agents_of_one_name_are_refused() -> None:
    agents = (OKAPI, replace(OKAPI, name="OKAPI"))
    with pytest.raises(ConfigurationError, match="'OKAPI'"):
        Options(resources=Resources(agents=agents))


def test_agents_are_definitions_in_a_tuple() -> None:
    given: Any
    for given in ("okapi", OKAPI):
        with pytest.raises(TypeError, match="tuple of AgentDefinition"):
            Resources(agents=given)
    given = ("okapi",)
    with pytest.raises(TypeError, match="AgentDefinition"):
        Options(resources=Resources(agents=given))
    given = {"config": {}}
    with pytest.raises(TypeError, match="Resources"):
        Options(resources=given)


def test_a_service_is_there_once_where_it_came_first() -> None:
    a, b, c = Nothing(), Nothing(), Nothing()
    run = settled(Options(services=[a, b]), services=[c, b, a])
    assert run.services == (a, b, c)


VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    "model": st.none() | st.sampled_from("abc"),
    "spawn": st.booleans(),
    "metadata": st.none() | st.dictionaries(st.sampled_from("xyz"), st.sampled_from("123")),
    "skills": st.none()
    | st.lists(st.sampled_from("pqr").map(lambda name: Skill(name=name, content=name))),
}


def made(values: dict[str, Any]) -> Options:
    return Options(**values)


LAYERS = st.fixed_dictionaries({}, optional=dict(VALUES)).map(made)


@given(LAYERS, LAYERS, LAYERS)
def test_it_does_not_matter_where_the_brackets_are(a: Options, b: Options, c: Options) -> None:
    assert (a | b) | c == a | (b | c)
    assert settled(a, b, c) == settled(a | b | c)
    assert settled(Options(), a) == settled(a, Options()) == settled(a)


def test_what_is_mutable_is_copied() -> None:
    metadata, skills, args, env = {"a": "1"}, [Skill(name="a", content="x")], ["-v"], {"K": "v"}
    server = StdioServer(key="s", command="c", args=args, env=env)  # type: ignore[arg-type]
    servers = [server]
    options = Options(metadata=metadata, skills=skills, mcp=servers)
    metadata["b"] = env["L"] = "2"
    for changed in (skills, args, servers):
        changed.clear()
    run = settled(options)
    assert run.metadata == {"a": "1"}
    assert len(run.skills) == 1
    (kept,) = run.mcp
    assert kept == StdioServer(key="s", command="c", args=("-v",), env={"K": "v"})


def test_options_never_change_and_show_no_values() -> None:
    options = Options(mcp=[StdioServer(key="s", command="c", env={"K": "secret"})])
    with pytest.raises(AttributeError, match="model"):
        options.model = "m"  # type: ignore[attr-defined]
    assert repr(options) == "<Options: mcp>"
    assert repr(Options()) == "<Options: nothing>"
    assert "secret" not in repr(settled(options))


def test_a_workspace_is_that_of_the_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = Options(workspace="here")
    monkeypatch.chdir("/")
    assert settled(options).workspace == tmp_path / "here"
    assert settled(workspace=os.fspath(tmp_path)).workspace == tmp_path


def test_every_keyword_is_an_option() -> None:
    assert set(SharedKeywords.__optional_keys__) == set(SHARED)
    assert set(AgentKeywords.__optional_keys__) == {*SHARED, *CONSTRUCTION}
    assert set(SHARED) == {f for f in RunOptions.__dataclass_fields__ if f != "output"}


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"modle": "m"}, TypeError, "has no option 'modle'; it has model,"),
        ({"tools": []}, TypeError, r"tools, which is fixed with its Agent"),
        ({"store": None}, TypeError, r"store, which is fixed with its Agent"),
        ({"output": int}, TypeError, "run_as"),
        ({"model": 3}, TypeError, "model is a int; pass a str"),
        ({"model": ""}, ValueError, "model is empty"),
        ({"instructions": "a\0b"}, ValueError, "NUL"),
        ({"workspace": 3}, TypeError, "workspace is a int"),
        ({"timeout": "5"}, TypeError, "timeout is a str"),
        ({"timeout": True}, TypeError, "timeout is a bool"),
        ({"timeout": 0}, ValueError, "timeout is 0"),
        ({"timeout": float("inf")}, ValueError, "timeout is inf"),
        ({"idle_timeout": float("nan")}, ValueError, "idle_timeout is nan"),
        ({"spawn": 1}, TypeError, "spawn is a int"),
        ({"spawn": None}, TypeError, "spawn is a NoneType"),
        ({"metadata": [("a", "b")]}, TypeError, "metadata is a list"),
        ({"metadata": {"a": 1}}, TypeError, "metadata holds a int"),
        ({"metadata": {1: "a"}}, TypeError, "metadata holds a int"),
        ({"identity": "me"}, TypeError, "identity is a str"),
        ({"identity": Identity(id="")}, ValueError, "identity.id is empty"),
        ({"identity": Identity(id=3)}, TypeError, "identity"),  # type: ignore[arg-type]
        ({"policy": "read_only"}, TypeError, "policy is a str"),
        ({"on_approval": "ask"}, TypeError, "on_approval is a str"),
        ({"skills": "review"}, TypeError, "skills is a str"),
        ({"skills": ["review"]}, TypeError, "skills holds a str"),
        ({"skills": [Skill(name="a b", content="x")]}, ValueError, "'a b'"),
        ({"skills": [Skill(name="..", content="x")]}, ValueError, r"'\.\.'"),
        ({"skills": [Skill(name="a")]}, ValueError, "either path or content"),
        ({"skills": [Skill(name="a", path=Path(), content="")]}, ValueError, "either path"),
        ({"skills": [Skill(name="a", path=Path("/none"))]}, ConfigurationError, "SKILL.md"),
        ({"mcp": StdioServer(key="a", command="c")}, TypeError, "mcp is a StdioServer"),
        ({"mcp": ["http://h/"]}, TypeError, "mcp holds a str"),
        ({"mcp": [HttpServer(key="a b", url="http://h/")]}, ValueError, "'a b'"),
        ({"mcp": [HttpServer(key="Toolcrib", url="http://h/")]}, ServerConflictError, "Toolcrib"),
        ({"mcp": [HttpServer(key="a", url="ftp://h/")]}, ValueError, "http or https"),
        ({"mcp": [HttpServer(key="a", url="http:///mcp")]}, ValueError, "http or https"),
        ({"mcp": [HttpServer(key="a", url="http://u:p@h/")]}, ValueError, "login"),
        ({"mcp": [HttpServer(key="a", url="http://h/", bearer_variable="$A")]}, ValueError, "A"),
        ({"mcp": [StdioServer(key="a", command="")]}, ValueError, "command is empty"),
        ({"mcp": [StdioServer(key="a", command="c", args="-v")]}, TypeError, "tuple"),  # type: ignore[arg-type]
        ({"mcp": [StdioServer(key="a", command="c", env={"A=B": ""})]}, ValueError, "A=B"),
        ({"services": [3]}, TypeError, "services is a int"),
        ({"services": [Nothing]}, TypeError, "RunService"),
    ],
    ids=str,
)
def test_what_is_wrong_is_refused_by_name(
    given: dict[str, Any], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        Options(**given)
    with pytest.raises(error, match=says):
        settled(**given)
    with pytest.raises(error, match=says):
        layered((), given, "A run", construction=False)


def test_a_time_that_is_no_float_is_refused() -> None:
    with pytest.raises(ValueError, match="timeout is 1000"):
        settled(timeout=10**400)


def test_two_servers_of_one_key_are_refused() -> None:
    twice: list[McpServer] = [
        HttpServer(key="a", url="http://h/"),
        StdioServer(key="A", command="c"),
    ]
    with pytest.raises(ServerConflictError, match="'A'"):
        Options(mcp=twice)


def test_a_message_holds_no_value_of_an_environment() -> None:
    server = StdioServer(key="a", command="c", env={"K": "sec\0ret"})
    with pytest.raises(ValueError, match="NUL") as caught:
        Options(mcp=[server])
    assert "ret" not in str(caught.value)


def test_a_skills_folder_is_looked_at_at_once(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_text("Be kind.")
    (skill,) = settled(skills=[Skill(name="a", path=tmp_path)]).skills
    assert skill.path == tmp_path


@tool.define()
def nothing() -> None:
    """Do nothing."""


@tool.define()
def something() -> None:
    """Do something."""


def test_an_agent_takes_the_nearest_set_of_tools() -> None:
    common = AgentOptions(tools=[nothing], timeout=5)
    assert Agent(Echo(), common).tools == (nothing,)
    assert Agent(Echo(), common, tools=[something]).tools == (something,)
    assert Agent(Echo(), common, tools=()).tools == ()
    assert Agent(Echo(), common, Options(model="m")).tools == (nothing,)
    assert Agent(Echo(), common | AgentOptions(tools=())).tools == ()


def test_options_of_agents_join_with_those_of_runs() -> None:
    for joined in (
        AgentOptions(tools=[nothing]) | Options(model="m"),
        Options(model="m") | AgentOptions(tools=[nothing]),
    ):
        assert isinstance(joined, AgentOptions)
        assert Agent(Echo(), joined).tools == (nothing,)
        with pytest.raises(TypeError, match="AgentOptions"):
            Agent(Echo()).run("hello", joined)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Options() | {"model": "m"}  # type: ignore[operator]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"tools": None}, DefinitionError),
        ({"tools": [len]}, DefinitionError),
        ({"store": "threads.db"}, TypeError),
        ({"event_buffer": 0}, ValueError),
        ({"event_buffer": None}, TypeError),
        ({"blocking_events": 1}, TypeError),
        ({"max_runs": 0}, ValueError),
        ({"max_runs": True}, TypeError),
        ({"system": "own"}, TypeError),
        ({"modle": "m"}, TypeError),
        ({"timeout": -1}, ValueError),
    ],
    ids=str,
)
def test_an_agent_refuses_what_is_wrong(given: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=next(iter(given))):
        Agent(Echo(), **given)
    with pytest.raises(error, match=next(iter(given))):
        AgentOptions(**given)


def test_what_is_given_by_place_but_is_no_option_is_refused() -> None:
    with pytest.raises(TypeError, match="An Agent can't take a list here"):
        Agent(Echo(), [nothing])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="A run can't take a dict here"):
        Agent(Echo()).stream("hello", {"model": "m"})  # type: ignore[arg-type]


def test_settled_options_of_plain_values_can_be_pickled() -> None:
    run = settled(metadata={"a": "1"}, skills=[Skill(name="a", content="x")])
    assert pickle.loads(pickle.dumps(run)) == run  # noqa: S301
