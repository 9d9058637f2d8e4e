"""What a memory becomes when a person changes it by hand: the fact follows the words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.memory import Fact, StoredMemory, is_note, is_structured
from muniment.memory.domain.turn import Candidate
from muniment.memory.errors import BadInput

_REQUESTED = "note"  # the predicate of a text in which the rules read no fact


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """What a person changes of a memory by hand; None leaves a part as it is."""

    text: str | None = None
    category: str | None = None
    importance: int | None = None
    aliases: tuple[str, ...] | None = None


def apply_parts(memory: StoredMemory, edit: Edit) -> StoredMemory:
    """Return a memory after an edit in all but its words."""
    return replace(
        memory,
        category=memory.category if edit.category is None else edit.category,
        importance=memory.importance if edit.importance is None else edit.importance,
        aliases=memory.aliases if edit.aliases is None else edit.aliases,
    )


def build_edited_candidate(
    memory: StoredMemory, text: str, category: str, read: Sequence[Candidate], turn: TurnId
) -> Candidate:
    """Return what a memory says once a person has written a new text for it, as a candidate for the write gate; `turn`
    is what the person wrote, and `read` are the statements that the rules find in it.

    Where the value of the fact is all that is new in the text, the fact gets that value. Else a statement that the
    rules find takes the memory's place, where it is the only one; without one the text stands word for word."""
    fact, event_time = _replace_value(memory, text), memory.event_time
    if fact is None and memory.kind == "semantic":
        text, fact, event_time = _choose_statement(memory, text, read)
    return Candidate(
        text=text,
        category=category,
        kind=memory.kind,
        fact=fact,
        confidence=1.0,
        tags=memory.tags,
        event_time=event_time,
        turns=(*memory.turns, turn),
        reach=memory.reach,
    )


def apply_words(memory: StoredMemory, candidate: Candidate, actor: str | None) -> StoredMemory:
    """Return a memory that says what an edited candidate says: from then on it is the person's own word."""
    fact = candidate.fact
    return replace(
        memory,
        text=candidate.text,
        fact=fact,
        stable_key=fact.key if fact else None,
        confidence=candidate.confidence,
        trust=candidate.trust,
        role=candidate.role,
        actor_id=actor,
        event_time=candidate.event_time,
        context=None,
        turns=candidate.turns,
    )


def apply_version(memory: StoredMemory, former: StoredMemory) -> StoredMemory:
    """Return a memory that says again what a former version of it says; its state and its pin stay, and so do the turns
    that support it, which an erasure has to find."""
    return replace(
        memory,
        text=former.text,
        category=former.category,
        fact=former.fact,
        stable_key=former.stable_key,
        importance=former.importance,
        confidence=former.confidence,
        trust=former.trust,
        role=former.role,
        aliases=former.aliases,
        event_time=former.event_time,
        context=former.context,
    )


def check_editable(memory: StoredMemory) -> None:
    """Raise BadInput for a memory that is neither in force nor waits for a yes."""
    if memory.state not in ("active", "pending"):
        raise BadInput(
            f"this memory is {memory.state.replace('_', '-')}; restore it before it is changed", id=str(memory.id)
        )


def _replace_value(memory: StoredMemory, text: str) -> Fact | None:
    """Return the fact of a memory with another value, where a new text differs from the old one in the value alone;
    None where it does not, or where there is no such fact."""
    fact = memory.fact
    if fact is None:
        return None
    if is_note(fact) or not is_structured(fact):
        return replace(fact, object=text, persons=(), entities=()) if fact.object == memory.text else None
    start = memory.text.find(fact.object)
    if start < 0 or not fact.object:
        return None
    before, after = memory.text[:start], memory.text[start + len(fact.object) :]
    value = text[len(before) : len(text) - len(after)].strip()
    is_same = len(text) >= len(before) + len(after) and text.startswith(before) and text.endswith(after)
    return replace(fact, object=value, persons=(), entities=()) if is_same and value else None


def _choose_statement(
    memory: StoredMemory, text: str, read: Sequence[Candidate]
) -> tuple[str, Fact | None, datetime | None]:
    """Return the text, the fact and the time of the only statement with structure that the rules find in a text, or the
    text itself as a note."""
    found = [each for each in read if each.kind == "semantic"]
    if len(read) == 1 and found and is_structured(found[0].fact):
        return found[0].text, found[0].fact, found[0].event_time or memory.event_time
    kind = memory.fact.kind if memory.fact else "note"
    return text, Fact(kind=kind, predicate=_REQUESTED, object=text), memory.event_time
