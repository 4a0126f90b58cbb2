from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest

from toolcrib.messages.events import TextDelta
from toolcrib.messages.results import RunReason
from toolcrib.runtime.drivers.interface import CloseInput, Emit, Write
from toolcrib.runtime.processes.interface import ProcessLimits

TOKEN = 'tok"en/ä-0123456789'


def test_each_line_of_standard_output_reaches_the_dialect_in_order(runner: Any) -> None:
    probe = runner.run("print('one'); print(); print('three'); print('DONE')")
    assert probe.verdict.text == "one\n\nthree\nDONE"
    assert probe.texts == ["one", "", "three"]
    assert probe.verdict.ok


def test_started_is_told_first_and_ended_last(runner: Any) -> None:
    probe = runner.run("import sys; print('x'); print('y', file=sys.stderr)")
    assert probe.calls[0] == "started"
    assert probe.calls[-1] == "ended"
    assert set(probe.calls[1:-1]) == {"steps", "stderr"}


def test_all_calls_come_from_one_daemon_thread_with_a_name(runner: Any) -> None:
    probe = runner.run("print('x')")
    (thread,) = probe.threads
    assert thread.daemon
    assert thread.name.startswith("toolcrib-process-")


def test_a_last_line_without_line_end_is_delivered(runner: Any) -> None:
    probe = runner.run("import os; os.write(1, b'a\\nlast'); os.write(2, b'b\\nend')")
    assert probe.texts == ["a", "last"]
    assert probe.errors == ["b", "end"]


def test_windows_line_ends_are_taken_off(runner: Any) -> None:
    assert runner.run("import os; os.write(1, b'a\\r\\nb\\r\\n')").texts == ["a", "b"]


def test_garbage_is_text_with_replacement_characters(runner: Any) -> None:
    probe = runner.run("import os; os.write(1, b'\\xff\\x00\\xfe{\\n\\xc3\\nok\\n')")
    assert probe.texts == ["\ufffd\0\ufffd{", "\ufffd", "ok"]


def test_characters_that_are_written_byte_by_byte_stay_whole(runner: Any) -> None:
    probe = runner.run(
        "import os\nfor byte in 'é€😀\\n'.encode() * 200:\n    os.write(1, bytes([byte]))"
    )
    assert probe.texts == ["é€😀"] * 200


def test_a_line_of_five_megabytes_arrives_whole(runner: Any) -> None:
    probe = runner.run("print('x' * 5_000_000 + 'end'); print('next')")
    assert [len(text) for text in probe.texts] == [5_000_003, 4]


def test_a_longer_line_than_allowed_is_a_protocol_error_and_ends_the_process(
    runner: Any,
) -> None:
    probe = runner.run(
        "import time; print('before', flush=True); print('x' * 300_000, flush=True)\n"
        "print('after', flush=True); time.sleep(60)",
        limits=ProcessLimits(line=100_000),
    )
    assert probe.verdict.reason is RunReason.PROTOCOL_ERROR
    assert "longer than 100000 bytes" in probe.verdict.message
    assert not probe.verdict.ok
    assert probe.exit.forced
    # What came before it is kept, what came after it can't be trusted.
    assert probe.verdict.text == "before"
    assert probe.verdict.session_id == "s-1"


def test_an_endless_line_is_refused_before_it_ends(runner: Any) -> None:
    probe = runner.run(
        "import os\nwhile True:\n    os.write(1, b'x' * 65536)",
        limits=ProcessLimits(line=1_000_000),
    )
    assert probe.verdict.reason is RunReason.PROTOCOL_ERROR


def test_events_wait_for_the_listener_in_a_bounded_number(runner: Any) -> None:
    limit, lines = 50, 3000
    probe = runner.Probe(acknowledging=False)
    most = acknowledged = 0

    def waiting() -> int:
        return len(probe.events) - acknowledged

    runner.start(
        f"for i in range({lines}):\n    print(i, 'x' * 200)",
        listener=probe,
        limits=ProcessLimits(events=limit, batch=8),
    )
    while acknowledged + limit < lines:
        probe.wait_until(lambda: waiting() >= limit)
        most = max(most, waiting())
        probe.process.acknowledge(10)
        acknowledged += 10
    probe.process.acknowledge(limit)
    probe.wait_for_end()
    assert len(probe.texts) == lines
    assert most == limit


def test_large_lines_wait_for_the_listener_by_their_size(runner: Any) -> None:
    probe = runner.Probe(acknowledging=False)
    runner.start(
        "for i in range(40):\n    print(i, 'x' * 100_000, flush=True)",
        listener=probe,
        limits=ProcessLimits(held=1_000_000),
    )
    for acknowledged in range(30):
        probe.wait_until(lambda want=acknowledged + 10: len(probe.events) >= want)
        assert len(probe.events) == acknowledged + 10
        probe.process.acknowledge(1)
    probe.process.acknowledge(10)
    probe.wait_for_end()
    assert len(probe.texts) == 40


def test_a_flood_of_standard_error_waits_as_well(runner: Any) -> None:
    probe = runner.Probe(acknowledging=False)
    runner.start(
        "import sys\nfor i in range(5000):\n    print(i, 'x' * 200, file=sys.stderr)",
        listener=probe,
        limits=ProcessLimits(events=20),
    )
    most = acknowledged = 0

    def waiting() -> int:
        return len(probe.errors) - acknowledged

    while acknowledged < 4900:
        probe.wait_until(lambda: waiting() >= 20)
        most = max(most, waiting())
        probe.process.acknowledge(20)
        acknowledged += 20
    probe.process.acknowledge(100_000)
    probe.acknowledging = True
    probe.wait_for_end()
    assert most == 20
    assert len(probe.errors) == 5000
    assert len(probe.exit.stderr) == 64 * 1024
    assert probe.exit.stderr.endswith("x\n")


def test_a_listener_that_never_acknowledges_does_not_hold_up_the_end(runner: Any) -> None:
    probe = runner.run(
        "for i in range(1000):\n    print(i)",
        listener=runner.Probe(acknowledging=False),
        limits=ProcessLimits(events=10),
    )
    assert len(probe.texts) == 1000
    assert probe.code == 0


def test_a_flood_into_a_stuck_listener_can_be_closed(runner: Any) -> None:
    probe = runner.start(
        "while True:\n    print('x' * 1000)",
        listener=runner.Probe(acknowledging=False),
        limits=ProcessLimits(events=10),
    )
    probe.wait_until(lambda: len(probe.events) >= 10)
    probe.process.close(0)
    probe.wait_for_end()
    # No more than what the pipe and one read could hold.
    assert len(probe.events) < 10 + 200


def test_the_prompt_is_written_and_the_input_closed(runner: Any) -> None:
    probe = runner.run(
        "import sys; print(len(sys.stdin.buffer.read()))",
        Write(b"x" * 5_000_000),
        Write(b"yz"),
        CloseInput(),
        Write(b"too late"),
    )
    assert probe.texts == ["5000002"]


def test_a_child_that_closes_its_input_is_not_disturbed(runner: Any) -> None:
    probe = runner.run(
        "import os, time; os.close(0); print('closed'); print('DONE')", Write(b"x" * 5_000_000)
    )
    assert probe.verdict.ok
    assert probe.code == 0


def test_the_dialect_can_answer_a_line(runner: Any) -> None:
    class Answering(runner.LineDialect):  # type: ignore[misc]
        def line(self, text: str) -> tuple[Any, ...]:
            steps = super().line(text)
            return (*steps, Write(b"answer\n")) if text == "question" else steps

    probe = runner.run("print('question', flush=True); print(input())", dialect=Answering())
    assert probe.texts == ["question", "answer"]


def test_events_of_the_opening_come_before_those_of_lines(runner: Any) -> None:
    probe = runner.run("print('second')", Emit(TextDelta(text="first")))
    assert probe.texts == ["first", "second"]


def test_secrets_are_masked_in_whatever_form_they_are_printed(runner: Any) -> None:
    source = (
        "import json, os, sys, time\n"
        "token = os.environ['TOKEN']\n"
        "forms = [token, json.dumps(token), json.dumps(token, ensure_ascii=False)]\n"
        "forms.append(json.dumps(token).replace('/', '\\\\/'))\n"
        "for form in forms:\n"
        "    data = f'<{form}>\\n'.encode()\n"
        "    for out in (1, 2):\n"
        "        os.write(out, data[:9]); os.write(out, data[9:])\n"
    )
    probe = runner.run(source, secrets=(TOKEN, ""), environment={"TOKEN": TOKEN})
    expected = ["<***>", '<"***">', '<"***">', '<"***">']
    assert probe.texts == expected
    assert probe.verdict.text.splitlines() == expected
    assert probe.errors == expected
    assert probe.exit.stderr.splitlines() == expected


def test_a_secret_at_the_cut_of_a_long_error_line_is_not_shown_in_part(runner: Any) -> None:
    secret = "abcdefghijklmnopqrstuvwxyz"
    source = (
        f"import sys\nfor n in range(60, 110):\n    print('.' * n + {secret!r} + '.' * 100,"
        " file=sys.stderr)\nprint('end', file=sys.stderr)"
    )
    probe = runner.run(source, secrets=(secret,), limits=ProcessLimits(stderr_line=100))
    assert len(probe.errors) == 51
    assert probe.errors[-1] == "end"
    assert all(re.fullmatch(r"\.+\**…", line) for line in probe.errors[:-1])


def test_the_environment_is_exactly_the_given_one_and_the_marker(runner: Any) -> None:
    probe = runner.run(
        "import json, os; print(json.dumps(dict(os.environ)))", environment={"A": "b"}
    )
    seen = json.loads(probe.texts[0])
    assert re.fullmatch("[0-9a-f]{32}", seen.pop("TOOLCRIB_PROCESS"))
    seen.pop("LC_CTYPE", None)  # Python's own, in the C locale
    assert seen == {"A": "b", "PATH": "/usr/bin:/bin"}


def test_the_child_leads_a_session_and_inherits_the_three_pipes_only(
    runner: Any, tmp_path: Any
) -> None:
    with (tmp_path / "inheritable").open("w") as leak:
        os.set_inheritable(leak.fileno(), True)
        probe = runner.run(
            "import os\nprint(os.getpid() == os.getsid(0) == os.getpgrp())\n"
            "print(sorted(map(int, os.listdir('/proc/self/fd')))[:-1])\nprint(os.getcwd())"
        )
    assert probe.texts == ["True", "[0, 1, 2]", str(tmp_path)]


def test_the_listener_may_raise_without_harm(
    runner: Any, caplog: pytest.LogCaptureFixture
) -> None:
    class Raising(runner.Probe):  # type: ignore[misc]
        def steps(self, events: tuple[Any, ...]) -> None:
            super().steps(events)
            raise SystemExit(3)

    probe = runner.run("print('DONE'); print('more')", listener=Raising())
    assert probe.verdict.ok
    assert "listener raised" in caplog.text
