"""The English rules in the order in which they are tried: what a clause says of the speaker, then of their relatives,
friends and pets: names, age, home, work and diet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from muniment.memory.rules.dates import mentions
from muniment.memory.rules.extraction.clauses import Draft, make_draft, match_rules
from muniment.memory.rules.extraction.english import health, self
from muniment.memory.rules.extraction.english.self import parse_trade
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.clause import Clause
from muniment.memory.rules.language.english_words import (
    DIETS,
    IN_JEST,
    NAME,
    ONE_AT_A_TIME,
    RELATION,
    RELATIONS,
    has_verb,
    is_name,
    narrate_clause,
    parse_list,
    parse_place,
    replace_pronouns,
    strip_fillers,
    trim_phrase,
)
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon
from muniment.memory.rules.statements import predicates

_PERSON = rf"[{tokens.UPPER}][\w'-]*(?:\s+[{tokens.UPPER}][\w'-]*){{0,2}}"
_MY = r"(?i:my|our)\s+(?P<rel>(?i:" + RELATION + r"))\b"
_NAMED = lazy_compile(
    r"^(?i:this\s+is\s+)?"
    + _MY
    + r"(?:'s\s+(?i:first\s+)?(?i:name\s+is)|\s+(?i:is\s+(?:called|named)|is|goes\s+by))\s+(?P<name>"
    + NAME
    + r")(?:,?\s+(?:and\s+)?not\s+(?P<no>[A-Z][\w'-]*))?(?:[,.]?$|,\s|\s+and\s)"
)
_IS_MY = lazy_compile(r"^(?P<name>" + _PERSON + r")\s+(?:is|was)\s+" + _MY + r"(?:[.!,]|\s+and\b|$)")
_APPOSITION = lazy_compile(r"\b" + _MY + r",?\s+(?P<name>" + _PERSON + r")(?![\w'])")
_HAVE = lazy_compile(
    r"^(?i:i\s+(?:also\s+)?have|i've\s+got|i\s+own)\s+(?i:an?|one)\s+(?:\w+\s+)?(?P<rel>(?i:"
    + RELATION
    + r"))\s+(?i:named|called)\s+(?P<name>"
    + NAME
    + r")(?:[,.]|$|\s)"
)
_SPOUSE = lazy_compile(r"^(?i:i'?m|i\s+am)\s+(?:happily\s+)?(?i:married|engaged)\s+to\s+(?P<name>" + _PERSON + r")")
_WHO = r"^(?:" + _MY + r")(?:,?\s+(?P<name>" + _PERSON + r"),?)?\s+"
_AT_HOME = ("lives_in", "moved_to")  # what is read of a person who is called by name alone
_NOBODY = load_lexicon("people.en").get_words("no_people")
_OF_THEM = tuple(
    (
        predicate,
        lazy_compile((rf"^(?:{_WHO[1:]}|(?P<alone>{_PERSON})\s+)" if predicate in _AT_HOME else _WHO) + pattern),
    )
    for predicate, pattern in (
        ("lives_in", r"(?P<verb>(?i:lives?|is\s+living|are\s+living))\s+(?i:in)\s+(?P<value>.+)$"),
        (
            "moved_to",
            (
                r"(?:has\s+)?(?:just\s+|recently\s+)?(?P<verb>(?i:moved|relocated))\s+(?:back\s+)?(?:from\s+.{2,40}?\s+)?to"
                r"\s+(?P<value>.+)$"
            ),
        ),
        ("works_at", r"(?P<verb>(?i:works))\s+(?i:at|for)\s+(?P<value>.+)$"),
        ("works_as", r"(?P<verb>(?i:works\s+as|is))\s+(?i:an?)\s+(?P<value>.+)$"),
        ("allergic_to", r"(?P<verb>(?i:is))\s+(?i:allergic\s+to)\s+(?P<value>.+)$"),
        (
            "age",
            (
                r"(?P<verb>(?i:is|turned|just\s+turned))\s+(?P<value>\d{1,3})(?:\s+years?\s+old)?(?:\s+(?i:now|already"
                r"|today))*(?=$|,|\s+and\s)"
            ),
        ),
        (
            "diet",
            r"(?P<verb>(?i:is|are|has\s+been))\s+(?P<value>(?i:(?:not\s+|no\s+longer\s+)?(?:"
            + "|".join(map(re.escape, DIETS))
            + r")))(?:\s+(?i:now|too|as\s+well|again|(?:for|since)\b.*))?$",
        ),
    )
)


def draft_people_facts(clause: Clause) -> list[Draft]:
    """The drafts about people that the clause names; none about the speaker."""
    drafts = list(_names(clause))
    matches = ((predicate, pattern.match(clause.text)) for predicate, pattern in _OF_THEM)
    if found := next(((predicate, match) for predicate, match in matches if match), None):
        drafts += _of_them(*found, clause)
    return drafts


def _names(clause: Clause) -> Iterator[Draft]:
    for pattern in (_NAMED, _IS_MY, _HAVE):
        match = pattern.match(clause.text)
        if match and is_name(match["name"], clause):
            yield _related(match["rel"], match["name"], match.groupdict().get("no"))
            return
    if match := _SPOUSE.match(clause.text):
        yield _related("spouse" if "married" in clause.text.casefold() else "fiancé", match["name"])
    for match in _APPOSITION.finditer(clause.text):
        if is_name(match["name"], clause):
            yield _related(match["rel"], match["name"])


def _related(said: str, name: str, no: str | None = None) -> Draft:
    relation, name = said.casefold(), name.removesuffix("'s").strip(" ,.")
    words = (relation, relation.split(" ", 1)[-1], relation.rsplit(maxsplit=1)[-1])
    predicate = RELATIONS[next(word for word in words if word in RELATIONS)]
    return make_draft(
        "relationship",
        predicate,
        name,
        f"The user's {relation} is {name}" + (f", not {no}" if no else ""),
        persons=(name,),
        single=predicate in ONE_AT_A_TIME,
        importance=3,
    )


def _of_them(predicate: str, match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    alone = match.groupdict().get("alone")
    if alone and (match["verb"] == "live" or alone.casefold() in _NOBODY or not is_name(alone, clause)):
        return
    relation, name = (match["rel"] or "").casefold(), match["name"] or alone
    who = alone or f"The user's {relation}" + (f" {name}" if name else "")
    for value, does in _say(predicate, match, clause):
        yield make_draft(
            "event" if predicate == "moved_to" else "relationship",
            predicate,
            value,
            f"{who} {does}",
            subject=name or predicates.format_relation(relation),
            persons=(name,) if name else (),
            single=predicate not in ("moved_to", "allergic_to"),
            negated=value.startswith("no") and predicate == "diet",
            importance=4 if predicate == "allergic_to" else 2,
            location=value if predicate in ("lives_in", "moved_to") else None,
        )


def _say(predicate: str, match: re.Match[str], clause: Clause) -> Iterator[tuple[str, str]]:
    """The value of a predicate, and the statement of it after its subject; several for allergies."""
    verb, said = match["verb"].casefold(), trim_phrase(match["value"])
    place = parse_place(mentions.remove_dates(match["value"], clause.at), clause)
    if predicate == "age":
        yield said, f"is {said} years old"
    elif predicate == "diet":
        yield said.casefold(), f"{'are' if verb == 'are' else 'is'} {said.casefold()}"
    elif predicate == "allergic_to":
        yield from ((one, f"is allergic to {one}") for one in parse_list(said, clause) if not IN_JEST.match(one))
    elif predicate == "works_as":
        if trade := parse_trade(said):
            yield trade, f"works as {'an' if trade[0] in 'aeiou' else 'a'} {trade}"
    elif place and predicate == "moved_to":
        if whole := replace_pronouns(said):
            yield place, f"{verb} to {whole}"
    elif place and predicate == "works_at":
        yield place, f"works at {place}"
    elif place:
        yield place, f"{'live' if verb in ('live', 'are living') else 'lives'} in {place}"


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
    about_others = draft_people_facts(clause)
    if not drafts and (match := _WE.match(clause.text)):
        drafts = _draft_own_facts(replace(clause, text=f"I {match['what'].replace('are', 'am', 1)}"))
        if match["who"]:
            does = match["what"].replace("live", "lives", 1).replace("are", "is", 1)
            about_others += draft_people_facts(replace(clause, text=f"{match['who']} {does}"))
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
