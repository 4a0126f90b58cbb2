"""Rules in ``Annotated``: ranges, lengths, multiples and patterns.

They come from ``annotated_types``, from ``pydantic.Field`` and from
``tool.Pattern``. Where JSON Schema has the rule for a type, it is in the
schema; it is checked on the Python value too, and told in the description.
"""

from __future__ import annotations

import datetime as dt
import decimal
import fractions
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..markers import Pattern
from ..shape import Builder, Misfit, Shape, noted, type_name

__all__ = ["Rule", "constrained", "rules_of"]

_NUMBERS = (int, float, decimal.Decimal)
_TIMES = (dt.datetime, dt.date, dt.time, dt.timedelta)
_SIZED = (str, bytes, list, tuple, set, frozenset, dict)
_LOWER_BOUNDS = {"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"}
_LENGTHS = {"string": "Length", "array": "Items", "object": "Properties"}


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule."""

    text: str
    """What it demands, to follow a value's name: ``must be at least 3``."""
    kinds: tuple[type, ...]
    """The classes that it has a meaning for."""
    holds: Callable[[Any], bool]
    """Judges a Python value of one of these classes."""
    keywords: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What it is in the schema, by JSON type."""


def rules_of(item: Any) -> list[Rule] | None:
    """Return the rules that an item of ``Annotated`` stands for.

    Returns:
        The rules; ``None`` if it is no rule that is known here.

    Raises:
        ValueError: The rule has no meaning; says why.
    """
    if isinstance(item, Pattern):
        return [_pattern(item.regex)]
    if hasattr(item, "__is_annotated_types_grouped_metadata__"):
        parts = [rules_of(part) for part in item]
        return None if None in parts else [rule for part in parts for rule in part or ()]
    package, name = type(item).__module__.partition(".")[0], type(item).__name__
    if package == "annotated_types" and name in _MAKERS:
        return [_MAKERS[name](item)]
    if package == "pydantic":  # what `Field(pattern=...)` becomes
        told = {one for one, value in getattr(item, "__dict__", {}).items() if value is not None}
        return [_pattern(item.pattern)] if told == {"pattern"} else None
    return None


def _comparison(
    keyword: str, words: str, holds: Callable[[Any, Any], bool]
) -> Callable[[Any, str], Rule]:
    def make(item: Any, name: str) -> Rule:
        bound = getattr(item, name)
        if isinstance(bound, _TIMES):
            if isinstance(bound, dt.datetime | dt.time) and bound.utcoffset() is None:
                msg = f"the bound {bound!r} has no offset from UTC; give it a timezone"
                raise ValueError(msg)
            # Dates and times compare with their own class only.
            return Rule(f"{words} {bound}", (type(bound),), lambda value: holds(value, bound))
        limit = _number(bound)
        keywords = {kind: {keyword: limit} for kind in ("integer", "number")}
        return Rule(f"{words} {limit}", _NUMBERS, lambda value: holds(value, bound), keywords)

    return make


def _number(bound: Any) -> int | float:
    known = isinstance(bound, _NUMBERS) and not isinstance(bound, bool)
    if not known or not math.isfinite(bound):
        msg = f"the bound {bound!r:.80} is neither a finite number nor a date or time"
        raise ValueError(msg)
    return int(bound) if bound == int(bound) else float(bound)


def _length(words: str, least: bool, size: Any) -> Rule:
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        msg = f"the length {size!r:.80} is no whole number from 0"
        raise ValueError(msg)
    side = "min" if least else "max"
    keywords = {kind: {side + name: size} for kind, name in _LENGTHS.items()}
    compare = operator.ge if least else operator.le
    return Rule(f"{words} {size}", _SIZED, lambda value: compare(len(value), size), keywords)


def _multiple(of: Any) -> Rule:
    step = _number(of)
    if step <= 0:
        msg = f"the step {of!r:.80} is not above 0"
        raise ValueError(msg)
    exact = fractions.Fraction(str(of))
    keywords = {kind: {"multipleOf": step} for kind in ("integer", "number")}

    def holds(value: Any) -> bool:
        if isinstance(value, decimal.Decimal) and abs(value.adjusted()) > 400:
            return False  # the fraction would fill the memory
        return (fractions.Fraction(str(value)) / exact).denominator == 1

    return Rule(f"must be a multiple of {of}", _NUMBERS, holds, keywords)


def _pattern(regex: str) -> Rule:
    from jsonschema_rs import Draft202012Validator

    try:
        re.compile(regex)  # explanations are made with this engine
        judge = Draft202012Validator({"type": "string", "pattern": regex})
    except (re.error, TypeError, ValueError) as error:
        msg = f"the pattern {regex!r:.80} is none that Python and JSON Schema share"
        raise ValueError(msg) from error
    return Rule(f"must match {regex}", (str,), judge.is_valid, {"string": {"pattern": regex}})


_at_least = _comparison("minimum", "must be at least", operator.ge)
_above = _comparison("exclusiveMinimum", "must be above", operator.gt)
_at_most = _comparison("maximum", "must be at most", operator.le)
_below = _comparison("exclusiveMaximum", "must be below", operator.lt)

_MAKERS: dict[str, Callable[[Any], Rule]] = {
    "Ge": lambda item: _at_least(item, "ge"),
    "Gt": lambda item: _above(item, "gt"),
    "Le": lambda item: _at_most(item, "le"),
    "Lt": lambda item: _below(item, "lt"),
    "MultipleOf": lambda item: _multiple(item.multiple_of),
    "MinLen": lambda item: _length("must have a length of at least", True, item.min_length),
    "MaxLen": lambda item: _length("must have a length of at most", False, item.max_length),
}


def constrained(
    shape: Shape, rules: Iterable[Rule], annotation: Any, builder: Builder, where: str
) -> Shape:
    """Return the shape with rules in its schema, and checked both ways.

    Raises:
        DefinitionError: A rule has no meaning for the type.
    """
    checks: list[tuple[Rule, tuple[type, ...]]] = []
    for rule in rules:
        kinds = tuple(kind for kind in shape.kinds if _applies(rule, kind))
        if not kinds:
            msg = f'the rule "{rule.text}" has no meaning for {type_name(annotation)}; remove it'
            raise builder.refused(where, msg)
        checks.append((rule, kinds))
        shape = replace(shape, schema=_tightened(shape.schema, rule, builder, where))
        shape = noted(shape, f"{rule.text[0].upper()}{rule.text[1:]}.")
    load, dump = shape.load, shape.dump

    def check(value: Any) -> None:
        for rule, kinds in checks:
            if type(value) is not bool and isinstance(value, kinds) and not rule.holds(value):
                raise Misfit(rule.text)

    def checked_load(value: Any) -> Any:
        loaded = load(value)
        check(loaded)
        return loaded

    def checked_dump(value: Any) -> Any:
        dumped = dump(value)
        check(value)
        return dumped

    return replace(shape, load=checked_load, dump=checked_dump)


def _applies(rule: Rule, kind: type) -> bool:
    if kind is bool:
        return False
    if issubclass(kind, dt.datetime) and dt.datetime not in rule.kinds:
        return False  # a datetime is a date, but does not compare with one
    return issubclass(kind, rule.kinds)


def _tightened(
    schema: Mapping[str, Any], rule: Rule, builder: Builder, where: str
) -> Mapping[str, Any]:
    if "anyOf" in schema:
        branches: list[Any] = []

        def tighten() -> None:
            branches[:] = [_tightened(one, rule, builder, where) for one in schema["anyOf"]]

        tighten()
        builder.later(tighten)  # a union completes its branches at the end
        return {**schema, "anyOf": branches}
    keywords = rule.keywords.get(str(schema.get("type")), {})
    if "contentEncoding" in schema or "format" in schema:
        keywords = {}  # the rule is about the value, not about its text
    merged = {name: _stricter(name, schema, limit) for name, limit in keywords.items()}
    if None in merged.values():
        msg = f'the rule "{rule.text}" comes second; keep one pattern and one step'
        raise builder.refused(where, msg)
    return {**schema, **merged} if merged else schema


def _stricter(name: str, schema: Mapping[str, Any], limit: Any) -> Any:
    if name not in schema or schema[name] == limit:
        return limit
    if name in {"pattern", "multipleOf"}:
        return None
    return (max if name in _LOWER_BOUNDS else min)(schema[name], limit)
