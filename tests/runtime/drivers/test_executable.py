from __future__ import annotations

from pathlib import Path

import pytest

from toolcrib.errors import ConfigurationError, ProviderNotFoundError
from toolcrib.runtime.drivers.executable import find_command


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_first_name_on_the_path_of_the_environment_wins(tmp_path: Path) -> None:
    second = program(tmp_path / "bin" / "cursor-agent")
    environment = {"PATH": str(tmp_path / "bin")}

    assert find_command(None, ("agent", "cursor-agent"), environment) == (str(second),)

    first = program(tmp_path / "bin" / "agent")
    assert find_command(None, ("agent", "cursor-agent"), environment) == (str(first),)
    assert find_command("cursor-agent", ("agent",), environment) == (str(second),)


def test_arguments_of_the_command_are_kept(tmp_path: Path) -> None:
    path = program(tmp_path / "bin" / "python")

    found = find_command(("python", "-m", "x y"), ("agent",), {"PATH": str(path.parent)})

    assert found == (str(path), "-m", "x y")


def test_a_path_needs_no_path_variable_and_becomes_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = program(tmp_path / "bin" / "agent")
    monkeypatch.chdir(tmp_path)

    assert find_command(str(path), (), {"PATH": ""}) == (str(path),)
    assert find_command("bin/agent", (), {"PATH": ""}) == (str(path),)
    assert find_command("agent", (), {"PATH": "bin"}) == (str(path),)


def test_a_link_is_not_resolved(tmp_path: Path) -> None:
    program(tmp_path / "real")
    (tmp_path / "agent").symlink_to(tmp_path / "real")

    assert find_command(str(tmp_path / "agent"), (), {}) == (str(tmp_path / "agent"),)


def test_a_command_that_is_not_there_is_named(tmp_path: Path) -> None:
    environment = {"PATH": str(tmp_path)}
    (tmp_path / "plain").touch(mode=0o644)

    with pytest.raises(ProviderNotFoundError, match=r"agent or cursor-agent is not on PATH.*pass"):
        find_command(None, ("agent", "cursor-agent"), environment)
    with pytest.raises(ProviderNotFoundError, match="nothere is not on PATH"):
        find_command("nothere", ("agent",), environment)
    with pytest.raises(ProviderNotFoundError, match=r"no file .*/gone"):
        find_command(str(tmp_path / "gone"), ("agent",), environment)
    with pytest.raises(ProviderNotFoundError, match="no file"):
        find_command(str(tmp_path), ("agent",), environment)
    with pytest.raises(ProviderNotFoundError, match="not executable"):
        find_command(str(tmp_path / "plain"), ("agent",), environment)
    with pytest.raises(ProviderNotFoundError):
        find_command("plain", ("agent",), environment)


@pytest.mark.parametrize("command", ["", (), ("",)])
def test_an_empty_command_is_refused(command: str | tuple[str, ...]) -> None:
    with pytest.raises(ConfigurationError, match="empty"):
        find_command(command, ("agent",), {})
