"""What `tool.define` takes, in both forms, and what it refuses."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Annotated, Any, assert_type

import pytest

from toolcrib import tool
from toolcrib.errors import DefinitionError


def shout(text: str) -> str:
    """Say it louder."""
    return text.upper()


def refusal(*args: Any, **options: Any) -> DefinitionError:
    with pytest.raises(DefinitionError) as caught:
        tool.define(*args, **options)
    return caught.value


def test_a_call_gives_a_frozen_tool_with_what_was_said() -> None:
    made = tool.define(
        "shout",
        "  Says it louder. ",
        shout,
        title="Shout",
        read_only=False,
        idempotent=False,
        revision="shout/v1",
        deadline=5,
    )
    assert_type(made, tool.Tool)
    assert (made.name, made.description, made.title) == ("shout", "Says it louder.", "Shout")
    assert (made.revision, made.deadline) == ("shout/v1", 5.0)
    assert made.annotations == tool.ToolAnnotations(read_only=False, idempotent=False)
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.name = "other"  # type: ignore[misc]


def test_a_decorator_takes_name_and_description_from_the_function() -> None:
    @tool.define(read_only=True)
    def find_issue(key: str) -> str:
        """Find one issue
        by its key.

        It is not searched for by title.

        Args:
            key: The issue's key,
                such as ISSUE-42.
        """
        return key

    assert_type(find_issue, tool.Tool)
    assert find_issue.name == "find_issue"
    assert find_issue.description == "Find one issue by its key."
    assert find_issue.input_schema["properties"]["key"] == {
        "type": "string",
        "description": "The issue's key, such as ISSUE-42.",
    }
    assert find_issue.invoke({"key": "A"}) == "A"


def test_a_decorator_may_be_given_name_and_description_or_nothing_at_all() -> None:
    @tool.define("named", "Described.")
    def one() -> None:
        """Not this."""

    @tool.define
    def two() -> None:
        """Bare."""

    assert_type(two, tool.Tool)
    assert (one.name, one.description) == ("named", "Described.")
    assert (two.name, two.description) == ("two", "Bare.")


@pytest.mark.parametrize(
    "docstring",
    [
        "Sum.\n\nArgs:\n    key: The key.",
        "Sum.\n\nParameters\n----------\nkey : str\n    The key.\n",
        "Sum.\n\n:param key: The key.\n",
    ],
    ids=["google", "numpy", "sphinx"],
)
def test_parameter_texts_are_read_in_every_docstring_style(docstring: str) -> None:
    def handler(key: str) -> None: ...

    handler.__doc__ = docstring
    made = tool.define()(handler)
    assert made.description == "Sum."
    assert made.input_schema["properties"]["key"]["description"] == "The key."


def test_a_string_in_annotated_wins_over_the_docstring() -> None:
    @tool.define
    def handler(key: Annotated[str, "From Annotated."]) -> None:
        """Sum.

        Args:
            key: From the docstring.
        """

    assert handler.input_schema["properties"]["key"]["description"] == "From Annotated."


@pytest.mark.parametrize("name", ["a", "A9_-", "x" * 48])
def test_portable_names_are_taken(name: str) -> None:
    assert tool.define(name, "d", shout).name == name


@pytest.mark.parametrize(
    "name", ["", " a", "a ", "9a", "_a", "a.b", "búsqueda", "a b", "a\n", "x" * 49, 3]
)
def test_other_names_are_refused(name: object) -> None:
    error = refusal(name, "d", shout)
    assert error.parameter == "name"
    assert "letters, digits" in str(error)


@pytest.mark.parametrize("description", ["", "  \n", "x" * 4001, "\ud800", 7])
def test_descriptions_must_be_there_and_of_a_size_that_is_kept(description: object) -> None:
    error = refusal("shout", description, shout)
    assert (error.tool, error.parameter) == ("shout", "description")


def test_a_description_of_4000_characters_is_taken() -> None:
    assert len(tool.define("shout", "x" * 4000, shout).description) == 4000


def test_a_function_without_docstring_needs_a_description() -> None:
    def handler() -> None: ...

    with pytest.raises(DefinitionError, match="description"):
        tool.define()(handler)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("read_only", 1),
        ("destructive", "yes"),
        ("idempotent", 0),
        ("open_world", "None"),
        ("title", " "),
        ("title", 3),
        ("revision", ""),
        ("deadline", 0),
        ("deadline", -1),
        ("deadline", True),
        ("deadline", float("nan")),
        ("deadline", float("inf")),
        ("deadline", "5"),
    ],
)
def test_options_of_another_kind_are_refused(option: str, value: object) -> None:
    error = refusal("shout", "d", shout, **{option: value})
    assert (error.tool, error.parameter) == ("shout", option)


def test_read_only_and_destructive_contradict_each_other() -> None:
    assert "read_only" in str(refusal("shout", "d", shout, read_only=True, destructive=True))
    tool.define("shout", "d", shout, read_only=True, destructive=False)
    tool.define("shout", "d", shout, read_only=False, destructive=True)


class Counter:
    """A host's object."""

    start = 10

    def method(self, n: int) -> int:
        return self.start + n

    @classmethod
    def of_class(cls, n: int) -> int:
        return cls.start + n

    @staticmethod
    def static(n: int) -> int:
        return n

    def __call__(self, n: int) -> int:
        """Count."""
        return self.start + n


def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def passed_on(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


@pytest.mark.parametrize(
    ("handler", "result"),
    [
        (Counter().method, 11),
        (Counter.of_class, 11),
        (Counter.static, 1),
        (Counter(), 11),
        (functools.partial(Counter(), n=1), 11),
        (functools.partial(add, 5), None),
        (passed_on(Counter.static), 1),
    ],
)
def test_whatever_can_be_called_by_name_is_a_handler(handler: Any, result: int | None) -> None:
    made = tool.define("t", "d", handler)
    (name, given) = ("b", 6) if result is None else ("n", result)
    arguments = {name: 1} if made.input_schema["properties"] else {}
    assert made.invoke(arguments) == given


def test_a_bound_keyword_of_a_partial_is_not_the_models_to_set() -> None:
    made = tool.define("t", "d", functools.partial(add, b=5))
    assert list(made.input_schema["properties"]) == ["a"]
    assert made.invoke({"a": 1}) == 6


@pytest.mark.parametrize("handler", [functools.partial(add, b=5), Counter()])
def test_a_handler_without_a_name_asks_for_one(handler: Any) -> None:
    with pytest.raises(DefinitionError, match="name"):
        tool.define(description="d")(handler)


def numbers() -> Iterator[int]:
    yield 1


async def async_numbers() -> AsyncIterator[int]:
    yield 1


def many(*values: int) -> None: ...
def keywords(**values: int) -> None: ...
def positional(a: int, /) -> None: ...
def untyped(a) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001
def unreturned(a: int): ...  # type: ignore[no-untyped-def]  # noqa: ANN201
def two_contexts(a: tool.Context, b: tool.Context) -> None: ...


@pytest.mark.parametrize(
    ("handler", "parameter", "words"),
    [
        (numbers, None, "list"),
        (async_numbers, None, "list"),
        (many, "values", "any number"),
        (keywords, "values", "any number"),
        (positional, "a", "positional-only"),
        (untyped, "a", "annotation"),
        (unreturned, "return", "returns"),
        (two_contexts, "b", "at most one"),
        (Counter.method, "self", "bound method"),
        (Counter, "handler", "function"),
        (None, "handler", "function"),
        ("shout", "handler", "function"),
        (len, None, "wrap it"),
        (lambda: 1, "return", "returns"),
    ],
)
def test_other_handlers_are_refused_with_what_to_do(
    handler: Any, parameter: str | None, words: str
) -> None:
    error = refusal("t", "d", handler)
    assert (error.tool, error.parameter) == ("t", parameter)
    assert words in str(error)


def test_a_lambda_asks_for_a_name_first() -> None:
    with pytest.raises(DefinitionError, match="name"):
        tool.define()(lambda: 1)


def test_the_context_is_found_by_its_annotation_and_kept_from_the_model() -> None:
    def handler(text: str, call: tool.Context) -> str:
        return f"{call.tool_name} {text} {call.deadline}"

    made = tool.define("t", "d", handler)
    assert list(made.input_schema["properties"]) == ["text"]
    assert made.invoke({"text": "x"}) == "t x None"


def test_odd_parameter_names_are_plain_parameters() -> None:
    def handler(_id: int, schema: int, model_config: int, json: int, copy: int, load: int) -> int:
        return _id + schema + model_config + json + copy + load

    names = ["_id", "schema", "model_config", "json", "copy", "load"]
    assert tool.define("t", "d", handler).invoke(dict.fromkeys(names, 1)) == 6


def test_schemas_are_fresh_copies() -> None:
    made = tool.define("shout", "d", shout)
    made.input_schema["properties"].clear()
    made.output_schema.clear()
    assert "text" in made.input_schema["properties"]
    assert made.output_schema["type"] == "object"


def test_a_function_given_first_is_no_name_in_messages() -> None:
    assert refusal(shout, input_schema="no JSON").tool is None


def test_a_function_without_a_name_is_told_apart_from_a_name_of_another_kind() -> None:
    error = refusal(None, "d", functools.partial(shout))
    assert "no name of its own" in str(error)
    assert error.parameter == "name"
