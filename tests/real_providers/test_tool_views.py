"""`Tool.wire_schema` says what the real provider's model is offered, to the letter."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ahead import Ahead, begun

from .conftest import binary, run_alone

pytestmark = [pytest.mark.slow, pytest.mark.timeout(200)]

Views = dict[str, dict[str, Any]]


@begun
def views(ahead: Ahead, provider: str) -> Views:
    """What the model is offered of each tool, and what was expected."""
    folder = ahead.folder("views")
    command = str(binary(provider))
    order = {"provider": provider, "command": command, "folder": str(folder)}
    done = run_alone(
        ahead,
        ["-m", "staging.tool_views"],
        cwd=folder,
        environment={"HOME": str(folder), "TMPDIR": str(folder)},
        input=json.dumps(order),
    )
    assert done.returncode == 0, done.stderr
    seen: Views = json.loads(done.stdout)
    return seen


def test_the_view_of_every_tool_is_what_the_model_is_offered(views: Views) -> None:
    assert len(views["expected"]) == 19
    assert views["offered"].keys() == views["expected"].keys()
    for name, offered in views["offered"].items():
        assert offered == views["expected"][name], name
