"""What these tests share.

``HYPOTHESIS_PROFILE=thorough`` looks at many more generated values, new ones
each time. By default they are few and always the same, so that no run fails
by chance.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from toolcrib.runtime.tools.call import CallOutcome
from toolcrib.runtime.tools.loop import AsyncRunner

settings.register_profile("quick", max_examples=150, deadline=None, derandomize=True)
settings.register_profile("thorough", max_examples=3_000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


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
