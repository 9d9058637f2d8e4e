"""Consolidation: of two memories that are there already, whether they say the same, and what becomes of them.

No text is made anew. Of two that say the same one stays, with all that supports the other; the other one is superseded,
as is what is no longer so. What may never be one - two persons' words, two numbers, a thing and its denial - is held apart
here, whoever calls it the same."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from muniment.memory.config.schema import EmbedderProfile
from muniment.memory.domain.consolidation import Finding, Judgement, MemoryGraph, Pair
from muniment.memory.domain.ids import MemoryId, RunId
from muniment.memory.domain.memory import TRUST_RANK, Fact, Memory, Neighbour
from muniment.memory.domain.plan import Change, Relation
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.language import tokens as words
from muniment.memory.rules.merging.judge import has_other_time, has_same_subject, judge_candidate, resolve_attribute
from muniment.memory.rules.merging.merge import measure_similarity
from muniment.memory.rules.merging.restatements import has_same_words, is_corrected, is_taken_back, is_unrelated
from muniment.memory.rules.merging.wording import (
    has_contrast,
    has_name_conflict,
    has_same_slot,
    has_swapped_roles,
    is_about_another,
    is_incompatible,
    is_whereabouts,
)
from muniment.memory.rules.statements.parse import parse_statement
from muniment.memory.rules.statements.people import (
    find_missing_names,
    has_different_people,
    has_other_lead,
    has_other_names,
    has_swapped_people,
)

FindingOutcome = Literal["same", "superseded", "distinct", "outdated", "unanswered"]
MAX_TRIES = 3  # nights in vain: one or two may be the endpoint's fault, the third one is the pair's
_JUDGED_FIELDS = ("state", "text", "fact", "kind", "category", "actor_id")  # what a judgement rests on


def order_pair(a: Memory, b: Memory) -> tuple[Memory, Memory]:
    """The two with the later one last: by the times that they tell, if both do, else by when they were last said."""
    if a.event_time and b.event_time and a.event_time != b.event_time:
        return (a, b) if a.event_time < b.event_time else (b, a)
    return (a, b) if (a.updated_at, a.rev, a.id) < (b.updated_at, b.rev, b.id) else (b, a)


def _find_statement_time(one: Memory, other: Memory) -> datetime:
    """When one of two was said: the time that it tells, if both tell one."""
    return (
        one.event_time if one.event_time and other.event_time and one.event_time != other.event_time else one.updated_at
    )


def is_near(pair: Pair, profile: EmbedderProfile) -> bool:
    """Whether the two are near enough to be compared: where the embedder does not know the script, by common words."""
    return (
        _has_same_key(pair)
        or measure_similarity(_make_candidate(pair.newer), _make_neighbour(pair), profile)[1] != "new"
    )


def judge_pair(pair: Pair, profile: EmbedderProfile, context_categories: Collection[str]) -> tuple[Judgement, bool]:
    """What the rules say of a pair, and whether they are sure of it, so that no model has to be asked.

    `lasting`: the categories that are always in context."""
    if (
        guard_judgement("same", pair, context_categories)
        == guard_judgement("supersedes", pair, context_categories)
        == "different"
    ):
        return "different", True
    vouched = measure_similarity(_make_candidate(pair.newer), _make_neighbour(pair), profile)[1] == "auto"
    found = guard_judgement(
        _judge_by_words(judge_candidate(_make_candidate(pair.newer), pair.older, is_vouched=vouched), pair),
        pair,
        context_categories,
    )
    return found, found != "different" and (
        _normalize_text(pair.older) == _normalize_text(pair.newer) or _has_same_attribute(pair)
    )


def _judge_by_words(judgement: Judgement, pair: Pair) -> Judgement:
    """The judgement where it rests on a structured fact or on every word; else it is nothing that rules may decide alone."""
    new, old = parse_statement(pair.newer.text), parse_statement(pair.older.text)
    if is_taken_back(new, old) or (new.is_correction and has_same_slot(new, old) and not is_whereabouts(new)):
        return "supersedes"
    if (
        judgement == "different"
        or _has_same_attribute(pair)
        or _normalize_text(pair.older) == _normalize_text(pair.newer)
    ):
        return judgement
    if has_same_words(new, old):
        return judgement if judgement == "same" or new.contradicts(old) != old.contradicts(new) else "same"
    return judgement if judgement == "supersedes" and is_corrected(new, old) else "different"


def count_duplicates(pairs: Sequence[Pair], profile: EmbedderProfile, context_categories: Collection[str]) -> int:
    """How many pairs the rules alone call the same."""
    return sum(judge_pair(one, profile, context_categories)[0] == "same" for one in pairs)


def guard_judgement(judgement: Judgement, pair: Pair, context_categories: Collection[str]) -> Judgement:
    """The judgement, or `different` where something stands between the two, whoever judged."""
    if judgement == "different" or _is_about_another(pair):
        return "different"
    kept = pair.older.category in context_categories and not _has_same_attribute(pair)
    if judgement == "same":
        return (
            "same"
            if _normalize_text(pair.newer) == _normalize_text(pair.older) or not (kept or _has_difference(pair))
            else "different"
        )
    return "different" if kept or _is_protected(pair) else "supersedes"


def _covers_audience(one: Memory, other: Memory) -> bool:
    """Whether one is known wherever the other is: to all agents, or to the same. A run is where it was said, not for whom:
    LangGraph's server gives every turn a run of its own."""
    return one.agent_id in (None, other.agent_id)


def _is_about_another(pair: Pair) -> bool:
    """Whether the two are of different persons, things or times, or neither is known wherever the other is."""
    new, old = pair.newer, pair.older
    if not (_covers_audience(new, old) or _covers_audience(old, new)):
        return True
    if new.actor_id and old.actor_id and new.actor_id != old.actor_id:
        return True
    if (new.kind, new.category) != (old.kind, old.category) or has_other_time(_make_candidate(new), old):
        return True
    if _is_structured(new.fact) and _is_structured(old.fact) and not has_same_subject(_make_candidate(new), old):
        return True
    left, right = parse_statement(new.text), parse_statement(old.text)
    return is_about_another(left, right) or has_different_people(left, right)


def _has_difference(pair: Pair) -> bool:
    """Whether the two cannot say the same: other names, numbers or persons, or one denies what the other says."""
    new, old = pair.newer.fact, pair.older.fact
    if new and old and new.persons and old.persons and not set(new.persons) & set(old.persons):
        return True
    left, right = parse_statement(pair.newer.text), parse_statement(pair.older.text)
    # Nobody is lost where one says all that the other says: it is the one that stays.
    longer = left.words <= right.words or right.words <= left.words
    if not longer and (find_missing_names(left, right) or find_missing_names(right, left)):
        return True
    return is_incompatible(left, right) or has_other_names(left, right) or has_swapped_people(left, right)


def _is_protected(pair: Pair) -> bool:
    """Whether the older one cannot be superseded by the newer."""
    new, old = pair.newer, pair.older
    if old.pinned or TRUST_RANK[new.trust] < TRUST_RANK[old.trust] or not _covers_audience(new, old):
        return True
    left, right = parse_statement(new.text), parse_statement(old.text)
    if _has_same_attribute(pair):
        return False
    if is_unrelated(left, right) or has_swapped_people(left, right) or has_other_lead(left, right):
        return True
    if left.is_ended and not left.retracted_words and has_name_conflict(left, right):
        return True  # what is over with one is not what was with another
    if find_missing_names(right, left) and not find_missing_names(left, right) and not has_same_slot(left, right):
        return True  # who takes no other's place is not forgotten
    if judge_candidate(_make_candidate(new), old) == "supersedes":
        return False
    other = (
        has_contrast(left, right)
        or has_swapped_roles(left, right)
        or has_name_conflict(left, right)
        or has_other_names(left, right)
    )
    return other and not has_same_slot(left, right)


def _has_same_key(pair: Pair) -> bool:
    new, old = pair.newer.fact, pair.older.fact
    return bool(new and old and _is_structured(new) and new.key == old.key)


def _has_same_attribute(pair: Pair) -> bool:
    new, old = pair.newer.fact, pair.older.fact
    if new is None or old is None or not (_is_structured(new) and _is_structured(old)):
        return False
    return resolve_attribute(new)[1] == resolve_attribute(old)[1] and has_same_subject(
        _make_candidate(pair.newer), pair.older
    )


def _is_structured(fact: Fact | None) -> bool:
    """Whether the fact is more than its text: the object of a note is what it says."""
    return fact is not None and fact.predicate != "note"


def _make_candidate(memory: Memory) -> Candidate:
    """A known memory as if it were said now."""
    return Candidate(text=memory.text, category=memory.category, kind=memory.kind, fact=memory.fact,
                     event_time=memory.event_time, turns=memory.turns)  # fmt: skip


def _make_neighbour(pair: Pair) -> Neighbour:
    return Neighbour(memory=pair.older, sim=pair.sim)


def _normalize_text(memory: Memory) -> str:
    return " ".join(words.fold_text(memory.text).split()).rstrip(".。")


@dataclass(slots=True, kw_only=True)
class ConsolidationState:
    """Memories as the decisions of a run change them, one after another."""

    members: MemoryGraph
    run_id: RunId
    context_categories: Collection[str]
    changes: list[Change] = field(default_factory=list)
    relations: dict[tuple[MemoryId, MemoryId], Relation] = field(default_factory=dict)
    note_counts: dict[MemoryId, int] = field(default_factory=dict)  # how many each memory stands for by now

    def apply_finding(self, finding: Finding) -> tuple[FindingOutcome, Finding]:
        """Do what a finding comes to by now, and say what that is: a memory that no longer says what was judged, or has
        given way meanwhile, is left alone."""
        known = self.members.memories
        pair = finding.pair
        older, newer = known.get(pair.older.id), known.get(pair.newer.id)
        if (
            older is None
            or newer is None
            or not (_is_unchanged(older, pair.older) and _is_unchanged(newer, pair.newer))
        ):
            return "outdated", finding
        if finding.judgement is None:
            return "unanswered", finding
        if finding.judgement == "supersedes" and _find_statement_time(older, newer) > _find_statement_time(
            newer, older
        ):
            return "outdated", finding  # the older one was said again since
        now = replace(pair, older=older, newer=newer)
        judgement = guard_judgement(finding.judgement, now, self.context_categories)
        done = replace(finding, pair=now, judgement=judgement)
        if judgement == "different":
            return "distinct", done
        stays, goes = (newer, older) if judgement == "supersedes" else _choose_survivor(now)
        self._merge_pair(stays, goes, judgement, pair.sim)
        return ("same" if judgement == "same" else "superseded"), done

    def _merge_pair(self, stays: Memory, goes: Memory, judgement: Judgement, sim: float) -> None:
        near = round(min(sim, 1.0), 4)
        told: dict[str, Any] = {"run": str(self.run_id), "why": judgement}
        heir = unite_usage(unite_support(stays, goes) if judgement == "same" else stays, goes)
        gone = replace(goes, state="superseded", superseded_by=stays.id)
        gained = self._move_edges(stays.id, goes.id)
        came = self.note_counts.get(goes.id, 1)
        self.note_counts[stays.id] = self.note_counts.get(stays.id, 1) + came
        meta = told | {"from": str(goes.id), "notes": came + 1} | ({"edges": gained} if gained else {})
        if goes.access_count or goes.last_accessed_at:
            meta["accessed"] = [
                goes.access_count,
                _format_time(heir.last_accessed_at),
                _format_time(stays.last_accessed_at),
            ]
        for before, after, more in ((stays, heir, meta), (goes, gone, told | {"into": str(stays.id)})):
            self.changes.append(Change(action="MERGE", before=before, after=after, sim=near, meta=more))
            self.members.memories[after.id] = after

    def _move_edges(self, stays: MemoryId, goes: MemoryId) -> list[list[Any]]:
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


def _is_unchanged(now: Memory, then: Memory) -> bool:
    return now.state == "active" and all(getattr(now, name) == getattr(then, name) for name in _JUDGED_FIELDS)


def _choose_survivor(pair: Pair) -> tuple[Memory, Memory]:
    """Of two that say the same the one that stays first: by where it is known, trust, pin, fact, what it says, and time."""

    def worth(memory: Memory, other: Memory, late: int) -> tuple[bool, bool, int, bool, bool, int, int]:
        said = len((words := parse_statement(memory.text)).words | words.figures)
        known, general = _covers_audience(memory, other), memory.run_id in (None, other.run_id)
        return known, general, TRUST_RANK[memory.trust], memory.pinned, memory.fact is not None, said, late

    older, newer = worth(pair.older, pair.newer, 0), worth(pair.newer, pair.older, 1)
    return (pair.newer, pair.older) if newer > older else (pair.older, pair.newer)


def unite_support(stays: Memory, goes: Memory) -> Memory:
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


def unite_usage(stays: Memory, goes: Memory) -> Memory:
    """What stays, as important and as much in use as both were."""
    return replace(
        stays,
        importance=max(stays.importance, goes.importance),
        access_count=stays.access_count + goes.access_count,
        last_accessed_at=max(filter(None, (stays.last_accessed_at, goes.last_accessed_at)), default=None),
    )


def _format_time(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
