from __future__ import annotations

import dataclasses
import hashlib
import re

import pytest

from toolcrib.errors import ConfigurationError
from toolcrib.runtime.gateway.limits import Limits
from toolcrib.runtime.gateway.tokens import digest, new_token, new_variable


def test_the_default_limits_are_those_of_the_design() -> None:
    mebibyte = 1024 * 1024
    assert dataclasses.asdict(Limits()) == {
        "body_bytes": 4 * mebibyte,
        "output_bytes": 4 * mebibyte,
        "header_bytes": 16 * 1024,
        "header_fields": 64,
        "running": 32,
        "waiting": 32,
        "connections": 128,
        "unread_bytes": 64 * mebibyte,
        "head_timeout": 5.0,
        "body_timeout": 10.0,
        "idle_timeout": 120.0,
        "write_timeout": 10.0,
        "deadline": 120.0,
        "shutdown": 10.0,
        "reserve": 8,
        "stream_after": 5.0,
        "stream_pause": 15.0,
        "silence": 240.0,
    }


@pytest.mark.parametrize("name", [each.name for each in dataclasses.fields(Limits)])
@pytest.mark.parametrize("value", [0, -1, True, "5", None, float("nan"), float("inf")])
def test_a_limit_has_to_be_a_positive_number(name: str, value: object) -> None:
    with pytest.raises(ConfigurationError, match=f"Limits.{name} "):
        Limits(**{name: value})  # type: ignore[arg-type]


def test_a_count_takes_no_fraction() -> None:
    with pytest.raises(ConfigurationError, match=r"Limits.running .* whole number"):
        Limits(running=1.5)  # type: ignore[arg-type]


def test_tokens_and_variables_are_long_random_and_well_formed() -> None:
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", new_token())
    assert re.fullmatch(r"TOOLCRIB_TOKEN_[0-9A-F]{32}", new_variable())
    assert len({new_token() for _ in range(100)} | {new_variable() for _ in range(100)}) == 200


def test_the_digest_is_sha256() -> None:
    assert digest("a token") == hashlib.sha256(b"a token").digest()
