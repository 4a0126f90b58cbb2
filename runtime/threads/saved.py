"""The file that a memory store is saved to: versioned JSON, read strictly.

::

    {"format": "toolcrib-threads", "version": 1, "threads": [
        {"key": …, "provider": …, "fingerprint": …, "session_id": …,
         "turns": 1, "updated": "2026-01-31T12:00:00+00:00",
         "files": [{"path": …, "data": base64}]}]}
"""

from __future__ import annotations

import base64
import json
import os
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from ...errors import StoreError
from .interface import ConversationFile, ThreadRecord
from .records import check_record

__all__ = ["read_records", "write_records"]

_FORMAT = "toolcrib-threads"
_VERSION = 1
_TEXTS = ("key", "provider", "fingerprint", "session_id", "updated")
T = TypeVar("T")


def write_records(path: Path, records: Iterable[ThreadRecord]) -> None:
    """Write the records to a file (0600), as a whole or not at all.

    Raises:
        StoreError: The file can't be written, or is no regular file.
    """
    threads = [_to_json(record) for record in sorted(records, key=lambda each: each.key)]
    document = {"format": _FORMAT, "version": _VERSION, "threads": threads}
    try:
        _replace(path, json.dumps(document, indent=1).encode() + b"\n")
    except OSError as error:
        msg = f"{path}: can't be written ({error.strerror}); the threads are not saved."
        raise StoreError(msg) from error


def read_records(path: Path) -> tuple[ThreadRecord, ...]:
    """Return the records of a file that `write_records` wrote.

    Raises:
        StoreError: The file can't be read, or differs from that format.
    """
    try:
        document = json.loads(path.read_bytes(), object_pairs_hook=_members)
        return _parse(document)
    except OSError as error:
        msg = f"{path}: can't be read ({error.strerror}); name a file that save() wrote."
        raise StoreError(msg) from error
    except (ValueError, RecursionError) as error:
        msg = f"{path}: not a file of saved threads: {error}"
        raise StoreError(msg) from error
    except StoreError as error:
        msg = f"{path}: {error}"
        raise StoreError(msg) from error


def _replace(path: Path, data: bytes) -> None:
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(path.lstat().st_mode):
            msg = f"{path}: is a link or no regular file; name another file."
            raise StoreError(msg)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name[:32]}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    # Some file systems can't sync a directory; the new file is there all the same.
    with suppress(OSError):
        _sync_directory(path.parent)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _to_json(record: ThreadRecord) -> dict[str, Any]:
    files = [
        {"path": str(file.path), "data": base64.b64encode(file.data).decode()}
        for file in record.files
    ]
    return {
        "key": record.key,
        "provider": record.provider,
        "fingerprint": record.fingerprint,
        "session_id": record.session_id,
        "turns": record.turns,
        "updated": record.updated.isoformat(),
        "files": files,
    }


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        msg = "an object has a member twice"
        raise ValueError(msg)
    return members


def _parse(document: object) -> tuple[ThreadRecord, ...]:
    top = _typed(document, dict, "the file")
    if top.get("format") != _FORMAT:
        msg = f'the member "format" must be "{_FORMAT}"'
        raise ValueError(msg)
    version = _typed(top.get("version"), int, "version")
    if version != _VERSION:
        msg = f"version {version} is not {_VERSION}; read it with the toolcrib that saved it"
        raise ValueError(msg)
    _only(top, ("format", "version", "threads"), "the file")
    records: dict[str, ThreadRecord] = {}
    for index, item in enumerate(_typed(top["threads"], list, "threads")):
        record = _record(item, f"threads[{index}]")
        if record.key in records:
            msg = f"threads[{index}]: the key {record.key!r} is there twice"
            raise ValueError(msg)
        records[record.key] = record
    return tuple(records.values())


def _record(item: object, at: str) -> ThreadRecord:
    members = _typed(item, dict, at)
    _only(members, (*_TEXTS, "turns", "files"), at)
    texts = {name: _typed(members[name], str, f"{at}.{name}") for name in _TEXTS}
    files = _typed(members["files"], list, f"{at}.files")
    record = ThreadRecord(
        key=texts["key"],
        provider=texts["provider"],
        fingerprint=texts["fingerprint"],
        session_id=texts["session_id"],
        files=tuple(_file(file, f"{at}.files[{n}]") for n, file in enumerate(files)),
        turns=_typed(members["turns"], int, f"{at}.turns"),
        updated=_time(texts["updated"], f"{at}.updated"),
    )
    check_record(record)
    return record


def _file(item: object, at: str) -> ConversationFile:
    members = _typed(item, dict, at)
    _only(members, ("path", "data"), at)
    path = _typed(members["path"], str, f"{at}.path")
    text = _typed(members["data"], str, f"{at}.data")
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError as error:
        msg = f"{at}.data is not base64"
        raise ValueError(msg) from error
    return ConversationFile(PurePosixPath(path), data)


def _time(text: str, at: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError as error:
        msg = f"{at} is not a time"
        raise ValueError(msg) from error


def _only(members: dict[str, Any], names: tuple[str, ...], at: str) -> None:
    for name in names:
        if name not in members:
            msg = f'{at} lacks the member "{name}"'
            raise ValueError(msg)
    for name in members:
        if name not in names:
            msg = f'{at} has the unknown member "{name}"'
            raise ValueError(msg)


def _typed(value: object, kind: type[T], at: str) -> T:
    # Not isinstance: JSON's true is no number of turns.
    if type(value) is not kind:
        msg = f"{at} must be {_NAMES[kind]}"
        raise ValueError(msg)
    return value


_NAMES: dict[type, str] = {
    dict: "an object",
    list: "a list",
    str: "a string",
    int: "a whole number",
}
