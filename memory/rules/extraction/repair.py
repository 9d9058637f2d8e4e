"""Repairs of a statement's wording where they are certain: who is meant, and when."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from muniment.memory.rules.dates import mentions as dates
from muniment.memory.rules.language import chinese_words
from muniment.memory.rules.language.english_words import narrate, singular
from muniment.memory.rules.language.lazy_regex import late

FIRST = late(
    r"(?<![\w'/-])(?:I|I'm|I've|I'll|I'd|i'm|i've|i'll|i'd|i|me|[Mm]y|[Mm]ine|[Mm]yself|[Yy]ou|[Yy]ou're|[Yy]ou've|[Yy]our|[Yy]ours)(?![\w/-])"
    r"|(?<![自忘])我(?!国)|你|您"
)
_I = late(r"\b(?:I|I'm|I've|me|my|mine|myself)\b|(?<![自忘])我(?!国)", re.IGNORECASE)
_YOU_TOO = late(r"\byou(?:r|rs|rself|'re|'ve)?\b|你|您", re.IGNORECASE)
_YOU = (
    (late(r"^You're\b", re.IGNORECASE), "I'm"),
    (late(r"^You've\b", re.IGNORECASE), "I've"),
    (late(r"^You\s+are\b", re.IGNORECASE), "I am"),
    (late(r"^You\b", re.IGNORECASE), "I"),
    (late(r"\byour\s+own\b", re.IGNORECASE), "my own"),
    (late(r"\byour\b", re.IGNORECASE), "my"),
    (late(r"\byours\b", re.IGNORECASE), "mine"),
    (late(r"\byourself\b", re.IGNORECASE), "myself"),
    (late(r"\byou\b", re.IGNORECASE), "me"),
)
_MANY_ZH = late(r"我们|咱|你们|您们|大家")
_SENTENCE = late(r"[^.!?]+(?:\.(?=\w)[^.!?]*)*[.!?]*\s*")
_THIRD = late(
    r"(?<![\w'/-])(?:he|she|they|him|her|them|his|hers|their|theirs|himself|herself)(?![\w/-])|(?<![其吉维])[他她]",
    re.IGNORECASE,
)
_SUBJECT = late(r"^(?P<who>he|she|they)(?P<short>'s|'re|'ve|'ll|'d)?\s+(?P<verb>[\w']+)", re.IGNORECASE)
_SHORT = {"'s": "is ", "'re": "is ", "'ve": "has ", "'ll": "will ", "'d": "would "}
_PLURAL = {"are": "is", "were": "was", "have": "has", "don't": "does not", "aren't": "is not", "haven't": "has not", "do": "does"}  # fmt: skip
_MIDDLE = late(r"(?<![\w'/-])(?P<who>he|she|they)\s+(?P<verb>[a-z]+(?:n't)?)(?![\w'])")
_OBJECT = late(r"(?<![\w'/-])(?:him|them|her(?!\s+[a-z]))(?![\w'/-])")
_HABIT = late(
    r"\b(?:usually|always|often|every|mostly|generally|normally|regularly|never|typically|tends?)\b|每|通常|经常|常常|总是|一般|平时|基本|一向|从不|雷打不动|习惯",
    re.IGNORECASE,
)
_WEEKDAY = late(
    r"(?<!last )(?<!next )(?<!this )(?<!every )\b(?:on\s+)?(?P<day>(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)s?\b(?!\s+(?:the\s+)?\d)"
    r"|(?<![上下这本每个])(?P<tag>(?:周|星期|礼拜)[一二三四五六日天末])"
)
_OWN = late(r"(?<![\w'-])(?:his|her|their)(?=\s+[a-z])", re.IGNORECASE)
_CJK = late(r"[\u3400-\u9fff]")
_ZH = late(r"(?<![其吉维])[他她](?!们)")
_RELATED = late(r"\buser's\s+([\w-]+)|用户的(" + chinese_words.RELATION + ")")
_USER = "the user"


def wording(text: str, *, subject: str, persons: Sequence[str]) -> str:
    """The statement with pronouns spelt out as far as it is certain whom they mean; what stays is for the validator."""
    if FIRST.search(text) and not (_I.search(text) and _YOU_TOO.search(text)):
        text = _third_person(text)
    if _THIRD.search(text):
        text = _named(text, subject, persons)
    return text


def pronoun(text: str) -> bool:
    """Whether the text says he, she or they and leaves open who that is."""
    return _THIRD.search(text) is not None


def timing(text: str, at: datetime, said: str = "") -> str:
    """The statement with its relative dates written out; other dates stay as they are said.

    What is `said` to be a habit happens on every Friday, not on the next one."""
    if _HABIT.search(f"{text}\n{said}"):
        text = _WEEKDAY.sub(lambda day: f"every {day['day']}" if day["day"] else f"每{day['tag']}", text)
    return dates.absolute(text, at) if dates.relative(text, at) else text


def _third_person(text: str) -> str:
    """The speaker's own words said of the user; as they are where a part of them cannot be turned."""
    if re.search(r"我|你|您", text):
        return text if _MANY_ZH.search(text) else re.sub(r"(?<![自忘])我(?!国)|你|您", "用户", text)
    told = []
    for sentence in _SENTENCE.findall(text):
        own = sentence.strip()
        for pattern, word in _YOU:
            own = pattern.sub(word, own)
        said = narrate(own.rstrip(".!? ")) if FIRST.search(own) else sentence.strip().rstrip(".")
        if said is None:
            return text
        told.append(said)
    return ". ".join(told)


def _named(text: str, subject: str, persons: Sequence[str]) -> str:
    """He, she and they by name, where one alone can be meant."""
    who = _who(text, subject, persons)
    if who is None:
        return text
    if _CJK.search(text):
        return _ZH.sub("用户" if who == _USER else who, text)
    if found := _SUBJECT.match(text):
        verb = _SHORT[found["short"].casefold()] + found["verb"] if found["short"] else _verb(found)
        text = f"{who[:1].upper()}{who[1:]} {verb}{text[found.end() :]}"
    text = _MIDDLE.sub(lambda found: f"{who} {_verb(found)}", text)
    return _OBJECT.sub(who, _OWN.sub(f"{who}'s", text))


def _who(text: str, subject: str, persons: Sequence[str]) -> str | None:
    """The one that a pronoun of the text can mean, None for more than one."""
    if subject == "user":
        return None if persons else _USER
    if len(persons) == 1:
        return persons[0]
    related = None if persons else _RELATED.search(text)
    return f"the {related[1]}" if related and related[1] else related[2] if related else None


def _verb(found: re.Match[str]) -> str:
    """The verb as it goes with a name: `they are` is `Ana is`."""
    verb = found["verb"]
    return (_PLURAL.get(verb.casefold()) or singular(verb)) if found["who"].casefold() == "they" else verb
