"""What the base adds to Pykka, each with the way that plain Pykka fails."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass

import pykka
import pytest

from toolcrib.actors.base import Actor, Ref, Services
from toolcrib.actors.inbox import Inbox
from toolcrib.errors import AskTimeout, ToolcribError
from toolcrib.messages.base import Address, Message, RequestFailed, Undelivered
from toolcrib.runtime.tracing import Tracer


@dataclass(frozen=True, slots=True)
class Ask(Message):
    reply_to: Address


@dataclass(frozen=True, slots=True)
class Answer(Message):
    thread: str


@dataclass(frozen=True, slots=True)
class Raise(Message):
    error: BaseException
    reply_to: Address


@dataclass(frozen=True, slots=True)
class Hold(Message):
    entered: threading.Event
    release: threading.Event


class Echo(Actor):
    def receive(self, message: Message) -> None:
        match message:
            case Ask(reply_to):
                self.send(reply_to, Answer(threading.current_thread().name))
            case Raise(error):
                raise error
            case Hold(entered, release):
                entered.set()
                release.wait(10)


class Worker(Actor):
    def receive(self, message: Message) -> None:
        if isinstance(message, Ask):
            asker = message.reply_to

            def job() -> str:
                sys.exit(3)

            self.work(job, Answer, lambda error: Raise(error, asker))
        elif isinstance(message, Raise):
            self.send(message.reply_to, Answer(str(message.error)))


def ask(actor: Ref, make: Callable[[Address], Message], timeout: float = 10) -> Message:
    inbox = Inbox()
    return inbox.ask(actor, make(inbox), timeout)


@pytest.mark.parametrize(
    "error", [ValueError("x"), SystemExit(3), KeyboardInterrupt(), GeneratorExit()]
)
def test_whatever_a_message_raises_neither_ends_the_actor_nor_the_hosts_own(
    error: BaseException, services: Services, launch: Callable[..., Ref]
) -> None:
    class HostsOwn(pykka.ThreadingActor):
        use_daemon_thread = True

        def on_receive(self, message: object) -> object:
            return message

    hosts = HostsOwn.start()
    echo = launch(Echo, "echo", services)
    inbox = Inbox()
    with pytest.raises(ToolcribError, match="failed on Raise") as caught:
        inbox.ask(echo, Raise(error, inbox), 10)
    assert caught.value.__cause__ is error
    assert isinstance(ask(echo, Ask), Answer)
    assert hosts.ask("still there", timeout=10) == "still there"
    hosts.stop(timeout=10)


def test_a_failure_is_logged_once_with_its_traceback(
    services: Services, launch: Callable[..., Ref], caplog: pytest.LogCaptureFixture
) -> None:
    echo = launch(Echo, "echo", services)
    inbox = Inbox()
    with pytest.raises(ToolcribError):
        inbox.ask(echo, Raise(ValueError("secret reason"), inbox), 10)
    records = [r for r in caplog.records if r.levelno >= logging.ERROR]
    assert len(records) == 1
    assert records[0].exc_info is not None


def test_the_hosts_stop_all_leaves_our_actors_alone(
    services: Services, launch: Callable[..., Ref]
) -> None:
    echo = launch(Echo, "echo", services)
    pykka.ActorRegistry.stop_all(block=True, timeout=5)
    assert echo.is_alive()
    assert isinstance(ask(echo, Ask), Answer)


def test_the_hosts_broadcast_reaches_its_own_actors_and_not_ours(
    services: Services, launch: Callable[..., Ref], tracer: Tracer
) -> None:
    heard = threading.Event()

    class HostsOwn(pykka.ThreadingActor):
        use_daemon_thread = True

        def on_receive(self, message: object) -> None:
            heard.set()

    echo = launch(Echo, "echo", services)
    hosts = HostsOwn.start()
    pykka.ActorRegistry.broadcast("good morning")
    assert heard.wait(10)
    assert isinstance(ask(echo, Ask), Answer)
    assert all(entry.kind == "Ask" for entry in tracer.entries())
    hosts.stop(timeout=10)


def test_an_actor_started_while_the_host_stops_all_survives(
    services: Services, launch: Callable[..., Ref]
) -> None:
    over = threading.Event()

    def hammer() -> None:
        while not over.is_set():
            pykka.ActorRegistry.stop_all(block=False)

    hammering = threading.Thread(target=hammer)
    hammering.start()
    try:
        actors = [launch(Echo, f"echo-{n}", services) for n in range(100)]
        assert all(isinstance(ask(actor, Ask), Answer) for actor in actors)
    finally:
        over.set()
        hammering.join()


def test_proxies_and_pykkas_own_calls_are_refused(
    services: Services, launch: Callable[..., Ref]
) -> None:
    echo = launch(Echo, "echo", services)
    calls: tuple[Callable[[], object], ...] = (echo.proxy, lambda: echo.ask("x"))
    for call in calls:
        with pytest.raises(TypeError, match="echo takes toolcrib's messages only"):
            call()


def test_a_request_to_an_actor_that_is_gone_is_answered(
    services: Services, launch: Callable[..., Ref]
) -> None:
    echo = launch(Echo, "echo", services)
    echo.close()
    assert echo.join(10)
    with pytest.raises(ToolcribError, match="echo has stopped, so Ask reached nobody"):
        ask(echo, Ask)


def test_a_request_in_the_mailbox_of_an_actor_that_ends_is_answered(
    services: Services, launch: Callable[..., Ref]
) -> None:
    echo = launch(Echo, "echo", services)
    entered, release = threading.Event(), threading.Event()
    echo.deliver(Hold(entered, release), "host")
    assert entered.wait(10)
    echo.close()
    inbox = Inbox()
    echo.deliver(Ask(inbox), "host")  # lies behind the stop
    release.set()
    with pytest.raises(ToolcribError, match="reached nobody"):
        inbox.ask(echo, Ask(inbox), 10)


def test_every_request_that_races_with_the_end_is_answered(
    services: Services, launch: Callable[..., Ref]
) -> None:
    for number in range(100):
        echo = launch(Echo, f"echo-{number}", services)
        inboxes = [Inbox() for _ in range(20)]
        start = threading.Barrier(2)

        def send(
            echo: Ref = echo, inboxes: list[Inbox] = inboxes, start: threading.Barrier = start
        ) -> None:
            start.wait(10)
            for inbox in inboxes:
                echo.deliver(Ask(inbox), "host")

        sender = threading.Thread(target=send)
        sender.start()
        start.wait(10)
        echo.close()
        sender.join()
        for inbox in inboxes:
            answer = inbox._answer.result(10)
            assert isinstance(answer, Answer | Undelivered)


def test_an_ask_has_a_deadline(services: Services, launch: Callable[..., Ref]) -> None:
    echo = launch(Echo, "echo", services)
    entered, release = threading.Event(), threading.Event()
    echo.deliver(Hold(entered, release), "host")
    with pytest.raises(AskTimeout, match="echo did not answer Ask within 0.05 s"):
        ask(echo, Ask, timeout=0.05)
    release.set()


def test_a_job_that_calls_exit_comes_back_as_a_failure(
    services: Services, launch: Callable[..., Ref]
) -> None:
    worker = launch(Worker, "worker", services)
    answer = ask(worker, Ask)
    assert isinstance(answer, Answer)
    assert "SystemExit" in answer.thread


def test_every_handled_message_is_traced(
    services: Services, launch: Callable[..., Ref], tracer: Tracer
) -> None:
    echo = launch(Echo, "echo", services)
    inbox = Inbox("host", tracer)
    inbox.ask(echo, Ask(inbox), 10)
    seen = [(entry.sender, entry.receiver, entry.kind) for entry in tracer.entries()]
    assert seen == [("host", "echo", "Ask"), ("echo", "host", "Answer")]


def test_an_actor_runs_on_a_named_thread_of_its_own(
    services: Services, launch: Callable[..., Ref]
) -> None:
    echo = launch(Echo, "echo", services)
    answer = ask(echo, Ask)
    assert isinstance(answer, Answer)
    assert answer.thread == "toolcrib-echo"


def test_an_actor_that_nobody_stops_does_not_hold_the_interpreter() -> None:
    program = """
from toolcrib.actors.base import Actor, Services
from toolcrib.runtime.timers import Timers
from toolcrib.runtime.workers import Workers

class Idle(Actor):
    def receive(self, message):
        pass

Idle.launch("idle", Services(Workers("w"), Timers()))
"""
    done = subprocess.run([sys.executable, "-c", program], timeout=30, check=False)
    assert done.returncode == 0


def test_a_request_that_failed_is_told_as_such(
    services: Services, launch: Callable[..., Ref]
) -> None:
    echo = launch(Echo, "echo", services)
    inbox = Inbox()
    error = ValueError("no")
    echo.deliver(Raise(error, inbox), "host")
    answer = inbox._answer.result(10)
    assert answer == RequestFailed("echo", "Raise", error)
