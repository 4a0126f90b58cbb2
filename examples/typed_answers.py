"""Ask several questions at once, and get values of a type.

python examples/typed_answers.py ISSUE-1 ISSUE-2 ISSUE-3
"""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from typing import Annotated, Literal

from toolcrib import Agent, Claude, Options, RunError

PATIENT = Options(timeout=120, idle_timeout=30, metadata={"job": "triage"})


@dataclass
class Verdict:
    """What became of one issue."""

    urgency: Literal["low", "high"]
    reason: Annotated[str, "One sentence."]


async def triage(agent: Agent, key: str) -> str:
    """Return one line about an issue."""
    try:
        verdict = await agent.arun_as(Verdict, f"How urgent is {key}?", PATIENT)
    except RunError as error:
        return f"{key}: no verdict, {error.reason}"
    return f"{key}: {verdict.urgency}, {verdict.reason}"


async def main(keys: list[str]) -> None:
    """Ask about all of them, two at a time."""
    async with Agent(Claude(), max_runs=2) as agent:
        for line in await asyncio.gather(*(triage(agent, key) for key in keys)):
            print(line)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:] or ["ISSUE-1"]))
