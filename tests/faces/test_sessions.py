"""`muniment sessions`: what was said, listed, shown, searched, ended and kept."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from muniment.memory.bootstrap import create_memory
from muniment.memory.config.settings import load_settings
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Turn
from tests.engine import NOON
from tests.faces.conftest import Muniment


@pytest.fixture
def said(environment: dict[str, str]) -> None:
    """A session of the user `me`."""

    async def record() -> None:
        async with create_memory(load_settings(environment)) as memory:
            texts: list[tuple[Any, str]] = [("user", "We decided to use pnpm."), ("assistant", "我记住了杭州")]
            turns = [Turn.make(session="s1", key=text, role=role, text=text, at=NOON) for role, text in texts]
            await memory.conversation.record(Scope(owner="me", session="s1", project="atlas"), turns)

    asyncio.run(record())


@pytest.mark.usefixtures("said")
def test_sessions(muniment: Muniment) -> None:
    """Each command says it in words and as JSON."""
    (session,) = muniment("sessions", "list", "--project", "atlas", "--json").json["sessions"]
    assert (session["id"], session["turns"]) == ("s1", 2)
    assert "s1" in muniment("sessions", "list", "--open").out
    assert "pnpm" in muniment("sessions", "show", "s1").out
    assert [turn["position"] for turn in muniment("sessions", "show", "s1", "--json").json["turns"]] == [0, 1]
    assert [hit["position"] for hit in muniment("sessions", "search", "杭州", "--json").json["results"]] == [1]
    assert "We decided" in muniment("sessions", "search", "pnpm").out
    assert muniment("sessions", "search", "pnpm", "--user", "ben", "--json").json["results"] == []
    assert "built from 2 of 2" in muniment("sessions", "end", "s1").out
    ended = muniment("sessions", "end", "s1", "--why", "again", "--json").json["session"]
    assert ended["ended_why"] == "call"
    assert "for ever" in muniment("sessions", "keep", "s1", "--forever").out
    assert muniment("sessions", "keep", "s1", "--days", "90", "--json").json["session"]["retention_days"] == 90
    assert muniment("sessions", "keep", "s1").code == 2
    missing = muniment("sessions", "show", "none")
    assert (missing.code, "muniment sessions list" in missing.err) == (4, True)
