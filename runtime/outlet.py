"""Where the events of a run go: its stream, its transcript and its observers."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from ..messages.agent import EventSink
from ..messages.base import Address
from ..messages.events import Event, RunFinished
from ..messages.results import Result, TranscriptItem
from ..messages.secret import Secret
from .observers import Observers
from .processes.lines import Masks
from .transcript import Transcript

__all__ = ["Outlet"]


class Outlet:
    """Passes on what happens in a run; for the Run actor's thread.

    Args:
        sink: The run's stream.
        prompt: What was asked.
        observed: Whether observers may come, who then hear what was before.
    """

    def __init__(self, sink: EventSink, prompt: str, *, observed: bool) -> None:
        self._sink = sink
        self._transcript = Transcript(prompt)
        self._observers: Observers | None = None
        self._early: list[Event] | None = [] if observed else None
        # Of each published event that is not read yet, whether the provider's
        # process has to be told of its reading.
        self._unread: deque[bool] = deque()
        self._finished = False

    @property
    def listening(self) -> bool:
        """Whether anybody may still read the events."""
        return self._sink.listening

    @property
    def overrun(self) -> int:
        """How many events wait, where that is more than a run may keep; else 0."""
        return self._sink.overrun

    def begin(self, run: Address) -> None:
        """Have a sink that paces tell the run what was read."""
        if self._sink.paces:
            self._sink.report_reads(run)

    def hide(self, secrets: Iterable[Secret]) -> None:
        """Hide secrets in the transcript too, whose pieces come one by one."""
        self._transcript.hide(Masks(secrets))

    def publish(self, event: Event) -> None:
        """Pass on an event that is not the provider's."""
        self._pass_on((event,), from_provider=False)

    def relay(self, events: Sequence[Event]) -> int:
        """Pass on the provider's events; return how many are taken at once."""
        self._pass_on(events, from_provider=True)
        return 0 if self._sink.paces else len(events)

    def consumed(self, count: int) -> int:
        """Return how many of so many events that were read are the provider's."""
        unread = self._unread
        return sum(unread.popleft() for _ in range(min(count, len(unread))))

    def observe(self, observers: Observers) -> None:
        """Let observers hear of everything from the beginning."""
        early, self._early = self._early, None
        self._observers = observers
        for event in early or ():
            observers.tell(event)

    def announce_end(self, event: RunFinished) -> Observers | None:
        """Tell the observers of the run's end; return them, to be waited for."""
        observers, self._observers = self._observers, None
        if observers is not None:
            observers.tell(event)
        return observers

    def finish(
        self, event: RunFinished, result: Result | None, error: BaseException | None
    ) -> None:
        """Publish the end and set the outcome; only the first call counts."""
        if not self._finished:
            self._finished = True
            self._sink.publish(event)
            self._sink.finish(result, error)

    def transcript(self) -> tuple[TranscriptItem, ...]:
        """Return what was said and done so far."""
        return self._transcript.items()

    def _pass_on(self, events: Sequence[Event], *, from_provider: bool) -> None:
        if self._sink.paces:
            self._unread.extend([from_provider] * len(events))
        for event in events:  # before a reader may change what is in them
            self._transcript.add(event)
        self._sink.publish_all(events)
        if self._observers is not None:
            for event in events:
                self._observers.tell(event)
        elif self._early is not None:
            self._early += events
