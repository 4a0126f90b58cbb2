"""A judge of JSON for converters that leave the conversion to another library."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..shape import Builder, Misfit
from ..validation import Validator

__all__ = ["Judge"]


class Judge:
    """Holds values to a schema that other libraries would read loosely.

    Args:
        builder: Who knows what references mean, in the end.
        schema: The schema.
        what: Whose schema it is, for messages.
    """

    def __init__(self, builder: Builder, schema: Mapping[str, Any], what: str) -> None:
        self._what = what
        self._validator = Validator(schema)
        builder.later(lambda: self._settle(builder.root(schema)))

    def check(self, value: Any) -> None:
        """Raise `Misfit` for a value that does not fit."""
        if not self._validator.accepts(value):
            msg = f"does not fit the schema of {self._what}"
            raise Misfit(msg)

    def _settle(self, root: Mapping[str, Any]) -> None:
        self._validator = Validator(root)
