from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from toolcrib.errors import ConfigurationError, ProfileError, ProviderNotFoundError
from toolcrib.messages.secret import Secret
from toolcrib.runtime.drivers.codex import Codex

from .conftest import THREAD, TOKEN, VARIABLE, World, put, settings, tree

ROLLOUT = f"sessions/2026/12/01/rollout-2026-12-01T10-00-00-{THREAD}.jsonl"


def test_the_launch_says_where_everything_is(world: World) -> None:
    clone = world.clone(Codex())
    driver = Codex(
        model="gpt",
        sandbox="workspace-write",
        reasoning_effort="high",
        grace=0.5,
        environment={"EXTRA": "1"},
    )

    launch = driver.prepare(world.request(clone))

    assert launch.argv == (
        str(world.workspace.parent / "bin" / "codex"),
        "exec",
        "--json",
        "--skip-git-repo-check",
        "--model",
        "gpt",
        "--sandbox",
        "workspace-write",
        "--config",
        f'sqlite_home="{clone.profile}"',
        "--config",
        f'log_dir="{clone.profile}/log"',
        "--config",
        f'shell_environment_policy.exclude=["{VARIABLE}"]',
        "--config",
        "features.shell_snapshot=false",
        "--config",
        'model_reasoning_effort="high"',
        "-",
    )
    assert launch.cwd == world.workspace
    assert launch.grace == 0.5
    assert launch.secrets == (Secret(TOKEN),)
    assert launch.environment == {
        "PATH": world.environment["PATH"],
        "HOME": str(world.home),
        "TOOLCRIB_HOST": "h",
        "EXTRA": "1",
        "CODEX_HOME": str(clone.profile),
        "TMPDIR": str(clone.temp),
        "TMP": str(clone.temp),
        "TEMP": str(clone.temp),
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
        VARIABLE: TOKEN,
    }


def test_a_conversation_goes_on_by_its_id_with_the_prompt_on_the_input(world: World) -> None:
    clone = world.clone(Codex())

    launch = Codex().prepare(world.request(clone, resume=THREAD))

    assert launch.argv[-3:] == ("resume", THREAD, "-")


# For a name that it does not know, Codex starts a new conversation, and says nothing.
@pytest.mark.parametrize("resume", ["a-name", "--last", "", f"{THREAD}\n", THREAD.upper(), "../x"])
def test_what_is_no_id_of_a_conversation_is_not_passed(world: World, resume: str) -> None:
    clone = world.clone(Codex())

    with pytest.raises(ConfigurationError, match="no conversation"):
        Codex().prepare(world.request(clone, resume=resume))


def test_what_the_driver_sets_comes_after_other_arguments(world: World) -> None:
    clone = world.clone(Codex())

    launch = Codex(extra_args=["-c", "tui.theme=x", "--image", "a.png"]).prepare(
        world.request(clone)
    )

    assert launch.argv[1:6] == ("exec", "-c", "tui.theme=x", "--image", "a.png")
    assert launch.argv[6] == "--json"
    assert settings(launch)["features.shell_snapshot"] is False


def test_the_command_of_the_python_package_is_found_where_path_has_none(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binary = put(tmp_path / "package" / "codex")
    text = f"def bundled_codex_path():\n    return {str(binary)!r}\n"
    put(tmp_path / "site" / "codex_cli_bin" / "__init__.py", text)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.delitem(sys.modules, "codex_cli_bin", raising=False)
    clone = world.clone(Codex())
    elsewhere = {**world.environment, "PATH": "/nowhere"}

    first = Codex().prepare(world.request(clone))
    second = Codex().prepare(world.request(clone, environment=elsewhere))

    assert first.argv[0] == str(world.workspace.parent / "bin" / "codex")
    assert second.argv[0] == str(binary)
    with pytest.raises(ProviderNotFoundError, match="other"):
        Codex(command="other").prepare(world.request(clone, environment=elsewhere))
    monkeypatch.delitem(sys.modules, "codex_cli_bin")


def test_a_command_that_is_missing_is_found_out_before_anything_is_made(world: World) -> None:
    with pytest.raises(ProviderNotFoundError, match="nothere"):
        world.preflight(Codex(command="nothere"))

    assert not world.store.root.exists()


def test_settings_are_copied_and_conversations_are_not(world: World) -> None:
    copied = {
        "config.toml",
        "config.json",
        "hooks.json",
        "instructions.md",
        "AGENTS.md",
        "AGENTS.override.md",
        "skills/s/SKILL.md",
        "rules/r.rules",
        "prompts/p.md",
        "agents/a.toml",
        "hooks/h.sh",
    }
    for name in copied:
        put(world.profile / name)
    for name in (ROLLOUT, "history.jsonl", "log/codex.log", "state_5.sqlite", "memories/m.md"):
        put(world.profile / name)
    before = tree(world.home)

    clone = world.clone(Codex())
    (clone.profile / "AGENTS.md").write_text("changed by the provider")

    assert set(tree(clone.profile)) == copied
    assert tree(world.home) == before


@pytest.mark.parametrize("name", ["auth.json", ".credentials.json", ".env"])
def test_a_login_is_linked(world: World, name: str) -> None:
    login = put(world.profile / name, "old")

    clone = world.clone(Codex())
    login.write_text("renewed")

    assert (clone.profile / name).is_symlink()
    assert (clone.profile / name).read_text() == "renewed"


def test_the_default_profile_may_be_missing(world: World) -> None:
    world.profile.rmdir()

    world.preflight(Codex())
    clone = world.clone(Codex())

    assert list(clone.profile.iterdir()) == []


def test_a_profile_that_somebody_names_must_be_there(world: World, tmp_path: Path) -> None:
    gone = tmp_path / "nothere"

    for driver in (Codex(profile=gone), Codex(environment={"CODEX_HOME": str(gone)})):
        with pytest.raises(ProfileError, match="nothere is not a directory"):
            world.preflight(driver)
        with pytest.raises(ProfileError, match="nothere is not a directory"):
            world.clone(driver)
    assert list(world.store.host_directory.iterdir()) == []


def test_a_profile_that_somebody_names_is_taken_in_place_of_the_users(
    world: World, tmp_path: Path
) -> None:
    put(world.profile / "AGENTS.md", "user")
    put(tmp_path / "moved" / "AGENTS.md", "moved")
    put(tmp_path / "other" / "AGENTS.md", "other")
    moved = {"CODEX_HOME": str(tmp_path / "moved")}

    by_variable = world.clone(Codex(environment=moved))
    by_option = world.clone(Codex(profile=str(tmp_path / "other"), environment=moved))

    assert (by_variable.profile / "AGENTS.md").read_text() == "moved"
    assert (by_option.profile / "AGENTS.md").read_text() == "other"
    launch = Codex(environment=moved).prepare(world.request(by_variable))
    assert launch.environment["CODEX_HOME"] == str(by_variable.profile)


def test_without_a_home_there_is_no_profile_to_find(world: World) -> None:
    homeless = replace(world, environment={"PATH": world.environment["PATH"]})

    with pytest.raises(ProfileError, match="HOME is not set"):
        homeless.preflight(Codex())


def test_a_conversation_is_the_file_that_carries_its_id(world: World) -> None:
    clone = world.clone(Codex())
    put(clone.profile / ROLLOUT)
    put(clone.profile / ROLLOUT.replace(THREAD, THREAD[:-1] + "0"))
    put(clone.profile / "sessions" / "2026" / f"rollout-x-{THREAD}-more.jsonl")
    (clone.profile / "sessions" / f"rollout-y-{THREAD}.jsonl").symlink_to("/etc/passwd")
    put(clone.profile / "history" / f"rollout-z-{THREAD}.jsonl")

    assert Codex().conversation_files(clone, THREAD) == (PurePosixPath(ROLLOUT),)
    assert Codex().conversation_files(clone, "") == ()
    assert Codex().conversation_files(clone, "unknown") == ()


def test_a_folder_of_conversations_that_became_a_link_is_not_followed(world: World) -> None:
    clone = world.clone(Codex())
    put(world.profile / ROLLOUT)
    (clone.profile / "sessions").symlink_to(world.profile / "sessions")

    assert Codex().conversation_files(clone, THREAD) == ()
