"""What a request must show before its body is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from . import http
from .limits import Limits
from .registration import Registration
from .tokens import digest

__all__ = ["PATH", "Admitted", "check", "check_again"]

PATH: Final = "/mcp"
"""The only path that is served."""

Table = Mapping[bytes, Registration]


class Admitted(NamedTuple):
    """A request whose head passed every check."""

    head: http.Head
    """The head."""
    token: bytes
    """The digest of its token."""
    registration: Registration
    """What the token opens."""
    length: int
    """The length of the body that follows, in bytes."""
    streams: bool
    """Whether its client takes an event stream for an answer."""


def check(head: http.Head, authority: str, table: Table, limits: Limits) -> Admitted | http.Answer:
    """Check a head against everything that needs no body.

    The order is a promise: whoever has no token learns nothing of paths,
    methods or sizes, and a web page that lies about its origin learns nothing
    of tokens.

    Args:
        head: The parsed head.
        authority: The one Host that is right, such as ``127.0.0.1:40123``.
        table: The registrations by the digests of their tokens.
        limits: The size of the body is checked against these.
    """
    if head.get("host") != authority:
        return http.refusal(421)
    if head.get("origin") is not None and head.sole("origin") != f"http://{authority}":
        return http.refusal(403)
    token = _bearer(head)
    registration = table.get(token) if token else None
    if token is None or registration is None or registration.cancelled:
        return http.unauthorized()
    if head.target != PATH:
        return http.refusal(404)
    if head.method != "POST":
        return http.refusal(405, ("Allow", "POST"))
    if http.media_type(head.sole("content-type")) != "application/json":
        return http.refusal(415)
    if not http.accepts(head, "application/json"):
        return http.refusal(406)
    length = _length(head)
    if length is None:
        return http.refusal(411)
    if length > limits.body_bytes:
        return http.refusal(413)
    streams = http.accepts(head, "text/event-stream", named=True)
    return Admitted(head, token, registration, length, streams)


def check_again(
    admitted: Admitted, length: int, table: Table, limits: Limits
) -> Admitted | http.Answer:
    """Check a head that is the same as one before, but for its length.

    Args:
        admitted: What that one was admitted as.
        length: The length of the body that follows.
        table: The registrations by the digests of their tokens, of this moment.
        limits: The size of the body is checked against these.
    """
    head, token, _, _, streams = admitted
    registration = table.get(token)
    if registration is None or registration.cancelled:
        return http.unauthorized()
    if length > limits.body_bytes:
        return http.refusal(413)
    return Admitted(head, token, registration, length, streams)


def _bearer(head: http.Head) -> bytes | None:
    scheme, _, token = (head.sole("authorization") or "").partition(" ")
    return digest(token) if scheme.lower() == "bearer" and token else None


def _length(head: http.Head) -> int | None:
    # llhttp has refused anything but one row of digits, and a length beside
    # Transfer-Encoding.
    value = head.get("content-length")
    return None if value is None else int(value)
