"""What only the real CLI can tell: that what the driver sets holds over a repository's file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from .conftest import put

ROOT = Path(__file__).resolve().parents[4]
CODEX = ROOT / ".cache" / "clis" / "codex_cli_bin" / "bin" / "codex"
LOOPBACK = 'ip link set lo up && exec "$@"'


def test_the_real_cli_keeps_to_what_the_driver_sets(
    tmp_path: Path, needs: Callable[[object, str], None]
) -> None:
    needs(os.access(CODEX, os.X_OK), "the Codex CLI; run `make clis`")
    alone = ["unshare", "-rn", "sh", "-c", LOOPBACK, "sh"]
    possible = subprocess.run([*alone, "true"], capture_output=True, check=False)
    needs(possible.returncode == 0, "the right to make a network namespace (unshare -rn)")
    put(
        tmp_path / "workspace" / ".codex" / "config.toml",
        '[shell_environment_policy]\nexclude = ["KEPT_*"]\n[features]\nshell_snapshot = true\n',
    )

    done = subprocess.run(
        [*alone, sys.executable, "-P", Path(__file__).with_name("real_host.py"), CODEX, tmp_path],
        capture_output=True,
        text=True,
        timeout=50,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path)},
        check=False,
    )

    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert [text.count("Title of A") for text in seen["texts"]] == [1, 1]
    # The second turn goes on with the first, and counts its own tokens alone.
    assert seen["sessions"][0] == seen["sessions"][1]
    assert seen["history"][2] > seen["history"][1]
    assert seen["input_tokens"][0] == seen["input_tokens"][1] > 0
    # Of the repository's settings, what keeps more out of the shell holds.
    assert "LET_IN=x" in seen["shell"]
    assert "KEPT_OUT" not in seen["shell"]
    assert seen["variable"] not in seen["shell"]
    assert not seen["elsewhere"]
    assert seen["unknown"] == "resume_rejected"
