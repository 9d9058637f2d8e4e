"""`Conversation`: what a graph calls around one turn."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from muniment.memory.domain.consent import Consent
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import ToolUse, Turn
from muniment.memory.domain.usage import OpsEvent
from muniment.memory.engine import Engine
from muniment.memory.flows import metering
from muniment.memory.ports.llm import ChatModel
from muniment.memory.rules.procedures import tool_calls
from muniment.memory.rules.provenance.fingerprints import hash_shingles


class Conversation:
    """The calls of a graph around one turn. It shares the engine of `Memory`, which opens and closes it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def sanitize_turn(self, scope: Scope, turn: Turn) -> Turn:
        """Return a turn with its texts redacted, for `learn` and `record`, which do not redact it again.

        A turn that the denylist names is returned as it is; `learn` and `record` refuse it. Raises TooLarge."""
        engine = self.engine
        return turn if engine.redactor.find_denial_reason(scope, turn) else engine.writer.sanitize_turn(turn)

    async def record(self, scope: Scope, turns: Sequence[Turn]) -> None:
        """Append turns to the ledger, redacted, and enqueue the jobs that follow from them. A turn that is there stays.

        Raises TooLarge, StoreError."""
        await self.engine.writer.record_turns(scope, turns)

    async def mark_seen(self, scope: Scope, rev: Revision) -> None:
        """Record that the scope's thread has seen everything up to `rev`. Raises BadInput for a scope without a
        thread."""
        await self.engine.recall.mark_seen(scope, rev)

    async def capture(self, scope: Scope) -> Receipt:
        """Summarize the scope's thread as an episode, when enough was said since the last one. Raises ModelError,
        StoreError."""
        return await self.engine.episodes.capture_episode(scope)

    async def learn_path(self, scope: Scope) -> Receipt:
        """Keep how goals were reached with tools in the scope's thread, as procedures: where the user asked for it, and
        where tools report a success after failures. A procedure is kept once. Raises StoreError, ModelError."""
        return await self.engine.procedures.learn_procedures(scope)

    async def schedule_reflection(self, scope: Scope) -> None:
        """Enqueue the daily job for insights, when there is a model. Mostly this costs one lookup in a dictionary."""
        await self.engine.writer.schedule_reflection(scope)

    async def track(self, scope: Scope, event: OpsEvent) -> None:
        """Buffer an operational event; the next flush writes it."""
        await self.engine.write_behind.track_event(scope, event)

    async def flush(self, scope: Scope) -> None:
        """Write the buffered events, settlements and access counts of the scope. Raises StoreError."""
        await self.engine.write_behind.flush(scope)

    def meter_model(self, scope: Scope, model: ChatModel) -> ChatModel:
        """Return a model whose requests are redacted and paid for from the tenant's budget; its `chat` raises
        OverBudget, too."""
        return metering.MeteredModel(self.engine.usage_meter, scope, model)

    def shingle_hashes(self, *texts: str) -> tuple[int, ...]:
        """Return hashes of the texts' word sequences, by which a later reply that repeats them is recognized."""
        return hash_shingles(texts)

    def redact(self, text: str) -> str:
        """Return the text without secrets. A text that holds none is returned unchanged, to the byte."""
        return self.engine.redactor.redact_text(text)

    def make_tool_turn(self, scope: Scope, call: ToolUse) -> Turn:
        """Return a use of a tool as a turn for `record`, redacted and shortened."""
        return tool_calls.make_tool_turn(
            call, session=scope.session or "", thread=scope.thread, redact=self.engine.redactor.redact_text
        )

    async def answer_consents(self, scope: Scope, ids: Sequence[UUID], text: str) -> Sequence[Consent]:
        """Decide the pending requests among `ids` by a clear yes or no in a text, and return them; none for another
        text."""
        return await self.engine.consents.answer_consents(scope, ids, text)
