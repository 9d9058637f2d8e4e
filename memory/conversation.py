"""The door of a graph: what happens with memory around one turn of a conversation."""

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
from muniment.memory.flows.background.reembed import EmbedderSwitch as EmbedderSwitch  # noqa: PLC0414 - a face says what it was given
from muniment.memory.ports.llm import ChatModel
from muniment.memory.rules.procedures import tool_calls
from muniment.memory.rules.provenance.fingerprints import hash_shingles


class Conversation:
    """What a graph does with memory around one turn. It shares the engine of `Memory`, which opens and closes it."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def sanitize_turn(self, scope: Scope, turn: Turn) -> Turn:
        """Return a turn with its texts redacted, for `learn` and `record`, which do not redact it again.

        A turn that the denylist names is returned as it is; `learn` and `record` refuse it. Raises TooLarge."""
        engine = self.engine
        return turn if engine.redactor.find_denial_reason(scope, turn) else engine.writer.sanitize_turn(turn)

    async def record(self, scope: Scope, turns: Sequence[Turn]) -> None:
        """Append turns to the ledger, redacted; with them the jobs of a model, when one is configured."""
        await self.engine.writer.record_turns(scope, turns)

    async def mark_seen(self, scope: Scope, rev: Revision) -> None:
        """The scope's thread has been shown everything up to `rev`."""
        await self.engine.recall.mark_seen(scope, rev)

    async def capture(self, scope: Scope) -> Receipt:
        """Keep what happened in the scope's thread as an episode, when there is enough to tell since the last one."""
        return await self.engine.episodes.capture_episode(scope)

    async def learn_path(self, scope: Scope) -> Receipt:
        """Keep how goals were reached with tools in the scope's thread: where a person wished it, and where tools report a
        success after failures. What is known is not learned again. Raises StoreError, ModelError (the embedder)."""
        return await self.engine.procedures.learn_procedures(scope)

    async def schedule_reflection(self, scope: Scope) -> None:
        """Enqueue a look for insights, if there is a model to look and none is due today; costs a set lookup mostly."""
        await self.engine.insights.schedule_reflection(scope)

    async def track(self, scope: Scope, event: OpsEvent) -> None:
        """Note an operational event; buffered, written with the next flush."""
        await self.engine.write_behind.track_event(scope, event)

    async def flush(self, scope: Scope) -> None:
        """Write the buffered events of the scope."""
        await self.engine.write_behind.flush(scope)

    def meter_model(self, scope: Scope, model: ChatModel) -> ChatModel:
        """The model as the scope's agents ask it: redacted, and paid for from the tenant's budget (raises OverBudget)."""
        return metering.MeteredModel(self.engine.usage_meter, scope, model)

    def shingle_hashes(self, *texts: str) -> tuple[int, ...]:
        """What tells later, without the words themselves, that a reply only repeats these texts."""
        return hash_shingles(texts)

    def redact(self, text: str) -> str:
        """The text without secrets, by the settings' rules; one that holds none stays as it is, to the byte."""
        return self.engine.redactor.redact_text(text)

    def make_tool_turn(self, scope: Scope, call: ToolUse) -> Turn:
        """A use of a tool as a turn for `record`: secrets taken out, shortened."""
        return tool_calls.make_tool_turn(
            call, session=scope.session or "", thread=scope.thread, redact=self.engine.redactor.redact_text
        )

    async def answer_consents(self, scope: Scope, ids: Sequence[UUID], text: str) -> Sequence[Consent]:
        """Decide those of the requests that still wait by a person's clear yes or no; none for any other text."""
        return await self.engine.consents.answer_consents(scope, ids, text)
