"""What the latest memories and words show of how a person wants to be worked with: looked for once in a while."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from uuid import uuid5

from muniment.memory.domain.ids import Revision, TurnId
from muniment.memory.domain.jobs import Job
from muniment.memory.domain.memory import Memory
from muniment.memory.domain.plan import Extracted, Receipt
from muniment.memory.domain.query import Listing
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Extraction
from muniment.memory.flows import metering as spend
from muniment.memory.flows.house import House
from muniment.memory.flows.writing import write
from muniment.memory.ports.llm import AnswerForm, ChatMessage
from muniment.memory.prompts import prompt
from muniment.memory.rules.episodes.insight_answer import INSIGHTS, read, recent, snippet
from muniment.memory.rules.policy.schedule import slot

_LOOKED_AT = 200  # memories, the last to change
_TURNS = 12
_SPACES = 10_000  # remembered to have been asked for in a slot
_FORM = AnswerForm(name="insights", schema=INSIGHTS, max_tokens=220)  # S-30


async def reflect(house: House, scope: Scope) -> Receipt:
    """See `Memory.reflect`."""
    now, rules = house.clock.now(), house.settings.insights
    latest = await house.store.latest(scope, turns=_TURNS)
    if latest.reflected is not None and now - latest.reflected < timedelta(hours=rules.every_hours):
        return Receipt(rev=Revision(0), skipped=f"looked for insights less than {rules.every_hours:g} hours ago")
    page = await house.store.listing(house.owner(scope), Listing(limit=_LOOKED_AT))
    happened, stated = recent(page.memories, activities=rules.activities, facts=rules.facts)
    turns = {turn: None for one in (*happened, *stated) for turn in one.turns} | {one.id: None for one in latest.turns}
    if not turns or not (happened or stated):
        return Receipt(rev=Revision(0), skipped="nothing to look at")
    told = prompt("insight")
    shown = {
        "activities": _texts(happened),
        "facts": _texts(stated),
        "conversation": snippet(latest.turns, rules.snippet_chars),
    }
    messages = [
        ChatMessage(role="system", content=told.text),
        ChatMessage(role="user", content=json.dumps(shown, ensure_ascii=False)),
    ]
    answer = await spend.ask(house, scope, "insight", messages, form=_FORM)
    most = house.settings.limits.memory_chars
    found = read(answer.message.content, tuple(turns), categories=house.categories, most=most)
    looked = Extracted(
        # One look in so many hours: a second one of the same slot is a replay, whoever made it.
        turn=TurnId(uuid5(scope.space, f"insights of {_slot(house, now).isoformat()}")),
        source="model",
        found=found.found,
        repaired=found.repaired,
        refused=found.refused,
        prompt=told.version,
        model=answer.model,
        since=page.rev,
        shown=tuple(one.id for one in (*happened, *stated)),
    )
    candidates = tuple(write.safe_candidate(house, one) for one in found.candidates)
    return await write.settle(house, scope, Extraction(candidates=candidates), (), "worker", looked)


async def later(house: House, scope: Scope) -> None:
    """See `Memory.reflect_later`."""
    now = house.clock.now()
    current = _slot(house, now)
    if house.model is None or house.reflecting.get(scope.space) == current:
        return
    last = (await house.store.latest(scope, turns=0)).reflected
    due = last + timedelta(hours=house.settings.insights.every_hours) if last else now
    await house.store.enqueue([Job(name="reflect", scope=scope, key=current.isoformat(), at=max(now, due))])
    if len(house.reflecting) >= _SPACES:
        house.reflecting.clear()
    house.reflecting[scope.space] = current


async def perform(house: House, scope: Scope, _key: str) -> Receipt:
    """The job `reflect`."""
    return await reflect(house, scope)


def _slot(house: House, now: datetime) -> datetime:
    return slot(now, timedelta(hours=house.settings.insights.every_hours))


def _texts(memories: list[Memory]) -> list[str]:
    return [one.text for one in memories]
