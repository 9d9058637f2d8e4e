"""What spoken English leaves to the sentence before: who `she` is, whose husband `Daan, that's my husband` is, when `it` is."""

from __future__ import annotations

import re
from dataclasses import dataclass

from muniment.memory.rules.language.english_words import RELATION
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.normalize import parse_vocabulary

_MONTH = r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
_DATE = (
    r"(?:on\s+(?:the\s+)?(?:\d{1,2}(?:st|nd|rd|th)?\b|" + _MONTH + r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day\b)"
    r"|in\s+" + _MONTH + r"|next\s+(?:week|month|year|\w+day)|tomorrow\b|this\s+\w+day\b)"
)
_INTRODUCED = lazy_compile(
    r"\b(?P<name>[A-Z][\w-]{0,40}(?:\s[A-Z][\w-]{0,40})?),\s+(?i:that's|that\s+is|who's|who\s+is|he's|she's|he\s+is"
    r"|she\s+is)\s+(?i:my)\s+(?P<rel>(?i:" + RELATION + r"))\b,?\s*"
)
_DATED = lazy_compile(
    r",\s*(?:and\s+)?(?:it's|it\s+is|it\s+takes\s+place|that's|which\s+is)\s+(?=" + _DATE + ")", re.IGNORECASE
)
_KEPT = lazy_compile(
    r"\b(?:your\s+)?(?P<what>answers|replies|responses|explanations)\b[^.!?]{0,20}[:,–-]\s*(?:please\s+)?keep\s+(?:them"
    r"|it|those)\b",
    re.IGNORECASE,
)
_WONDERED = lazy_compile(
    r",\s*(?:just\s+)?(?:in\s+case|if)\s+you(?:'re|\s+are|\s+were)?\s+(?:ever\s+)?wonder(?:ing|ed)?\b[^.!?]*",
    re.IGNORECASE,
)
_MENTION = lazy_compile(r"\b(?i:my)\s+(?P<rel>(?i:" + RELATION + r"))\b(?!'s)(?:,?\s+(?P<name>[A-Z][\w-]+)(?!'))?")
_PRONOUN = lazy_compile(r"^(?P<who>he|she)(?P<be>'s)?\s+(?P<rest>\S.*)$", re.IGNORECASE | re.DOTALL)
_DONE = lazy_compile(r"(?:got|had|been|gone|moved|started|decided|\w{3,12}ed)\b", re.IGNORECASE)
_MEN = parse_vocabulary("husband boyfriend fiance fiancé father dad son brother grandfather grandpa uncle nephew")
_WOMEN = parse_vocabulary(
    "wife girlfriend fiancee fiancée mother mom mum daughter sister grandmother grandma aunt niece"
)


@dataclass(frozen=True, slots=True)
class MentionedPerson:
    """Somebody whom a sentence was about, as the speaker would name them once more."""

    phrase: str
    relation: str


def rewrite_asides(sentence: str) -> str:
    """The sentence with its asides in the places where they would be written."""
    said = _INTRODUCED.sub(lambda found: f"my {found['rel']} {found['name']} ", sentence)
    said = _KEPT.sub(lambda found: f", keep your {found['what']}", said)
    return _WONDERED.sub("", _DATED.sub(" ", said))


def find_person(text: str) -> MentionedPerson | None:
    """The one person of the speaker's that a text mentions."""
    found = {match["rel"].casefold(): match for match in _MENTION.finditer(text)}
    if len(found) != 1:
        return None
    relation, match = next(iter(found.items()))
    return MentionedPerson(f"my {relation} {match['name'] or ''}".strip(), relation.rsplit(maxsplit=1)[-1])


def replace_pronoun(clause: str, person: MentionedPerson | None) -> str:
    """The clause with the person in the place of the `he` or `she` that it starts with, where that can be nobody else."""
    found = _PRONOUN.match(clause)
    if not found or person is None or person.relation in (_WOMEN if found["who"].casefold() == "he" else _MEN):
        return clause
    if not found["be"]:
        return f"{person.phrase} {found['rest']}"
    return f"{person.phrase} {'has' if _DONE.match(found['rest']) else 'is'} {found['rest'].removeprefix('got ')}"
