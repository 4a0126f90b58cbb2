from __future__ import annotations

import base64
import json
import resource
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any, cast

import pytest

from toolcrib.errors import LeaseLostError, StoreError, ThreadBusyError
from toolcrib.runtime.threads import (
    ConversationFile,
    Lease,
    MemoryStore,
    ThreadRecord,
    ThreadStore,
)


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def make_record(key: str = "issue-42", turns: int = 1, **changes: Any) -> ThreadRecord:
    record = ThreadRecord(
        key=key,
        provider="cursor",
        fingerprint="f" * 64,
        session_id="5e55",
        files=(ConversationFile(PurePosixPath("chats/5e55/log.jsonl"), b"\x00\xff{}\n"),),
        turns=turns,
        updated=datetime(2026, 1, 31, 12, 30, 0, 5, UTC),
    )
    return replace(record, **changes)


def store_with(*records: ThreadRecord) -> MemoryStore:
    store = MemoryStore()
    for record in records:
        lease = store.acquire(record.key, "run_0")
        store.commit(lease, record)
        store.release(lease)
    return store


def saved(path: Path, change: Callable[[Any], None]) -> Path:
    store_with(make_record()).save(path)
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))
    return path


def test_a_new_thread_has_no_record_and_a_committed_one_is_loaded_as_it_was() -> None:
    store: ThreadStore = MemoryStore()
    assert store.load("issue-42") is None
    lease = store.acquire("issue-42", "run_1")
    assert store.load("issue-42") is None
    store.commit(lease, make_record())
    assert store.load("issue-42") == make_record()


def test_one_run_at_a_time_holds_a_thread() -> None:
    store = MemoryStore()
    lease = store.acquire("a", "run_1")
    with pytest.raises(ThreadBusyError, match="'a' is held by run_1"):
        store.acquire("a", "run_2")
    store.acquire("b", "run_2")
    store.release(lease)
    assert store.acquire("a", "run_2").owner == "run_2"


def test_the_holder_gets_the_same_lease_again() -> None:
    store = MemoryStore()
    assert store.acquire("a", "run_1") == store.acquire("a", "run_1")


def test_of_many_runs_at_once_one_gets_the_thread() -> None:
    store = MemoryStore()
    start = threading.Barrier(8)

    def take(number: int) -> bool:
        start.wait(10)
        try:
            store.acquire("a", f"run_{number}")
        except ThreadBusyError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(take, range(8))) == 1


def test_the_fence_grows_with_each_lease_of_a_key() -> None:
    store = MemoryStore()
    fences = []
    for number in range(3):
        lease = store.acquire("a", f"run_{number}")
        fences.append(lease.fence)
        store.release(lease)
    assert fences == sorted(set(fences))


def test_a_lost_lease_stores_nothing() -> None:
    store = store_with(make_record())
    old = store.acquire("issue-42", "run_1")
    store.release(old)
    with pytest.raises(LeaseLostError, match="issue-42"):
        store.commit(old, make_record(turns=2))
    new = store.acquire("issue-42", "run_1")
    with pytest.raises(LeaseLostError):
        store.commit(old, make_record(turns=2))
    assert store.load("issue-42") == make_record()
    store.commit(new, make_record(turns=3))
    assert store.load("issue-42") == make_record(turns=3)


def test_a_lease_that_the_store_never_gave_stores_nothing() -> None:
    store = MemoryStore()
    with pytest.raises(LeaseLostError):
        store.commit(Lease("issue-42", "run_1", 1), make_record())
    assert store.load("issue-42") is None


def test_releasing_an_old_lease_leaves_the_new_one() -> None:
    store = MemoryStore()
    old = store.acquire("a", "run_1")
    store.release(old)
    store.acquire("a", "run_1")
    store.release(old)
    with pytest.raises(ThreadBusyError):
        store.acquire("a", "run_2")


def test_a_lease_stores_its_own_thread_only() -> None:
    store = MemoryStore()
    lease = store.acquire("a", "run_1")
    with pytest.raises(StoreError, match="'a' can't store thread 'b'"):
        store.commit(lease, make_record("b"))
    assert store.load("b") is None


@pytest.mark.parametrize("part", ["provider", "fingerprint", "session_id"])
def test_a_record_without_an_essential_part_is_refused(part: str) -> None:
    store = MemoryStore()
    lease = store.acquire("issue-42", "run_1")
    blank = replace(make_record(), **cast("Any", {part: ""}))
    with pytest.raises(StoreError, match=f"has no {part}"):
        store.commit(lease, blank)
    assert store.load("issue-42") is None


def test_a_record_without_turns_or_with_a_local_time_is_refused() -> None:
    store = MemoryStore()
    lease = store.acquire("issue-42", "run_1")
    with pytest.raises(StoreError, match="successful turn"):
        store.commit(lease, make_record(turns=0))
    with pytest.raises(StoreError, match="time zone"):
        store.commit(lease, make_record(updated=datetime(2026, 1, 1)))  # noqa: DTZ001 - the point


@pytest.mark.parametrize("path", ["/etc/passwd", "../up", "a/../../b", "", "a\0b", "\ud800"])
def test_a_conversation_file_outside_the_profile_is_refused(path: str) -> None:
    store = MemoryStore()
    lease = store.acquire("issue-42", "run_1")
    files = (ConversationFile(PurePosixPath(path), b""),)
    with pytest.raises(StoreError, match="below the profile"):
        store.commit(lease, make_record(files=files))
    assert store.load("issue-42") is None


def test_another_process_goes_on_from_a_saved_file(tmp_path: Path) -> None:
    path = tmp_path / "threads.json"
    strange = make_record('a"\n\u20ac\ud800', turns=3, files=())
    store_with(make_record(), strange).save(path)
    script = (
        "import sys; from toolcrib.runtime.threads import MemoryStore\n"
        "store = MemoryStore.load_from(sys.argv[1]); record = store.load('issue-42')\n"
        "store.acquire('issue-42', 'run_9'); print(record.session_id, record.files[0].data)"
    )
    output = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        check=True,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=30,
    )
    assert output.stdout == f"5e55 {make_record().files[0].data!r}\n"
    loaded = MemoryStore.load_from(path)
    assert loaded.load("issue-42") == make_record()
    assert loaded.load(strange.key) == strange


def test_a_saved_file_is_private_and_holds_no_lease(tmp_path: Path) -> None:
    path = tmp_path / "threads.json"
    store = store_with(make_record())
    store.acquire("issue-42", "run_1")
    path.write_text("old")
    path.chmod(0o644)
    store.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert names(tmp_path) == ["threads.json"]
    assert MemoryStore.load_from(path).acquire("issue-42", "run_2").owner == "run_2"


def test_the_same_threads_are_saved_as_the_same_bytes(tmp_path: Path) -> None:
    store_with(make_record("a"), make_record("b")).save(tmp_path / "1")
    store_with(make_record("b"), make_record("a")).save(tmp_path / "2")
    assert (tmp_path / "1").read_bytes() == (tmp_path / "2").read_bytes()


def test_saving_never_writes_through_a_link_or_over_a_directory(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("precious")
    link = tmp_path / "link"
    link.symlink_to(target)
    with pytest.raises(StoreError, match="link or no regular file"):
        store_with(make_record()).save(link)
    with pytest.raises(StoreError, match="link or no regular file"):
        MemoryStore().save(tmp_path)
    assert target.read_text() == "precious"
    assert link.is_symlink()


def test_saving_into_a_missing_directory_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "no" / "threads.json"
    with pytest.raises(StoreError, match="can't be written") as caught:
        MemoryStore().save(path)
    assert str(path) in str(caught.value)


def test_a_failed_save_leaves_the_older_file_and_no_scrap(tmp_path: Path) -> None:
    path = tmp_path / "threads.json"
    store_with(make_record()).save(path)
    big = make_record("big", files=(ConversationFile(PurePosixPath("log"), b"x" * 100_000),))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1024, before[1]))
    try:
        with pytest.raises(StoreError, match="can't be written"):
            store_with(big).save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert MemoryStore.load_from(path).load("issue-42") == make_record()
    assert names(tmp_path) == ["threads.json"]


def test_a_reader_always_finds_a_whole_file_while_others_save(tmp_path: Path) -> None:
    path = tmp_path / "threads.json"
    store = store_with(make_record())
    store.save(path)
    stop = threading.Event()

    def save() -> int:
        count = 0
        while not stop.is_set():
            store.save(path)
            count += 1
        return count

    with ThreadPoolExecutor(2) as pool:
        savers = [pool.submit(save) for _ in range(2)]
        try:
            for _ in range(50):
                assert MemoryStore.load_from(path).load("issue-42") == make_record()
        finally:
            stop.set()
        assert all(saver.result(30) for saver in savers)
    assert names(tmp_path) == ["threads.json"]


def _thread(document: Any) -> Any:
    return document["threads"][0]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda d: d.update(format="x"), '"format" must be'),
        (lambda d: d.pop("version"), "version must be a whole number"),
        (lambda d: d.update(version=True), "version must be a whole number"),
        (lambda d: d.update(version=2), "version 2 is not 1"),
        (lambda d: d.update(extra=1), 'unknown member "extra"'),
        (lambda d: d.pop("threads"), 'lacks the member "threads"'),
        (lambda d: d.update(threads={}), "threads must be a list"),
        (lambda d: d["threads"].append(_thread(d)), r"threads\[1\]: the key 'issue-42' is there"),
        (lambda d: d["threads"].append([]), r"threads\[1\] must be an object"),
        (lambda d: _thread(d).pop("provider"), 'lacks the member "provider"'),
        (lambda d: _thread(d).update(owner=""), 'unknown member "owner"'),
        (lambda d: _thread(d).update(turns="1"), r"threads\[0\]\.turns must be a whole"),
        (lambda d: _thread(d).update(turns=True), r"threads\[0\]\.turns must be a whole"),
        (lambda d: _thread(d).update(turns=0), "successful turn"),
        (lambda d: _thread(d).update(key=None), r"threads\[0\]\.key must be a string"),
        (lambda d: _thread(d).update(session_id=""), "no session_id"),
        (lambda d: _thread(d).update(updated="soon"), r"\.updated is not a time"),
        (lambda d: _thread(d).update(updated="2026-01-01T00:00:00"), "no time zone"),
        (lambda d: _thread(d)["files"][0].update(data="?"), r"files\[0\]\.data is not base64"),
        (lambda d: _thread(d)["files"][0].update(data="\u20ac"), "data is not base64"),
        (lambda d: _thread(d)["files"][0].update(path="../x"), "below the profile"),
        (lambda d: _thread(d)["files"].append(_thread(d)["files"][0]), "is there twice"),
    ],
)
def test_a_damaged_file_is_refused_by_name_and_place(
    change: Callable[[Any], None], complaint: str, tmp_path: Path
) -> None:
    path = saved(tmp_path / "threads.json", change)
    with pytest.raises(StoreError, match=complaint) as caught:
        MemoryStore.load_from(path)
    assert str(path) in str(caught.value)


MEMBER_TWICE = b'{"format": "toolcrib-threads", "version": 1, "threads": [], "threads": []}'


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"\xff", b"[]", b"[" * 200_000, MEMBER_TWICE, b"1" * 5000],
    ids=["empty", "cut", "binary", "list", "deep", "twice", "number"],
)
def test_what_is_no_saved_file_is_refused_by_name(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "threads.json"
    path.write_bytes(data)
    with pytest.raises(StoreError, match="not a file of saved threads") as caught:
        MemoryStore.load_from(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="can't be read"):
        MemoryStore.load_from(tmp_path / "none.json")


def test_the_file_keeps_conversations_as_base64_under_a_version(tmp_path: Path) -> None:
    path = tmp_path / "threads.json"
    store_with(make_record()).save(path)
    document = json.loads(path.read_text())
    assert (document["format"], document["version"]) == ("toolcrib-threads", 1)
    (file,) = document["threads"][0]["files"]
    assert base64.b64decode(file["data"]) == make_record().files[0].data
