"""A host with the plugin over a real file, whose answers are scripted."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from muniment.chain.faults import FaultReport
from muniment.chain.host import Host
from muniment.chain.outcome import build_answer
from muniment.chain.values import Identity, Message, Status, ToolCall, ToolOutput, TurnContext, TurnOutput
from muniment.memory.client import Memory
from muniment.memory.config.settings import Settings, load_settings
from muniment.plugin.domain.book import TurnReport
from muniment.plugin.domain.item import ItemOwner, ListQuery, MemoryItem
from muniment.plugin.opening import open_plugin
from muniment.plugin.plugin import MemoryPlugin
from muniment.plugin.ports import MemoryStore
from muniment.plugin.sessions import make_owner

DAY = datetime(2026, 11, 12, 10, 0, tzinfo=UTC)


def make_settings(
    home: Path, *, redact: dict[str, Any] | None = None, environment: dict[str, str] | None = None, **plugin: Any
) -> Settings:
    """The settings of a host with a local file, without vectors unless they are asked for."""
    found = load_settings({"MUNIMENT_HOME": str(home), "MUNIMENT_EMBEDDER": "hash-256"} | (environment or {}))
    given = {"enabled": True, "vectors": False, "recall_seconds": 20.0} | plugin
    return found.model_copy(
        update={
            "plugin": found.plugin.model_copy(update=given),
            "redact": found.redact.model_copy(update=redact or {}),
        }
    )


@dataclass
class Session:
    """A conversation with a scripted answer. `prompts` are the turns as a model got them."""

    host: Host
    plugin: MemoryPlugin
    identity: Identity
    at: datetime = DAY
    messages: list[Message] = field(default_factory=list)
    prompts: list[TurnContext] = field(default_factory=list)
    number: int = 0

    async def say(
        self,
        text: str,
        *,
        reply: str = "All right.",
        status: Status = "done",
        tools: tuple[tuple[str, dict[str, Any], str, bool], ...] = (),
        **given: Any,
    ) -> str:
        """Say something, wait for what is done behind the reply, and return what was added to the prompt."""
        self.number += 1
        self.at += timedelta(seconds=20)
        self.messages.append(Message(role="user", text=text))
        context = TurnContext(
            turn_id=f"{self.identity.session}-{self.number}",
            identity=self.identity,
            messages=tuple(self.messages),
            at=self.at,
            **given,
        )
        seen: list[TurnContext] = []

        async def answer(turn: TurnContext) -> TurnOutput:
            seen.append(turn)
            for n, (name, arguments, result, is_error) in enumerate(tools):
                call = ToolCall(id=f"{turn.turn_id}-{n}", name=name, arguments=arguments)
                at = self.at + timedelta(seconds=n)
                await self.host.report_tool(turn, ToolOutput(call=call, text=result, at=at, is_error=is_error))
            return replace(build_answer(reply, self.at), status=status)

        output = await self.host.run_turn(context, answer)
        assert await self.host.drain(30) == 0
        if not seen:
            self.messages.pop()
            return output.text
        self.messages.append(Message(role="assistant", text=output.text))
        self.prompts += seen
        return "\n".join(addition.text for addition in seen[0].additions)

    @property
    def owner(self) -> ItemOwner:
        """Whose conversation it is."""
        return make_owner(self.identity)

    async def list_items(self) -> list[MemoryItem]:
        """All items of the user, the oldest first."""
        assert self.plugin.store is not None
        query = ListQuery(owner=self.owner, at=self.at, everywhere=True, limit=200)
        return list(reversed(await self.plugin.store.list(query)))

    async def read_report(self) -> TurnReport:
        """The report of the last turn."""
        assert self.plugin.book is not None
        report = await self.plugin.book.read_last_turn(self.owner)
        assert report is not None
        return report


@asynccontextmanager
async def open_session(
    settings: Settings,
    *,
    session: str = "one",
    project: str | None = None,
    user: str = "ana",
    at: datetime = DAY,
    store: MemoryStore | None = None,
    memory: Memory | None = None,
) -> AsyncIterator[Session]:
    """A conversation through a host whose only middleware is the plugin; no hook of it may fail."""
    faults: list[FaultReport] = []
    async with (
        open_plugin(settings, store=store, memory=memory) as plugin,
        Host([plugin], before_seconds=30, after_seconds=30, on_fault=faults.append) as host,
    ):
        yield Session(host, plugin, Identity(user=user, session=session, project=project), at)
    assert faults == []
