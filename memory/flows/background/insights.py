"""What the latest memories and words show of how a person wants to be worked with: looked for once in a while."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import uuid5

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import Revision, TurnId
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.memory import Memory
from muniment.memory.domain.plan import ExtractionRecord, Receipt
from muniment.memory.domain.query import ListRequest
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Extraction
from muniment.memory.flows.metering import UsageMeter
from muniment.memory.flows.process_cache import ProcessCache
from muniment.memory.flows.writing.write import Writer
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.jobs import JobQueue
from muniment.memory.ports.ledger import TurnLedger
from muniment.memory.ports.llm import AnswerForm, ChatMessage, ChatModel
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.prompts import load_prompt
from muniment.memory.rules.episodes.insight_answer import INSIGHTS_SCHEMA, build_snippet, parse_insights, select_recent
from muniment.memory.rules.policy.schedule import find_slot_start

_MAX_MEMORIES = 200  # memories, the last to change
_MAX_TURNS = 12
_MAX_SPACES = 10_000  # remembered to have been asked for in a slot
_FORM = AnswerForm(name="insights", schema=INSIGHTS_SCHEMA, max_tokens=220)  # S-30


def _list_texts(memories: list[Memory]) -> list[str]:
    return [one.text for one in memories]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Insights:
    """What the latest memories and words show of how a person wants to be worked with: looked for once in a while."""

    cache: ProcessCache
    clock: Clock
    jobs: JobQueue
    ledger: TurnLedger
    model: ChatModel | None
    reads: MemoryReads
    settings: Settings
    usage_meter: UsageMeter
    writer: Writer

    async def find_insights(self, scope: Scope) -> Receipt:
        """See `Memory.reflect`."""
        now, rules = self.clock.now(), self.settings.insights
        latest = await self.ledger.read_latest_turns(scope, turns=_MAX_TURNS)
        if latest.insights_at is not None and now - latest.insights_at < timedelta(hours=rules.every_hours):
            return Receipt(rev=Revision(0), skipped=f"looked for insights less than {rules.every_hours:g} hours ago")
        page = await self.reads.list_memories(self.settings.make_owner_reader(scope), ListRequest(limit=_MAX_MEMORIES))
        happened, stated = select_recent(page.memories, activities=rules.activities, facts=rules.facts)
        turns = {turn: None for one in (*happened, *stated) for turn in one.turns} | {
            one.id: None for one in latest.turns
        }
        if not turns or not (happened or stated):
            return Receipt(rev=Revision(0), skipped="nothing to look at")
        told = load_prompt("insight")
        shown = {
            "activities": _list_texts(happened),
            "facts": _list_texts(stated),
            "conversation": build_snippet(latest.turns, rules.snippet_chars),
        }
        messages = [
            ChatMessage(role="system", content=told.text),
            ChatMessage(role="user", content=json.dumps(shown, ensure_ascii=False)),
        ]
        answer = await self.usage_meter.ask_model(scope, "insight", messages, form=_FORM)
        most = self.settings.limits.memory_chars
        found = parse_insights(
            answer.message.content, tuple(turns), categories=self.settings.categories, max_chars=most
        )
        looked = ExtractionRecord(
            # One look in so many hours: a second one of the same slot is a replay, whoever made it.
            turn=TurnId(uuid5(scope.space, f"insights of {self._current_slot(now).isoformat()}")),
            source="model",
            found=found.total,
            repaired=found.repairs,
            refused=found.refusals,
            prompt=told.version,
            model=answer.model,
            since=page.rev,
            shown=tuple(one.id for one in (*happened, *stated)),
        )
        candidates = tuple(self.writer.sanitize_candidate(one) for one in found.candidates)
        return await self.writer.commit_extraction(scope, Extraction(candidates=candidates), (), "worker", looked)

    async def schedule_reflection(self, scope: Scope) -> None:
        """See `Memory.reflect_later`."""
        now = self.clock.now()
        current = self._current_slot(now)
        if self.model is None or self.cache.insight_slots.get(scope.space) == current:
            return
        last = (await self.ledger.read_latest_turns(scope, turns=0)).insights_at
        due = last + timedelta(hours=self.settings.insights.every_hours) if last else now
        await self.jobs.enqueue_jobs([Job(name="reflect", scope=scope, key=current.isoformat(), at=max(now, due))])
        if len(self.cache.insight_slots) >= _MAX_SPACES:
            self.cache.insight_slots.clear()
        self.cache.insight_slots[scope.space] = current

    async def perform_reflection(self, scope: Scope, _key: str) -> Receipt:
        """The job `reflect`."""
        return await self.find_insights(scope)

    def _current_slot(self, now: datetime) -> datetime:
        return find_slot_start(now, timedelta(hours=self.settings.insights.every_hours))
