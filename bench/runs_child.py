"""What stands in for Claude Code: prints prepared records as fast as a pipe takes them.

Started by toolcrib and by claude-agent-sdk alike, with the arguments of either.
It needs nothing but Python's own modules, and few of those.
"""

from __future__ import annotations

import json
import os
import sys

RECORDS = "BENCH_RECORDS"
"""The variable that names the file with the records, one a line."""


def main() -> None:
    """Answer what has to be answered, then print the records and leave."""
    for line in sys.stdin.buffer:
        frame = json.loads(line)
        if frame.get("type") == "user":
            break
        if frame.get("type") == "control_request":
            response = {"subtype": "success", "request_id": frame["request_id"], "response": {}}
            answer = {"type": "control_response", "response": response}
            sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
            sys.stdout.buffer.flush()
    with open(os.environ[RECORDS], "rb") as file:  # noqa: PTH123 - pathlib takes longer to import
        while chunk := file.read(1 << 16):
            sys.stdout.buffer.write(chunk)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
