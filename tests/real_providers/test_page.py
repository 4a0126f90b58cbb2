"""docs/providers.md names the versions that are tested here."""

from __future__ import annotations

import re
import subprocess

import pytest

from .conftest import PROVIDERS, ROOT, binary

pytestmark = pytest.mark.slow

NAMES = {"codex": "Codex", "claude": "Claude Code", "codebuddy": "CodeBuddy"}


def _table() -> dict[str, dict[str, str]]:
    """The page's first table: what each row says of each provider."""
    page = (ROOT / "docs" / "providers.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("|")]
    cells = [[cell.strip(" *") for cell in row.strip("|").split("|")] for row in rows]
    head, _, *body = cells
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in body}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_page_names_the_version_that_is_tested(provider: str) -> None:
    done = subprocess.run(
        [binary(provider), "--version"], capture_output=True, text=True, check=True, timeout=30
    )
    version = re.search(r"\d+\.\d+\.\d+", done.stdout)
    assert version is not None
    assert _table()["Version tested"][NAMES[provider]] == version[0]


def test_the_page_names_the_packages_that_are_installed() -> None:
    lines = (ROOT / "tests" / "real_providers" / "clis.txt").read_text().splitlines()
    pinned = {line.partition("==")[0]: line.partition("==")[2] for line in lines if "==" in line}
    for text in _table()["From the package"].values():
        name, version = re.fullmatch(r"`([\w-]+)` (\S+)", text).groups()  # type: ignore[union-attr]
        assert pinned[name] == version
