"""What a thread's record must be like, wherever it comes from or goes to."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import PurePosixPath

from ...errors import StoreError
from .interface import ThreadRecord

__all__ = ["check_paths", "check_record"]


def check_record(record: ThreadRecord) -> None:
    """Refuse a record that no run could go on with.

    Raises:
        StoreError: A part of it is empty, the time has no zone, or a file's
            path is not relative and below the profile.
    """
    for name in ("key", "provider", "fingerprint", "session_id"):
        if not getattr(record, name):
            msg = f"thread {record.key!r}: its record has no {name}; store it with one."
            raise StoreError(msg)
    if record.turns < 1:
        msg = f"thread {record.key!r}: only a successful turn is stored, not {record.turns}."
        raise StoreError(msg)
    if record.updated.utcoffset() is None:
        msg = f"thread {record.key!r}: its time of update has no time zone; give it in UTC."
        raise StoreError(msg)
    check_paths(file.path for file in record.files)


def check_paths(paths: Iterable[PurePosixPath]) -> None:
    """Refuse paths of conversation files that lead elsewhere, or come twice.

    Raises:
        StoreError: A path is empty, absolute, has a ``..`` in it, is no file
            name here, or is there twice.
    """
    seen: set[PurePosixPath] = set()
    for path in paths:
        if not path.parts or path.is_absolute() or ".." in path.parts or not _is_name(path):
            msg = f"conversation file {str(path)!r}: the path must lie below the profile."
            raise StoreError(msg)
        if path in seen:
            msg = f"conversation file {str(path)!r} is there twice; give each path once."
            raise StoreError(msg)
        seen.add(path)


def _is_name(path: PurePosixPath) -> bool:
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False
