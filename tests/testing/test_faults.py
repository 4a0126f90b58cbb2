"""The faults of a real CLI, on demand."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import psutil
import pytest

DEADLINE = 30.0
HERE = {"say": "I am here."}


def next_record(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert process.stdout is not None
    record: dict[str, Any] = json.loads(process.stdout.readline())
    return record


def wait_until_it_spoke(process: subprocess.Popen[bytes]) -> None:
    while next_record(process)["type"] != "assistant":
        pass


def pid_in(path: Path) -> int:
    return int(path.read_text())


def test_an_exit_comes_without_a_terminal_record(provider: Any) -> None:
    ended = provider.run(provider.script({"say": "half"}, {"exit": 7}, {"say": "never"}))

    assert ended.code == 7
    assert ended.types == ["system", "user", "assistant"]


def test_a_failure_is_a_line_of_stderr_and_exit_1(provider: Any) -> None:
    ended = provider.run(provider.script({"fail": "Error: {{prompt}} is too much"}), prompt="That")

    assert (ended.code, ended.stderr) == (1, "Error: That is too much\n")
    assert "result" not in ended.types


def test_a_success_may_still_exit_non_zero(provider: Any) -> None:
    ended = provider.run(provider.script({"say": "fine"}, {"result": {}}, {"exit": 3}))

    assert ended.code == 3
    assert ended.terminal["result"] == "fine"


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGTERM"])
def test_it_dies_of_the_signal_that_the_script_names(provider: Any, name: str) -> None:
    ended = provider.run(provider.script({"say": "half"}, {"die": name}))

    assert ended.code == -signal.Signals[name]
    assert ended.types[-1] == "assistant"


def test_garbage_and_raw_records_are_printed_as_they_are(provider: Any) -> None:
    ended = provider.run(
        provider.script(
            {"print": "{not json"},
            {"print": "ab", "repeat": 3},
            {"record": {"type": "brand_new", "n": [1, "{{session_id}}"]}},
            opening=False,
        )
    )

    garbage, repeated, raw, result = ended.lines
    assert garbage == "{not json"
    assert repeated == "ababab"
    session = json.loads(result)["session_id"]
    assert json.loads(raw) == {"type": "brand_new", "n": [1, session]}


def test_fields_of_the_result_can_be_replaced_and_left_out(provider: Any) -> None:
    override = {"is_error": True, "subtype": "error", "usage": None, "extra": "{{turn}}"}

    result = provider.run(provider.script({"say": "x"}, {"result": override})).terminal

    assert (result["is_error"], result["subtype"], result["extra"]) == (True, "error", 1)
    assert "usage" not in result


def test_words_may_follow_the_result_and_no_second_one_comes(provider: Any) -> None:
    ended = provider.run(provider.script({"say": "a"}, {"after_result": [{"say": "late"}]}))

    assert ended.types == ["system", "user", "assistant", "result", "assistant"]
    assert ended.terminal["result"] == "a"


def test_a_second_result_comes_where_it_is_asked_for(provider: Any) -> None:
    ended = provider.run(provider.script({"result": {}}, {"result": {}}))

    assert ended.types == ["system", "user", "result", "result"]


def test_a_long_line_and_a_flood_come_whole(provider: Any) -> None:
    script = provider.script(
        {"say": "0123456789", "repeat": 500_000}, {"flood": 2000, "text": "x"}
    )

    ended = provider.run(script)

    assert max(len(line) for line in ended.lines) > 5_000_000
    assert ended.types.count("assistant") == 2001
    assert ended.terminal["result"] == "0123456789" * 500_000 + "x" * 2000


def test_standard_error_takes_lines(provider: Any) -> None:
    ended = provider.run(
        provider.script({"stderr": "warning: {{turn}}"}, {"stderr": "a\n", "repeat": 3})
    )

    assert ended.stderr == "warning: 1\na\na\na\n\n"


def test_each_line_is_flushed_at_once(provider: Any) -> None:
    with provider.start(provider.script({"say": "first"}, {"wait_for_file": "gate"})) as process:
        types = [next_record(process)["type"] for _ in range(3)]
        (provider.workspace / "gate").touch()
        last = next_record(process)

    assert types == ["system", "user", "assistant"]
    assert last["type"] == "result"


def test_files_open_a_gate_and_show_how_far_it_came(provider: Any) -> None:
    script = provider.script(
        {"touch": "started"},
        HERE,
        {"wait_for_file": "gate"},
        {"write_file": "seen/{{turn}}.txt", "text": "{{prompt}}!"},
    )

    with provider.start(script) as process:
        wait_until_it_spoke(process)
        assert (provider.workspace / "started").exists()
        assert process.poll() is None
        (provider.workspace / "gate").touch()
        assert process.wait(DEADLINE) == 0

    assert (provider.workspace / "seen" / "1.txt").read_text() == "Hello!"


def test_hanging_ends_with_a_signal(provider: Any) -> None:
    with provider.start(provider.script(HERE, {"hang": True})) as process:
        wait_until_it_spoke(process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(DEADLINE) == -signal.SIGTERM


def test_an_interrupt_ends_it_without_a_traceback(provider: Any) -> None:
    with provider.start(provider.script(HERE, {"hang": True})) as process:
        wait_until_it_spoke(process)
        process.send_signal(signal.SIGINT)
        assert process.wait(DEADLINE) == -signal.SIGINT
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_sigterm_can_be_ignored(provider: Any) -> None:
    script = provider.script(
        {"ignore_sigterm": True},
        HERE,
        {"wait_for_file": "gate"},
        {"say": "still here"},
    )

    with provider.start(script) as process:
        wait_until_it_spoke(process)
        process.send_signal(signal.SIGTERM)
        (provider.workspace / "gate").touch()
        assert process.wait(DEADLINE) == 0


def test_it_can_linger_after_the_result(provider: Any) -> None:
    with provider.start(provider.script({"say": "done"}, {"linger": True})) as process:
        types = [next_record(process)["type"] for _ in range(4)]
        assert types[-1] == "result"
        assert process.poll() is None


@pytest.mark.parametrize(("kind", "leads_a_session"), [("child", False), ("detached", True)])
def test_a_grandchild_outlives_it(provider: Any, kind: str, leads_a_session: bool) -> None:
    script = provider.script({"spawn": kind, "pid_file": "grandchild.pid"}, HERE)

    with provider.start(script) as process:
        wait_until_it_spoke(process)
        pid = pid_in(provider.workspace / "grandchild.pid")
        session = os.getsid(pid)
        assert process.wait(DEADLINE) == 0

        assert psutil.Process(pid).is_running()
        assert session == (pid if leads_a_session else process.pid)


def test_an_attached_grandchild_keeps_standard_output_open(provider: Any) -> None:
    script = provider.script({"spawn": "child", "pid_file": "grandchild.pid"}, HERE)

    with provider.start(script) as process:
        wait_until_it_spoke(process)
        pid = pid_in(provider.workspace / "grandchild.pid")
        assert process.wait(DEADLINE) == 0
        assert process.stdout is not None
        ours = Path(f"/proc/self/fd/{process.stdout.fileno()}").readlink()
        assert Path(f"/proc/{pid}/fd/1").readlink() == ours


def test_a_reader_that_leaves_ends_it_quietly(provider: Any) -> None:
    script = provider.script({"wait_for_file": "gate"}, {"flood": 100_000})

    with provider.start(script) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        (provider.workspace / "gate").touch()
        assert process.wait(DEADLINE) == 1
        assert process.stderr.read() == b""


def test_the_environment_can_be_quoted(provider: Any) -> None:
    provider.environment["TMPDIR"] = str(Path("/some/where"))

    ended = provider.run(provider.script({"say": "{{env.TMPDIR}}[{{env.NOT_SET}}]"}))

    assert ended.terminal["result"] == "/some/where[]"
