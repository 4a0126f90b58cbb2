"""The scripted model server: the public class."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from ...errors import ConfigurationError
from ...runtime.signals import bounded
from . import setup
from .answer import Answer, Refusal
from .exchange import ModelRequest
from .replies import Script
from .script import resolve, responder
from .setup import ProviderSetup
from .web import Listener

__all__ = ["ModelServer"]


class ModelServer:
    """A model that follows a script, for tests with a real provider CLI.

    It listens on a free port of 127.0.0.1 for as long as the ``with`` block
    lasts, takes any key, and speaks OpenAI's Responses API (Codex), Anthropic's
    Messages API (Claude Code) and OpenAI's chat completions (CodeBuddy).

    Without a script the model follows the prompt: each line ``CALL tool {json}``
    is a call of that tool, each line ``SHELL command`` a command for the
    provider's shell tool. It answers ``The tool said: …`` with the results, and
    a prompt without such lines with ``You said: …``.

    A function as the script runs on threads of the server, one a connection. It
    may block; whatever it raises becomes an HTTP error for the provider, and is
    raised again when the ``with`` block ends.

    Args:
        script: Steps, turns or a function; see `Script`.
        model: The model's name, which the providers ask for.

    Raises:
        ConfigurationError: The script can't be played; the message says where.
    """

    def __init__(self, script: Script | None = None, *, model: str = "scripted-model") -> None:
        self._respond = responder(script)
        self._model = model
        self._listener: Listener | None = None
        self._requests: list[ModelRequest] = []
        self._changed = threading.Condition()
        self._failure: BaseException | None = None

    def __enter__(self) -> Self:
        """Begin to listen."""
        if self._listener is not None:
            msg = "The model server is already running. Make another one."
            raise ConfigurationError(msg)
        self._listener = Listener(self._model, self._answer)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Stop listening, cut connections, and raise what the script's function raised."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()
        failure, self._failure = self._failure, None
        if failure is not None and error is None:
            raise failure

    @property
    def url(self) -> str:
        """Where it listens, such as ``http://127.0.0.1:40123``.

        Raises:
            ConfigurationError: It isn't running.
        """
        if self._listener is None:
            msg = "The model server is not running. Use it in a `with` block."
            raise ConfigurationError(msg)
        return f"http://127.0.0.1:{self._listener.server_port}"

    @property
    def requests(self) -> tuple[ModelRequest, ...]:
        """The requests so far, in the order they came; they stay after the end."""
        with self._changed:
            return tuple(self._requests)

    def wait_for(
        self, fits: Callable[[ModelRequest], bool], timeout: float = 30.0
    ) -> ModelRequest:
        """Return the first request that fits, and wait until there is one.

        Args:
            fits: Says whether a request is the one; runs on this thread.
            timeout: Seconds to wait.

        Raises:
            TimeoutError: None came in time.
            TypeError: The timeout is no number.
            ValueError: It is negative, or not a number (NaN).
        """
        limit = bounded(timeout)
        with self._changed:
            found = self._changed.wait_for(lambda: list(filter(fits, self._requests)), limit)
            if not found:
                msg = f"None of {len(self._requests)} requests fits after {timeout} seconds."
                raise TimeoutError(msg)
            return found[0]

    def codex_profile(self, directory: str | os.PathLike[str]) -> ProviderSetup:
        """Write a source profile for Codex that leads here.

        Args:
            directory: Where to; it is made where it is missing.

        Raises:
            ConfigurationError: The server isn't running.
        """
        return setup.codex(directory, self.url, self._model)

    def claude_profile(self, directory: str | os.PathLike[str]) -> ProviderSetup:
        """Write a source profile for Claude Code that leads here.

        Args:
            directory: Where to; it is made where it is missing.

        Raises:
            ConfigurationError: The server isn't running.
        """
        return setup.claude(directory, self.url, self._model)

    def codebuddy_profile(self, directory: str | os.PathLike[str]) -> ProviderSetup:
        """Write a source profile for CodeBuddy that leads here.

        Args:
            directory: Where to; it is made where it is missing.

        Raises:
            ConfigurationError: The server isn't running.
        """
        return setup.codebuddy(directory, self.url, self._model)

    def _answer(self, request: ModelRequest) -> Answer:
        with self._changed:
            self._requests.append(request)
            self._changed.notify_all()
        try:
            return resolve(request, self._respond(request))
        # A provider reads the error; the test reads it too, at the end of the block.
        except BaseException as error:
            self._failure = self._failure or error
            return Refusal(500, f"The model's script failed: {error!r}")
