"""Fixtures of the formats of other memories: where they are, and what is read in each."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

from muniment.faces.importing.formats import ImportFiles, choose_format
from muniment.faces.importing.registry import FORMATS
from muniment.faces.importing.sources import open_source
from muniment.memory.domain.layers.imports import ImportRecord

FIXTURES = Path(__file__).parent / "fixtures"
NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
SECRET = "sk-proj-" + "Zq8Xw3Rt6Yb1Nm5Kc9Ld2Fg7" * 2  # made up; no fixture holds it
# The fixture -> memories, messages and records that are left out.
EXPECTED = {
    "chatgpt/2023": (0, 2, 1),
    "chatgpt/2026": (4, 7, 4),
    "claude/2024": (0, 2, 0),
    "claude/2026": (5, 5, 3),
    "mem0/v1.0": (3, 0, 0),
    "mem0/v1.1": (6, 0, 1),
    "mem0/history": (3, 0, 1),
    "mem0/both": (3, 0, 1),
    "langgraph-store/items": (4, 0, 1),
    "langgraph-store/search": (1, 0, 0),
    "langgraph-store/rows": (2, 0, 0),
    "langmem/store": (3, 0, 0),
    "langmem/extracted": (2, 0, 0),
    "letta/v1": (3, 3, 3),
    "letta/v2": (3, 3, 4),
    "graphiti/facts": (3, 0, 0),
    "graphiti/graph": (5, 2, 2),
    "markdown/memory": (5, 0, 0),
    "markdown/claude": (3, 0, 0),
    "markdown/obsidian": (3, 0, 1),
}


def copy_fixture(name: str, folder: Path) -> Path:
    """Copy a fixture with the secret in the places for it."""
    copy = folder / name.replace("/", "-")
    shutil.copytree(FIXTURES / name, copy)
    for file in copy.rglob("*"):
        if file.is_file():
            file.write_text(file.read_text(encoding="utf-8").replace("{{SECRET}}", SECRET), encoding="utf-8")
    return copy


def read_all(path: Path, layout: str | None = None) -> list[ImportRecord]:
    """Return all records of a file, a folder or an archive."""
    with open_source(str(path)) as files:
        source = ImportFiles(files, NOW)
        return list(choose_format(FORMATS, source, layout).read(source))
