"""The English rules in the order in which they are tried: what a clause says of the speaker, then of their people."""

from __future__ import annotations

import re
from dataclasses import replace

from muniment.memory.rules.extraction.draft import Draft, make_draft, match_rules
from muniment.memory.rules.extraction.english import health, people, self
from muniment.memory.rules.language.clause import Clause
from muniment.memory.rules.language.english_phrases import strip_fillers, trim_phrase
from muniment.memory.rules.language.english_words import DIETS, has_verb, narrate_clause
from muniment.memory.rules.language.lazy_regex import lazy_compile

_VERB = lazy_compile(r"\b(?:are|user|[a-z]{3,}s|[a-z]{3,}ed)\b")
_SHORT = 3  # words; a longer note needs no sure verb
# What `we` are and where we live is true of the speaker, too; other things may be those of a firm or a country.
_WE = lazy_compile(
    r"(?:we(?:\s+(?:both|all))?|i\s+&\s+(?P<who>my\s+(?:\w+\s+)?\w+))\s+(?:(?:just|also|now|still|both)\s+)*"
    r"(?P<what>live\s+in\s.+|are\s+(?P<diet>" + "|".join(map(re.escape, DIETS)) + r"))$",
    re.IGNORECASE,
)
_JOINED = lazy_compile(r"\s+(?:and|but|so|with|since)\s+", re.IGNORECASE)
_RULES = health.RULES + self.RULES
_CERTAIN_KINDS = ("identity", "constraint")


def draft_facts(clause: Clause) -> list[Draft]:
    """The drafts of the first rule that matches the clause, and those about the people that it names."""
    drafts = _draft_own_facts(clause)
    about_others = people.draft_people_facts(clause)
    if not drafts and (match := _WE.match(clause.text)):
        drafts = _draft_own_facts(replace(clause, text=f"I {match['what'].replace('are', 'am', 1)}"))
        if match["who"]:
            does = match["what"].replace("live", "lives", 1).replace("are", "is", 1)
            about_others += people.draft_people_facts(replace(clause, text=f"{match['who']} {does}"))
    return list({draft.text: draft for draft in drafts + about_others}.values())


def _draft_own_facts(clause: Clause) -> list[Draft]:
    """The drafts of the first rule that matches the clause, less trailing fillers; else those of its start that are
    certain whatever follows: a name, a home, an allergy, a wish about the style of answers."""
    for form in dict.fromkeys((clause.text, trim_phrase(clause.text))):
        if drafts := match_rules(_RULES, (form,), clause):
            return drafts
    start = _JOINED.split(clause.text, maxsplit=1)[0]
    drafts = match_rules(_RULES, (start,), clause) if start != clause.text else []
    is_certain = all(draft.fact.kind in _CERTAIN_KINDS or draft.category == "style" for draft in drafts)
    return drafts if is_certain else []


def draft_note(clause: Clause) -> Draft | None:
    """The clause as a note in the third person; None if it cannot be converted or has no verb."""
    text = narrate_clause(strip_fillers(clause.text)) or narrate_clause(trim_phrase(clause.text))
    if not text:
        return None
    states = has_verb(text) or (len(text.split()) > _SHORT and _VERB.search(text))
    return make_draft("note", "note", text, text, importance=3) if states and len(text.split()) >= _SHORT else None
