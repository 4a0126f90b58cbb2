"""What each provider's model sees of a tool.

Measured with the command lines that `docs/providers.md` names, by what they sent
to a scripted model; the tests with real providers hold it. Cursor's is unknown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal, get_args

from ...errors import ConfigurationError
from .codex_schema import codex_schema
from .notes import Notes

__all__ = ["Provider", "WireView", "wire_view"]

Provider = Literal["codex", "claude", "cursor", "codebuddy"]
"""A provider by the name of its driver's module."""

_SERVER = "toolcrib"
# JavaScript's numbers hold integers exactly up to the first, and are written
# without an exponent below the second.
_EXACT = 2**53
_WRITTEN_OUT = 1e21
_HIDDEN = "It does not show the title, the hints, the revision and the output schema."
_UNKNOWN = (
    "What its model sees is not known, since its backend can't be run here: name and schema "
    "are those that it is given."
)


@dataclass(frozen=True, slots=True)
class WireView:
    """A tool as one provider's model sees it. ``str()`` gives it in plain text."""

    provider: str
    """The provider."""
    measured: bool
    """Whether this was seen; where not, it is what the provider is given."""
    name: str
    """The tool's name."""
    description: str
    """The tool's description."""
    notes: tuple[str, ...]
    """What the provider keeps, renames or drops, in plain sentences."""
    _text: str = field(repr=False)

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments; a fresh copy."""
        schema: dict[str, Any] = json.loads(self._text)
        return schema

    def __str__(self) -> str:
        schema = json.dumps(self.schema, indent=2, ensure_ascii=False)
        notes = "".join(f"- {note}\n" for note in self.notes)
        return f"{self.provider}: {self.name}\n{self.description}\n\n{schema}\n\n{notes}"


@dataclass(frozen=True, slots=True)
class _Manner:
    """How a provider shows tools."""

    prefix: str
    plain: bool
    """Whether `-` in a name becomes `_`."""
    schema: Callable[[Mapping[str, Any], Notes], dict[str, Any]]
    measured: bool = True


def wire_view(provider: str, name: str, description: str, schema: Mapping[str, Any]) -> WireView:
    """Return what a provider's model sees.

    Args:
        provider: One of `Provider`.
        name: The tool's name.
        description: The tool's description.
        schema: The JSON Schema of the arguments.

    Raises:
        ConfigurationError: There is no such provider.
    """
    manner = _MANNERS.get(provider)
    if manner is None:
        msg = f"there is no provider {provider!r:.80}; use one of {', '.join(get_args(Provider))}"
        raise ConfigurationError(msg)
    notes = Notes()
    shown_name = manner.prefix + (name.replace("-", "_") if manner.plain else name)
    notes.say(f"It names the tool {shown_name}.")
    notes.say(_HIDDEN if manner.measured else _UNKNOWN)
    shown = manner.schema(schema, notes)
    if manner.measured and shown == schema:
        notes.say("It keeps the schema as it is.")
    return WireView(
        provider=provider,
        measured=manner.measured,
        name=shown_name,
        description=description,
        notes=notes.sentences(),
        _text=json.dumps(shown),
    )


def _as_sent(schema: Mapping[str, Any], _notes: Notes) -> dict[str, Any]:
    return dict(schema)


def _javascript(schema: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
    """Return the schema after a way through JavaScript's numbers."""
    return {key: _rounded(part, f"/{key}", notes) for key, part in schema.items()}


def _rounded(value: Any, place: str, notes: Notes) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(part, f"{place}/{key}", notes) for key, part in value.items()}
    if isinstance(value, list):
        return [_rounded(part, f"{place}/{index}", notes) for index, part in enumerate(value)]
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) <= _EXACT:
        return value
    notes.say("It rounds integers beyond 2**53", place)
    try:
        number = float(value)
    except OverflowError:
        return None
    return int(Decimal(repr(number))) if abs(number) < _WRITTEN_OUT else number


def _codebuddy(schema: Mapping[str, Any], notes: Notes) -> dict[str, Any]:
    if schema.get("additionalProperties", True) is not True:
        notes.say(
            "It shows that other arguments are allowed too; what the schema does not allow is "
            "refused with a correction",
            "/additionalProperties",
        )
    shown = _javascript(schema, notes)
    return {"required": [], "properties": {}, **shown, "additionalProperties": True}


_MANNERS: Mapping[str, _Manner] = {
    "codex": _Manner(f"mcp__{_SERVER}__", plain=True, schema=codex_schema),
    "claude": _Manner(f"mcp__{_SERVER}__", plain=False, schema=_javascript),
    "codebuddy": _Manner(f"mcp__{_SERVER}__", plain=True, schema=_codebuddy),
    "cursor": _Manner(f"{_SERVER}-", plain=False, schema=_as_sent, measured=False),
}
