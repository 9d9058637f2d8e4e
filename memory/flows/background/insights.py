"""Insights: what the latest memories and turns show of how a person wants to be worked with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from uuid import uuid5

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import Revision, TurnId
from muniment.memory.domain.plan import ExtractionRecord, Receipt
from muniment.memory.domain.query import ListRequest
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Extraction
from muniment.memory.flows.metering import UsageMeter
from muniment.memory.flows.writing.write import Writer
from muniment.memory.ports.clock import Clock
from muniment.memory.ports.ledger import TurnLedger
from muniment.memory.ports.llm import AnswerForm, ChatMessage
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.prompts import load_prompt
from muniment.memory.rules.episodes.insight_answer import INSIGHTS_SCHEMA, build_snippet, parse_insights, select_recent
from muniment.memory.rules.merging.placement import sanitize_candidate
from muniment.memory.rules.policy.schedule import find_slot_start

_MAX_MEMORIES = 200  # the latest to change
_MAX_TURNS = 12
_FORM = AnswerForm(name="insights", schema=INSIGHTS_SCHEMA, max_tokens=220)  # S-30


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Insights:
    """Derives insights by a model, at most once in `insights.every_hours`."""

    clock: Clock
    ledger: TurnLedger
    reads: MemoryReads
    settings: Settings
    usage_meter: UsageMeter
    writer: Writer

    async def find_insights(self, scope: Scope) -> Receipt:
        """Ask the model what the latest memories and turns show, and commit its insights. Skipped within
        `insights.every_hours` of the last time. Raises ModelError, StoreError."""
        now, rules = self.clock.now(), self.settings.insights
        latest = await self.ledger.read_latest_turns(scope, turns=_MAX_TURNS)
        if latest.insights_at is not None and now - latest.insights_at < timedelta(hours=rules.every_hours):
            return Receipt(rev=Revision(0), skipped=f"looked for insights less than {rules.every_hours:g} hours ago")
        page = await self.reads.list_memories(
            self.settings.make_owner_reader(scope, now), ListRequest(limit=_MAX_MEMORIES)
        )
        activities, facts = select_recent(page.memories, activities=rules.activities, facts=rules.facts)
        shown = (*activities, *facts)
        if not shown:
            return Receipt(rev=Revision(0), skipped="nothing to look at")
        prompt = load_prompt("insight", self.settings.model.prompt_folder)
        payload = {
            "activities": [f"[{n}] {memory.text}" for n, memory in enumerate(activities, 1)],
            "facts": [f"[{n}] {memory.text}" for n, memory in enumerate(facts, len(activities) + 1)],
            "conversation": build_snippet(latest.turns, rules.snippet_chars),
        }
        messages = [
            ChatMessage(role="system", content=prompt.text),
            ChatMessage(role="user", content=json.dumps(payload, ensure_ascii=False)),
        ]
        answer = await self.usage_meter.ask_model(scope, "insight", messages, form=_FORM)
        max_chars = self.settings.limits.memory_chars
        insights = parse_insights(
            answer.message.content, shown, categories=self.settings.categories, max_chars=max_chars
        )
        slot = find_slot_start(now, timedelta(hours=rules.every_hours))
        record = ExtractionRecord(
            # Once per slot: a second extraction of the same slot, by any process, is a replay.
            turn=TurnId(uuid5(scope.space, f"insights of {slot.isoformat()}")),
            source="model",
            found=insights.total,
            repaired=insights.repairs,
            refused=insights.refusals,
            prompt=prompt.version,
            model=answer.model,
            since=page.rev,
            shown=tuple(memory.id for memory in shown),
        )
        candidates = tuple(sanitize_candidate(candidate, self.writer.redactor) for candidate in insights.candidates)
        return await self.writer.commit_extraction(scope, Extraction(candidates=candidates), (), "worker", record)
