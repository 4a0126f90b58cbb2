from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from toolcrib.errors import (
    ConfigurationError,
)
from toolcrib.runtime.drivers.cursor import Cursor


@pytest.mark.parametrize(
    "arguments",
    [
        ("--print",),
        ("-p",),
        ("--output-format", "text"),
        ("--output-format=text",),
        ("--stream-partial-output",),
        ("--workspace", "/"),
        ("--workspace=/",),
        ("--resume", "x"),
        ("--resume=x",),
        ("--continue",),
        ("--model", "x"),
        ("-mx",),
        ("--mode", "ask"),
        ("--mode=plan",),
        ("--plan",),
        ("--force",),
        ("-f",),
        ("--force=true",),
        ("-xf",),
        ("--yolo",),
        ("--trust",),
        ("--approve-mcps",),
        ("--approve-mcps=true",),
        ("--sandbox", "disabled"),
        ("--api-key", "k"),
        ("-ak",),
        ("-H", "X: y"),
        ("-c",),
        ("--cloud",),
        ("--",),
        ("-",),
        ("",),
        ("do this instead",),
        ("--verbose=1", "do this instead"),
        ("--fine", "value", "do this instead"),
    ],
)
def test_arguments_that_are_the_drivers_to_decide_are_refused(arguments: tuple[str, ...]) -> None:
    with pytest.raises(ConfigurationError, match=r"extra_args can't hold"):
        Cursor(extra_args=arguments)


def test_the_value_of_a_refused_argument_is_not_shown() -> None:
    with pytest.raises(ConfigurationError) as caught:
        Cursor(extra_args=("--api-key=topsecret",))

    assert "--api-key" in str(caught.value)
    assert "topsecret" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"model": ""},
        {"model": "--force"},
        {"grace": -1.0},
        {"grace": float("nan")},
        {"environment": {"A=B": "x"}},
        {"extra_args": "--timeout 5"},
    ],
)
def test_options_that_can_not_work_are_refused_when_given(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        Cursor(**options)


def test_a_driver_is_a_value_that_shows_no_environment() -> None:
    environment = {"CURSOR_API_KEY": "topsecret"}
    driver = Cursor(command=["agent", "x"], environment=environment)
    environment["CURSOR_API_KEY"] = "changed"

    assert driver.environment["CURSOR_API_KEY"] == "topsecret"
    assert "topsecret" not in repr(driver)
    assert driver == Cursor(command=("agent", "x"), environment={"CURSOR_API_KEY": "topsecret"})
    assert hash(driver) == hash(replace(driver))
    assert driver.provider == driver.fingerprint() == "cursor"
