from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolcrib.errors import ProfileError
from toolcrib.runtime.profiles.clone import Clone
from toolcrib.runtime.profiles.clones import CloneStore

HOST = """
import sys
from pathlib import Path
from toolcrib.runtime.profiles.clones import CloneStore
store = CloneStore(Path(sys.argv[1]))
clone = store.create("agent-1", "k", lambda clone: (clone.profile / "mcp.json").touch())
print(clone.root, flush=True)
sys.stdin.read()
"""

READ_ONLY = """
import os, sys
from pathlib import Path
from toolcrib.runtime.profiles.clones import CloneStore
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
store = CloneStore(Path(sys.argv[1]))
clone = store.create("agent-1", "k", lambda clone: None)
deep = clone.profile / "module" / "cache"
deep.mkdir(parents=True)
(deep / "file").touch()
deep.chmod(0o500)
deep.parent.chmod(0)
clone.root.chmod(0o500)
store.remove(clone)
store.close()
"""

FORK = """
import os, sys
from pathlib import Path
from toolcrib.errors import ProfileError
from toolcrib.runtime.profiles.clones import CloneStore
def refused(call):
    try:
        call()
    except ProfileError as error:
        return "after the fork" in str(error)
    return False
store = CloneStore(Path(sys.argv[1]))
clone = store.create("agent-1", "k", lambda clone: None)
child = os.fork()
if child == 0:
    store.close()
    calls = (
        lambda: store.remove(clone),
        lambda: store.create("agent-2", "k", lambda clone: None),
        store.sweep,
    )
    os._exit(0 if all(refused(call) for call in calls) else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert clone.profile.is_dir()
assert CloneStore(store.root).sweep() == ()
store.remove(clone)
child = os.fork()
if child == 0:
    store.close()
    os._exit(0)
os.waitpid(child, 0)
assert store.host_directory.is_dir()
store.close()
"""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[CloneStore]:
    made = CloneStore(tmp_path / "root")
    yield made
    made.close()


def nothing(clone: Clone) -> None:
    pass


def names(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def start_host(root: Path) -> tuple[subprocess.Popen[str], Path]:
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert host.stdout is not None
    return host, Path(host.stdout.readline().strip())


def run(script: str, root: Path) -> None:
    command = [sys.executable, "-c", script, str(root)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr


def kill(host: subprocess.Popen[str]) -> None:
    host.send_signal(signal.SIGKILL)
    host.communicate(timeout=20)


def test_a_clone_is_private_and_says_whose_it_is(store: CloneStore) -> None:
    seeded: list[Clone] = []

    clone = store.create("agent-1", "key-1", seeded.append)

    assert seeded == [clone]
    assert clone.root.parent == store.host_directory == store.root / store.host_id
    for path in (
        store.root,
        store.host_directory,
        clone.root,
        clone.profile,
        clone.home,
        clone.temp,
    ):
        assert mode(path) == 0o700
    assert mode(clone.root / "owner.json") == 0o600
    record = json.loads((clone.root / "owner.json").read_bytes())
    assert record.pop("created").endswith("+00:00")
    assert record == {
        "version": 1,
        "host": store.host_id,
        "pid": os.getpid(),
        "agent": "agent-1",
        "key": "key-1",
    }


def test_a_store_makes_no_directory_before_it_is_needed(tmp_path: Path) -> None:
    store = CloneStore(tmp_path / "root")

    assert store.sweep() == ()
    store.close()

    assert names(tmp_path) == []


def test_the_default_root_is_the_users_own() -> None:
    store = CloneStore()

    assert store.root.name == f"toolcrib-{os.geteuid()}"


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_a_seed_that_fails_leaves_nothing_and_its_error_goes_on(
    store: CloneStore, error: BaseException
) -> None:
    def seed(clone: Clone) -> None:
        (clone.profile / "half").touch()
        raise error

    with pytest.raises(type(error)) as caught:
        store.create("agent-1", "key-1", seed)

    assert caught.value is error
    assert names(store.host_directory) == []


def test_a_clone_is_removed_whole_and_only_once(store: CloneStore) -> None:
    clone = store.create("agent-1", "key-1", nothing)
    (clone.profile / "deep" / "er").mkdir(parents=True)

    store.remove(clone)
    store.remove(clone)

    assert names(store.host_directory) == []


def test_what_is_not_a_clone_of_this_host_is_not_removed(
    store: CloneStore, tmp_path: Path
) -> None:
    store.create("agent-1", "key-1", nothing)
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(next(store.host_directory.iterdir()), elsewhere)
    inner = store.host_directory / "plain" / "inner"
    inner.mkdir(parents=True)
    link = store.host_directory / "link"
    link.symlink_to(elsewhere)
    plain_file = store.host_directory / "file"
    plain_file.touch()
    up = store.host_directory / ".."

    for path in (elsewhere, inner, inner.parent, link, plain_file, up, store.root, Path("/")):
        with pytest.raises(ProfileError, match="is not removed"):
            store.remove(Clone(path))

    assert (elsewhere / "owner.json").exists()
    assert inner.exists()
    assert link.is_symlink()
    assert plain_file.exists()


@pytest.mark.parametrize("record", ['{"host": "another"}', "[]", "not json", "{}"])
def test_a_clone_whose_record_names_another_host_is_not_removed(
    store: CloneStore, record: str
) -> None:
    clone = store.create("agent-1", "key-1", nothing)
    (clone.root / "owner.json").write_text(record)

    with pytest.raises(ProfileError, match="doesn't name this host"):
        store.remove(clone)

    assert clone.profile.exists()


def test_a_removal_that_was_cut_off_after_the_record_can_be_finished(store: CloneStore) -> None:
    clone = store.create("agent-1", "key-1", nothing)
    shutil.rmtree(clone.root)
    clone.root.mkdir()

    store.remove(clone)

    assert not clone.root.exists()


def test_directories_without_write_permission_are_removed(tmp_path: Path) -> None:
    # Permissions don't bind root, so the script becomes somebody else.
    if os.geteuid() == 0:
        for path in (tmp_path, *list(tmp_path.parents)[:3]):
            path.chmod(path.stat().st_mode | 0o011)
        os.chown(tmp_path, 65534, 65534)

    run(READ_ONLY, tmp_path / "root")

    assert names(tmp_path / "root") == []


def test_the_clones_of_a_host_that_was_killed_are_swept(store: CloneStore) -> None:
    host, left = start_host(store.root)
    kill(host)
    assert (left / "profile" / "mcp.json").exists()

    assert store.sweep() == (left,)

    assert not left.parent.exists()
    assert store.sweep() == ()


def test_the_clones_of_a_living_host_are_not_swept(store: CloneStore) -> None:
    host, kept = start_host(store.root)
    try:
        # Neither age nor a missing record makes a clone stale.
        os.utime(kept.parent, (0, 0))
        os.utime(kept, (0, 0))
        (kept / "owner.json").unlink()
        own = store.create("agent-1", "key-1", nothing)

        assert store.sweep() == ()

        assert (kept / "profile" / "mcp.json").exists()
        assert own.profile.exists()
    finally:
        kill(host)


def test_a_sweep_takes_nothing_but_directories_of_hosts(store: CloneStore, tmp_path: Path) -> None:
    store.create("agent-1", "key-1", nothing)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").touch()
    (store.root / "link").symlink_to(outside)
    (store.root / "file").touch()
    dead = store.root / "dead"
    dead.mkdir()
    (dead / "clone").symlink_to(outside)

    store.sweep()

    assert (outside / "precious").exists()
    assert (store.root / "link").is_symlink()
    assert (store.root / "file").exists()
    assert not dead.exists()


def test_close_gives_the_directory_back_and_the_store_can_go_on(store: CloneStore) -> None:
    clone = store.create("agent-1", "key-1", nothing)
    store.remove(clone)

    store.close()
    store.close()

    assert names(store.root) == []
    assert store.create("agent-1", "key-1", nothing).profile.is_dir()


def test_clones_that_are_left_at_close_go_with_the_next_sweep(
    store: CloneStore, caplog: pytest.LogCaptureFixture
) -> None:
    clone = store.create("agent-1", "key-1", nothing)
    store.close()

    assert "is left behind" in caplog.text
    assert clone.profile.exists()
    assert CloneStore(store.root).sweep() == (clone.root,)


def test_a_root_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "root").symlink_to(tmp_path / "real")
    store = CloneStore(tmp_path / "root")

    with pytest.raises(ProfileError, match="is a link"):
        store.create("agent-1", "key-1", nothing)
    with pytest.raises(ProfileError, match="is a link"):
        store.sweep()

    assert names(tmp_path / "real") == []


def test_a_root_that_others_can_open_is_refused(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root").chmod(0o750)

    with pytest.raises(ProfileError, match="open to other users"):
        CloneStore(tmp_path / "root").create("agent-1", "key-1", nothing)


def test_a_root_of_another_user_is_refused(tmp_path: Path) -> None:
    root = Path("/usr")
    if os.geteuid() == 0:
        root = tmp_path / "root"
        root.mkdir(mode=0o700)
        os.chown(root, 65534, 65534)

    with pytest.raises(ProfileError, match="belongs to another user"):
        CloneStore(root).create("agent-1", "key-1", nothing)


def test_a_forked_child_can_not_touch_its_parents_clones(tmp_path: Path) -> None:
    run(FORK, tmp_path / "root")

    assert names(tmp_path / "root") == []


def test_a_directory_that_a_sweep_takes_away_while_it_is_locked_is_made_again(
    store: CloneStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = fcntl.flock
    swept: list[Path] = []

    def sweep_first(handle: int, operation: int) -> None:
        if not swept:
            swept.append(store.host_directory)
            store.host_directory.rmdir()
        lock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", sweep_first)

    clone = store.create("agent-1", "key-1", nothing)

    assert swept
    assert CloneStore(store.root).sweep() == ()
    assert clone.profile.is_dir()


def test_many_threads_and_sweeps_at_once_lose_nothing(tmp_path: Path) -> None:
    root = tmp_path / "root"
    stop = threading.Event()
    failures: list[BaseException] = []

    def sweep() -> None:
        sweeper = CloneStore(root)
        while not stop.is_set():
            try:
                sweeper.sweep()
            except BaseException as error:
                failures.append(error)

    def host() -> None:
        try:
            for _ in range(10):
                store = CloneStore(root)
                clones = [store.create("a", str(i), nothing) for i in range(3)]
                assert all((clone.root / "owner.json").exists() for clone in clones)
                for clone in clones:
                    store.remove(clone)
                store.close()
        except BaseException as error:
            failures.append(error)

    sweeper = threading.Thread(target=sweep)
    hosts = [threading.Thread(target=host) for _ in range(4)]
    sweeper.start()
    for thread in hosts:
        thread.start()
    for thread in hosts:
        thread.join()
    stop.set()
    sweeper.join()

    assert failures == []
    assert names(root) == []
