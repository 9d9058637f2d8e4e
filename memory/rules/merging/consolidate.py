"""Consolidation: of two memories that are there already, whether they say the same, and what becomes of them.

No text is made anew. Of two that say the same one stays, with all that supports the other; the other one is superseded,
as is what is no longer so. What may never be one - two persons' words, two numbers, a thing and its denial - is held apart
here, whoever calls it the same."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from muniment.memory.config.schema import Profile
from muniment.memory.domain.consolidation import Finding, Judgement, Members, Pair
from muniment.memory.domain.ids import MemoryId, RunId
from muniment.memory.domain.memory import TRUST_RANK, Fact, Memory, Neighbour
from muniment.memory.domain.plan import Change, Relation
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.language import tokens as words
from muniment.memory.rules.merging.judge import another_time, attribute, judge, one_subject
from muniment.memory.rules.merging.merge import alike
from muniment.memory.rules.merging.restatements import corrected, same_words, taken_back, unrelated
from muniment.memory.rules.merging.wording import (
    apart,
    contrast,
    names_differ,
    of_another,
    same_slot,
    swapped,
    whereabouts,
)
from muniment.memory.rules.statements.parse import read
from muniment.memory.rules.statements.people import (
    exchanged,
    led_otherwise,
    of_two_people,
    other_names,
    unmentioned,
)

Fate = Literal["same", "superseded", "distinct", "outdated", "unanswered"]
TRIES = 3  # nights in vain: one or two may be the endpoint's fault, the third one is the pair's
_JUDGED = ("state", "text", "fact", "kind", "category", "actor_id")  # what a judgement rests on


def ordered(a: Memory, b: Memory) -> tuple[Memory, Memory]:
    """The two with the later one last: by the times that they tell, if both do, else by when they were last said."""
    if a.event_time and b.event_time and a.event_time != b.event_time:
        return (a, b) if a.event_time < b.event_time else (b, a)
    return (a, b) if (a.updated_at, a.rev, a.id) < (b.updated_at, b.rev, b.id) else (b, a)


def _said(one: Memory, other: Memory) -> datetime:
    """When one of two was said: the time that it tells, if both tell one."""
    return (
        one.event_time if one.event_time and other.event_time and one.event_time != other.event_time else one.updated_at
    )


def near(pair: Pair, profile: Profile) -> bool:
    """Whether the two are near enough to be compared: where the embedder does not know the script, by common words."""
    return _keyed(pair) or alike(_again(pair.newer), _neighbour(pair), profile)[1] != "new"


def verdict(pair: Pair, profile: Profile, lasting: Collection[str]) -> tuple[Judgement, bool]:
    """What the rules say of a pair, and whether they are sure of it, so that no model has to be asked.

    `lasting`: the categories that are always in context."""
    if held("same", pair, lasting) == held("supersedes", pair, lasting) == "different":
        return "different", True
    vouched = alike(_again(pair.newer), _neighbour(pair), profile)[1] == "auto"
    found = held(_by_words(judge(_again(pair.newer), pair.older, vouched=vouched), pair), pair, lasting)
    return found, found != "different" and (_plain(pair.older) == _plain(pair.newer) or _one_attribute(pair))


def _by_words(judgement: Judgement, pair: Pair) -> Judgement:
    """The judgement where it rests on a structured fact or on every word; else it is nothing that rules may decide alone."""
    new, old = read(pair.newer.text), read(pair.older.text)
    if taken_back(new, old) or (new.corrects and same_slot(new, old) and not whereabouts(new)):
        return "supersedes"
    if judgement == "different" or _one_attribute(pair) or _plain(pair.older) == _plain(pair.newer):
        return judgement
    if same_words(new, old):
        return judgement if judgement == "same" or new.denies(old) != old.denies(new) else "same"
    return judgement if judgement == "supersedes" and corrected(new, old) else "different"


def duplicates(pairs: Sequence[Pair], profile: Profile, lasting: Collection[str]) -> int:
    """How many pairs the rules alone call the same."""
    return sum(verdict(one, profile, lasting)[0] == "same" for one in pairs)


def held(judgement: Judgement, pair: Pair, lasting: Collection[str]) -> Judgement:
    """The judgement, or `different` where something stands between the two, whoever judged."""
    if judgement == "different" or _of_another(pair):
        return "different"
    kept = pair.older.category in lasting and not _one_attribute(pair)
    if judgement == "same":
        return "same" if _plain(pair.newer) == _plain(pair.older) or not (kept or _unlike(pair)) else "different"
    return "different" if kept or _stands(pair) else "supersedes"


def _covers(one: Memory, other: Memory) -> bool:
    """Whether one is known wherever the other is: to all agents, or to the same. A run is where it was said, not for whom:
    LangGraph's server gives every turn a run of its own."""
    return one.agent_id in (None, other.agent_id)


def _of_another(pair: Pair) -> bool:
    """Whether the two are of different persons, things or times, or neither is known wherever the other is."""
    new, old = pair.newer, pair.older
    if not (_covers(new, old) or _covers(old, new)):
        return True
    if new.actor_id and old.actor_id and new.actor_id != old.actor_id:
        return True
    if (new.kind, new.category) != (old.kind, old.category) or another_time(_again(new), old):
        return True
    if _structured(new.fact) and _structured(old.fact) and not one_subject(_again(new), old):
        return True
    left, right = read(new.text), read(old.text)
    return of_another(left, right) or of_two_people(left, right)


def _unlike(pair: Pair) -> bool:
    """Whether the two cannot say the same: other names, numbers or persons, or one denies what the other says."""
    new, old = pair.newer.fact, pair.older.fact
    if new and old and new.persons and old.persons and not set(new.persons) & set(old.persons):
        return True
    left, right = read(pair.newer.text), read(pair.older.text)
    # Nobody is lost where one says all that the other says: it is the one that stays.
    longer = left.words <= right.words or right.words <= left.words
    if not longer and (unmentioned(left, right) or unmentioned(right, left)):
        return True
    return apart(left, right) or other_names(left, right) or exchanged(left, right)


def _stands(pair: Pair) -> bool:
    """Whether the older one cannot be superseded by the newer."""
    new, old = pair.newer, pair.older
    if old.pinned or TRUST_RANK[new.trust] < TRUST_RANK[old.trust] or not _covers(new, old):
        return True
    left, right = read(new.text), read(old.text)
    if _one_attribute(pair):
        return False
    if unrelated(left, right) or exchanged(left, right) or led_otherwise(left, right):
        return True
    if left.ended and not left.retracted and names_differ(left, right):
        return True  # what is over with one is not what was with another
    if unmentioned(right, left) and not unmentioned(left, right) and not same_slot(left, right):
        return True  # who takes no other's place is not forgotten
    if judge(_again(new), old) == "supersedes":
        return False
    other = contrast(left, right) or swapped(left, right) or names_differ(left, right) or other_names(left, right)
    return other and not same_slot(left, right)


def _keyed(pair: Pair) -> bool:
    new, old = pair.newer.fact, pair.older.fact
    return bool(new and old and _structured(new) and new.key == old.key)


def _one_attribute(pair: Pair) -> bool:
    new, old = pair.newer.fact, pair.older.fact
    if new is None or old is None or not (_structured(new) and _structured(old)):
        return False
    return attribute(new)[1] == attribute(old)[1] and one_subject(_again(pair.newer), pair.older)


def _structured(fact: Fact | None) -> bool:
    """Whether the fact is more than its text: the object of a note is what it says."""
    return fact is not None and fact.predicate != "note"


def _again(memory: Memory) -> Candidate:
    """A known memory as if it were said now."""
    return Candidate(text=memory.text, category=memory.category, kind=memory.kind, fact=memory.fact,
                     event_time=memory.event_time, turns=memory.turns)  # fmt: skip


def _neighbour(pair: Pair) -> Neighbour:
    return Neighbour(memory=pair.older, sim=pair.sim)


def _plain(memory: Memory) -> str:
    return " ".join(words.fold(memory.text).split()).rstrip(".。")


@dataclass(slots=True, kw_only=True)
class Board:
    """Memories as the decisions of a run change them, one after another."""

    members: Members
    run: RunId
    lasting: Collection[str]
    changes: list[Change] = field(default_factory=list)
    relations: dict[tuple[MemoryId, MemoryId], Relation] = field(default_factory=dict)
    notes: dict[MemoryId, int] = field(default_factory=dict)  # how many each memory stands for by now

    def take(self, finding: Finding) -> tuple[Fate, Finding]:
        """Do what a finding comes to by now, and say what that is: a memory that no longer says what was judged, or has
        given way meanwhile, is left alone."""
        known = self.members.memories
        pair = finding.pair
        older, newer = known.get(pair.older.id), known.get(pair.newer.id)
        if older is None or newer is None or not (_as_judged(older, pair.older) and _as_judged(newer, pair.newer)):
            return "outdated", finding
        if finding.judgement is None:
            return "unanswered", finding
        if finding.judgement == "supersedes" and _said(older, newer) > _said(newer, older):
            return "outdated", finding  # the older one was said again since
        now = replace(pair, older=older, newer=newer)
        judgement = held(finding.judgement, now, self.lasting)
        done = replace(finding, pair=now, judgement=judgement)
        if judgement == "different":
            return "distinct", done
        stays, goes = (newer, older) if judgement == "supersedes" else _survivor(now)
        self._merge(stays, goes, judgement, pair.sim)
        return ("same" if judgement == "same" else "superseded"), done

    def _merge(self, stays: Memory, goes: Memory, why: Judgement, sim: float) -> None:
        near = round(min(sim, 1.0), 4)
        told: dict[str, Any] = {"run": str(self.run), "why": why}
        heir = needed(united(stays, goes) if why == "same" else stays, goes)
        gone = replace(goes, state="superseded", superseded_by=stays.id)
        gained = self._tie(stays.id, goes.id)
        came = self.notes.get(goes.id, 1)
        self.notes[stays.id] = self.notes.get(stays.id, 1) + came
        meta = told | {"from": str(goes.id), "notes": came + 1} | ({"edges": gained} if gained else {})
        if goes.access_count or goes.last_accessed_at:
            meta["accessed"] = [goes.access_count, _told(heir.last_accessed_at), _told(stays.last_accessed_at)]
        for before, after, more in ((stays, heir, meta), (goes, gone, told | {"into": str(stays.id)})):
            self.changes.append(Change(action="MERGE", before=before, after=after, sim=near, meta=more))
            self.members.memories[after.id] = after

    def _tie(self, stays: MemoryId, goes: MemoryId) -> list[list[Any]]:
        """Give the edges of what goes to what stays: the others' ids, the new strengths and the former ones."""
        gained: list[list[Any]] = []
        edges = self.members.edges
        for (low, high), strength in sorted(edges.items()):
            if goes not in (low, high) or stays in (low, high):
                continue
            other = high if low == goes else low
            key = min(stays, other), max(stays, other)
            former = edges.get(key)
            if former is None or strength > former:
                edges[key] = strength
                self.relations[key] = Relation(a=key[0], b=key[1], strength=strength)
                gained.append([str(other), strength, former])
        return gained


def _as_judged(now: Memory, then: Memory) -> bool:
    return now.state == "active" and all(getattr(now, name) == getattr(then, name) for name in _JUDGED)


def _survivor(pair: Pair) -> tuple[Memory, Memory]:
    """Of two that say the same the one that stays first: by where it is known, trust, pin, fact, what it says, and time."""

    def worth(memory: Memory, other: Memory, late: int) -> tuple[bool, bool, int, bool, bool, int, int]:
        said = len((words := read(memory.text)).words | words.figures)
        known, general = _covers(memory, other), memory.run_id in (None, other.run_id)
        return known, general, TRUST_RANK[memory.trust], memory.pinned, memory.fact is not None, said, late

    older, newer = worth(pair.older, pair.newer, 0), worth(pair.newer, pair.older, 1)
    return (pair.newer, pair.older) if newer > older else (pair.older, pair.newer)


def united(stays: Memory, goes: Memory) -> Memory:
    """What stays, with all that supports what goes; the words are its own."""
    return replace(
        stays,
        turns=tuple(dict.fromkeys(stays.turns + goes.turns)),
        tags=tuple(dict.fromkeys(stays.tags + goes.tags)),
        trust=max(stays.trust, goes.trust, key=TRUST_RANK.__getitem__),
        pinned=stays.pinned or goes.pinned,
        updated_at=max(stays.updated_at, goes.updated_at),
        event_time=stays.event_time or goes.event_time,
    )


def needed(stays: Memory, goes: Memory) -> Memory:
    """What stays, as important and as much in use as both were."""
    return replace(
        stays,
        importance=max(stays.importance, goes.importance),
        access_count=stays.access_count + goes.access_count,
        last_accessed_at=max(filter(None, (stays.last_accessed_at, goes.last_accessed_at)), default=None),
    )


def _told(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
