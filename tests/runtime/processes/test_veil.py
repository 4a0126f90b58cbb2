"""Secrets that come in pieces are masked, and no other text is lost or late."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from toolcrib.messages.events import Event, Notice, Subagent, TextDelta, Thinking, ToolCall
from toolcrib.messages.secret import Secret
from toolcrib.messages.turn import ProcessExit, TurnOutcome
from toolcrib.runtime.drivers.interface import Emit, Step
from toolcrib.runtime.processes.lines import Masks
from toolcrib.runtime.processes.veil import Veil

from .conftest import LineDialect

SECRET = "abcabd-0123456789"
Form = Literal["text", "thinking", "subagent"]
FORMS: tuple[Form, ...] = ("text", "thinking", "subagent")


def piece(form: Form, text: str, *, last: bool = False) -> Event:
    match form:
        case "text":
            return TextDelta(text=text, message_id="m", phase="end" if last else "delta")
        case "thinking":
            return Thinking(text=text, phase="end" if last else "delta")
        case "subagent":
            return Subagent(
                agent_id="a", name="x", kind="finished" if last else "delta", text=text
            )


def veiled(*events: Event) -> str:
    veil = Veil(Masks([Secret(SECRET)]))
    told = [each for event in events for each in veil.pass_on(event)] + veil.rest()
    return "".join(getattr(event, "text", "|") for event in told)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [1, 2, 5, 16])
def test_a_secret_in_pieces_of_any_size_is_masked(form: Form, size: int) -> None:
    text = f"it is abcabc{SECRET} and ab{SECRET}abc"
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert veiled(*(piece(form, each) for each in pieces)) == text.replace(SECRET, "***")


@pytest.mark.parametrize("form", FORMS)
def test_what_only_looked_like_a_beginning_comes_before_anything_else(form: Form) -> None:
    between = ToolCall(call_id="c", name="look", arguments={}, hosted=False)
    assert veiled(piece(form, "x abca"), between, piece(form, "bd")) == "x abca|bd"
    assert veiled(piece(form, "x abca"), piece(form, "", last=True)) == "x abca"
    assert veiled(piece(form, "x abca")) == "x abca"


@pytest.mark.parametrize("form", FORMS)
def test_a_notice_in_the_middle_of_a_text_shows_no_half_of_a_secret(form: Form) -> None:
    notice = Notice(kind="k", message="m")
    first, second = SECRET[:4], SECRET[4:]
    assert veiled(piece(form, first), notice, piece(form, f"{second}.")) == "|***."


def test_texts_of_different_messages_are_not_put_together() -> None:
    veil = Veil(Masks([Secret(SECRET)]))
    first = TextDelta(text="abca", message_id="1")
    second = TextDelta(text="bd", message_id="2")
    assert veil.pass_on(first) == []
    assert veil.pass_on(second) == [first, second]


def test_a_held_beginning_keeps_its_message_in_order() -> None:
    veil = Veil(Masks([Secret(SECRET)]))
    start = TextDelta(text="abc", message_id="1", phase="start")
    end = TextDelta(text="", message_id="1", phase="end")
    assert veil.pass_on(start) == [TextDelta(text="", message_id="1", phase="start")]
    assert veil.pass_on(end) == [TextDelta(text="abc", message_id="1", phase="end")]


def test_without_secrets_events_pass_as_they_are() -> None:
    event = TextDelta(text="abc")
    assert Veil(Masks([])).pass_on(event)[0] is event


class Joining(LineDialect):
    """Puts the lines together to its answer, as a dialect does with pieces."""

    def line(self, text: str) -> tuple[Step, ...]:
        self.lines.append(text)
        return (Emit(TextDelta(text=text, message_id="m")),)

    def ended(self, exit: ProcessExit) -> TurnOutcome:
        return TurnOutcome(ok=True, text="".join(self.lines), output="".join(self.lines))


def test_a_process_that_spells_its_secret_out_tells_it_to_nobody(runner: Any) -> None:
    source = f"for letter in 'so: {SECRET}.': print(letter)"
    probe = runner.run(source, dialect=Joining(), secrets=(SECRET,))
    assert "".join(probe.texts) == "so: ***."
    assert (probe.verdict.text, probe.verdict.output) == ("so: ***.", "so: ***.")
