"""Local references of a schema: found at once, and written out unless recursive."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from ...errors import DefinitionError
from .keywords import ANNOTATIONS, IN_PLACE, children, mapped

__all__ = ["check_references", "written_out"]

_NODE_LIMIT = 2_000
_DEPTH_LIMIT = 32
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_DIALECTS = frozenset({_DIALECT, _DIALECT.replace("https", "http")})
_REFUSED = {
    "$id": "gives the schema a base of its own; remove it, since references here are local",
    "$dynamicRef": "is not supported; write $ref",
    "$dynamicAnchor": "is not supported; write $anchor, or put the schema into $defs",
    "$recursiveRef": "is not supported; write $ref",
    "$recursiveAnchor": "is not supported; remove it",
    "$vocabulary": "is not supported; remove it",
}
_LEFT_OUT = frozenset({"$schema", "$comment", "$anchor", "$defs", "definitions"})


def check_references(document: Any, tool: str, option: str) -> None:
    """Refuse what is not local, in all parts of a schema, whether they are used or not.

    Nothing is ever fetched.

    Args:
        document: The schema, as plain values.
        tool: The tool's name, for messages.
        option: Which option it was given as, for messages.

    Raises:
        DefinitionError: A reference leads nowhere or out of the document.
    """
    _Writer(document, tool, option)


def written_out(document: Any, tool: str, option: str) -> Any:
    """Return a schema whose only references are recursive ones to its ``$defs``.

    Args:
        document: The schema, as plain values, checked; is not changed.
        tool: The tool's name, for messages.
        option: Which option it was given as, for messages.

    Raises:
        DefinitionError: A reference leads in a circle, or the schema grows too
            large.
    """
    if not isinstance(document, dict):
        return document
    writer = _Writer(document, tool, option)
    root = writer.root()
    return {**root, "$defs": writer.definitions} if writer.definitions else root


class _Writer:
    def __init__(self, document: Any, tool: str, option: str) -> None:
        self.definitions: dict[str, Any] = {}
        self._document = document
        self._tool = tool
        self._option = option
        self._anchors: dict[str, Any] = {}
        # By identity: the same schema can be reached as a pointer and as an anchor.
        self._names: dict[int, str] = {}
        self._open: dict[int, int] = {}
        self._nodes = 0
        self._check_all()

    def _check_all(self) -> None:
        found = list(_everywhere(self._document, ""))
        for schema, place in found:
            self._check(schema, place)
            if isinstance(schema.get("$anchor"), str):
                self._anchors[schema["$anchor"]] = schema
        for schema, place in found:
            if "$ref" in schema:
                self._target(schema["$ref"], f"{place}/$ref")

    def _check(self, schema: dict[str, Any], place: str) -> None:
        for keyword, reason in _REFUSED.items():
            if keyword in schema:
                self._refuse(f"{place}/{keyword}", reason)
        dialect = schema.get("$schema", _DIALECT)
        if not isinstance(dialect, str) or dialect.rstrip("#") not in _DIALECTS:
            self._refuse(f"{place}/$schema", "must be draft 2020-12; leave it out")

    def _target(self, reference: Any, where: str) -> Any:
        if not isinstance(reference, str) or not reference.startswith("#"):
            msg = "leads out of the schema; nothing is fetched, so put the schema into $defs"
            self._refuse(where, msg)
        fragment = urllib.parse.unquote(reference[1:])
        found = self._document
        if fragment and not fragment.startswith("/"):
            found, fragment = self._anchors.get(fragment), ""
        for step in fragment.split("/")[1:]:
            key = step.replace("~1", "/").replace("~0", "~")
            if isinstance(found, dict) and key in found:
                found = found[key]
            elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
                found = found[int(key)]
            else:
                found = None
        if not isinstance(found, dict | bool):
            self._refuse(where, f"{reference:.80} leads to no schema; define it in $defs")
        return found

    def root(self) -> dict[str, Any]:
        root: dict[str, Any] = self._inside(self._document, "", 0)
        if "$ref" in root:  # to a recursive schema; what is beside it tells people something
            root = {**self.definitions[root.pop("$ref").rpartition("/")[2]], **root}
        name = self._names.get(id(self._document))
        if name is not None:
            self.definitions[name] = root
        return root

    def _inside(self, target: dict[str, Any], place: str, level: int) -> Any:
        """Write a schema out that others may refer to."""
        self._open[id(target)] = level
        found = self._schema(target, place, level)
        del self._open[id(target)]
        return found

    def _schema(self, schema: Any, place: str, level: int) -> Any:
        self._nodes += 1
        if self._nodes > _NODE_LIMIT:
            self._refuse("", f"has over {_NODE_LIMIT} parts with references written out")
        if place.count("/") > 2 * _DEPTH_LIMIT or level > _DEPTH_LIMIT:
            self._refuse("", f"nests deeper than {_DEPTH_LIMIT} levels; make it flatter")
        if not isinstance(schema, dict):
            return schema
        self._check(schema, place)
        own = {key: value for key, value in schema.items() if key not in _LEFT_OUT}
        reference = own.pop("$ref", None)
        found = mapped(
            own,
            place,
            lambda inner, keyword, here: self._schema(
                inner, here, level + (keyword not in IN_PLACE)
            ),
        )
        if reference is None:
            return found
        return _joined(self._referred(reference, place, level), found)

    def _referred(self, reference: str, place: str, level: int) -> Any:
        target = self._target(reference, f"{place}/$ref")
        if not isinstance(target, dict):
            return target
        key = id(target)
        if key in self._open:
            # Nothing but keywords that ask the same value lies between.
            if self._open[key] == level:
                self._refuse(f"{place}/$ref", "refers to itself without end; remove the circle")
            name = self._names.setdefault(key, self._free_name(reference))
            return {"$ref": f"#/$defs/{name}"}
        if key in self._names:
            return {"$ref": f"#/$defs/{self._names[key]}"}
        found = self._inside(target, place, level)
        if key not in self._names:
            return found
        name = self._names[key]
        self.definitions[name] = found
        return {"$ref": f"#/$defs/{name}"}

    def _free_name(self, reference: str) -> str:
        last = urllib.parse.unquote(reference).rpartition("/")[2].lstrip("#")
        plain = re.sub(r"[^A-Za-z0-9_]", "_", last) or "Root"
        name, number = plain, 1
        while name in self._names.values():
            number += 1
            name = f"{plain}_{number}"
        return name

    def _refuse(self, place: str, reason: str) -> NoReturn:
        raise DefinitionError(reason, tool=self._tool, parameter=f"{self._option}{place}")


def _everywhere(schema: Any, place: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield every schema of a document with its place."""
    if isinstance(schema, dict):
        yield schema, place
        for _, inner, here in children(schema, place):
            yield from _everywhere(inner, here)


def _joined(target: Any, beside: Mapping[str, Any]) -> Any:
    """Return one schema of a referred one and the keywords beside the reference."""
    if not beside:
        return target
    if isinstance(target, dict) and beside.keys() <= ANNOTATIONS:
        return {**target, **beside}
    return {**beside, "allOf": [*beside.get("allOf", ()), target]}
