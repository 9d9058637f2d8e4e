"""Consolidation: whether two stored memories say the same, and which of them stays.

No text is written. Of two that say the same, one stays and takes over the other's support; the other is superseded, as
is a memory that is outdated. Guards keep apart what is never the same - the words of two persons, two numbers, a
statement and its denial - even if a model calls it the same."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from muniment.memory.config.schema import EmbedderProfile
from muniment.memory.domain.consolidation import Finding, Judgement, MemoryGraph, Pair
from muniment.memory.domain.ids import MemoryId, RunId
from muniment.memory.domain.journal import Band
from muniment.memory.domain.memory import MAY_REPLACE, TRUST_RANK, Neighbour, StoredMemory, is_structured, list_replaced
from muniment.memory.domain.plan import Change, Relation
from muniment.memory.domain.turn import make_candidate
from muniment.memory.rules.merging.aliases import unite_aliases
from muniment.memory.rules.merging.classes import (
    Protection,
    classify_pair,
    covers_audience,
    has_same_attribute,
    has_same_text,
)
from muniment.memory.rules.merging.judge import has_other_time, has_same_subject, judge_candidate
from muniment.memory.rules.merging.restatements import (
    has_same_words,
    is_corrected,
    is_same_claim,
    is_taken_back,
    is_unrelated,
    measure_similarity,
)
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
MAX_TRIES = 3  # days without an answer: one or two may be the fault of the endpoint, a third one is the pair's
_JUDGED_FIELDS = ("state", "text", "fact", "kind", "category", "actor_id")  # what a judgement depends on


def order_pair(
    a: StoredMemory, b: StoredMemory, a_said: datetime | None = None, b_said: datetime | None = None
) -> tuple[StoredMemory, StoredMemory]:
    """Return two memories with the later one last: by their event times if both have one, else by when they were said
    by the store's clock, and where that is not known by their last update.

    One that perhaps replaces the other was said later."""
    if str(a.id) in list_replaced(b) or str(b.id) in list_replaced(a):
        return (a, b) if str(a.id) in list_replaced(b) else (b, a)
    if a.event_time and b.event_time and a.event_time != b.event_time:
        return (a, b) if a.event_time < b.event_time else (b, a)
    if a_said and b_said and a_said != b_said:
        return (a, b) if a_said < b_said else (b, a)
    return (a, b) if (a.updated_at, a.rev, a.id) < (b.updated_at, b.rev, b.id) else (b, a)


def is_near(pair: Pair, profile: EmbedderProfile) -> bool:
    """Whether the two are to be compared: for their key, the cosine, their common words, or as the newer one perhaps
    replaces the older one."""
    new, old = pair.newer.fact, pair.older.fact
    return (
        _is_marked(pair)
        or bool(new and old and is_structured(new) and new.key == old.key)
        or _find_band(pair, profile) != "new"
    )


def judge_pair(pair: Pair, profile: EmbedderProfile, context_categories: Collection[str]) -> tuple[Judgement, bool]:
    """Return the judgement of the rules, and whether they are sure of it, so that no model is needed.

    `context_categories` are always in context."""
    if (
        guard_judgement("same", pair, context_categories)
        == guard_judgement("supersedes", pair, context_categories)
        == "different"
    ):
        return "different", True
    is_vouched = _find_band(pair, profile) == "auto"
    judgement = _judge_by_words(judge_candidate(make_candidate(pair.newer), pair.older, is_vouched=is_vouched), pair)
    judgement = guard_judgement(judgement, pair, context_categories)
    return judgement, judgement != "different" and (has_same_text(pair) or has_same_attribute(pair))


def _find_band(pair: Pair, profile: EmbedderProfile) -> Band:
    newer = pair.newer
    key = newer.fact.key if newer.fact else None
    return measure_similarity(newer.text, key, Neighbour(memory=pair.older, sim=pair.sim), profile)[1]


def _judge_by_words(judgement: Judgement, pair: Pair) -> Judgement:
    """Return the judgement if a structured fact or every word supports it, else `different`."""
    new, old = parse_statement(pair.newer.text), parse_statement(pair.older.text)
    if is_taken_back(new, old) or (new.is_correction and has_same_slot(new, old) and not is_whereabouts(new)):
        return "supersedes"
    if is_same_claim(pair.newer.text, pair.older.text):
        return "same"
    if judgement == "different" or has_same_attribute(pair) or has_same_text(pair):
        return judgement
    if has_same_words(new, old):
        return judgement if judgement == "same" or new.contradicts(old) != old.contradicts(new) else "same"
    return judgement if judgement == "supersedes" and is_corrected(new, old) else "different"


def count_duplicates(pairs: Sequence[Pair], profile: EmbedderProfile, context_categories: Collection[str]) -> int:
    """Return how many pairs are the same by the rules alone."""
    return sum(judge_pair(pair, profile, context_categories)[0] == "same" for pair in pairs)


def guard_judgement(judgement: Judgement, pair: Pair, context_categories: Collection[str]) -> Judgement:
    """Return the judgement of a rule or a model, or `different` if a guard keeps the two apart.

    Of a pair that is marked, the rules found already that the newer one may end the older one."""
    if judgement == "supersedes" and _is_marked(pair) and not pair.older.pinned:
        return judgement
    if judgement == "different" or _is_about_another(pair):
        return "different"
    in_context = pair.older.category in context_categories and not has_same_attribute(pair)
    if judgement == "same":
        return "same" if has_same_text(pair) or not (in_context or _has_difference(pair)) else "different"
    return "different" if in_context or _is_protected(pair) else "supersedes"


def _is_about_another(pair: Pair) -> bool:
    """Whether the two are about different persons, things or times, or neither covers the other's audience."""
    new, old = pair.newer, pair.older
    if new.place != old.place or not (covers_audience(new, old) or covers_audience(old, new)):
        return True
    if new.actor_id and old.actor_id and new.actor_id != old.actor_id:
        return True
    has_other_place = new.kind != old.kind or (new.category != old.category and not is_same_claim(new.text, old.text))
    if has_other_place or has_other_time(make_candidate(new), old):
        return True
    if is_structured(new.fact) and is_structured(old.fact) and not has_same_subject(make_candidate(new), old):
        return True
    left, right = parse_statement(new.text), parse_statement(old.text)
    return is_about_another(left, right) or has_different_people(left, right)


def _has_difference(pair: Pair) -> bool:
    """Whether the two differ in names, numbers or persons, or one denies the other."""
    new, old = pair.newer.fact, pair.older.fact
    if new and old and new.persons and old.persons and not set(new.persons) & set(old.persons):
        return True
    left, right = parse_statement(pair.newer.text), parse_statement(pair.older.text)
    # No name is lost if one says all that the other says, because that one stays.
    longer = left.words <= right.words or right.words <= left.words
    if not longer and (find_missing_names(left, right) or find_missing_names(right, left)):
        return True
    return is_incompatible(left, right) or has_other_names(left, right) or has_swapped_people(left, right)


def _is_protected(pair: Pair) -> bool:
    """Whether the newer one must not supersede the older one."""
    new, old = pair.newer, pair.older
    if old.pinned or TRUST_RANK[new.trust] < TRUST_RANK[old.trust] or not covers_audience(new, old):
        return True
    left, right = parse_statement(new.text), parse_statement(old.text)
    if has_same_attribute(pair):
        return False
    if is_unrelated(left, right) or has_swapped_people(left, right) or has_other_lead(left, right):
        return True
    if left.is_ended and not left.retracted_words and has_name_conflict(left, right):
        return True  # the end of one relation is not the end of another
    if find_missing_names(right, left) and not find_missing_names(left, right) and not has_same_slot(left, right):
        return True  # a person that nobody replaces is not dropped
    if judge_candidate(make_candidate(new), old) == "supersedes":
        return False
    differs = any(test(left, right) for test in (has_contrast, has_swapped_roles, has_name_conflict, has_other_names))
    return differs and not has_same_slot(left, right)


def _is_marked(pair: Pair) -> bool:
    """Whether the newer one perhaps replaces the older one."""
    return str(pair.older.id) in list_replaced(pair.newer)


@dataclass(slots=True, kw_only=True)
class ConsolidationState:
    """The memories of a run, which its decisions change one after another."""

    members: MemoryGraph
    run_id: RunId
    context_categories: Collection[str]
    protection: Protection = field(default_factory=Protection)
    changes: list[Change] = field(default_factory=list)
    relations: dict[tuple[MemoryId, MemoryId], Relation] = field(default_factory=dict)
    note_counts: dict[MemoryId, int] = field(default_factory=dict)  # how many memories each one stands for

    def apply_finding(self, finding: Finding) -> tuple[FindingOutcome, Finding]:
        """Apply a finding and return its outcome. A memory that has changed since the judgement is left alone."""
        memories, pair = self.members.memories, finding.pair
        older, newer = memories.get(pair.older.id), memories.get(pair.newer.id)
        if (
            older is None
            or newer is None
            or not (_is_unchanged(older, pair.older) and _is_unchanged(newer, pair.newer))
        ):
            return "outdated", finding
        if finding.judgement is None:
            return "unanswered", finding
        if finding.judgement == "supersedes" and self._is_later(older, newer) and not _is_marked(pair):
            return "outdated", finding  # the older one was said again since then
        current = replace(pair, older=older, newer=newer)
        judgement = guard_judgement(finding.judgement, current, self.context_categories)
        pair_class = classify_pair(current, judgement)
        finding = replace(finding, pair=current, judgement=judgement, pair_class=pair_class)
        if judgement == "different":
            if finding.source == "model" and _is_marked(current):
                self._remove_mark(newer, older)
            return "distinct", finding
        stays, goes = (newer, older) if judgement == "supersedes" else _choose_survivor(current)
        if self.protection.covers(goes):
            may_swap = judgement == "same" and covers_audience(goes, stays) and not self.protection.covers(stays)
            if not may_swap:
                return "distinct", replace(finding, judgement="different")
            stays, goes = goes, stays
        self._merge_pair(stays, goes, finding)
        return ("same" if judgement == "same" else "superseded"), finding

    def _remove_mark(self, newer: StoredMemory, older: StoredMemory) -> None:
        """Let the newer one no longer count as perhaps replacing the older one, for a model says that it does not."""
        after = replace(newer, tags=tuple(tag for tag in newer.tags if tag != f"{MAY_REPLACE}{older.id}"))
        meta = {"run": str(self.run_id), "why": "different"}
        self.changes.append(Change(action="UPDATE", before=newer, after=after, meta=meta))
        self.members.memories[after.id] = after

    def _merge_pair(self, stays: StoredMemory, goes: StoredMemory, finding: Finding) -> None:
        """Let one memory stay with the support and usage of both, and supersede the other."""
        judgement, sim = finding.judgement, finding.pair.sim
        base: dict[str, Any] = {"run": str(self.run_id), "why": judgement, "class": finding.pair_class}
        heir = unite_usage(unite_support(stays, goes) if judgement == "same" else stays, goes)
        gone = replace(goes, state="superseded", superseded_by=stays.id)
        said = self.members.said
        if judgement == "same" and goes.id in said:
            said[stays.id] = max(said[goes.id], said.get(stays.id, said[goes.id]))
        gained = self._move_edges(stays.id, goes.id)
        notes = self.note_counts.get(goes.id, 1)
        self.note_counts[stays.id] = self.note_counts.get(stays.id, 1) + notes
        heir_meta = base | {"from": str(goes.id), "notes": notes + 1} | ({"edges": gained} if gained else {})
        if goes.access_count or goes.last_accessed_at:
            times = (at and at.isoformat() for at in (heir.last_accessed_at, stays.last_accessed_at))
            heir_meta["accessed"] = [goes.access_count, *times]
        for before, after, meta in ((stays, heir, heir_meta), (goes, gone, base | {"into": str(stays.id)})):
            sim = round(min(sim, 1.0), 4)
            self.changes.append(Change(action="MERGE", before=before, after=after, sim=sim, meta=meta))
            self.members.memories[after.id] = after

    def _is_later(self, one: StoredMemory, other: StoredMemory) -> bool:
        """Whether the first memory was said later: as `order_pair` has it, but for marks."""
        if one.event_time and other.event_time and one.event_time != other.event_time:
            return one.event_time > other.event_time
        said, than = self.members.said.get(one.id), self.members.said.get(other.id)
        return said > than if said and than and said != than else one.updated_at > other.updated_at

    def _move_edges(self, stays: MemoryId, goes: MemoryId) -> list[list[Any]]:
        """Move the edges of one memory to another. Returns the other ends, the new strengths and the former ones."""
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


def _is_unchanged(now: StoredMemory, then: StoredMemory) -> bool:
    return now.state == "active" and all(getattr(now, name) == getattr(then, name) for name in _JUDGED_FIELDS)


def _choose_survivor(pair: Pair) -> tuple[StoredMemory, StoredMemory]:
    """Return two memories that say the same, the one that stays first: by audience, trust, pin, fact, content, time."""

    def rank(memory: StoredMemory, other: StoredMemory) -> tuple[bool, bool, int, bool, bool, int]:
        statement = parse_statement(memory.text)
        content = len(statement.words | statement.figures)
        covers, general = covers_audience(memory, other), memory.run_id in (None, other.run_id)
        return covers, general, TRUST_RANK[memory.trust], memory.pinned, memory.fact is not None, content

    newer_stays = rank(pair.newer, pair.older) >= rank(pair.older, pair.newer)
    return (pair.newer, pair.older) if newer_stays else (pair.older, pair.newer)


def unite_support(stays: StoredMemory, goes: StoredMemory) -> StoredMemory:
    """Return the memory that stays with the support of the other one; its text is unchanged."""
    ends = [each.expires_at for each in (stays, goes) if each.expires_at is not None]
    return replace(
        stays,
        turns=tuple(dict.fromkeys(stays.turns + goes.turns)),
        tags=tuple(dict.fromkeys(stays.tags + goes.tags)),
        aliases=unite_aliases(stays.aliases, goes.aliases),
        trust=max(stays.trust, goes.trust, key=TRUST_RANK.__getitem__),
        pinned=stays.pinned or goes.pinned,
        updated_at=max(stays.updated_at, goes.updated_at),
        event_time=stays.event_time or goes.event_time,
        source=stays.source or goes.source,
        expires_at=max(ends) if len(ends) == 2 else None,
    )


def unite_usage(stays: StoredMemory, goes: StoredMemory) -> StoredMemory:
    """Return the memory that stays with the higher importance and the accesses of both."""
    return replace(
        stays,
        importance=max(stays.importance, goes.importance),
        access_count=stays.access_count + goes.access_count,
        last_accessed_at=max(filter(None, (stays.last_accessed_at, goes.last_accessed_at)), default=None),
    )
