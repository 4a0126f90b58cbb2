"""A transcript is what was said and done, in order and in whole pieces."""

from __future__ import annotations

from toolcrib.messages.events import Event, Notice, TextDelta, Thinking, ToolCall, ToolResult
from toolcrib.messages.results import TranscriptItem
from toolcrib.messages.secret import Secret
from toolcrib.runtime.processes.lines import Masks
from toolcrib.runtime.transcript import Transcript


def items(*events: Event) -> list[tuple[str, str]]:
    transcript = Transcript("why?")
    for event in events:
        transcript.add(event)
    return [(item.kind, item.text) for item in transcript.items()]


def test_the_prompt_comes_first_and_pieces_of_a_message_become_one() -> None:
    assert items(
        Thinking(text="hm", phase="start"),
        Thinking(text="m"),
        TextDelta(text="Be", message_id="1", phase="start"),
        TextDelta(text="cause", message_id="1"),
        TextDelta(text="", message_id="1", phase="end"),
        TextDelta(text="Next", message_id="2"),
    ) == [("user", "why?"), ("thinking", "hmm"), ("assistant", "Because"), ("assistant", "Next")]


def test_a_new_start_is_a_new_piece_even_where_messages_have_no_name() -> None:
    assert items(
        TextDelta(text="one", phase="start"),
        TextDelta(text="", phase="end"),
        TextDelta(text="two", phase="start"),
    )[1:] == [("assistant", "one"), ("assistant", "two")]


def test_calls_and_results_stand_where_they_happened() -> None:
    transcript = Transcript("?")
    events: list[Event] = [
        TextDelta(text="I look", message_id="1"),
        ToolCall(call_id="c", name="look", arguments={"a": "ä"}, hosted=True),
        Notice(kind="x", message="left aside"),
        ToolResult(call_id="c", name="look", text="seen", is_error=True, hosted=True),
        TextDelta(text=" on", message_id="1"),
    ]
    for event in events:
        transcript.add(event)
    assert transcript.items()[1:] == (
        TranscriptItem(kind="assistant", text="I look"),
        TranscriptItem(kind="tool_call", text='{"a": "ä"}', name="look", call_id="c"),
        TranscriptItem(kind="tool_result", text="seen", name="look", call_id="c", is_error=True),
        TranscriptItem(kind="assistant", text=" on"),
    )


def test_arguments_that_are_no_json_do_not_break_it() -> None:
    circular: dict[str, object] = {}
    circular["me"] = circular
    call = ToolCall(call_id="c", name="x", arguments=circular, hosted=False)
    odd = ToolCall(call_id="d", name="x", arguments={"v": object()}, hosted=False)
    assert items(call, odd)[1:] == [("tool_call", "{}"), ("tool_call", '{"v": "<object>"}')]


def test_a_secret_that_came_in_pieces_is_hidden_in_the_whole() -> None:
    transcript = Transcript("?")
    transcript.hide(Masks([Secret("tok_ABCDEFGH")]))
    for text in ("it is tok_ABC", "DEFGH."):
        transcript.add(TextDelta(text=text, message_id="1"))

    assert transcript.items()[1].text == "it is ***."
