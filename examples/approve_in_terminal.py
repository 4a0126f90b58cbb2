"""Ask at the terminal before Claude Code does anything.

python examples/approve_in_terminal.py "Tidy up my notes."
"""

from __future__ import annotations

import sys

from toolcrib import (
    Agent,
    ApprovalRequest,
    Approvals,
    ApprovalSettled,
    Claude,
    Event,
    Policy,
    TextDelta,
)

POLICY = Policy(
    approvals=Approvals(permission="ask", question="ask", on_reject="continue", timeout=600)
)


def show(event: Event) -> None:
    """Say what happens, and decide what is asked."""
    match event:
        case TextDelta():
            print(event.text, end="", flush=True)
        case ApprovalRequest():
            decide(event)
        case ApprovalSettled():
            print(f"[{event.outcome} by {event.by}]")


def decide(request: ApprovalRequest) -> None:
    """Let whoever sits at the terminal decide."""
    print(f"\n{request.title}")
    if request.kind == "question":
        for choice in request.choices:
            print(f"  {choice.key}: {choice.label}")
        request.answer(input("Your answer: "))
    elif input("Allow it? [y/N] ").strip().lower() == "y":
        request.approve()
    else:
        request.deny("The user does not want this.")


def main() -> None:
    """Run the prompt of the command line."""
    with Agent(Claude(), policy=POLICY) as agent:
        for event in agent.stream(" ".join(sys.argv[1:]) or "What do you see here?"):
            show(event)
    print()


if __name__ == "__main__":
    main()
