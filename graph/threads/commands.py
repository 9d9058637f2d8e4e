"""The plugin's commands in threads of the supervisor graph, whose own memory is the engine's."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

from muniment.chain.values import Message, TurnContext, TurnOutput
from muniment.memory.bootstrap.plugin_accounts import make_plugin_accounts
from muniment.memory.client import Memory
from muniment.memory.domain.scope import Scope
from muniment.memory.errors import StoreError
from muniment.nodes.chain.turns import MEMORY, OFF, SCOPE, SHOWN, Shown
from muniment.plugin.book.engine_book import EngineBook
from muniment.plugin.commands.handler import PluginState, run_command
from muniment.plugin.commands.parsing import parse_command
from muniment.plugin.domain.book import TurnReport
from muniment.plugin.domain.item import ItemOwner
from muniment.plugin.ports import MemoryStore, PluginBook
from muniment.plugin.sessions import make_owner
from muniment.plugin.stores.engine.leaving import build_leaving
from muniment.plugin.stores.engine.store import EngineStore

_EACH_TURN, _OFF = "each turn", "off"
_log = logging.getLogger(__name__)


class ThreadCommands:
    """A middleware for the graph's host. It answers commands; where a session is switched off, the graph neither reads
    nor writes memory; and what leaves a thread is built first, by the call that ends a session, too.

    The graph recalls and learns itself, so that nothing is recalled or written twice. A switch that cannot be read
    counts as off. By default items and book are those of the memory's database."""

    name = "memory"

    def __init__(self, memory: Memory, store: MemoryStore | None = None, book: PluginBook | None = None) -> None:
        self._memory, self._settings = memory, memory.engine.settings.plugin
        self._store = store or EngineStore(memory, self._settings)
        self._book = book or EngineBook(make_plugin_accounts(memory))

    async def before_prompt(self, context: TurnContext) -> TurnContext:
        """Return the turn with the reply to a command, or with the word that memory is off."""
        owner = make_owner(context.identity)
        command = parse_command(context.user_text)
        if command is not None:
            state = PluginState(store="engine")
            return replace(context, reply=await run_command(command, context, owner, self._store, self._book, state))
        if await self._is_on(owner):
            return context
        return replace(context, attributes=MappingProxyType({**context.attributes, MEMORY: OFF}))

    async def after_prompt(self, context: TurnContext, output: TurnOutput) -> None:
        """Count the turn, and which memories were before the model."""
        if context.reply is not None or output.status != "done":
            return
        shown = context.attributes.get(SHOWN)
        shown = shown if isinstance(shown, Shown) else Shown()
        is_off = context.attributes.get(MEMORY) == OFF
        report = TurnReport(
            turn_id=context.turn_id,
            owner=make_owner(context.identity),
            at=context.at,
            recall=not is_off,
            recall_reason=_OFF if is_off else _EACH_TURN,
            is_hit=None if is_off else bool(shown.ids),
            item_ids=shown.ids,
            tokens=self._memory.conversation.count_tokens(shown.text),
        )
        await self._book.record_turn(report)

    async def before_compact(self, context: TurnContext, messages: Sequence[Message]) -> None:
        """Build memories from all that the session has recorded. Raises StoreError, ModelError: then messages stay."""
        del messages  # the ledger has them: a message that it does not have leaves no prompt
        scope = context.attributes.get(SCOPE)
        if isinstance(scope, Scope) and context.attributes.get(MEMORY) != OFF:
            await build_leaving(self._memory, scope)

    async def _is_on(self, owner: ItemOwner) -> bool:
        try:
            return await self._book.read_switch(owner)
        except StoreError as error:
            _log.warning("the switch of a session cannot be read: %s", type(error).__name__)
            return False
