"""A recorded exchange as the text of a Mermaid sequence diagram."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .flow import Arrow, Loop, fold, settle
from .normal import base_name, normal_text
from .tracer import TraceEntry

__all__ = ["STABLE_FIELDS", "sequence_diagram", "write"]

STABLE_FIELDS = ("phase", "ok", "reason", "tool", "tools")
"""The fields that a diagram shows unless told otherwise."""

# Words that end or open a block where a participant's name is expected.
_KEYWORDS = frozenset(
    {
        *("activate", "actor", "alt", "and", "as", "autonumber", "box", "break", "create"),
        *("critical", "deactivate", "destroy", "else", "end", "link", "links", "loop", "note"),
        *("opt", "option", "over", "par", "participant", "rect", "sequencediagram", "title"),
    }
)
_ESCAPES = str.maketrans({"#": "#35;", ";": "#59;", "<": "#lt;", ">": "#gt;", "\n": " "})


def sequence_diagram(
    entries: Iterable[TraceEntry],
    *,
    title: str = "",
    participants: Sequence[str] = (),
    rename: Mapping[str, str] | None = None,
    skip: Collection[str] = (),
    varying: Collection[str] = (),
    fields: Collection[str] = STABLE_FIELDS,
) -> str:
    """Return a Mermaid sequence diagram: the same text for the same exchange.

    Ids, paths, ports and times are left out, messages that could have been
    recorded in either order are sorted, and repeats are drawn as loops. Of
    several actors of one kind each gets a number, by first appearance.

    Args:
        entries: What a `Tracer` recorded.
        title: The diagram's title.
        participants: The order of the columns, by label; others follow as they
            come.
        rename: Labels for actors, by their name without its number: for
            ``run-1`` the key is ``run``.
        skip: Type names of messages to leave out.
        varying: Type names of messages whose number differs from run to run:
            drawn as a loop without a count.
        fields: Names of the fields to show.
    """
    kept = [entry for entry in entries if entry.kind not in skip]
    labels = _labels(kept, rename or {})
    arrows = [
        Arrow(
            labels[entry.sender],
            labels[entry.receiver],
            _text(entry, fields),
            varies=entry.kind in varying,
        )
        for entry in kept
    ]
    ordered = settle(arrows, _rank(participants))
    columns = _columns(ordered, participants)
    return "\n".join(_lines(title, columns, fold(ordered))) + "\n"


def write(path: Path, text: str) -> bool:
    """Write a diagram's text; return whether the file changed.

    Args:
        path: The file; missing directories are made.
        text: The text.
    """
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return True


def _labels(entries: Iterable[TraceEntry], rename: Mapping[str, str]) -> dict[str, str]:
    kinds: dict[str, list[str]] = {}
    for entry in entries:
        for name in (entry.sender, entry.receiver):
            names = kinds.setdefault(normal_text(base_name(name)), [])
            if name not in names:
                names.append(name)
    labels: dict[str, str] = {}
    for kind, names in kinds.items():
        label = rename.get(kind, kind)
        for number, name in enumerate(names, 1):
            labels[name] = f"{label} {number}" if len(names) > 1 else label
    return labels


def _columns(arrows: Sequence[Arrow], participants: Sequence[str]) -> dict[str, str]:
    present = dict.fromkeys(who for arrow in arrows for who in (arrow.sender, arrow.receiver))
    order = [label for label in participants if label in present]
    order += [label for label in present if label not in participants]
    columns: dict[str, str] = {}
    for label in order:
        word = re.sub(r"\W+", "_", label) or "_"
        if word.lower() in _KEYWORDS or word in columns.values():
            word = f"{word}_{len(columns)}"
        columns[label] = word
    return columns


def _rank(participants: Sequence[str]) -> Callable[[Arrow], Any]:
    def place(label: str) -> tuple[int, str]:
        known = label in participants
        return participants.index(label) if known else len(participants), label

    # Those that vary first, so that nothing comes between them by its name alone.
    return lambda arrow: (
        not arrow.varies,
        place(arrow.sender),
        place(arrow.receiver),
        arrow.text,
    )


def _text(entry: TraceEntry, fields: Collection[str]) -> str:
    shown = ", ".join(
        f"{name}={normal_text(text)}" for name, text in entry.fields.items() if name in fields
    )
    return f"{entry.kind}({shown})" if shown else entry.kind


def _lines(
    title: str, columns: Mapping[str, str], folded: Iterable[Arrow | Loop]
) -> Iterator[str]:
    yield "sequenceDiagram"
    if title:
        yield f"    title {title.translate(_ESCAPES)}"
    for label, word in columns.items():
        alias = "" if label == word else f" as {label.translate(_ESCAPES)}"
        yield f"    participant {word}{alias}"
    for item in folded:
        if isinstance(item, Arrow):
            yield f"    {_line(item, columns)}"
            continue
        yield f"    loop {'repeated' if item.rounds is None else f'{item.rounds} times'}"
        for arrow in item.arrows:
            yield f"        {_line(arrow, columns)}"
        yield "    end"


def _line(arrow: Arrow, columns: Mapping[str, str]) -> str:
    return f"{columns[arrow.sender]}-){columns[arrow.receiver]}: {arrow.text.translate(_ESCAPES)}"
