from __future__ import annotations

import json
import os
import resource
import stat
from pathlib import Path, PurePosixPath

import pytest

from toolcrib.errors import StoreError
from toolcrib.messages.secret import Secret
from toolcrib.runtime.threads import ConversationFile, collect, conversation, lay

LOG = PurePosixPath("chats/5e55/log.jsonl")


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def put(profile: Path, path: PurePosixPath, data: bytes) -> Path:
    target = profile / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    return target


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    path = tmp_path / "profile"
    path.mkdir(mode=0o700)
    return path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_collected_from_one_profile_is_laid_into_another(
    profile: Path, tmp_path: Path
) -> None:
    other = PurePosixPath("projects/a b/\udcff.bin")
    put(profile, LOG, b'{"a": 1}\n')
    put(profile, other, bytes(range(256)))
    put(profile, PurePosixPath("logs/noise"), b"not asked for")
    files = collect(profile, [LOG, other], [])
    assert files == (
        ConversationFile(LOG, b'{"a": 1}\n'),
        ConversationFile(other, bytes(range(256))),
    )
    fresh = tmp_path / "fresh"
    fresh.mkdir(mode=0o700)
    lay(fresh, files)
    assert collect(fresh, [LOG, other], []) == files
    assert names(fresh) == ["chats", "projects"]
    assert names(fresh / "chats/5e55") == ["log.jsonl"]


def test_laid_files_and_new_directories_are_private(profile: Path) -> None:
    old = os.umask(0)
    try:
        lay(profile, [ConversationFile(LOG, b"x")])
    finally:
        os.umask(old)
    assert mode(profile / LOG) == 0o600
    assert mode(profile / "chats") == mode(profile / "chats/5e55") == 0o700


def test_laying_replaces_what_a_failed_turn_left_but_not_what_it_is_linked_to(
    profile: Path, tmp_path: Path
) -> None:
    target = put(profile, LOG, b"turn one, failed turn two, longer than the stored file")
    outside = tmp_path / "hard link"
    os.link(target, outside)
    lay(profile, [ConversationFile(LOG, b"turn one")])
    assert target.read_bytes() == b"turn one"
    assert outside.read_bytes().startswith(b"turn one, failed")


@pytest.mark.parametrize("path", ["/etc/passwd", "../outside", "chats/../../outside", "", "a\0b"])
def test_a_path_that_leads_out_of_the_profile_is_refused(path: str, profile: Path) -> None:
    (profile.parent / "outside").write_text("private")
    (profile / "chats").mkdir()
    with pytest.raises(StoreError, match="must lie below the profile"):
        collect(profile, [PurePosixPath(path)], [])
    with pytest.raises(StoreError, match="must lie below the profile"):
        lay(profile, [ConversationFile(PurePosixPath(path), b"overwritten")])
    assert (profile.parent / "outside").read_text() == "private"


def test_a_link_in_the_place_of_the_file_is_neither_read_nor_written(
    profile: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.write_text("private")
    (profile / "chats/5e55").mkdir(parents=True)
    (profile / LOG).symlink_to(outside)
    with pytest.raises(StoreError, match=r"log\.jsonl"):
        collect(profile, [LOG], [])
    with pytest.raises(StoreError, match=r"log\.jsonl"):
        lay(profile, [ConversationFile(LOG, b"x")])
    assert outside.read_text() == "private"
    assert (profile / LOG).is_symlink()


@pytest.mark.parametrize("link", ["chats", "chats/5e55"])
def test_a_link_in_the_place_of_a_directory_is_not_followed(
    link: str, profile: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    put(outside, PurePosixPath("log.jsonl"), b"private")
    put(outside, PurePosixPath("5e55/log.jsonl"), b"private")
    (profile / link).parent.mkdir(exist_ok=True)
    (profile / link).symlink_to(outside)
    with pytest.raises(StoreError, match="without links"):
        collect(profile, [LOG], [])
    with pytest.raises(StoreError, match="without links"):
        lay(profile, [ConversationFile(LOG, b"x")])
    assert (outside / "log.jsonl").read_bytes() == b"private"
    assert (outside / "5e55/log.jsonl").read_bytes() == b"private"


def test_a_profile_that_is_a_link_is_refused(profile: Path, tmp_path: Path) -> None:
    put(profile, LOG, b"x")
    link = tmp_path / "link"
    link.symlink_to(profile)
    with pytest.raises(StoreError):
        collect(link, [LOG], [])


def test_a_fifo_is_refused_without_waiting_for_its_writer(profile: Path) -> None:
    (profile / "chats/5e55").mkdir(parents=True)
    os.mkfifo(profile / LOG)
    with pytest.raises(StoreError, match="no regular file"):
        collect(profile, [LOG], [])
    with pytest.raises(StoreError, match="no regular file"):
        lay(profile, [ConversationFile(LOG, b"x")])
    assert stat.S_ISFIFO((profile / LOG).lstat().st_mode)


def test_a_directory_in_the_place_of_the_file_is_refused(profile: Path) -> None:
    (profile / LOG).mkdir(parents=True)
    with pytest.raises(StoreError):
        collect(profile, [LOG], [])
    with pytest.raises(StoreError, match="no regular file"):
        lay(profile, [ConversationFile(LOG, b"x")])


def test_a_missing_file_is_named(profile: Path) -> None:
    with pytest.raises(StoreError, match=r"'chats/5e55/log\.jsonl' can't be read"):
        collect(profile, [LOG], [])


def test_the_same_path_twice_is_refused(profile: Path) -> None:
    with pytest.raises(StoreError, match="is there twice"):
        lay(profile, [ConversationFile(LOG, b"x"), ConversationFile(LOG, b"y")])


def test_files_that_are_too_large_together_are_refused(profile: Path) -> None:
    half = conversation.MAX_BYTES // 2
    first, second = PurePosixPath("first"), PurePosixPath("second")
    for path, size in ((first, half), (second, half)):
        with put(profile, path, b"").open("wb") as file:
            file.truncate(size)
    files = collect(profile, [first, second], [])
    assert [len(file.data) for file in files] == [half, half]
    os.truncate(profile / second, half + 1)
    with pytest.raises(StoreError, match="more than 64 MiB"):
        collect(profile, [first, second], [])
    with pytest.raises(StoreError, match="more than 64 MiB"):
        lay(profile, [*files, ConversationFile(PurePosixPath("third"), b"x")])
    assert not (profile / "third").exists()


def test_live_secrets_are_masked_however_json_writes_them(profile: Path) -> None:
    plain, awkward = "c2VjcmV0LXRva2Vu", 'pa"ss\\wörd\n/'
    record = {"token": plain, "password": awkward, "tool": json.dumps({"p": awkward})}
    text = "\n".join(
        (plain, awkward, json.dumps(record), json.dumps(record, ensure_ascii=False), "kept")
    )
    put(profile, LOG, text.encode())
    (file,) = collect(profile, [LOG], [Secret(plain), Secret(awkward), Secret("")])
    masked = file.data.decode()
    for part in (plain, "pa", "ss", "rd"):
        assert part not in masked.replace("password", "")
    lines = masked.split("\n")
    assert lines[:2] == ["***", "***"]
    assert json.loads(lines[2]) == json.loads(lines[3])
    assert json.loads(json.loads(lines[2])["tool"]) == {"p": "***"}
    assert lines[4] == "kept"
    assert (profile / LOG).read_bytes() == text.encode()


def test_a_secret_that_holds_another_leaves_nothing_of_itself(profile: Path) -> None:
    put(profile, LOG, b"abcdef abc")
    (file,) = collect(profile, [LOG], [Secret("abc"), Secret("abcdef")])
    assert file.data == b"*** ***"


def test_a_failed_write_leaves_the_older_file_and_no_scrap(profile: Path) -> None:
    put(profile, LOG, b"older")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, before[1]))
    try:
        with pytest.raises(StoreError, match="can't be written"):
            lay(profile, [ConversationFile(LOG, b"x" * 100_000)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (profile / LOG).read_bytes() == b"older"
    assert names(profile / "chats/5e55") == ["log.jsonl"]


def test_no_descriptor_stays_open_after_failures(profile: Path, tmp_path: Path) -> None:
    put(profile, LOG, b"x")
    (profile / "link").symlink_to(tmp_path)
    before = len(names(Path("/proc/self/fd")))
    for _ in range(5):
        for path in ("link/a", "none/a", "chats", "chats/5e55/none"):
            with pytest.raises(StoreError):
                collect(profile, [PurePosixPath(path)], [])
        with pytest.raises(StoreError):
            lay(profile, [ConversationFile(LOG / "below", b"")])
    assert len(names(Path("/proc/self/fd"))) == before
