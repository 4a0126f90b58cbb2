from __future__ import annotations

from typing import Any

import pytest

from toolcrib.errors import ConfigurationError
from toolcrib.runtime.drivers.codex import Codex


@pytest.mark.parametrize(
    "arguments",
    [
        ["--json"],
        ["--color", "never"],
        ["--output-schema", "x"],
        ["-o", "x"],
        ["--model", "x"],
        ["--model=x"],
        ["-m", "x"],
        ["-mx"],
        ["-m=x"],
        ["--oss"],
        ["--profile", "x"],
        ["-px"],
        ["--sandbox", "read-only"],
        ["--sandbox=danger-full-access"],
        ["-s", "read-only"],
        ["-sdanger-full-access"],
        ["-a", "never"],
        ["--full-auto"],
        ["--dangerously-bypass-approvals-and-sandbox"],
        ["--yolo"],
        ["--ignore-user-config"],
        ["--ignore-rules"],
        ["--ephemeral"],
        ["-C", "/"],
        ["--add-dir", "/"],
        ["--last"],
        ["-h"],
        ["-V"],
        ["prompt"],
        ["-"],
        ["--"],
        [""],
        ["--strict-config", "prompt"],
        ["--image", "a", "prompt"],
        ["--image", "-"],
        ["--unknown", "--sandbox", "read-only"],
        ["-c", "sandbox_mode=x"],
        ["-c", "mcp_servers.toolcrib.url=x"],
        ["-c", 'mcp_servers . "toolcrib" = {}'],
        ["-c", "mcp_servers={}"],
        ["-cshell_environment_policy.exclude=[]"],
        ["--config=features.shell_snapshot=true"],
        ["--config", "features={}"],
        ["--enable", "shell_snapshot"],
        ["--enable=shell_snapshot"],
        ["--disable", "shell_snapshot"],
        ["-c", "model=x"],
        ["-c", "approval_policy=never"],
        ["-c", "model_providers.x.base_url=y"],
        ["-c", "projects={}"],
        ["-c", "sqlite_home=/x"],
    ],
)
def test_arguments_that_are_the_drivers_to_decide_are_refused(arguments: list[str]) -> None:
    with pytest.raises(ConfigurationError, match="extra_args can't hold"):
        Codex(extra_args=arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--strict-config"],
        ["--image", "a.png", "-i", "b.png", "-ic.png"],
        ["-c", "model_verbosity=low", "--config=mcp_servers.mine.enabled=false"],
        ["--enable", "plugins", "--disable=apps"],
        ["--brand-new", "value", "--newer=value"],
    ],
)
def test_other_arguments_are_kept(arguments: list[str]) -> None:
    assert Codex(extra_args=arguments).extra_args == tuple(arguments)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"extra_args": "--strict-config"}, "extra_args"),
        ({"model": ""}, "model"),
        ({"model": "-x"}, "model"),
        ({"sandbox": "full"}, "sandbox"),
        ({"reasoning_effort": 'high" x="'}, "reasoning_effort"),
        ({"grace": -1.0}, "grace"),
        ({"grace": float("nan")}, "grace"),
        ({"environment": {"A=B": "x"}}, "A=B"),
        ({"environment": {"A": "\0"}}, "A"),
    ],
)
def test_an_option_that_can_not_be_used_is_named(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError, match=named):
        Codex(**options)


def test_what_is_mutable_is_copied_and_secrets_are_not_shown() -> None:
    command, arguments, environment = ["codex"], ["--strict-config"], {"KEY": "s3cret"}

    driver = Codex(command=command, extra_args=arguments, environment=environment)
    command.append("x")
    arguments.append("x")
    environment["X"] = "x"

    assert driver.command == ("codex",)
    assert driver.extra_args == ("--strict-config",)
    assert dict(driver.environment) == {"KEY": "s3cret"}
    assert "s3cret" not in repr(driver)
    assert hash(driver) == hash(Codex(command=["codex"], extra_args=["--strict-config"]))


def test_the_fingerprint_is_the_same_for_every_configuration() -> None:
    assert Codex().fingerprint() == Codex(model="x", environment={"A": "1"}).fingerprint()
