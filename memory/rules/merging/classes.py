"""The class of a pair of memories: what one is to the other, whoever decided it; and what is protected.

A protected memory is never merged away: a person pinned or approved it, or it is as important as the settings say."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from muniment.memory.domain.consolidation import Judgement, Pair, PairClass
from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.memory import StoredMemory, is_structured
from muniment.memory.domain.turn import make_candidate
from muniment.memory.rules.merging.judge import has_other_time, has_same_subject
from muniment.memory.rules.merging.restatements import has_same_words, is_same_claim
from muniment.memory.rules.merging.wording import is_about_another
from muniment.memory.rules.statements.parse import ParsedStatement, normalize_sentence, parse_statement
from muniment.memory.rules.statements.people import has_different_people
from muniment.memory.rules.statements.predicates import resolve_fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Protection:
    """What is never merged away: what is pinned, of this importance, or approved."""

    importance_from: int = 6
    approved: Collection[MemoryId] = ()

    def covers(self, memory: StoredMemory) -> bool:
        """Whether the memory is protected."""
        return memory.pinned or memory.importance >= self.importance_from or memory.id in self.approved


def classify_pair(pair: Pair, judgement: Judgement | None) -> PairClass | None:
    """Return the class of a pair that was judged so; None without a judgement."""
    if judgement is None:
        return None
    new, old = parse_statement(pair.newer.text), parse_statement(pair.older.text)
    if judgement == "same":
        return "duplicate" if has_same_text(pair) or has_same_words(new, old) else "refinement"
    denies = _is_denial(pair, new, old)
    if judgement == "supersedes":
        return "contradiction" if denies else "changed_value"
    if _has_other_owner(pair, new, old):
        return "other_owner"
    if has_other_time(make_candidate(pair.newer), pair.older):
        return "other_time"
    return "contradiction" if denies else "unrelated"


def covers_audience(memory: StoredMemory, other: StoredMemory) -> bool:
    """Whether every agent that sees the other memory sees this one. The run does not matter: it says where a memory
    comes from, and LangGraph's server starts a run for every turn."""
    return memory.agent_id in (None, other.agent_id)


def has_same_text(pair: Pair) -> bool:
    """Whether the two have one text, but for its spelling, or claim the same."""
    older, newer = pair.older.text, pair.newer.text
    return normalize_sentence(older) == normalize_sentence(newer) or is_same_claim(newer, older)


def has_same_attribute(pair: Pair) -> bool:
    """Whether both have a value of one attribute of one subject."""
    new, old = pair.newer.fact, pair.older.fact
    if new is None or old is None or not (is_structured(new) and is_structured(old)):
        return False
    return resolve_fact(new).attribute == resolve_fact(old).attribute and has_same_subject(
        make_candidate(pair.newer), pair.older
    )


def _is_denial(pair: Pair, new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether one denies what the other says."""
    fact, former = pair.newer.fact, pair.older.fact
    if fact and former and has_same_attribute(pair):
        return resolve_fact(fact).is_denied != resolve_fact(former).is_denied
    return new.contradicts(old) != old.contradicts(new)


def _has_other_owner(pair: Pair, new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether the two are of different speakers, agents, or persons."""
    newer, older = pair.newer, pair.older
    if newer.actor_id and older.actor_id and newer.actor_id != older.actor_id:
        return True
    if not (covers_audience(newer, older) or covers_audience(older, newer)):
        return True
    has_other_subject = (
        is_structured(newer.fact) and is_structured(older.fact) and not has_same_subject(make_candidate(newer), older)
    )
    return has_other_subject or is_about_another(new, old) or has_different_people(new, old)
