from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from toolcrib.runtime.tracing import TraceEntry, sequence_diagram, write
from toolcrib.runtime.tracing.normal import base_name, normal_text

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def entries(*lines: str) -> list[TraceEntry]:
    """Make entries of lines such as ``agent-1 run-1 StartRun phase=closing``."""
    made: list[TraceEntry] = []
    for number, line in enumerate(lines, 1):
        sender, receiver, kind, *fields = line.split()
        pairs = dict(part.split("=", 1) for part in fields)
        made.append(TraceEntry(sender, receiver, kind, pairs, NOW, number))
    return made


def arrows(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if "-)" in line]


def interleavings(
    first: Sequence[TraceEntry], second: Sequence[TraceEntry]
) -> Iterable[list[TraceEntry]]:
    for places in itertools.combinations(range(len(first) + len(second)), len(first)):
        left, right = iter(first), iter(second)
        yield [
            next(left) if place in places else next(right)
            for place in range(len(first) + len(second))
        ]


def test_a_diagram_shows_title_columns_and_messages_in_order() -> None:
    text = sequence_diagram(
        entries(
            "host agent-1 StartRun prompt=hello",
            "agent-1 registry ToolsWanted",
            "registry agent-1 ToolsReady tools=(lookup_issue)",
            "agent-1 agent-1 CloseDeadlinePassed",
        ),
        title="One run",
        participants=("Agent", "host"),
        rename={"agent": "Agent", "registry": "Tool registry"},
    )
    assert text == (
        "sequenceDiagram\n"
        "    title One run\n"
        "    participant Agent\n"
        "    participant host\n"
        "    participant Tool_registry as Tool registry\n"
        "    host-)Agent: StartRun\n"
        "    Agent-)Tool_registry: ToolsWanted\n"
        "    Tool_registry-)Agent: ToolsReady(tools=(lookup_issue))\n"
        "    Agent-)Agent: CloseDeadlinePassed\n"
    )


def test_no_entries_make_an_empty_diagram() -> None:
    assert sequence_diagram([]) == "sequenceDiagram\n"


def test_the_same_exchange_under_other_ids_is_the_same_diagram() -> None:
    def exchange(run: str, agent: str, path: str, port: int) -> str:
        return sequence_diagram(
            entries(
                f"{agent} {run} CloneReady root={path} phase=x",
                f"{run} {agent} ToolsReady tool=http://127.0.0.1:{port}/mcp",
            ),
            fields=("root", "tool", "phase"),
        )

    first = exchange("run-1", "agent-4", "/tmp/a/b", 40123)  # noqa: S108 - only a name
    second = exchange("run-7b3a9c20d1e2f3a4", "agent-11", "/var/tmp/c", 51)  # noqa: S108
    assert first == second
    assert arrows(first) == [
        "agent-)run: CloneReady(root={path}, phase=x)",
        "run-)agent: ToolsReady(tool=http://127.0.0.1:{port}/mcp)",
    ]


def test_actors_of_one_kind_are_numbered_as_they_appear() -> None:
    text = sequence_diagram(
        entries("agent-1 run-9 A", "agent-1 run-3 B", "run-9 agent-1 C", "host agent-1 D")
    )
    assert "participant run_1 as run 1\n" in text
    assert "run_1-)agent: C" in text
    assert "participant agent\n" in text


def test_skipped_messages_and_their_participants_are_left_out() -> None:
    text = sequence_diagram(entries("a b Kept", "c d Noise"), skip={"Noise"})
    assert arrows(text) == ["a-)b: Kept"]
    assert "participant c" not in text


def test_only_the_fields_asked_for_are_shown() -> None:
    trace = entries("a b Said phase=draining pid=12 ok=True")
    assert arrows(sequence_diagram(trace)) == ["a-)b: Said(phase=draining, ok=True)"]
    assert arrows(sequence_diagram(trace, fields=())) == ["a-)b: Said"]


def test_repeats_become_a_loop_with_their_number() -> None:
    text = sequence_diagram(entries("a b X", "a b Y", "a b Y", "a b Y", "a b Z"))
    assert text.endswith("    a-)b: X\n    loop 3 times\n        a-)b: Y\n    end\n    a-)b: Z\n")


def test_a_series_that_repeats_becomes_one_loop() -> None:
    text = sequence_diagram(entries(*["a b Ask", "b a Answer"] * 4, "a b Ask"))
    assert text.endswith(
        "    loop 4 times\n        a-)b: Ask\n        b-)a: Answer\n    end\n    a-)b: Ask\n"
    )


@pytest.mark.parametrize(
    "stretch",
    [
        ["d r Read", "r d Taken"],
        ["d r Read", "d r Read", "r d Taken"],
        ["d r Read", "r d Taken", "d r Read", "d r Read", "r d Taken", "r d Taken"],
    ],
)
def test_messages_whose_number_varies_are_one_loop_without_a_number(stretch: list[str]) -> None:
    text = sequence_diagram(entries("a r Start", *stretch, "r a End"), varying={"Read", "Taken"})
    assert text.endswith(
        "    a-)r: Start\n    loop repeated\n        d-)r: Read\n        r-)d: Taken\n    end\n"
        "    r-)a: End\n"
    )


def test_exchanges_that_have_nobody_in_common_may_be_recorded_in_any_order() -> None:
    one = entries("a b Ask", "b a Answer", "a b Thanks")
    other = entries("x y Ask", "y x Answer")
    drawn = {sequence_diagram(mixed) for mixed in interleavings(one, other)}
    assert len(drawn) == 1
    assert arrows(drawn.pop()) == [
        "a-)b: Ask",
        "b-)a: Answer",
        "a-)b: Thanks",
        "x-)y: Ask",
        "y-)x: Answer",
    ]


def test_what_one_actor_sends_to_several_may_be_recorded_in_any_order() -> None:
    branches = entries("agent driver Close", "agent cleaner Remove")
    drawn = {
        sequence_diagram([*entries("host agent Start"), *order])
        for order in itertools.permutations(branches)
    }
    assert len(drawn) == 1


def test_cause_and_effect_keep_their_order_against_the_alphabet() -> None:
    trace = entries("z y Cause", "y x Effect", "x a Later", "b x Unrelated", "x z Last")
    assert arrows(sequence_diagram(trace)) == [
        "z-)y: Cause",
        "y-)x: Effect",
        "x-)a: Later",
        "b-)x: Unrelated",
        "x-)z: Last",
    ]


def test_text_that_mermaid_would_misread_is_escaped() -> None:
    text = sequence_diagram(
        entries("end loop-x Said reason=a;b#c<d>"), title="x;y", rename={"loop-x": "loop x"}
    )
    assert "title x#59;y\n" in text
    assert "participant end_0 as end\n" in text
    assert "participant loop_x as loop x\n" in text
    assert arrows(text) == ["end_0-)loop_x: Said(reason=a#59;b#35;c#lt;d#gt;)"]


def test_labels_that_make_the_same_word_stay_apart() -> None:
    text = sequence_diagram(entries("a.b a_b Said"))
    assert "participant a_b as a.b\n" in text
    assert "participant a_b_1 as a_b\n" in text


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("/home/u/x.json", "{path}"),
        ("(/tmp/a, /b)", "({path}, {path})"),
        ("server/tool", "server/tool"),
        ("and/or", "and/or"),
        ("http://127.0.0.1:40123/mcp", "http://127.0.0.1:{port}/mcp"),
        ("2026-01-31T12:00:00.123+00:00", "{time}"),
        ("run_0123456789abcdef", "run_{id}"),
        ("run-12", "run-{id}"),
        ("TOOLCRIB_TOKEN_0123456789ABCDEF0123456789ABCDEF", "TOOLCRIB_TOKEN_{id}"),
        ("3f2504e0-4f89-11d3-9a0c-0305e82c3301", "{id}"),
        ("pid 4711, port=80", "pid {pid}, port={port}"),
        ("lookup_issue", "lookup_issue"),
        ("defaced facade", "defaced facade"),
        ("exit code 7", "exit code 7"),
    ],
)
def test_what_differs_between_runs_is_named_by_what_it_is(text: str, normal: str) -> None:
    assert normal_text(text) == normal


@pytest.mark.parametrize(
    ("name", "base"),
    [
        ("run-1", "run"),
        ("agent-crib-2", "agent-crib"),
        ("driver-run_0123456789abcdef", "driver"),
        ("agent-7b3a9c20d1e2f3a4", "agent"),
        ("registry", "registry"),
        ("profile-facade", "profile-facade"),
    ],
)
def test_an_actors_base_name_lacks_its_number(name: str, base: str) -> None:
    assert base_name(name) == base


def test_a_diagram_is_written_only_where_it_differs(tmp_path: Path) -> None:
    path = tmp_path / "diagrams" / "close.mmd"
    assert write(path, "sequenceDiagram\n")
    assert not write(path, "sequenceDiagram\n")
    assert write(path, "sequenceDiagram\n    title …\n")
    assert path.read_text(encoding="utf-8") == "sequenceDiagram\n    title …\n"
