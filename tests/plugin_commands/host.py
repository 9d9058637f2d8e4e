"""A host with a middleware that answers the commands of a chat, over real files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from muniment.chain import Host, Identity, Message, TurnContext, TurnOutput, build_answer
from muniment.plugin.book.file_book import FileBook
from muniment.plugin.commands.handler import PluginState, run_command
from muniment.plugin.commands.parsing import parse_command
from muniment.plugin.domain.book import TurnReport
from muniment.plugin.domain.item import ItemOwner, MemoryItem
from muniment.plugin.stores.local.store import LocalStore

AT = datetime(2026, 11, 12, 9, tzinfo=UTC)
ANA = ItemOwner(user="ana", session="s1", project="web")
USUAL_STATE = PluginState(store="local")


def make_item(id_: str, content: str, *, days: float = 0, **fields: Any) -> MemoryItem:
    """An item of the user, made so many days ago; `id_` is the beginning of its id."""
    whole = (id_ + "0" * 32)[:32]
    uuid = "-".join((whole[:8], whole[8:12], "4" + whole[13:16], "8" + whole[17:20], whole[20:]))
    values: dict[str, Any] = {"type": "rule", "tenant_id": "default", "user_id": "ana"} | fields
    return MemoryItem(id=uuid, content=content, created_at=AT - timedelta(days=days), **values)


@dataclass
class CommandMiddleware:
    """Answers what is a command, and lets everything else pass."""

    store: LocalStore
    book: FileBook
    state: PluginState = USUAL_STATE

    async def before_prompt(self, context: TurnContext) -> TurnContext:
        command = parse_command(context.user_text)
        if command is None:
            return context
        who = context.identity
        owner = ItemOwner(user=who.user, tenant=who.tenant, project=who.project, session=who.session)
        return replace(context, reply=await run_command(command, context, owner, self.store, self.book, self.state))


@dataclass
class Chat:
    """A host that runs the commands, its store and its book, and what its model was shown."""

    store: LocalStore
    book: FileBook
    host: Host
    shown: list[str]

    async def say(self, text: str, *, session: str = "s1", user: str = "ana", earlier: tuple[Message, ...] = ()) -> str:
        """Return the answer to a message; the model answers `model`."""
        identity = Identity(user=user, session=session, project="web")
        messages = (*earlier, Message(role="user", text=text))
        context = TurnContext(turn_id="t", identity=identity, messages=messages, at=AT)

        async def answer(turn: TurnContext) -> TurnOutput:
            self.shown.append(turn.user_text)
            return build_answer("model", AT)

        return (await self.host.run_turn(context, answer)).text

    async def put(self, *items: MemoryItem) -> None:
        """Write items."""
        await self.store.upsert(items)

    async def report(self, *ids: str, **fields: Any) -> None:
        """Report the last turn of the user's session, in which these items were put before the model."""
        values: dict[str, Any] = {"recall": True, "recall_reason": "session_start", "is_hit": bool(ids)} | fields
        await self.book.record_turn(TurnReport(turn_id="t0", owner=ANA, at=AT, item_ids=ids, **values))


@asynccontextmanager
async def open_chat(folder: Path, state: PluginState = USUAL_STATE) -> AsyncIterator[Chat]:
    """A chat over the files of a folder."""
    store, book = LocalStore(folder / "plugin.sqlite", now=lambda: AT), FileBook(folder / "plugin-book.sqlite")
    host = Host([CommandMiddleware(store, book, state)])
    try:
        yield Chat(store, book, host, [])
    finally:
        await host.aclose()
        await book.close()
        await store.close()
