"""A conversation's files: taken from a profile, and laid into the next one.

The provider and whatever its model ran could write in the profile, so nothing
in it is trusted: each part of a path is opened relative to the one before and
without following links.
"""

from __future__ import annotations

import os
import secrets as randomness
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from json.encoder import encode_basestring, encode_basestring_ascii
from pathlib import Path, PurePosixPath

from ...errors import StoreError
from ...messages.secret import Secret
from .interface import ConversationFile
from .records import check_paths

__all__ = ["MAX_BYTES", "collect", "lay"]

MAX_BYTES = 64 * 1024 * 1024
"""The most that the files of one conversation may hold together."""

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a FIFO would wait for its writer.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def collect(
    profile: Path, files: Sequence[PurePosixPath], secrets: Iterable[Secret]
) -> tuple[ConversationFile, ...]:
    """Read a conversation's files, with live secrets masked as ``***``.

    Args:
        profile: The profile's directory.
        files: Which files, relative to the profile.
        secrets: What to mask, as it is and as JSON escapes it.

    Raises:
        StoreError: A path leads out of the profile or over a link, a file is
            missing or no regular file, or they hold more than `MAX_BYTES`.
    """
    check_paths(files)
    forms = _forms(secrets)
    left = MAX_BYTES
    found: list[ConversationFile] = []
    for path in files:
        with _errors(path, "read"), _directory(profile, path.parent) as parent:
            data = _read(parent, path, left)
        left -= len(data)
        for form in forms:
            data = data.replace(form, b"***")
        found.append(ConversationFile(path, data))
    return tuple(found)


def lay(profile: Path, files: Sequence[ConversationFile]) -> None:
    """Write a conversation's files (0600) into a profile, in place of older ones.

    Missing directories are made (0700). Each file is replaced as a whole.

    Args:
        profile: The profile's directory; it exists.
        files: The files.

    Raises:
        StoreError: A path leads out of the profile or over a link, something
            else than a regular file is in the way, the files hold more than
            `MAX_BYTES`, or one can't be written.
    """
    check_paths(file.path for file in files)
    if sum(len(file.data) for file in files) > MAX_BYTES:
        raise _too_large()
    for file in files:
        with (
            _errors(file.path, "written"),
            _directory(profile, file.path.parent, make=True) as parent,
        ):
            _write(parent, file)


@contextmanager
def _directory(profile: Path, below: PurePosixPath, *, make: bool = False) -> Iterator[int]:
    current = os.open(profile, _DIRECTORY)
    try:
        for part in below.parts:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, 0o700, dir_fd=current)
            deeper = os.open(part, _DIRECTORY, dir_fd=current)
            os.close(current)
            current = deeper
        yield current
    finally:
        os.close(current)


def _read(parent: int, path: PurePosixPath, left: int) -> bytes:
    descriptor = os.open(path.name, _READ, dir_fd=parent)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _not_regular(path)
        # The file may grow while it is read, so its size alone decides nothing.
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            data = file.read(left + 1)
    finally:
        os.close(descriptor)
    if len(data) > left:
        raise _too_large()
    return data


def _write(parent: int, file: ConversationFile) -> None:
    name = file.path.name
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            raise _not_regular(file.path)
    fresh = f".toolcrib-{randomness.token_hex(8)}"
    descriptor = os.open(fresh, _CREATE, 0o600, dir_fd=parent)
    try:
        with os.fdopen(descriptor, "wb") as target:
            target.write(file.data)
        os.replace(fresh, name, src_dir_fd=parent, dst_dir_fd=parent)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(fresh, dir_fd=parent)
        raise


def _forms(secrets: Iterable[Secret]) -> list[bytes]:
    texts = {secret.reveal() for secret in secrets} - {""}
    # Twice: providers keep a tool's arguments as JSON text inside JSON.
    for _ in range(2):
        for escape in (encode_basestring, encode_basestring_ascii):
            texts |= {escape(text)[1:-1] for text in texts}
    # The longest first, since one secret may hold another.
    longest_first = sorted(texts, key=len, reverse=True)
    return [text.encode("utf-8", "surrogateescape") for text in longest_first]


@contextmanager
def _errors(path: PurePosixPath, done: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        msg = (
            f"conversation file {str(path)!r} can't be {done}: {error.strerror}. It must be a "
            "regular file below the profile, without links on the way."
        )
        raise StoreError(msg) from error


def _not_regular(path: PurePosixPath) -> StoreError:
    msg = f"conversation file {str(path)!r} is a link or no regular file; remove it."
    return StoreError(msg)


def _too_large() -> StoreError:
    bound = MAX_BYTES // 1024**2
    msg = f"the conversation's files hold more than {bound} MiB; start a new thread."
    return StoreError(msg)
