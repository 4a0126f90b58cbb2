from __future__ import annotations

from pathlib import Path

import pytest

from toolcrib.errors import ConfigurationError
from toolcrib.runtime.drivers.environment import check_variables, child_environment
from toolcrib.runtime.profiles.clone import Clone

CLONE = Clone(Path("/clone"))


def test_temporary_files_go_into_the_clone() -> None:
    base = {"TMPDIR": "/tmp", "KEPT": "1", "HOME": "/home/me"}  # noqa: S108 - only a value

    environment = child_environment(base, CLONE, {"HOME": "/clone/home"})

    assert environment["TMPDIR"] == environment["TMP"] == environment["TEMP"] == "/clone/tmp"
    assert environment["KEPT"] == "1"
    assert environment["HOME"] == "/clone/home"
    assert base["HOME"] == "/home/me"


@pytest.mark.parametrize(
    ("base", "upper", "lower"),
    [
        ({}, "127.0.0.1", "127.0.0.1"),
        ({"NO_PROXY": "a.example"}, "a.example,127.0.0.1", "a.example,127.0.0.1"),
        ({"no_proxy": "a.example, b"}, "a.example,b,127.0.0.1", "a.example,b,127.0.0.1"),
        ({"NO_PROXY": "a", "no_proxy": "b c"}, "a,127.0.0.1", "b,c,127.0.0.1"),
        ({"NO_PROXY": "127.0.0.1"}, "127.0.0.1", "127.0.0.1"),
        ({"NO_PROXY": "127.0.0.10"}, "127.0.0.10,127.0.0.1", "127.0.0.10,127.0.0.1"),
        ({"NO_PROXY": "*"}, "*", "*"),
    ],
)
def test_loopback_never_goes_through_a_proxy(base: dict[str, str], upper: str, lower: str) -> None:
    environment = child_environment({"HTTP_PROXY": "http://p", **base}, CLONE, {})

    assert (environment["NO_PROXY"], environment["no_proxy"]) == (upper, lower)
    assert environment["HTTP_PROXY"] == "http://p"


@pytest.mark.parametrize("variables", [{"": "x"}, {"A=B": "x"}, {"A\0": "x"}, {"A": "x\0"}])
def test_variables_that_no_process_can_have_are_refused(variables: dict[str, str]) -> None:
    check_variables({"A": "x=y"})

    with pytest.raises(ConfigurationError, match="environment variable"):
        check_variables(variables)
