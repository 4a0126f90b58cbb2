"""Pydantic models and dataclasses: their own schema, their own validation.

Importing this imports nothing of pydantic: a model has brought it along.
Validation is strict, whatever the model says of fields that say nothing.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from ..shape import Builder, Misfit, Shape, wrong_type
from .judge import Judge
from .loaded import loaded

__all__ = ["pydantic_value"]

_EXACT = 2**53


def pydantic_value(annotation: Any, builder: Builder, where: str) -> Shape | None:
    """Convert pydantic models and pydantic's dataclasses; see `shape.Converter`."""
    if not isinstance(annotation, type) or not _is_model(annotation):
        return None
    from .pydantic_schemas import adapter_of, schema_of

    adapter = adapter_of(annotation, builder, where)
    shape = schema_of(adapter, annotation, builder, where)
    model = _Model(adapter, annotation, Judge(builder, shape.schema, annotation.__name__))
    return Shape(shape.schema, model.load, model.dump, size=shape.size, kinds=(annotation,))


def _is_model(cls: type) -> bool:
    # Parts of pydantic load when they are first used; a model has loaded this one.
    base = loaded("pydantic.main", "BaseModel")
    if base is not None and issubclass(cls, base):
        return True
    return "__is_pydantic_dataclass__" in cls.__dict__


class _Model:
    """Loads and dumps by pydantic what the JSON Schema takes."""

    def __init__(self, adapter: Any, cls: type, judge: Judge) -> None:
        self._adapter = adapter
        self._cls = cls
        self._judge = judge

    def load(self, value: Any) -> Any:
        self._judge.check(value)
        refusal = sys.modules["pydantic"].ValidationError
        try:
            return self._validated(value)
        except refusal as error:
            first = error
        try:
            return self._validated(_whole(value))  # for pydantic, 5.0 is no int
        except refusal:
            raise _misfit(first) from first

    def dump(self, value: Any) -> Any:
        if not isinstance(value, self._cls):
            wrong_type(f"a {self._cls.__name__}", value)
        try:
            plain = self._adapter.dump_python(value, mode="json", by_alias=True, warnings="error")
        except (ValueError, TypeError, AttributeError) as error:
            msg = f"can't be dumped as a {self._cls.__name__}"
            raise Misfit(msg) from error
        self._judge.check(plain)
        return plain

    def _validated(self, value: Any) -> Any:
        # From text, since strict validation of Python values wants no texts for times.
        return self._adapter.validate_json(json.dumps(value), strict=True)


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _whole(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(part) for part in value]
    if isinstance(value, float) and value.is_integer() and abs(value) <= _EXACT:
        return int(value)
    return value


def _misfit(error: Any) -> Misfit:
    """Return where pydantic found fault, and by which rule; its words may hold values."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    misfit = Misfit(f"does not meet the rule {first['type']} of its model")
    misfit.within(*first["loc"])
    return misfit
