"""Notes that facts take the place of: those whose words were read as facts later, and those that lean on a superseded
fact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.plan import Change
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.extraction.notes import is_covered
from muniment.memory.rules.language.tokens import get_lexeme_set
from muniment.memory.rules.merging.endings import is_single_sentence, strip_quotation
from muniment.memory.rules.merging.judge import is_note
from muniment.memory.rules.statements.parse import parse_statement


def is_told(candidate: Candidate, memory: StoredMemory) -> bool:
    """Whether a memory of another turn says already what a note says; neither may deny what the other says."""
    if set(candidate.turns) & set(memory.turns) or memory.state != "active":
        return False
    said = strip_quotation(candidate.text)
    new, old = parse_statement(said), parse_statement(strip_quotation(memory.text))
    return is_covered(said, [memory.text], memory.created_at) and new.contradicts(old) == old.contradicts(new)


def retire_read_notes(
    changes: Iterable[Change], known: Iterable[StoredMemory], at: datetime, soft_delete_days: int
) -> Iterator[Change]:
    """Yield the soft deletion of each note that facts of its turns say as a whole.

    So goes a note of one sentence with the value of a fact that was said with it and is superseded now.

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
        said = strip_quotation(memory.text)
        texts = [fact.text for fact in facts if set(fact.turns) & set(memory.turns)]
        if is_covered(said, texts, memory.created_at) or any(_leans_on(memory, before) for before in outdated):
            purge_at = at + timedelta(days=soft_delete_days)
            gone = replace(memory, state="soft_deleted", purge_at=purge_at, updated_at=at)
            yield Change(action="DELETE", before=memory, after=gone, meta={"why": "read"})


def _leans_on(note: StoredMemory, before: StoredMemory) -> bool:
    """Whether a note of one sentence has the value of a fact that was said with it."""
    if before.fact is None or is_note(before.fact) or not set(note.turns) & set(before.turns):
        return False
    value = get_lexeme_set(before.fact.object)
    return bool(value) and is_single_sentence(note.text) and value <= get_lexeme_set(note.text)
