"""What the latest memories and words show of how a person wants to be worked with: looked for once in a while."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from uuid import uuid5

from muniment.memory.domain.ids import Revision, TurnId
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.memory import Memory
from muniment.memory.domain.plan import ExtractionRecord, Receipt
from muniment.memory.domain.query import ListRequest
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Extraction
from muniment.memory.flows import metering
from muniment.memory.flows.house import House
from muniment.memory.flows.writing import write
from muniment.memory.ports.llm import AnswerForm, ChatMessage
from muniment.memory.prompts import load_prompt
from muniment.memory.rules.episodes.insight_answer import INSIGHTS_SCHEMA, build_snippet, parse_insights, select_recent
from muniment.memory.rules.policy.schedule import find_slot_start

_MAX_MEMORIES = 200  # memories, the last to change
_MAX_TURNS = 12
_MAX_SPACES = 10_000  # remembered to have been asked for in a slot
_FORM = AnswerForm(name="insights", schema=INSIGHTS_SCHEMA, max_tokens=220)  # S-30


async def find_insights(house: House, scope: Scope) -> Receipt:
    """See `Memory.reflect`."""
    now, rules = house.clock.now(), house.settings.insights
    latest = await house.store.read_latest_turns(scope, turns=_MAX_TURNS)
    if latest.insights_at is not None and now - latest.insights_at < timedelta(hours=rules.every_hours):
        return Receipt(rev=Revision(0), skipped=f"looked for insights less than {rules.every_hours:g} hours ago")
    page = await house.store.list_memories(house.make_owner_reader(scope), ListRequest(limit=_MAX_MEMORIES))
    happened, stated = select_recent(page.memories, activities=rules.activities, facts=rules.facts)
    turns = {turn: None for one in (*happened, *stated) for turn in one.turns} | {one.id: None for one in latest.turns}
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
    answer = await metering.ask_model(house, scope, "insight", messages, form=_FORM)
    most = house.settings.limits.memory_chars
    found = parse_insights(answer.message.content, tuple(turns), categories=house.categories, max_chars=most)
    looked = ExtractionRecord(
        # One look in so many hours: a second one of the same slot is a replay, whoever made it.
        turn=TurnId(uuid5(scope.space, f"insights of {_current_slot(house, now).isoformat()}")),
        source="model",
        found=found.total,
        repaired=found.repairs,
        refused=found.refusals,
        prompt=told.version,
        model=answer.model,
        since=page.rev,
        shown=tuple(one.id for one in (*happened, *stated)),
    )
    candidates = tuple(write.sanitize_candidate(house, one) for one in found.candidates)
    return await write.commit_extraction(house, scope, Extraction(candidates=candidates), (), "worker", looked)


async def schedule_reflection(house: House, scope: Scope) -> None:
    """See `Memory.reflect_later`."""
    now = house.clock.now()
    current = _current_slot(house, now)
    if house.model is None or house.insight_slots.get(scope.space) == current:
        return
    last = (await house.store.read_latest_turns(scope, turns=0)).insights_at
    due = last + timedelta(hours=house.settings.insights.every_hours) if last else now
    await house.store.enqueue_jobs([Job(name="reflect", scope=scope, key=current.isoformat(), at=max(now, due))])
    if len(house.insight_slots) >= _MAX_SPACES:
        house.insight_slots.clear()
    house.insight_slots[scope.space] = current


async def perform_reflection(house: House, scope: Scope, _key: str) -> Receipt:
    """The job `reflect`."""
    return await find_insights(house, scope)


def _current_slot(house: House, now: datetime) -> datetime:
    return find_slot_start(now, timedelta(hours=house.settings.insights.every_hours))


def _list_texts(memories: list[Memory]) -> list[str]:
    return [one.text for one in memories]
