"""Notes that facts take the place of: those whose words were read as facts later, and those that lean on a superseded
fact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from muniment.memory.domain.memory import StoredMemory, is_note
from muniment.memory.domain.plan import Change
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.dates.mentions import remove_dates
from muniment.memory.rules.extraction.notes import holds_details, is_covered
from muniment.memory.rules.language.tokens import get_lexeme_set
from muniment.memory.rules.merging.endings import is_single_sentence, split_statements, strip_quotation
from muniment.memory.rules.statements.parse import parse_statement

_READ_SHARE = 0.5  # of a fact's words that stand in the sentence that it was read from


def is_told(candidate: Candidate, memory: StoredMemory) -> bool:
    """Whether a memory of another turn says already what a note says; neither may deny what the other says."""
    if set(candidate.turns) & set(memory.turns) or memory.state != "active":
        return False
    said = strip_quotation(candidate.text)
    new, old = parse_statement(said), parse_statement(strip_quotation(memory.text))
    is_held = is_covered(said, [memory.text], memory.created_at, is_strict=True)
    return is_held and new.contradicts(old) == old.contradicts(new)


def retire_read_notes(
    changes: Iterable[Change],
    known: Iterable[StoredMemory],
    at: datetime,
    soft_delete_days: int,
    *,
    is_by_model: bool = False,
) -> Iterator[Change]:
    """Yield the soft deletion of each note that facts of its turns say as a whole.

    So goes a note of one sentence with the value of a fact that was said with it and is superseded now. Of what a model
    has read, a note goes whose sentences were each read as a fact, in whichever words.

    `known` are the memories near those that change. A pinned note stays."""
    changes = list(changes)
    outdated = [
        change.before
        for change in changes
        if change.before is not None and change.before.fact is not None and change.meta.get("why") == "supersedes"
    ]
    after = {change.after.id: change.after for change in changes}
    memories = {memory.id: memory for memory in known} | after
    facts = [memory for memory in memories.values() if memory.state == "active" and not is_note(memory.fact)]
    if not outdated and not any(memory.id in after for memory in facts):
        return
    for memory in memories.values():
        if memory.id in after or not is_note(memory.fact) or memory.pinned or memory.state != "active":
            continue
        texts = [fact.text for fact in facts if set(fact.turns) & set(memory.turns)]
        if (
            is_covered(strip_quotation(memory.text), texts, memory.created_at)
            or (is_by_model and _is_read(memory, texts))
            or any(_leans_on(memory, before) for before in outdated)
        ):
            purge_at = at + timedelta(days=soft_delete_days)
            gone = replace(memory, state="soft_deleted", purge_at=purge_at, updated_at=at)
            yield Change(action="DELETE", before=memory, after=gone, meta={"why": "read"})


def _is_read(note: StoredMemory, texts: list[str]) -> bool:
    """Whether facts have every name and number of a note, and each of its sentences was read as one of them."""
    if not holds_details(remove_dates(strip_quotation(note.text), note.created_at), " ".join(texts)):
        return False
    asked = ("?", "？")
    sentences = [get_lexeme_set(each) for each in split_statements(note.text) if not each.endswith(asked)]
    facts = [get_lexeme_set(remove_dates(text, note.created_at)) for text in texts]
    return all(
        any(fact and len(fact & sentence) >= _READ_SHARE * len(fact) for fact in facts) for sentence in sentences
    )


def _leans_on(note: StoredMemory, before: StoredMemory) -> bool:
    """Whether a note of one sentence has the value of a fact that was said with it."""
    if before.fact is None or is_note(before.fact) or not set(note.turns) & set(before.turns):
        return False
    value = get_lexeme_set(before.fact.object)
    return bool(value) and is_single_sentence(note.text) and value <= get_lexeme_set(note.text)
