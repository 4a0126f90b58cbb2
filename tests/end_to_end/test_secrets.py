"""The token goes into the child's environment, and nowhere else."""

from __future__ import annotations

import base64
import json
import logging
import pickle
from pathlib import Path

import psutil
import pytest

from toolcrib import (
    Agent,
    Attachment,
    Event,
    MemoryStore,
    Options,
    RunError,
    RunInfo,
    RunService,
    StdioServer,
    System,
    TextDelta,
    Tracer,
    UnsupportedError,
    tool,
)

from .conftest import Scripted

MASK = "***"


def test_no_byte_that_leaves_holds_the_token(
    scripted: Scripted,
    system: System,
    tracer: Tracer,
    tmp_path: Path,
    workspace: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    found: list[str] = []
    during: list[str] = []
    driver = scripted({"say": "not written yet"})

    @tool.define(revision="v1")
    def look_around() -> str:
        """Look at what everybody on this machine could see."""
        children = psutil.Process().children(recursive=True)
        during.extend(" ".join(process.cmdline()) for process in children)
        files = (p for p in tmp_path.rglob("*") if p.is_file() and p.name != "token.txt")
        during.extend(path.read_bytes().decode("utf-8", "replace") for path in files)
        raise RuntimeError(found[0] if found else "no token here")

    store = MemoryStore()
    agent = Agent(driver, tools=[look_around], store=store, workspace=workspace, system=system)
    variable = agent.token_variable
    steps = [
        {"write_file": str(tmp_path / "token.txt"), "text": f"{{{{env.{variable}}}}}"},
        {"stderr": f"warning: {{{{env.{variable}}}}}"},
        {"call": "look_around", "arguments": {}, "on_error": []},
        {"say": f"my token is {{{{env.{variable}}}}}"},
    ]
    assert isinstance(driver.command, tuple)
    Path(driver.command[-1]).write_text(json.dumps({"turns": [{"steps": steps}]}))
    with agent:
        stream = agent.thread("t").stream("hello")
        events = list(stream)
        result = stream.result()
        token = (tmp_path / "token.txt").read_text()
        assert len(token) >= 43
        store.save(tmp_path / "threads.json")
        record = store.load("t")
        assert record is not None
    assert result.text == f"my token is {MASK}"  # what the model said of it is masked

    left = {
        "events": repr(events),
        "result": repr(result) + result.stdout + repr(result.transcript) + repr(result.metadata),
        "pickles": repr([pickle.dumps(result), *map(pickle.dumps, events)]),
        "messages": repr(tracer.entries()),
        "logs": caplog.text + repr([record.__dict__ for record in caplog.records]),
        "argv and files during the call": "\n".join(during),
        "the thread": repr([file.data for file in record.files]),
        "the agent": repr([agent, agent.__dict__, system.__dict__]),
    }
    assert during
    for what, text in left.items():
        assert token not in text, what
        assert base64.b64encode(token.encode()).decode() not in text, what


def test_an_error_of_a_run_holds_no_token_and_can_be_pickled(
    scripted: Scripted, system: System, tmp_path: Path
) -> None:
    @tool.define()
    def nothing() -> None:
        """Do nothing."""

    driver = scripted({"say": "not written yet"})
    with Agent(driver, tools=[nothing], system=system) as agent:
        variable = agent.token_variable
        steps = [
            {"write_file": str(tmp_path / "token.txt"), "text": f"{{{{env.{variable}}}}}"},
            {"fail": f"cannot use {{{{env.{variable}}}}}"},
        ]
        assert isinstance(driver.command, tuple)
        Path(driver.command[-1]).write_text(json.dumps({"turns": [{"steps": steps}]}))
        with pytest.raises(RunError) as caught:
            agent.run("hello")
        token = (tmp_path / "token.txt").read_text()
        error = pickle.loads(pickle.dumps(caught.value))  # noqa: S301
        for each in (caught.value, error):
            assert MASK in str(each)
            assert token not in repr(each) + str(each) + repr(each.result)
        assert error.reason is caught.value.reason


def test_what_services_and_servers_know_does_not_leave_either(
    scripted: Scripted, system: System, tracer: Tracer, caplog: pytest.LogCaptureFixture
) -> None:
    login = "login-4c1f2d9a7b"

    class Shop(RunService):
        def attach(self, run: RunInfo) -> Attachment:
            return Attachment(environment={"SHOP_LOGIN": login}, observe=seen.append)

    caplog.set_level(logging.DEBUG)
    seen: list[Event] = []
    driver = scripted(
        {"stderr": "warning: {{env.SHOP_LOGIN}}"}, {"say": "my login is {{env.SHOP_LOGIN}}"}
    )
    server = StdioServer(key="shop", command="shop", env={"SHOP_LOGIN": login})
    options = Options(services=[Shop()], metadata={"team": "a"})
    with Agent(driver, options, system=system) as agent:
        stream = agent.stream("hello")
        events = list(stream)
        result = stream.result()
        with pytest.raises(UnsupportedError) as caught:
            agent.run("hello", Options(mcp=[server]))
    assert result.text == f"my login is {MASK}"
    assert any(isinstance(event, TextDelta) for event in seen)
    left = {
        "events": repr(events) + repr(seen),
        "result": repr(pickle.dumps(result)),
        "options": repr([options, Options(mcp=[server]), server]),
        "error": repr(caught.value) + repr(caught.value.value),
        "messages": repr(tracer.entries()),
        "logs": caplog.text,
        "the agent": repr([agent, agent.__dict__, system.__dict__]),
    }
    for what, text in left.items():
        assert login not in text, what
