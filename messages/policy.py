"""What a run may do, and who decides what the provider asks.

Every field may be unset. An unset field changes nothing: the provider's own
profile and defaults decide. Only what is set is checked against the driver.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from .numbers import checked_count, checked_timeout

__all__ = [
    "Access",
    "ApprovalKind",
    "Approvals",
    "Fallback",
    "Mode",
    "Policy",
    "QuestionMode",
    "Sandbox",
]

Sandbox = Literal["read_only", "workspace_write", "unrestricted"]
"""What the model's commands may touch."""
Access = Literal["allow", "deny"]
"""Whether the model may use something of the provider's."""
Mode = Literal["ask", "auto_approve", "auto_reject"]
"""Who decides: the application, or nobody and always alike."""
QuestionMode = Literal["ask", "auto_reject"]
"""Who answers the model's questions; nobody can approve a question."""
Fallback = Literal["abort", "continue", "retry"]
"""What follows a refusal: the run fails, or the model is told and goes on, or
the application is asked again."""
ApprovalKind = Literal["permission", "plan_review", "question"]
"""What a provider asks for: leave to use a tool, a review of its plan, or an
answer to a question."""


# Some thirty years; a deadline that is much later is no date any more.
_LONGEST = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Approvals:
    """Who decides what the provider asks, and what follows.

    A kind that is unset is not asked for: hosted tools are allowed, since
    installing them was the application's consent, and the rest is refused
    unless the provider's profile allows it.

    Raises:
        TypeError: A number is none; a bool is none either.
        ValueError: A value is not one of those that are listed, or a number out of range.
    """

    permission: Mode | None = None
    """Leave to use a tool, a hosted one as well as the provider's own."""
    plan_review: Mode | None = None
    """Reviews of the provider's plan."""
    question: QuestionMode | None = None
    """Questions of the model to its user."""
    timeout: float | None = 300.0
    """Seconds that one request may wait for the application, 1e9 at most; ``None``
    waits as long as the run lasts."""
    on_timeout: Fallback = "abort"
    """What follows where nobody answered in time."""
    on_reject: Fallback = "abort"
    """What follows a denial, whoever denied."""
    max_retries: int = 3
    """How often one thing is asked again, at most."""

    def __post_init__(self) -> None:
        _check_choices(self, _APPROVAL_CHOICES)
        if self.timeout is not None:
            checked_timeout("Approvals.timeout", self.timeout, most=_LONGEST)
        checked_count("Approvals.max_retries", self.max_retries, "retries", least=0)

    def mode(self, kind: ApprovalKind) -> Mode | None:
        """Return who decides about requests of a kind."""
        mode: Mode | None = getattr(self, kind)
        return mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What a run may do. Replaced as a whole where options are composed.

    Raises:
        ValueError: A value is not one of those that are listed.
    """

    sandbox: Sandbox | None = None
    """What the model's commands may touch."""
    web_search: Access | None = None
    """Whether the model may search the web."""
    browser: Access | None = None
    """Whether the model may drive a browser."""
    approvals: Approvals = field(default_factory=Approvals)
    """Who decides what the provider asks."""

    def __post_init__(self) -> None:
        _check_choices(self, _POLICY_CHOICES)
        if not isinstance(self.approvals, Approvals):
            msg = f"approvals is a {type(self.approvals).__name__}; pass Approvals(...)."
            raise TypeError(msg)

    @property
    def asks(self) -> bool:
        """Whether the application is asked for anything."""
        kinds: tuple[ApprovalKind, ...] = get_args(ApprovalKind)
        return any(self.approvals.mode(kind) == "ask" for kind in kinds)


_APPROVAL_CHOICES = {
    "permission": (None, *get_args(Mode)),
    "plan_review": (None, *get_args(Mode)),
    "question": (None, *get_args(QuestionMode)),
    "on_timeout": get_args(Fallback),
    "on_reject": get_args(Fallback),
}
_POLICY_CHOICES = {
    "sandbox": (None, *get_args(Sandbox)),
    "web_search": (None, *get_args(Access)),
    "browser": (None, *get_args(Access)),
}


def _check_choices(value: Any, choices: dict[str, tuple[Any, ...]]) -> None:
    for each in fields(value):
        allowed = choices.get(each.name)
        given = getattr(value, each.name)
        if allowed is not None and given not in allowed:
            listed = ", ".join(repr(choice) for choice in allowed)
            msg = f"{type(value).__name__}.{each.name} is {given!r}; pass one of {listed}."
            raise ValueError(msg)
