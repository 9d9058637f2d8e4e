"""What a provider's prompt cache needs: the same beginning, byte for byte, from turn to turn and from process to
process."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import Self

import pytest
from pydantic import SecretStr

from benchmarks import prompts
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate
from muniment.testing.fakes import FixedClock
from muniment.testing.openai_server import ScriptedOpenAI

TOOLS = """
import json
from muniment.memory.config.settings import load_settings
from muniment.nodes.tools import SUBAGENTS, Toolbox
from muniment.memory.domain.scope import Scope
settings = load_settings({})
for agent in ("supervisor", *SUBAGENTS):
    box = Toolbox(memory=None, settings=settings, scope=Scope(owner="ana"), agent=agent, colleagues=SUBAGENTS)
    print(json.dumps([[one.name, one.description, one.parameters] for one in box.tools]))
"""


async def test_twenty_turns_share_their_beginning(
    settings: Settings, cluster_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the profile stays, what stands before the conversation has one hash, and most of a prompt began the last
    one."""
    asked: list[ScriptedOpenAI] = []

    class Kept(ScriptedOpenAI):
        def __enter__(self) -> Self:
            asked.append(self)
            return super().__enter__()

    monkeypatch.setattr(prompts, "ScriptedOpenAI", Kept)
    found = await prompts.measure(settings.model_copy(update={"database_url": SecretStr(cluster_url)}))
    changes = [one["turn"] for one in found["prompts"] if one["new_profile"]]
    assert changes == [11]
    hashes = [key for key, _ in groupby(one["lasting"] for one in found["prompts"])]
    assert len(hashes) == len(changes) + 1 == len(set(hashes))
    for one in found["prompts"]:
        sys.stdout.write("{turn}: {shared} of {tokens} tokens, {share:.0%}\n".format(**one))
        assert one["new_profile"] or one["share"] >= prompts.LIMIT
    assert found["least"] >= prompts.LIMIT
    assert found["share"] > found["share_recalled_first"] + 0.1
    assert sum(one["recalled"] for one in found["prompts"]) >= 10
    for request in asked[0].requests:
        recalled = [one for one in request.body["messages"][1:] if "<recalled-memory>" in (one["content"] or "")]
        assert [one["role"] for one in recalled if one["role"] != "tool"] in ([], ["user"])
        roles = [one["role"] for one in request.body["messages"] if one["role"] != "tool"]
        assert roles[0] == "system"
        assert set(roles[1::2]) == {"user"}
        assert set(roles[2::2]) <= {"assistant"}


async def test_a_profile_that_is_touched_keeps_its_order(memory: Memory, settings: Settings, clock: FixedClock) -> None:
    """More than the block holds, said again, found, and another day: the block is the same to the byte."""
    who = Scope(owner="ana", tenant=settings.tenant, thread="a", session="a")
    kinds, places = (
        ("boat", "barn", "kiln", "loom", "harp"),
        ("Porto", "Faro", "Braga", "Evora", "Tomar", "Lagos", "Beja"),
    )
    texts = [f"The user owns a {kind} in {place}" for kind in kinds for place in (*places, "Elvas", "Viseu")]
    await memory.ingest(who, [Candidate(text=text, category="profile") for text in texts])
    first = await memory.brief(who, "supervisor", "Hello, where is my boat?")
    assert len(texts) > settings.limits.profile_items
    assert len(first.stable.splitlines()) == settings.limits.profile_items
    for text in (texts[-1], texts[0], texts[20]):
        clock.advance(90_000)
        await memory.remember(who, text, category="profile")
        again = await memory.brief(who, "supervisor", f"{text}?")
        assert again.stable == first.stable


def test_every_process_offers_the_same_tools() -> None:
    """The order of sets and dictionaries is not in what a model is offered."""
    told = {
        subprocess.run(
            [sys.executable, "-c", TOOLS],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            cwd=Path(__file__).parents[2],
        ).stdout
        for seed in ("1", "2")
    }
    assert len(told) == 1
    assert b"memory_query" in told.pop()
