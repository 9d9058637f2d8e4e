"""`Conversation`: what a graph calls around one turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from muniment.memory.domain.consent import Consent
from muniment.memory.domain.ids import MemoryId, Revision
from muniment.memory.domain.plan import Receipt
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import ToolUse, Turn
from muniment.memory.domain.usage import OpsEvent
from muniment.memory.doors import Doors
from muniment.memory.flows import metering
from muniment.memory.given import check_calls
from muniment.memory.ports.llm import ChatModel
from muniment.memory.ports.readers import VERY_LONG_TEXT
from muniment.memory.rules.procedures import tool_calls
from muniment.memory.rules.provenance.quoted import hash_shingles
from muniment.memory.rules.redaction.secret_names import describe_redactions
from muniment.memory.rules.retrieval.render import choose_vocabulary, count_message_tokens


@check_calls
class Conversation:
    """The calls of a graph around one turn. It uses the engine of its `Memory`, which opens and closes it."""

    def __init__(self, memory: Doors) -> None:
        self._memory = memory

    def sanitize_turn(self, scope: Scope, turn: Turn) -> Turn:
        """Return a turn with its texts redacted, for `learn` and `record`, which do not redact it again.

        A turn that the denylist names is returned as it is; `learn` and `record` refuse it. Raises TooLarge."""
        engine = self._memory.engine
        return (
            turn if engine.redactor.find_denial_reason(scope, turn) else engine.writer.turn_reader.sanitize_turn(turn)
        )

    async def record(self, scope: Scope, turns: Sequence[Turn]) -> None:
        """Append turns to the ledger, redacted, and enqueue the jobs that follow from them. A turn that is there stays.

        Raises TooLarge, StoreError."""
        await self._memory.engine.writer.record_turns(scope, turns)

    async def mark_seen(self, scope: Scope, rev: Revision) -> None:
        """Record that the scope's thread has seen everything up to `rev`. Raises BadInput for a scope without a
        thread."""
        await self._memory.engine.recall.mark_seen(scope, rev)

    async def capture(self, scope: Scope) -> Receipt:
        """Summarize the scope's thread as an episode, when enough was said since the last one. Raises ModelError,
        StoreError."""
        return await self._memory.engine.run_checked(scope, lambda engine: engine.episodes.capture_episode(scope))

    async def learn_path(self, scope: Scope) -> Receipt:
        """Keep how goals were reached with tools in the scope's thread, as procedures: where the user asked for it, and
        where tools report a success after failures. A procedure is kept once. Raises StoreError, ModelError."""
        return await self._memory.engine.run_checked(scope, lambda engine: engine.procedures.learn_procedures(scope))

    async def schedule_reflection(self, scope: Scope) -> None:
        """Enqueue the daily job for insights, when there is a model. Mostly this costs one lookup in a dictionary."""
        await self._memory.engine.writer.schedule_reflection(scope)

    async def track(self, scope: Scope, event: OpsEvent) -> None:
        """Buffer an operational event; the next flush writes it."""
        await self._memory.engine.write_behind.track_event(scope, event)

    async def flush(self, scope: Scope) -> None:
        """Write the buffered events, settlements and access counts of the scope. Raises StoreError."""
        await self._memory.engine.write_behind.flush(scope)

    def meter_model(self, scope: Scope, model: ChatModel) -> ChatModel:
        """Return a model whose requests are redacted and paid for by the tenant; its `chat` raises OverBudget, too."""
        return metering.MeteredModel(self._memory.engine.usage_meter, scope, model)

    def shingle_hashes(self, *texts: str) -> tuple[int, ...]:
        """Return hashes of the texts' word sequences, by which a later reply that repeats them is recognized."""
        return hash_shingles(texts)

    def redact(self, text: str) -> str:
        """Return the text without secrets. A text that holds none is returned unchanged, to the byte. Call it from a
        thread for a long text."""
        engine = self._memory.engine
        redact = engine.redactor.redact_text
        return engine.text_reader.call_function(redact, text) if len(text) > VERY_LONG_TEXT else redact(text)

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens of a message, by the vocabulary of the configured model."""
        return count_message_tokens(text, choose_vocabulary(self._memory.engine.settings.chat_model))

    def describe_redactions(self, text: str) -> tuple[str, ...]:
        """Return what was taken out of a redacted text, in words: "a password", "an API key"."""
        return describe_redactions(text)

    def make_tool_turn(self, scope: Scope, call: ToolUse) -> Turn:
        """Return a use of a tool as a turn for `record`, redacted and shortened."""
        return tool_calls.make_tool_turn(
            call, session=scope.session or "", thread=scope.thread, redact=self._memory.engine.redactor.redact_text
        )

    async def answer_consents(self, scope: Scope, ids: Sequence[UUID], text: str) -> Sequence[Consent]:
        """Decide the pending requests among `ids` by a message, and return those that it answers: approved, rejected,
        or pending, where the answer is unclear and is to be asked again. None for a message that is no answer."""
        return await self._memory.engine.engines.run(
            scope, lambda engine: engine.consents.answer_consents(scope, ids, text)
        )

    async def resume_consents(self, scope: Scope, ids: Sequence[UUID], answer: Any) -> Sequence[Consent]:
        """Decide like `answer_consents`, by the value that resumes an interrupt: true or false, words, an object, or
        the response of an inbox."""
        return await self._memory.engine.engines.run(
            scope, lambda engine: engine.consents.resume_consents(scope, ids, answer)
        )

    async def answer_replacement(self, scope: Scope, memory_id: MemoryId | str, text: str) -> Receipt | None:
        """Settle by a message which known memories a memory replaces that perhaps replaces some: they are superseded,
        the others stay and are no longer asked about. None for a message that is no answer; no change for a yes that
        does not say which of several. Raises NotFound, StoreError."""
        id_ = await self._memory.engine.browser.find_id(scope, memory_id)
        return await self._memory.engine.engines.run(
            scope, lambda engine: engine.lifecycle.answer_replacement(scope, id_, text)
        )
