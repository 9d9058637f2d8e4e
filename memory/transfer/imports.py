"""`Imports`: what comes from other memories."""

from __future__ import annotations

from collections.abc import Sequence

from muniment.memory.codec import check_calls
from muniment.memory.domain.layers.imports import ImportedMemory, ImportedMessage, RecordOutcome
from muniment.memory.domain.scope import Scope
from muniment.memory.engine import Engine


@check_calls
class Imports:
    """The records of other memories. It shares the engine of `Memory`."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def keep_memories(self, scope: Scope, memories: Sequence[ImportedMemory]) -> Sequence[RecordOutcome]:
        """Keep memories of another system as they are given, with their origin and their time; return what became of
        each, in their order.

        A memory that the rules read completely is known as if it had been said, and corrected by what is said later.
        What ended is in no answer. The same record again changes nothing, also where it was forgotten. Raises
        StoreError, ModelError."""
        given = tuple(memories)
        return await self.engine.run_checked(scope, lambda engine: engine.record_import.keep_memories(scope, given))

    async def learn_messages(
        self, scope: Scope, messages: Sequence[ImportedMessage], *, previous: Sequence[ImportedMessage] = ()
    ) -> Sequence[RecordOutcome]:
        """Learn from the messages of one conversation, oldest first, and record them in a thread of its own; return
        what became of each. `previous` are the messages before them.

        A message that is recorded already changes nothing. Raises StoreError, ModelError."""
        given, before = tuple(messages), tuple(previous)
        return await self.engine.run_checked(
            scope, lambda engine: engine.record_import.learn_messages(scope, given, before)
        )
