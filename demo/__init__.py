"""The demonstration: the library's main job, once.

An Agent lends the tool ``lookup_issue`` to a provider process: to the scripted
stand-in for a real CLI, which needs nothing but this package, or to a real one.
Either discovers and calls the tool over the same gateway, with the same token.
"""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

from ..errors import ProviderNotFoundError, ToolcribError
from ..runtime.tracing import write
from .providers import advice, choose
from .recording import close_order, draw, stage
from .show import describe

__all__ = ["PROMPT", "run_demo"]

PROMPT = "Is ISSUE-42 still open?"
"""What is asked when nothing else is."""


def run_demo(
    prompt: str,
    out: TextIO,
    diagram: Path,
    *,
    provider: str = "scripted",
    offline: bool = False,
) -> int:
    """Run the demonstration.

    Args:
        prompt: What to ask.
        out: Where to print.
        diagram: The file for the sequence diagram of this very run.
        provider: ``scripted``, ``codex``, ``claude`` or ``codebuddy``.
        offline: Let a real CLI talk to a scripted model on this machine.

    Returns:
        The process's exit code: 0 where the run succeeded.
    """
    code = 0
    with stage(choose(provider, offline=offline)) as recorder:
        stream = recorder.agent.stream(prompt)
        for event in stream:
            if line := describe(event):
                print(f"{event.sequence:>3}  {line}", file=out, flush=True)
        try:
            print(f"\nfinal text:\n{stream.result().text}", file=out)
        except ToolcribError as error:
            print(f"\nthe run failed: {error}", file=out)
            if isinstance(error, ProviderNotFoundError):
                print(advice(provider), file=out)
            code = 1
        recorder.mark_close()
        recorder.agent.close()
    print("\nclose, in order:", file=out)
    for line in close_order(recorder.close):
        print(f"  {line}", file=out)
    try:
        write(diagram, draw(recorder.run + recorder.close, "A run and its close"))
    except OSError as error:
        why = f"{diagram} can't be written: {error.strerror}. Name another file with --diagram."
        print(f"\n{why}", file=out)
        return 1
    print(f"\nsequence diagram of this run: {diagram}", file=out)
    return code
