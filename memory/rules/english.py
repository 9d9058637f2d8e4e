"""What an English clause states: the rules by theme, in the order in which they are tried."""

from __future__ import annotations

import re

from muniment.memory.rules import (
    english_aims,
    english_past,
    english_people,
    english_self,
    english_tastes,
    english_things,
)
from muniment.memory.rules.draft import Clause, Draft, draft
from muniment.memory.rules.english_phrases import tail, unfilled
from muniment.memory.rules.english_words import narrate

_RULES = english_self.RULES + english_tastes.RULES + english_aims.RULES + english_past.RULES + english_things.RULES


def facts(clause: Clause) -> list[Draft]:
    """What the clause states, by the first rule that finds something, and the people it names."""
    found: list[Draft] = []
    ending = tail(clause.text)
    for pattern, build in _RULES:
        match = pattern.match(clause.text) or pattern.match(ending)
        if match and (found := list(build(match, clause))):
            break
    people = english_people.facts(clause)
    said = {one.text for one in found}
    return found + [one for one in people if one.text not in said]


def note(clause: Clause) -> Draft | None:
    """The clause as a note, word for word but for the pronouns; without what explains it where that names nobody."""
    said = narrate(unfilled(clause.text)) or narrate(tail(clause.text))
    if said and len(said.split()) >= 4 and re.search(r"\b(?:is|are|was|has|will|user|[a-z]{3,}s|[a-z]{3,}ed)\b", said):
        return draft("note", "note", said, said, importance=3)
    return None
