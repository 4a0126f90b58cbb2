"""A thread store in this process's memory, which can be saved to a file."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Self

from ...errors import LeaseLostError, StoreError, ThreadBusyError
from .interface import Lease, ThreadRecord
from .records import check_record
from .saved import read_records, write_records

__all__ = ["MemoryStore"]


class MemoryStore:
    """Keeps threads in memory. Safe to call from any thread; never blocks for long.

    Threads last as long as the store. `save` writes them to a file, and
    `load_from` makes a store of such a file, so that another process can go on.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._saving = threading.Lock()
        self._records: dict[str, ThreadRecord] = {}
        self._leases: dict[str, Lease] = {}
        self._fences: dict[str, int] = {}

    @classmethod
    def load_from(cls, path: str | Path) -> Self:
        """Return a store with the threads of a file that `save` wrote.

        Args:
            path: The file.

        Raises:
            StoreError: The file can't be read, or is not what `save` writes.
        """
        store = cls()
        store._records = {record.key: record for record in read_records(Path(path))}
        return store

    def save(self, path: str | Path) -> None:
        """Write all threads to a file that only its owner may read (0600).

        The file is replaced as a whole or stays as it was. It holds the
        conversations; leases are not saved.

        Args:
            path: The file; its directory must exist.

        Raises:
            StoreError: The file can't be written.
        """
        # One at a time, so that an older state never replaces a newer one.
        with self._saving:
            with self._lock:
                records = tuple(self._records.values())
            write_records(Path(path), records)

    def acquire(self, key: str, owner: str) -> Lease:
        """Take the thread for one run. The same owner gets the same lease again.

        Args:
            key: The thread's key.
            owner: The run that takes it.

        Raises:
            ThreadBusyError: Another run holds it.
        """
        with self._lock:
            held = self._leases.get(key)
            if held is not None and held.owner == owner:
                return held
            if held is not None:
                msg = f"thread {key!r} is held by {held.owner}; wait for that run to end."
                raise ThreadBusyError(msg)
            fence = self._fences.get(key, 0) + 1
            lease = Lease(key, owner, fence)
            self._fences[key], self._leases[key] = fence, lease
            return lease

    def load(self, key: str) -> ThreadRecord | None:
        """Return the thread's record, ``None`` where it has none yet."""
        with self._lock:
            return self._records.get(key)

    def commit(self, lease: Lease, record: ThreadRecord) -> None:
        """Store the record in place of the older one.

        Args:
            lease: What `acquire` gave.
            record: The thread after a successful turn.

        Raises:
            LeaseLostError: The lease was released or is not the newest.
            StoreError: The record is not one of that thread, or is incomplete.
        """
        check_record(record)
        if record.key != lease.key:
            msg = f"a lease of thread {lease.key!r} can't store thread {record.key!r}."
            raise StoreError(msg)
        with self._lock:
            if self._leases.get(lease.key) != lease:
                msg = (
                    f"thread {lease.key!r} is no longer held by {lease.owner}; this turn is "
                    "not stored. Run it again to go on from the stored one."
                )
                raise LeaseLostError(msg)
            self._records[lease.key] = record

    def release(self, lease: Lease) -> None:
        """Give the thread back. Does nothing where the lease is not current."""
        with self._lock:
            if self._leases.get(lease.key) == lease:
                del self._leases[lease.key]
