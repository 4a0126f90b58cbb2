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


def results(count: int) -> list[Event]:
    return [
        ToolResult(call_id="c", name="t", text=str(number), is_error=False, hosted=True)
        for number in range(count)
    ]


def test_of_too_much_the_beginning_and_the_end_stay_and_what_is_missing_is_counted() -> None:
    transcript = Transcript("why?", most=10_000)
    for event in [*results(1000), TextDelta(text="The answer.")]:
        transcript.add(event)

    found = transcript.items()
    at = next(place for place, item in enumerate(found) if item.kind == "left_out")
    assert found[at].text.startswith(f"{1002 - (len(found) - 1)} pieces were left out")
    assert [item.text for item in found[:3]] == ["why?", "0", "1"]
    assert [item.text for item in found[-3:]] == ["998", "999", "The answer."]
    assert len(found) < 10_000 / 256
    assert abs(at - len(found) / 2) < 3


def test_a_large_prompt_and_a_large_answer_stay_whole() -> None:
    prompt, answer = "p" * 20_000, "a" * 20_000
    transcript = Transcript(prompt, most=10_000)
    for event in [*results(1000), TextDelta(text=answer)]:
        transcript.add(event)
    first, left_out, last = transcript.items()
    assert (first.text, left_out.kind, last.text) == (prompt, "left_out", answer)


def test_a_message_that_does_not_end_is_bounded_too() -> None:
    transcript = Transcript("?", most=10_000)
    for _ in range(1000):
        transcript.add(Thinking(text="x" * 100))
    found = transcript.items()
    assert [found[0].kind, found[1].kind, found[-1].kind] == ["user", "thinking", "thinking"]
    assert "left_out" in [item.kind for item in found]
    assert sum(len(item.text) for item in found) < 10_000


def test_an_enormous_message_is_cut_without_loss_and_never_inside_a_secret() -> None:
    secret = "tok_ABCDEFGH"
    for offset in range(len(secret)):
        transcript = Transcript("?", most=4000)
        transcript.hide(Masks([Secret(secret)]))
        text = "." * offset + (secret + " ") * 60
        for place in range(0, len(text), 100):
            transcript.add(TextDelta(text=text[place : place + 100]))
        said = [item.text for item in transcript.items()[1:]]
        assert len(said) == 2
        assert "".join(said) == "." * offset + "*** " * 60
