"""What an English clause states: the rules by theme, in the order in which they are tried."""

from __future__ import annotations

import re
from dataclasses import replace

from muniment.memory.rules.extraction.draft import Draft, draft
from muniment.memory.rules.extraction.english import (
    aims as english_aims,
    past as english_past,
    people as english_people,
    self as english_self,
    tastes as english_tastes,
    things as english_things,
)
from muniment.memory.rules.language.clause import Clause
from muniment.memory.rules.language.english_phrases import tail, unfilled
from muniment.memory.rules.language.english_words import DIETS, has_verb, narrate
from muniment.memory.rules.language.lazy_regex import late

# Where several live, where they went and what became of them is so of the speaker, too; what else they did may be their firm's,
# or their country's.
_TOGETHER = (
    r"(?:went(?!\s+(?:public|bankrupt|live|viral|out|down|up|back|over|through|under|for)\b)|visited|hiked|travell?ed|flew|drove|camped|skied|sailed|cycled|climbed|toured"
    r"|(?:moved|relocated|emigrated)(?!\s+(?:\w+\s+)?to\s+(?:kubernetes|docker|aws|azure|gcp|postgres\w*|mysql|kafka|jira|zoom|slack|teams|notion|github|gitlab|react|linux|windows"
    r"|python|rust|java|google|microsoft|office)\b)|adopted|bought\s+(?:a|our)\s+(?:\w+\s+)?(?:house|home|flat|apartment|car|van|boat|cottage|dog|cat|puppy|kitten)|rented|celebrated|lived"
    r"|married|divorced|separated|got\s+(?:married|engaged|divorced|an?\s+(?:\w+\s+)?(?:dog|cat|puppy|kitten|baby))|had\s+(?:dinner|lunch|breakfast|a\s+(?:baby|son|daughter|picnic|barbecue)))"
)
_VERB = late(r"\b(?:are|user|[a-z]{3,}s|[a-z]{3,}ed)\b")
_SHORT = 3  # words of a note whose verb is beyond doubt
_WE = late(
    r"(?P<front>(?:(?:on|in|last|yesterday|this|two|three|a)\b[\w ]{0,30}?,?\s+)?)(?:we(?:\s+(?:both|all))?|i\s+&\s+(?P<who>my\s+(?:\w+\s+)?\w+))\s+"
    r"(?P<what>(?:(?:just|also|finally|recently|now|still|currently)\s+)*(?:(?P<lives>live\s+in|are\s+(?P<diet>" + "|".join(map(re.escape, DIETS)) + r")$)|"
    + _TOGETHER + r"\b).*)$",
    re.IGNORECASE,
)  # fmt: skip
_RULES = english_self.RULES + english_tastes.RULES + english_aims.RULES + english_past.RULES + english_things.RULES


def facts(clause: Clause) -> list[Draft]:
    """What the clause states, by the first rule that finds something, and the people it names."""
    found = _own(clause)
    people = english_people.facts(clause)
    if not found and (several := _WE.match(clause.text)):
        found = _own(replace(clause, text=_alone(several)))
        if several["who"] and several["lives"]:
            does = f"is {several['diet']}" if several["diet"] else several["what"].replace("live", "lives", 1)
            people += english_people.facts(replace(clause, text=f"{several['who']} {does}"))
    said = {one.text for one in found}
    return found + [one for one in people if one.text not in said]


def _own(clause: Clause) -> list[Draft]:
    ending = tail(clause.text)
    for pattern, build in _RULES:
        match = pattern.match(clause.text) or pattern.match(ending)
        if match and (found := list(build(match, clause))):
            return found
    return []


def _alone(several: re.Match[str]) -> str:
    """What the speaker could have said of themselves alone."""
    does = f"am {several['diet']}" if several["diet"] else several["what"]
    return f"{several['front']}I {does}"


def note(clause: Clause) -> Draft | None:
    """The clause as a note, word for word but for the pronouns; without what explains it where that names nobody."""
    said = narrate(unfilled(clause.text)) or narrate(tail(clause.text))
    if not said:
        return None
    states = has_verb(said) or (len(said.split()) > _SHORT and _VERB.search(said))
    return draft("note", "note", said, said, importance=3) if states and len(said.split()) >= _SHORT else None
