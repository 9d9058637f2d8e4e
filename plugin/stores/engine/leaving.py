"""What leaves a thread of a host beside the engine: it is recorded, and built by the call that ends a session."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from muniment.memory.errors import NoSession
from muniment.plugin.compaction import RecordLeaving, make_leaving_turns
from muniment.plugin.item_mapping import make_scope
from muniment.plugin.sessions import make_owner

if TYPE_CHECKING:
    from muniment.chain.values import Message, TurnContext
    from muniment.memory.client import Memory
    from muniment.memory.domain.scope import Scope
    from muniment.memory.domain.turn import Turn


async def build_leaving(memory: Memory, scope: Scope, turns: Sequence[Turn] = ()) -> None:
    """Record turns that leave a thread, and build memories from all that is recorded of the scope's session.

    Raises StoreError, ModelError: then they have to stay."""
    if turns:
        await memory.conversation.record(scope, turns)
    if scope.session:
        with suppress(NoSession):  # nothing of it was recorded
            await memory.sessions.build(scope, scope.session)


def make_recorder(memory: Memory) -> RecordLeaving:
    """Return what the plugin calls with the messages that leave a thread. One over the limit of a turn is left out."""

    async def record_leaving(context: TurnContext, messages: Sequence[Message]) -> None:
        scope = replace(make_scope(make_owner(context.identity)), thread=context.identity.session)
        most = memory.engine.settings.limits.turn_chars
        fitting = [message for message in messages if 0 < len(message.text) <= most]
        await build_leaving(memory, scope, make_leaving_turns(context, fitting))

    return record_leaving
