"""What an English clause states: the rules by theme, in the order in which they are tried."""

from __future__ import annotations

import re
from dataclasses import replace

from muniment.memory.rules.extraction.draft import Draft, make_draft
from muniment.memory.rules.extraction.english import aims, past, people as english_people, self, tastes, things
from muniment.memory.rules.language.clause import Clause
from muniment.memory.rules.language.english_phrases import strip_fillers, trim_clause
from muniment.memory.rules.language.english_words import DIETS, has_verb, narrate_clause
from muniment.memory.rules.language.lazy_regex import lazy_compile

# Where several live, where they went and what became of them is so of the speaker, too; what else they did may be their firm's,
# or their country's.
_TOGETHER = (
    r"(?:went(?!\s+(?:public|bankrupt|live|viral|out|down|up|back|over|through|under|for)\b)|visited|hiked|travell?ed"
    r"|flew|drove|camped|skied|sailed|cycled|climbed|toured|(?:moved|relocated|emigrated)(?!\s+(?:\w+\s+)?to\s+"
    r"(?:kubernetes|docker|aws|azure|gcp|postgres\w*|mysql|kafka|jira|zoom|slack|teams|notion|github|gitlab|react|linux"
    r"|windows|python|rust|java|google|microsoft|office)\b)|adopted|bought\s+(?:a|our)\s+(?:\w+\s+)?(?:house|home|flat"
    r"|apartment|car|van|boat|cottage|dog|cat|puppy|kitten)|rented|celebrated|lived|married|divorced|separated"
    r"|got\s+(?:married|engaged|divorced|an?\s+(?:\w+\s+)?(?:dog|cat|puppy|kitten|baby))|had\s+(?:dinner|lunch"
    r"|breakfast|a\s+(?:baby|son|daughter|picnic|barbecue)))"
)
_VERB = lazy_compile(r"\b(?:are|user|[a-z]{3,}s|[a-z]{3,}ed)\b")
_SHORT = 3  # words of a note whose verb is beyond doubt
_WE = lazy_compile(
    r"(?P<front>(?:(?:on|in|last|yesterday|this|two|three|a)\b[\w ]{0,30}?,?\s+)?)(?:we(?:\s+(?:both|all))?"
    r"|i\s+&\s+(?P<who>my\s+(?:\w+\s+)?\w+))\s+(?P<what>(?:(?:just|also|finally|recently|now|still|currently)\s+)*(?:"
    r"(?P<lives>live\s+in|are\s+(?P<diet>" + "|".join(map(re.escape, DIETS)) + r")$)|" + _TOGETHER + r"\b).*)$",
    re.IGNORECASE,
)
_RULES = self.RULES + tastes.RULES + aims.RULES + past.RULES + things.RULES


def draft_facts(clause: Clause) -> list[Draft]:
    """What the clause states, by the first rule that finds something, and the people it names."""
    found = _draft_own_facts(clause)
    people = english_people.draft_people_facts(clause)
    if not found and (several := _WE.match(clause.text)):
        found = _draft_own_facts(replace(clause, text=_rewrite_singular(several)))
        if several["who"] and several["lives"]:
            does = f"is {several['diet']}" if several["diet"] else several["what"].replace("live", "lives", 1)
            people += english_people.draft_people_facts(replace(clause, text=f"{several['who']} {does}"))
    said = {one.text for one in found}
    return found + [one for one in people if one.text not in said]


def _draft_own_facts(clause: Clause) -> list[Draft]:
    ending = trim_clause(clause.text)
    for pattern, build in _RULES:
        match = pattern.match(clause.text) or pattern.match(ending)
        if match and (found := list(build(match, clause))):
            return found
    return []


def _rewrite_singular(several: re.Match[str]) -> str:
    """What the speaker could have said of themselves alone."""
    does = f"am {several['diet']}" if several["diet"] else several["what"]
    return f"{several['front']}I {does}"


def draft_note(clause: Clause) -> Draft | None:
    """The clause as a note, word for word but for the pronouns; without what explains it where that names nobody."""
    said = narrate_clause(strip_fillers(clause.text)) or narrate_clause(trim_clause(clause.text))
    if not said:
        return None
    states = has_verb(said) or (len(said.split()) > _SHORT and _VERB.search(said))
    return make_draft("note", "note", said, said, importance=3) if states and len(said.split()) >= _SHORT else None
