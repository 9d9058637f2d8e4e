"""What spoken English leaves to the sentence before: who `she` is, whose husband `Daan, that's my husband` is, when `it` is."""

from __future__ import annotations

import re
from dataclasses import dataclass

from muniment.memory.rules.language.english_words import RELATION
from muniment.memory.rules.language.lazy_regex import late
from muniment.memory.rules.language.normalize import vocabulary

_MONTH = r"(?:january|february|march|april|may|june|july|august|september|october|november|december)"
_DATE = (
    r"(?:on\s+(?:the\s+)?(?:\d{1,2}(?:st|nd|rd|th)?\b|" + _MONTH + r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day\b)"
    r"|in\s+" + _MONTH + r"|next\s+(?:week|month|year|\w+day)|tomorrow\b|this\s+\w+day\b)"
)
_INTRODUCED = late(
    r"\b(?P<name>[A-Z][\w-]{0,40}(?:\s[A-Z][\w-]{0,40})?),\s+(?i:that's|that\s+is|who's|who\s+is|he's|she's|he\s+is|she\s+is)\s+(?i:my)\s+"
    r"(?P<rel>(?i:" + RELATION + r"))\b,?\s*"
)  # fmt: skip
_DATED = late(r",\s*(?:and\s+)?(?:it's|it\s+is|it\s+takes\s+place|that's|which\s+is)\s+(?=" + _DATE + ")", re.IGNORECASE)  # fmt: skip
_KEPT = late(
    r"\b(?:your\s+)?(?P<what>answers|replies|responses|explanations)\b[^.!?]{0,20}[:,–-]\s*(?:please\s+)?keep\s+(?:them|it|those)\b",
    re.IGNORECASE,
)
_WONDERED = late(
    r",\s*(?:just\s+)?(?:in\s+case|if)\s+you(?:'re|\s+are|\s+were)?\s+(?:ever\s+)?wonder(?:ing|ed)?\b[^.!?]*",
    re.IGNORECASE,
)
_MENTION = late(r"\b(?i:my)\s+(?P<rel>(?i:" + RELATION + r"))\b(?!'s)(?:,?\s+(?P<name>[A-Z][\w-]+)(?!'))?")
_PRONOUN = late(r"^(?P<who>he|she)(?P<be>'s)?\s+(?P<rest>\S.*)$", re.IGNORECASE | re.DOTALL)
_DONE = late(r"(?:got|had|been|gone|moved|started|decided|\w{3,12}ed)\b", re.IGNORECASE)
_MEN = vocabulary("husband boyfriend fiance fiancé father dad son brother grandfather grandpa uncle nephew")
_WOMEN = vocabulary("wife girlfriend fiancee fiancée mother mom mum daughter sister grandmother grandma aunt niece")


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody whom a sentence was about, as the speaker would name them once more."""

    said: str
    relation: str


def written(sentence: str) -> str:
    """The sentence with its asides in the places where they would be written."""
    said = _INTRODUCED.sub(lambda found: f"my {found['rel']} {found['name']} ", sentence)
    said = _KEPT.sub(lambda found: f", keep your {found['what']}", said)
    return _WONDERED.sub("", _DATED.sub(" ", said))


def somebody(text: str) -> Person | None:
    """The one person of the speaker's that a text mentions."""
    found = {match["rel"].casefold(): match for match in _MENTION.finditer(text)}
    if len(found) != 1:
        return None
    relation, match = next(iter(found.items()))
    return Person(f"my {relation} {match['name'] or ''}".strip(), relation.rsplit(maxsplit=1)[-1])


def named(clause: str, who: Person | None) -> str:
    """The clause with the person in the place of the `he` or `she` that it starts with, where that can be nobody else."""
    found = _PRONOUN.match(clause)
    if not found or who is None or who.relation in (_WOMEN if found["who"].casefold() == "he" else _MEN):
        return clause
    if not found["be"]:
        return f"{who.said} {found['rest']}"
    return f"{who.said} {'has' if _DONE.match(found['rest']) else 'is'} {found['rest'].removeprefix('got ')}"
