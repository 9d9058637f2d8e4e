"""The page of the proxy names what there is, and the examples do what they say."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from muniment.memory.config.proxy_folder import VARIABLES
from muniment.memory.domain.tokens.config import FIELDS
from muniment.testing import ScriptedOpenAI
from tests.examples.conftest import ROOT, run_python
from tests.proxy.hosting import Host

NODE = os.environ.get("MUNIMENT_TEST_OPENAI_NODE", "")
PAGE = (ROOT / "docs" / "proxy.md").read_text(encoding="utf-8")


def list_names(*, after: str, first: str) -> set[str]:
    """The names in the first column of the table that begins with a header, within a section."""
    table = PAGE[PAGE.index(f"\n## {after}") :]
    table = table[table.index(f"| {first}") :].partition("\n\n")[0]
    return {name for line in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", line.split("|")[1])}


def test_fields_and_variables() -> None:
    """All of them, and no others."""
    assert list_names(after="Tokens", first="field") == set(FIELDS)
    assert list_names(after="The folder", first="variable") == set(VARIABLES)


def answer_chat(body: dict[str, Any]) -> str:
    """What a model says that reads what stands before it."""
    if not body["messages"][-1]["content"].endswith("?"):
        return "Good to know."
    return "It is teal." if "teal" in str(body["messages"]) else "Who knows?"


@pytest.mark.parametrize(
    "program",
    [
        "proxy_client.py",
        pytest.param(
            "proxy_client.mjs",
            marks=pytest.mark.skipif(
                not NODE, reason="MUNIMENT_TEST_OPENAI_NODE names no folder with the client of Node"
            ),
        ),
    ],
)
def test_the_examples(host: Host, program: str) -> None:
    """The second answer knows what was told in the first."""
    with ScriptedOpenAI(answer_chat) as upstream:
        token = host.register(upstream.base_url)
        own = {"MUNIMENT_TOKEN": token.secret, "MUNIMENT_PROXY_URL": f"{host.url}/v1", "OPENAI_MODEL": "m"}
        path = ROOT / "examples" / program
        if path.suffix == ".py":
            said = run_python(str(path), environment=os.environ | own)
        else:
            command = ["node", str(path)]
            environment = os.environ | own
            said = subprocess.run(
                command, env=environment, cwd=Path(NODE), capture_output=True, text=True, check=True
            ).stdout
    assert said.splitlines()[1::2] == ["Good to know.", "It is teal."]
