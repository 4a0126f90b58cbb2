"""How a run ended: the first reason wins, later ones are attached to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..errors import InvalidInputError, ResumeRejectedError, RunError, ToolcribError
from ..messages.events import RunFinished
from ..messages.results import Result, RunReason, TranscriptItem
from ..messages.turn import ProcessExit, TurnOutcome
from .twin import twin

__all__ = ["Verdict"]


class Verdict:
    """Collects what happens to a run and says at the end what came of it.

    Args:
        run_id: The run's id.
        thread_key: The key of its thread, if it has one.
        provider: The provider's name.
        metadata: The application's labels.
        transcript: Tells what was said and done.
    """

    def __init__(
        self,
        run_id: str,
        thread_key: str | None,
        provider: str,
        *,
        metadata: Mapping[str, str],
        transcript: Callable[[], tuple[TranscriptItem, ...]],
    ) -> None:
        self.pid: int | None = None
        self._run_id = run_id
        self._thread_key = thread_key
        self._provider = provider
        self._metadata = metadata
        self._transcript = transcript
        self._output: Any = None
        self._outcome: TurnOutcome | None = None
        self._exit: ProcessExit | None = None
        self._reason: RunReason | None = None
        self._message = ""
        self._error: BaseException | None = None
        self._typed = False
        self._causes: list[BaseException] = []

    @property
    def failed(self) -> bool:
        """Whether the run has failed already."""
        return self._reason is not None

    @property
    def session_id(self) -> str | None:
        """The provider's id of the conversation, once the turn has ended."""
        return self._outcome.session_id if self._outcome else None

    @property
    def answer(self) -> str:
        """The JSON text that should answer `RunOptions.output`, after the turn."""
        outcome = self._outcome
        if outcome is None:
            return ""
        return outcome.text.strip() if outcome.output is None else outcome.output

    def cancelled(self, reason: RunReason, message: str) -> None:
        """Note a cancellation or a deadline; too late for a turn that succeeded."""
        if self._outcome is None or not self._outcome.ok:
            self._settle(reason, message)

    def turn_ended(self, outcome: TurnOutcome, exit: ProcessExit) -> None:
        """Note how the provider's turn ended."""
        self._outcome, self._exit = outcome, exit
        if not outcome.ok:
            self._settle(outcome.reason or RunReason.PROVIDER_FAILED, outcome.message)

    def stopped(self, reason: RunReason, message: str, error: Exception | None = None) -> None:
        """Note that the run itself put an end to the turn, and why."""
        self._settle(reason, message, error)

    def left_while(self, reason: RunReason, step: str) -> None:
        """Note that the caller waits no more for a step that could not be ended."""
        timed_out = reason is RunReason.TIMED_OUT
        what = "the run's time was up" if timed_out else "the run was cancelled"
        self._settle(reason, f"{what} while {step}")

    def output_loaded(self, value: Any) -> None:
        """Note the value that was asked for."""
        self._output = value

    def output_failed(self, error: Exception, text: str, name: str) -> None:
        """Note that the answer is not what was asked for.

        Args:
            error: What the schema's ``load`` raised.
            text: The same in words.
            name: The name of the type that was asked for.
        """
        if isinstance(error, InvalidInputError):
            message = f"The answer is not the {name} that was asked for: {text}"
            self._settle(RunReason.INVALID_OUTPUT, message, error)
        else:
            message = f"reading the answer as {name} failed: {text}"
            self._settle(RunReason.INFRASTRUCTURE, message, error)

    def failed_with(self, error: Exception, text: str, step: str) -> None:
        """Note an error of one of the run's steps.

        Args:
            error: The error.
            text: The same in words.
            step: What the run was doing.
        """
        # Before the provider ran there is no partial result to carry, so an
        # error of our tree is raised as it is.
        typed = isinstance(error, ToolcribError) and self._outcome is None
        reason = RunReason.LAUNCH_FAILED if typed else RunReason.INFRASTRUCTURE
        message = text if isinstance(error, ToolcribError) else f"{step} failed: {text}"
        self._settle(reason, message, error, typed=typed)

    def spawn_failed(self, error: Exception) -> None:
        """Note that the provider's process could not be started."""
        typed = isinstance(error, ToolcribError)
        self._settle(RunReason.LAUNCH_FAILED, str(error), error, typed=typed)

    def fault(self, error: BaseException, step: str) -> None:
        """Note a fault of toolcrib's own."""
        kind = type(error).__name__
        message = f"toolcrib failed while {step} ({kind}); its log has the rest. Please report it."
        self._settle(RunReason.INFRASTRUCTURE, message, error)

    def afterthought(self, error: BaseException) -> None:
        """Note an error of the clean-up; it never turns a success into a failure."""
        self._causes.append(error)

    def finished(self) -> RunFinished:
        """Return the run's last event."""
        outcome = self._outcome
        return RunFinished(
            ok=not self.failed,
            reason=self._reason,
            message=self._message,
            text=outcome.text if outcome else "",
            usage=outcome.usage if outcome else None,
        )

    def result_and_error(self) -> tuple[Result | None, BaseException | None]:
        """Return the result of a run that succeeded, else the error to raise."""
        result = self._result()
        if not self.failed:
            return result, None
        if self._typed and self._error is not None:
            own = twin(self._error)  # other runs may fail with the same
            for cause in self._causes:
                own.add_note(f"Also: {cause!r}")
            return None, own
        return None, self._run_error(result)

    def _run_error(self, result: Result) -> RunError:
        rejected = self._reason is RunReason.RESUME_REJECTED
        kind = ResumeRejectedError if rejected else RunError
        error = kind(
            self._message,
            reason=self._reason or RunReason.INFRASTRUCTURE,
            result=result,
            causes=tuple(self._causes),
        )
        error.__cause__ = self._error
        return error

    def _settle(
        self,
        reason: RunReason,
        message: str,
        error: BaseException | None = None,
        *,
        typed: bool = False,
    ) -> None:
        if self._reason is None:
            self._reason, self._message = reason, message
            self._error, self._typed = error, typed
        elif error is not None:
            self._causes.append(error)

    def _result(self) -> Result:
        outcome, exit = self._outcome, self._exit
        return Result(
            run_id=self._run_id,
            thread_key=self._thread_key,
            provider=self._provider,
            model=outcome.model if outcome else None,
            text=outcome.text if outcome else "",
            usage=outcome.usage if outcome else None,
            session_id=outcome.session_id if outcome else None,
            exit_code=exit.known_code if exit else None,
            terminal=outcome.terminal if outcome else None,
            stderr=exit.stderr if exit else "",
            stdout=exit.stdout if exit else "",
            metadata=self._metadata,
            transcript=self._transcript(),
            output=self._output,
        )
