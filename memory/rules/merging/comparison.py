"""Which memories a candidate is compared with: how similar they are, in which band, and what repeats a turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from muniment.memory.config.schema import EmbedderProfile, WritingSettings
from muniment.memory.domain.journal import Band
from muniment.memory.domain.memory import Fact, Neighbour, StoredMemory
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.language import tokens
from muniment.memory.rules.merging.judge import (
    has_ended,
    has_same_subject,
    is_denied,
    is_food_reversal,
    judge_candidate,
    resolve_attribute,
)
from muniment.memory.rules.merging.wording import is_guarded
from muniment.memory.rules.statements import predicates
from muniment.memory.rules.statements.parse import ParsedStatement, parse_statement

_FREE = ("preference", "goal")  # kinds whose predicates depend on the wording more than on the fact
_REPETITION_SHARE = 0.6  # share of the shorter statement's words that two statements of one turn have in common
# The share of common words replaces the cosine where the embedder does not know the script; these are its bands.
_WORD_OVERLAP_BANDS = EmbedderProfile(
    auto=0.9, check=0.5, fallback=0.3, floor=0.0, ceiling=1.0, scripts=("latin", "cjk")
)


def find_band(sim: float, profile: EmbedderProfile) -> Band:
    """Return the band of a similarity."""
    if sim >= profile.auto:
        return "auto"
    if sim >= profile.check:
        return "check"
    return "fallback" if sim >= profile.fallback else "new"


def measure_similarity(candidate: Candidate, neighbour: Neighbour, profile: EmbedderProfile) -> tuple[float, Band]:
    """Return the similarity of a memory to a candidate, in [-1, 1], and its band. The same key is 1.0 and `auto`."""
    memory = neighbour.memory
    if candidate.fact is not None and memory.stable_key == candidate.fact.key:
        return 1.0, "auto"
    if tokens.is_legible(profile.scripts, candidate.text, memory.text):
        return neighbour.sim, find_band(neighbour.sim, profile)
    share = _compute_overlap(parse_statement(candidate.text), parse_statement(memory.text))
    return share, find_band(share, _WORD_OVERLAP_BANDS)


def list_comparable(
    candidate: Candidate,
    new_memory: StoredMemory,
    neighbours: Sequence[Neighbour],
    profile: EmbedderProfile,
    writing: WritingSettings,
) -> Iterator[tuple[StoredMemory, float, Band]]:
    """Yield the memories that may be about the same as the candidate, with their similarity and its band."""
    stale = new_memory.updated_at - timedelta(days=writing.fallback_days)
    fallbacks = 0
    for neighbour in neighbours:
        memory = neighbour.memory
        sim, band = measure_similarity(candidate, neighbour, profile)
        late = memory.updated_at > new_memory.updated_at
        if not (
            _is_related(candidate, memory)
            or is_repetition(candidate, memory)
            or (late and _is_related(make_candidate(memory), new_memory))
        ):
            if band == "new" or memory.category != candidate.category:
                continue
            if band == "fallback":
                fallbacks += 1
                if fallbacks > writing.fallback_neighbours or memory.updated_at < stale:
                    continue
        yield memory, sim, band


def is_repetition(candidate: Candidate, memory: StoredMemory) -> bool:
    """Whether both come from one turn and say one thing, as when a model reads what the rules have already read."""
    if candidate.text == memory.text:
        return True
    if not set(candidate.turns) & set(memory.turns):
        return False
    new, old = parse_statement(candidate.text), parse_statement(memory.text)
    if candidate.fact and memory.fact:
        if not _compute_overlap(parse_statement(candidate.fact.object), parse_statement(memory.fact.object)):
            return False  # two facts about one person in one turn: the employer and the job
        if _has_same_meaning(candidate.fact, memory.fact):
            return True
    return (
        _compute_overlap(new, old) >= _REPETITION_SHARE
        and not is_guarded(new, old)
        and judge_candidate(candidate, memory) != "supersedes"
    )


def is_covered_by_parts(candidate: Candidate, neighbours: Sequence[Neighbour]) -> bool:
    """Whether several memories of the candidate's turn together say all that the candidate says."""
    if candidate.fact is None:
        return False
    parts = [
        parse_statement(fact.object)
        for fact, turns in ((neighbour.memory.fact, neighbour.memory.turns) for neighbour in neighbours)
        if fact
        and set(candidate.turns) & set(turns)
        and resolve_attribute(candidate.fact) == resolve_attribute(fact)
        and is_denied(candidate.fact) == is_denied(fact)
    ]
    new = parse_statement(candidate.fact.object)
    return len(parts) > 1 and new.words | new.figures <= frozenset[str]().union(
        *(part.words | part.figures for part in parts)
    )


def make_candidate(memory: StoredMemory) -> Candidate:
    """Return a memory as a candidate, as if it were said now."""
    return Candidate(
        text=memory.text,
        category=memory.category,
        kind=memory.kind,
        fact=memory.fact,
        event_time=memory.event_time,
        turns=memory.turns,
    )


def normalize_sentence(text: str) -> str:
    """Return a text folded, with single spaces, without its full stop."""
    return " ".join(tokens.fold_text(text).split()).rstrip(".。")


def _compute_overlap(a: ParsedStatement, b: ParsedStatement) -> float:
    """Return the share of the shorter statement's words that the other has, too."""
    shorter = min(len(a.words), len(b.words))
    return len(a.words & b.words) / shorter if shorter else float(a.tokens == b.tokens)


def _is_related(candidate: Candidate, memory: StoredMemory) -> bool:
    """Whether the facts have one attribute, or one ends or reverses the other."""
    new, old = candidate.fact, memory.fact
    if new is None or old is None:
        return False
    if has_same_subject(candidate, memory) and (
        resolve_attribute(new)[1] == resolve_attribute(old)[1] or has_ended(candidate, memory)
    ):
        return True
    return is_food_reversal(new, old, candidate.text, memory.text)


def _has_same_meaning(new: Fact, old: Fact) -> bool:
    """Whether two facts of a turn have the same subject, kind and value under two predicates, one of which is free:
    to drink only tea is to prefer it."""
    if (new.kind, new.subject.casefold()) != (old.kind, old.subject.casefold()) or is_denied(new) != is_denied(old):
        return False
    free = new.kind in _FREE or any(
        predicates.normalize_predicate(fact.kind, fact.predicate).single is None for fact in (new, old)
    )
    a, b = parse_statement(new.object), parse_statement(old.object)
    return free and bool(a.words) and a.words == b.words and a.figures == b.figures
