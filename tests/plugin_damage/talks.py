"""A conversation with a host whose limits are the usual ones, and what of it was kept, answered and logged."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from muniment.chain.faults import FaultReport
from muniment.chain.host import Host
from muniment.chain.outcome import build_answer
from muniment.chain.values import Identity, Message, TurnContext, TurnOutput
from muniment.memory.config.settings import Settings
from muniment.memory.ports.embedders import Embedder
from muniment.plugin.domain.item import ListQuery, MemoryItem, StoredItem
from muniment.plugin.opening import open_plugin
from muniment.plugin.plugin import MemoryPlugin
from muniment.plugin.ports import MemoryStore
from muniment.plugin.sessions import make_owner
from muniment.plugin.stores.local.store import LocalStore
from tests.plugin.hosts import DAY

WHO = Identity(user="ana", session="one", project="shop")
BEFORE_SECONDS = 2.0  # what a host gives a hook that runs before a prompt
_SLACK = 1.0  # of a machine that does something else, too
_KEPT = ("added", "updated", "known", "merged")


@dataclass
class Talk:
    """A conversation, turn by turn. `answered` are the texts that the model has answered."""

    host: Host
    plugin: MemoryPlugin
    who: Identity
    at: datetime = DAY
    messages: list[Message] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)
    number: int = 0

    async def say(self, text: str, *, after_seconds: float = 30) -> str:
        """Say something and wait for what is done behind the reply. Return what was added to the prompt, or the reply
        to a command. The model, or the reply, is there within the time of a hook."""
        self.number += 1
        self.at += timedelta(minutes=5)
        self.messages.append(Message(role="user", text=text))
        context = TurnContext(
            turn_id=f"turn {self.number}", identity=self.who, messages=tuple(self.messages), at=self.at
        )
        began, shown = monotonic(), list[str]()

        async def answer(turn: TurnContext) -> TurnOutput:
            self.answered.append(text)
            shown.extend(addition.text for addition in turn.additions)
            return build_answer("All right.", self.at)

        output = await self.host.run_turn(context, answer)
        assert monotonic() - began < BEFORE_SECONDS + _SLACK
        assert await self.host.drain(after_seconds) == 0
        self.messages += output.messages
        return "\n".join(shown) if text in self.answered else output.text


@asynccontextmanager
async def open_talk(
    settings: Settings, *, store: MemoryStore | None = None, embedder: Embedder | None = None, session: str = "one"
) -> AsyncIterator[Talk]:
    """A conversation over a plugin that is opened by its settings. No hook of it fails or is late."""
    faults: list[FaultReport] = []
    async with (
        open_plugin(settings, store=store, embedder=embedder) as plugin,
        Host([plugin], before_seconds=BEFORE_SECONDS, on_fault=faults.append) as host,
    ):
        yield Talk(host, plugin, replace(WHO, session=session))
    assert faults == []


class Acknowledged:
    """Which items a local store has said to be written, and in how many calls at most each may stand."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ids: set[str] = set()
        upsert = LocalStore.upsert

        async def upsert_noted(store: LocalStore, items: Sequence[MemoryItem], **given: Any) -> Sequence[StoredItem]:
            stored = await upsert(store, items, **given)
            self.ids.update(each.id for each in stored if each.outcome in _KEPT)
            return stored

        monkeypatch.setattr(LocalStore, "upsert", upsert_noted)

    async def check_file(self, path: Path, at: datetime) -> list[str]:
        """Each of them is in the file, and each statement is there once. Return the statements."""
        store = LocalStore(path)
        items = await store.list(ListQuery(owner=make_owner(WHO), at=at, everywhere=True, limit=500))
        await store.close()
        assert self.ids <= {item.id for item in items}
        statements = Counter(item.content for item in items)
        assert set(statements.values()) <= {1}
        return sorted(statements)


def list_warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The warnings and errors of our own, each of which is there once."""
    said = [
        record.getMessage()
        for record in caplog.records
        if record.levelno >= logging.WARNING and record.name.split(".")[0] in ("muniment", "asyncio")
    ]
    assert [text for text, count in Counter(said).items() if count > 1] == []
    return said
