"""What tests of calls share."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from toolcrib.runtime.tools.call import CallOutcome
from toolcrib.runtime.tools.loop import AsyncRunner


@pytest.fixture
def runner() -> Iterator[AsyncRunner]:
    made = AsyncRunner()
    yield made
    made.close()


def failure(outcome: CallOutcome) -> dict[str, str]:
    assert not outcome.ok
    assert outcome.structured is None
    facts: dict[str, str] = json.loads(outcome.text)
    assert list(facts) == ["code", "message"]
    return facts
