from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from toolcrib.errors import ProfileError, ServerConflictError
from toolcrib.runtime.profiles.mcp_json import check_servers, put_server, read_object

VARIABLE = "TOOLCRIB_TOKEN_" + "A" * 32
ENTRY = {"type": "http", "url": "http://127.0.0.1:1/mcp"}


def written(path: Path, servers: Any) -> Path:
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


@pytest.mark.parametrize("key", ["toolcrib", "Toolcrib"])
def test_a_server_with_our_key_is_a_conflict(tmp_path: Path, key: str) -> None:
    path = written(tmp_path / "mcp.json", {"mine": {}, key: {"url": "http://x"}})
    before = path.read_bytes()

    with pytest.raises(ServerConflictError, match=rf"mcp\.json has an MCP server '{key}'.*Rename"):
        check_servers(path, "toolcrib", VARIABLE)

    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "entry",
    [
        {"headers": {"Authorization": "Bearer ${env:" + VARIABLE + "}"}},
        {"env": {VARIABLE: "x"}},
        {"command": "sh", "args": ["-c", f"echo ${VARIABLE}"]},
        f"${VARIABLE}",
    ],
)
def test_a_server_that_mentions_our_variable_is_a_conflict(tmp_path: Path, entry: Any) -> None:
    path = written(tmp_path / "mcp.json", {"thief": entry})

    with pytest.raises(ServerConflictError, match=r"'thief' in .* mentions TOOLCRIB_TOKEN_"):
        check_servers(path, "toolcrib", VARIABLE)
    with pytest.raises(ServerConflictError, match=r"'thief' in .* mentions TOOLCRIB_TOKEN_"):
        put_server(path, "toolcrib", ENTRY, VARIABLE)

    assert read_object(path) == {"mcpServers": {"thief": entry}}


def test_foreign_servers_are_named_and_kept(tmp_path: Path) -> None:
    foreign = {"a": {"command": "x", "env": {"KÖY": "\ud800 ü"}}, "b": {"url": "http://y"}}
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"inputs": [1, 2.5], "mcpServers": foreign}))

    assert check_servers(path, "toolcrib", VARIABLE) == ("a", "b")
    put_server(path, "toolcrib", ENTRY, VARIABLE)
    put_server(path, "toolcrib", {**ENTRY, "url": "http://127.0.0.1:2/mcp"}, VARIABLE)

    assert read_object(path) == {
        "inputs": [1, 2.5],
        "mcpServers": {**foreign, "toolcrib": {"type": "http", "url": "http://127.0.0.1:2/mcp"}},
    }


def test_our_entry_can_be_taken_out_and_a_file_without_it_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"mcpServers":   {"a": {}}}')

    put_server(path, "toolcrib", None)
    assert path.read_text() == '{"mcpServers":   {"a": {}}}'

    put_server(path, "toolcrib", ENTRY)
    put_server(path, "toolcrib", None)
    assert read_object(path) == {"mcpServers": {"a": {}}}


def test_a_missing_or_empty_file_has_no_servers(tmp_path: Path) -> None:
    assert check_servers(tmp_path / "none", "toolcrib", VARIABLE) == ()
    (tmp_path / "empty").write_text(" \n")
    assert check_servers(tmp_path / "empty", "toolcrib", VARIABLE) == ()


def test_a_byte_order_mark_is_read_over(tmp_path: Path) -> None:
    (tmp_path / "mcp.json").write_bytes(b'\xef\xbb\xbf{"mcpServers": {"a": {}}}')

    assert check_servers(tmp_path / "mcp.json", "toolcrib", VARIABLE) == ("a",)


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"[]",
        b'{"mcpServers": []}',
        b'{"mcpServers": null}',
        b"\xff{}",
        b'{"a": NaN}',
        b'{"a": ' + b"[" * 100_000,
        b"// comment\n{}",
    ],
)
def test_a_malformed_file_is_named(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(data)

    with pytest.raises(ProfileError, match=r"mcp\.json"):
        check_servers(path, "toolcrib", VARIABLE)

    assert path.read_bytes() == data


def test_a_number_without_a_json_form_is_refused_before_the_file_is_touched(
    tmp_path: Path,
) -> None:
    path = tmp_path / "mcp.json"
    path.write_text('{"timeout": 1e999}')

    with pytest.raises(ProfileError, match=r"mcp\.json"):
        put_server(path, "toolcrib", ENTRY)

    assert path.read_text() == '{"timeout": 1e999}'
