"""`muniment gateway resource`: documents are taken in, replaced, listed and removed."""

import json
import os
import shutil
from pathlib import Path

import pytest

from muniment.memory import bootstrap
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.query import Filters, Query
from muniment.memory.domain.scope import make_gateway_scope
from muniment.memory.errors import NotFound
from tests.engine import engine, settings
from tests.faces.conftest import Muniment
from tests.gateway.documents import make_pdf

_MARKDOWN = """# Gateway

It listens on port 8010.

## Needs

- a Postgres database
- a key
"""


def _add(muniment: Muniment, source: Path, *more: str, user: str = "ana") -> dict[str, object]:
    told = muniment("gateway", "resource", "add", str(source), "--user", user, "--json", *more)
    assert told.code == 0, told.out
    added: dict[str, object] = told.json
    return added


def _texts(muniment: Muniment, user: str = "ana", *more: str) -> dict[str, str]:
    listed = muniment("list", "--user", user, "--json", *more).json
    return {each["text"]: each["id"] for each in listed["memories"]}


@pytest.mark.parametrize("kind", ["txt", "md", "html", "pdf"])
def test_each_kind_is_read(muniment: Muniment, tmp_path: Path, kind: str) -> None:
    """What a file of each kind states is found, with the file's address and the trust of a document."""
    words = "The gateway listens on port 8010."
    content = {
        "txt": words.encode(),
        "md": f"# Handbook\n\n{words}\n".encode(),
        "html": f"<h1>Handbook</h1><script>evil()</script><p>{words}</p>".encode(),
        "pdf": make_pdf([words]),
    }[kind]
    (tmp_path / f"handbook.{kind}").write_bytes(content)
    told = _add(muniment, tmp_path / f"handbook.{kind}")
    assert [each["added"] for each in told["resources"]] == [1]  # type: ignore[attr-defined] # JSON
    [found] = muniment("query", "which port", "--user", "ana", "--agent", "researcher", "--return", "full", "--json").json[
        "results"
    ]
    heading = "Handbook: " if kind in ("md", "html") else ""
    assert heading + words in found["text"]
    [listed] = muniment("list", "--user", "ana", "--json").json["memories"]
    assert (listed["trust"], listed["source"]) == ("document", f"resource:handbook.{kind}")
