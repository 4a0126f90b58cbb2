"""What a provider process asks, and the way of the answer back to it."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from toolcrib.messages.approvals import Ask, Decision
from toolcrib.messages.events import Notice
from toolcrib.runtime.drivers.interface import Step, Withdraw, Write
from toolcrib.runtime.processes.lines import LastLines
from toolcrib.runtime.processes.session import ProcessLimits

from .conftest import LineDialect, Probe

if TYPE_CHECKING:
    from .conftest import Runner

ASKING = """
import sys
for line in sys.argv[1:] or ["ASK 1"]:
    print(line, flush=True)
for line in sys.stdin:
    print("heard " + line.strip(), flush=True)
    if line.startswith("last"):
        break
print("DONE", flush=True)
"""


class AskingDialect(LineDialect):
    """``ASK 1`` asks, ``BACK 1`` takes it back; what was decided is written in a line."""

    def __init__(self, *opening: Step) -> None:
        super().__init__(*opening)
        self.decisions: list[tuple[str, Decision]] = []
        self.deciding: set[threading.Thread] = set()

    def line(self, text: str) -> tuple[Step, ...]:
        word, _, number = text.partition(" ")
        if word == "ASK":
            return (Ask(id=number, kind="permission", title=f"ask {number}"),)
        if word == "BACK":
            return (Withdraw(number),)
        return super().line(text)

    def decided(self, ask: Ask, decision: Decision) -> tuple[Step, ...]:
        self.decisions.append((ask.id, decision))
        self.deciding.add(threading.current_thread())
        word = "yes" if decision.approved else "no"
        return (Write(f"{decision.answer or word} {ask.id}\n".encode()),)


def printing(*lines: str) -> str:
    return f"import sys; sys.argv[1:] = {list(lines)!r}\n{ASKING}"


def test_an_answer_reaches_the_dialect_on_the_pumps_thread_and_the_process(
    runner: Runner,
) -> None:
    dialect = AskingDialect()
    probe = runner.start(printing("before", "ASK 1"), dialect=dialect)
    probe.wait_until(lambda: probe.asks)
    assert [ask.title for ask in probe.asks] == ["ask 1"]
    assert probe.texts == ["before"]  # what came first was told first
    assert probe.process is not None
    probe.process.answer("1", Decision(approved=True, answer="last"))
    probe.wait_for_end()
    assert probe.texts == ["before", "heard last 1"]
    assert dialect.deciding == probe.threads
    assert probe.verdict.ok


def test_two_asks_are_open_at_once_and_answered_in_any_order(runner: Runner) -> None:
    dialect = AskingDialect()
    probe = runner.start(printing("ASK 1", "ASK 2"), dialect=dialect)
    probe.wait_until(lambda: len(probe.asks) == 2)
    assert probe.process is not None
    probe.process.answer("2", Decision(approved=False))
    probe.process.answer("1", Decision(approved=True, answer="last"))
    probe.wait_for_end()
    assert probe.texts == ["heard no 2", "heard last 1"]


def test_a_second_ask_with_an_id_that_is_open_is_refused_and_not_mixed_up(
    runner: Runner,
) -> None:
    dialect = AskingDialect()
    probe = runner.start(printing("ASK 1", "ASK 1"), dialect=dialect)
    probe.wait_for_text("heard no 1")
    assert len(probe.asks) == 1
    assert [e.kind for e in probe.events if isinstance(e, Notice)] == ["approval.refused"]
    assert probe.process is not None
    probe.process.answer("1", Decision(approved=True, answer="last"))
    probe.wait_for_end()
    assert [decision.approved for _, decision in dialect.decisions] == [False, True]


def test_what_was_taken_back_is_told_and_its_answer_ignored(runner: Runner) -> None:
    dialect = AskingDialect()
    probe = runner.start(
        printing("ASK 1", "BACK 1", "BACK 7", "ASK 2"),
        dialect=dialect,
    )
    probe.wait_until(lambda: len(probe.asks) == 2)
    assert probe.withdrawals == ["1"]
    assert probe.process is not None
    probe.process.answer("1", Decision(approved=True))
    probe.process.answer("unknown", Decision(approved=True))
    probe.process.answer("2", Decision(approved=True, answer="last"))
    probe.wait_for_end()
    assert [ask_id for ask_id, _ in dialect.decisions] == ["2"]


def test_an_ask_is_decided_once(runner: Runner) -> None:
    dialect = AskingDialect()
    probe = runner.start(printing("ASK 1"), dialect=dialect)
    probe.wait_until(lambda: probe.asks)
    assert probe.process is not None
    for answer in ("first", "second", "last"):
        probe.process.answer("1", Decision(approved=True, answer=answer))
    probe.wait_for_text("heard first 1")
    probe.process.close(0)
    probe.wait_for_end()
    assert len(dialect.decisions) == 1


def test_a_decision_is_written_before_the_process_is_ended(runner: Runner) -> None:
    dialect = AskingDialect()
    slow = """
import signal, sys
signal.signal(signal.SIGTERM, lambda *_: None)
print("ASK 1", flush=True)
print("heard " + sys.stdin.readline().strip(), flush=True)
"""
    probe = runner.start(slow, dialect=dialect, grace=20.0)
    probe.wait_until(lambda: probe.asks)
    assert probe.process is not None
    probe.process.answer("1", Decision(approved=False))
    probe.process.close()
    probe.wait_for_end()
    assert probe.texts == ["heard no 1"]


def test_a_dialect_that_raises_on_a_decision_fails_its_turn(runner: Runner) -> None:
    class Broken(AskingDialect):
        def decided(self, ask: Ask, decision: Decision) -> tuple[Step, ...]:
            raise ZeroDivisionError("oops")

    probe = runner.start(printing("ASK 1"), dialect=Broken())
    probe.wait_until(lambda: probe.asks)
    assert probe.process is not None
    probe.process.answer("1", Decision(approved=True))
    probe.wait_for_end()
    assert not probe.verdict.ok
    assert "Broken.decided" in probe.verdict.message


def test_an_answer_after_the_end_does_nothing(runner: Runner) -> None:
    dialect = AskingDialect()
    probe = runner.run("print('ASK 1'); print('DONE')", dialect=dialect)
    assert probe.process is not None
    probe.process.answer("1", Decision(approved=True))
    assert dialect.decisions == []


def test_the_output_is_kept_in_whole_masked_lines(runner: Runner) -> None:
    probe = runner.run(
        "print('a'); print('the token is hush-hush'); print('DONE'); print('rest', end='')",
        secrets=("hush-hush",),
    )
    assert probe.exit is not None
    assert probe.exit.stdout == "a\nthe token is ***\nDONE\nrest\n"
    assert "token" not in repr(probe.exit)


def test_only_the_last_whole_lines_are_kept() -> None:
    lines = LastLines(10)
    for line in ("one", "two", "three"):
        lines.add(line)
    assert lines.text() == "two\nthree\n"
    lines.add("x" * 10)
    assert lines.text() == ""
    lines.add("x" * 9)
    assert lines.text() == "x" * 9 + "\n"


def test_a_process_is_silent_from_its_last_line_on(runner: Runner) -> None:
    source = "import sys\nprint('a', flush=True)\nfor line in sys.stdin: print(line, flush=True)"
    probe = runner.start(source, dialect=(dialect := AskingDialect()))
    probe.wait_for_text("a")
    process = probe.process
    assert process is not None
    never, end = threading.Event(), time.monotonic() + runner.deadline
    while process.silence() < 0.2:
        assert time.monotonic() < end
        never.wait(0.05)
    assert dialect.lines == ["a"]


def test_a_process_that_is_not_read_is_not_silent(runner: Runner) -> None:
    listener = Probe(acknowledging=False)
    source = "import sys\nprint('a', flush=True)\nprint('b', flush=True)\nsys.stdin.read()"
    limits = ProcessLimits(events=1)
    probe = runner.start(source, listener=listener, limits=limits)
    probe.wait_for_text("a")
    assert probe.process is not None
    never = threading.Event()
    assert not never.wait(0.1)
    assert probe.process.silence() == 0.0
    probe.process.acknowledge(1)
    assert probe.process.silence() < 0.1  # it counts from now on
