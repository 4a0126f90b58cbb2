from __future__ import annotations

import os
import socket
import stat
import tempfile
from pathlib import Path

import pytest

from toolcrib.errors import ProfileError
from toolcrib.runtime.profiles.files import (
    TreeCopier,
    link_file,
    read_file,
    remove_tree,
    write_atomically,
)


def names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_a_new_file_is_private(tmp_path: Path) -> None:
    write_atomically(tmp_path / "file", b"one")

    assert (tmp_path / "file").read_bytes() == b"one"
    assert mode(tmp_path / "file") == 0o600


@pytest.mark.parametrize("kept", [0o600, 0o640, 0o444])
def test_a_file_that_exists_keeps_its_mode(tmp_path: Path, kept: int) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"one")
    target.chmod(kept)

    write_atomically(target, b"two", mode=0o644)

    assert target.read_bytes() == b"two"
    assert mode(target) == kept


def test_a_write_replaces_the_file_and_leaves_open_readers_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"one")

    with target.open("rb") as reader:
        write_atomically(target, b"two")
        assert reader.read() == b"one"

    assert names(tmp_path) == ["file"]


def test_a_write_through_a_symbolic_link_is_refused(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.write_bytes(b"one")
    (tmp_path / "link").symlink_to(real)

    with pytest.raises(ProfileError, match="link is a symbolic link"):
        write_atomically(tmp_path / "link", b"two")

    assert real.read_bytes() == b"one"
    assert (tmp_path / "link").is_symlink()


def test_a_write_over_a_fifo_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(ProfileError, match="not a regular file"):
        write_atomically(tmp_path / "pipe", b"two")

    assert stat.S_ISFIFO((tmp_path / "pipe").lstat().st_mode)


def test_a_write_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match=r"missing.file can't be written"):
        write_atomically(tmp_path / "missing" / "file", b"two")

    assert names(tmp_path) == []


def test_reading_has_a_limit_and_waits_for_no_fifo(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"12345")
    os.mkfifo(tmp_path / "pipe")

    assert read_file(tmp_path / "file", 5) == b"12345"
    assert read_file(tmp_path / "none", 5) is None
    with pytest.raises(ProfileError, match="larger than 4 bytes"):
        read_file(tmp_path / "file", 4)
    with pytest.raises(ProfileError, match="neither a regular file"):
        read_file(tmp_path / "pipe", 5)


def test_a_copy_keeps_modes_and_contents(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "inner").mkdir(parents=True)
    (source / "inner" / "run.sh").write_text("#!/bin/sh\n")
    (source / "inner" / "run.sh").chmod(0o755)
    (source / "plain").write_text("x")
    (source / "plain").chmod(0o640)
    (source / "inner").chmod(0o555)

    assert TreeCopier().copy(source, tmp_path / "copy")

    copy = tmp_path / "copy"
    assert (copy / "inner" / "run.sh").read_text() == "#!/bin/sh\n"
    assert mode(copy / "inner" / "run.sh") == 0o755
    assert mode(copy / "plain") == 0o640
    assert mode(copy / "inner") == 0o555


def test_nothing_to_copy_is_told(tmp_path: Path) -> None:
    assert not TreeCopier().copy(tmp_path / "none", tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_a_copy_never_leads_back_to_its_source(tmp_path: Path) -> None:
    shared = tmp_path / "dotfiles"
    shared.mkdir()
    (shared / "skill.md").write_text("one")
    source = tmp_path / "source"
    source.mkdir()
    (source / "linked").symlink_to(shared)
    (source / "file").symlink_to(shared / "skill.md")
    (source / "dangling").symlink_to(tmp_path / "gone")

    TreeCopier().copy(source, tmp_path / "copy")

    copies = [tmp_path / "copy" / "linked" / "skill.md", tmp_path / "copy" / "file"]
    for copy in copies:
        copy.write_text("two")
    assert (shared / "skill.md").read_text() == "one"
    assert not any(path.is_symlink() for path in (tmp_path / "copy").rglob("*"))
    assert names(tmp_path / "copy") == ["file", "linked"]


def test_a_link_that_leads_back_up_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "again").symlink_to(source)

    with pytest.raises(ProfileError, match="again leads back into itself"):
        TreeCopier().copy(source, tmp_path / "copy")


def test_special_files_are_not_copied(tmp_path: Path) -> None:
    (tmp_path / "fifo").mkdir()
    os.mkfifo(tmp_path / "fifo" / "pipe")
    with pytest.raises(ProfileError, match="pipe is neither a regular file nor a directory"):
        TreeCopier().copy(tmp_path / "fifo", tmp_path / "copy-fifo")

    # A socket's path is limited to about 100 characters.
    with tempfile.TemporaryDirectory(prefix="s") as short, socket.socket(socket.AF_UNIX) as server:
        server.bind(f"{short}/sock")
        with pytest.raises(ProfileError, match=r"sock can't be copied|neither a regular file"):
            TreeCopier().copy(Path(short), tmp_path / "copy-socket")


def test_copies_are_bounded_in_entries_and_bytes_together(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name in "abc":
        (source / name).write_bytes(b"12345")

    TreeCopier(max_entries=4, max_bytes=15).copy(source, tmp_path / "fits")
    with pytest.raises(ProfileError, match=r"too large to clone.* 3 entries"):
        TreeCopier(max_entries=3).copy(source, tmp_path / "many")
    with pytest.raises(ProfileError, match=r"too large to clone.* 14 bytes"):
        TreeCopier(max_bytes=14).copy(source, tmp_path / "big")
    both = TreeCopier(max_entries=7)
    both.copy(source, tmp_path / "first")
    with pytest.raises(ProfileError, match="too large to clone"):
        both.copy(source, tmp_path / "second")


def test_a_login_is_linked_and_a_stale_copy_replaced(tmp_path: Path) -> None:
    login = tmp_path / "auth.json"
    login.write_text("old")
    target = tmp_path / "clone.json"
    target.write_text("stale")

    link_file(login, target)
    login.write_text("renewed")

    assert target.is_symlink()
    assert target.read_text() == "renewed"


def test_only_a_regular_file_is_linked(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()

    with pytest.raises(ProfileError, match="neither a regular file"):
        link_file(tmp_path / "directory", tmp_path / "link")
    with pytest.raises(ProfileError, match="gone can't be linked"):
        link_file(tmp_path / "gone", tmp_path / "link")

    assert not os.path.lexists(tmp_path / "link")


def test_a_login_that_cannot_be_linked_is_not_copied_instead(tmp_path: Path) -> None:
    (tmp_path / "auth.json").write_text("secret")
    (tmp_path / "in-the-way").mkdir()

    with pytest.raises(ProfileError, match=r"auth.json can't be linked"):
        link_file(tmp_path / "auth.json", tmp_path / "in-the-way")

    assert (tmp_path / "in-the-way").is_dir()


def test_removal_follows_no_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o500)
    (outside / "precious").touch()
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "link").symlink_to(outside)
    (tree / "file-link").symlink_to(outside / "precious")

    remove_tree(tree)
    remove_tree(tree)

    assert not tree.exists()
    assert (outside / "precious").exists()
    assert mode(outside) == 0o500
