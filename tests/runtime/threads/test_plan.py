from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from toolcrib.errors import ThreadIncompatibleError
from toolcrib.runtime.threads import (
    Fresh,
    Plan,
    Rebind,
    Resume,
    ThreadMode,
    ThreadRecord,
    check_revisions,
    fingerprint,
    plan_run,
)

RECORD = ThreadRecord(
    key="k",
    provider="cursor",
    fingerprint="same",
    session_id="5e55",
    files=(),
    turns=2,
    updated=datetime(2026, 1, 1, tzinfo=UTC),
)


def plan(
    record: ThreadRecord | None,
    mode: ThreadMode = "continue_or_start",
    provider: str = "cursor",
    fingerprint: str = "same",
) -> Plan:
    return plan_run("k", record, provider=provider, fingerprint=fingerprint, mode=mode)


def test_a_thread_without_record_starts_fresh_unless_it_must_continue() -> None:
    assert plan(None) == Fresh()
    with pytest.raises(ThreadIncompatibleError, match="'k' has no conversation to continue"):
        plan(None, "continue_only")


@pytest.mark.parametrize("mode", ["continue_or_start", "continue_only"])
def test_a_compatible_record_is_resumed(mode: ThreadMode) -> None:
    assert plan(RECORD, mode) == Resume(RECORD)


@pytest.mark.parametrize(
    ("record", "provider", "wanted", "reason"),
    [
        (RECORD, "codex", "same", "one of cursor, and this Agent drives codex"),
        (RECORD, "cursor", "other", "settings or the tools"),
        (replace(RECORD, fingerprint=""), "cursor", "same", "settings or the tools"),
        (replace(RECORD, fingerprint=""), "cursor", "", "settings or the tools"),
        (replace(RECORD, session_id=""), "cursor", "same", "no conversation id"),
    ],
)
def test_an_incompatible_record_is_rebound_or_refused_with_the_reason(
    record: ThreadRecord, provider: str, wanted: str, reason: str
) -> None:
    decided = plan(record, provider=provider, fingerprint=wanted)
    assert isinstance(decided, Rebind)
    assert decided.previous == record
    assert reason in decided.reason
    with pytest.raises(ThreadIncompatibleError, match=reason):
        plan(record, "continue_only", provider, wanted)


def test_fingerprints_differ_with_either_part_and_keep_the_parts_apart() -> None:
    values = [
        fingerprint(a, b)
        for a, b in (
            ("a:b", "c"),
            ("a", "b:c"),
            ("ab", "c"),
            ("a", "bc"),
            ("abc", ""),
            ("", "abc"),
        )
    ]
    assert len(set(values)) == len(values)
    assert fingerprint("a", "b") == fingerprint("a", "b")


def test_a_fingerprint_stays_the_same_in_later_versions() -> None:
    # Stored threads depend on it: a change makes every one of them start anew.
    assert fingerprint("cursor", "catalog") == (
        "3960f3c75521fbd7d125805409f87261b01ec4ea4051c8b5ccf5d45831ce5c45"
    )


def test_tools_without_a_revision_are_refused_by_name() -> None:
    check_revisions([])
    with pytest.raises(ThreadIncompatibleError, match="missing in: alpha, beta"):
        check_revisions(("beta", "alpha"))
