"""Repairs the wording of a statement where the repair is certain: pronouns and relative dates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from muniment.memory.rules.dates import mentions
from muniment.memory.rules.language import chinese_words
from muniment.memory.rules.language.english_words import conjugate_verb, narrate_clause
from muniment.memory.rules.language.lazy_regex import lazy_compile

FIRST_PERSON = lazy_compile(
    r"(?<![\w'/-])(?:I|I'm|I've|I'll|I'd|i'm|i've|i'll|i'd|i|me|[Mm]y|[Mm]ine|[Mm]yself|[Yy]ou|[Yy]ou're|[Yy]ou've"
    r"|[Yy]our|[Yy]ours)(?![\w/-])|(?<![自忘])我(?!国)|你|您"
)
_I = lazy_compile(r"\b(?:I|I'm|I've|me|my|mine|myself)\b|(?<![自忘])我(?!国)", re.IGNORECASE)
_YOU_TOO = lazy_compile(r"\byou(?:r|rs|rself|'re|'ve)?\b|你|您", re.IGNORECASE)
_YOU = (
    (lazy_compile(r"^You're\b", re.IGNORECASE), "I'm"),
    (lazy_compile(r"^You've\b", re.IGNORECASE), "I've"),
    (lazy_compile(r"^You\s+are\b", re.IGNORECASE), "I am"),
    (lazy_compile(r"^You\b", re.IGNORECASE), "I"),
    (lazy_compile(r"\byour\s+own\b", re.IGNORECASE), "my own"),
    (lazy_compile(r"\byour\b", re.IGNORECASE), "my"),
    (lazy_compile(r"\byours\b", re.IGNORECASE), "mine"),
    (lazy_compile(r"\byourself\b", re.IGNORECASE), "myself"),
    (lazy_compile(r"\byou\b", re.IGNORECASE), "me"),
)
_MANY_ZH = lazy_compile(r"我们|咱|你们|您们|大家")
_SENTENCE = lazy_compile(r"[^.!?]+(?:\.(?=\w)[^.!?]*)*[.!?]*\s*")
_THIRD = lazy_compile(
    r"(?<![\w'/-])(?:he|she|they|him|her|them|his|hers|their|theirs|himself|herself)(?![\w/-])|(?<![其吉维])[他她]",
    re.IGNORECASE,
)
_SUBJECT = lazy_compile(r"^(?P<who>he|she|they)(?P<short>'s|'re|'ve|'ll|'d)?\s+(?P<verb>[\w']+)", re.IGNORECASE)
_SHORT = {"'s": "is ", "'re": "is ", "'ve": "has ", "'ll": "will ", "'d": "would "}
_PLURAL = {
    "are": "is",
    "were": "was",
    "have": "has",
    "don't": "does not",
    "aren't": "is not",
    "haven't": "has not",
    "do": "does",
}
_MIDDLE = lazy_compile(r"(?<![\w'/-])(?P<who>he|she|they)\s+(?P<verb>[a-z]+(?:n't)?)(?![\w'])")
_OBJECT = lazy_compile(r"(?<![\w'/-])(?:him|them|her(?!\s+[a-z]))(?![\w'/-])")
_HABIT = lazy_compile(
    r"\b(?:usually|always|often|every|mostly|generally|normally|regularly|never|typically|tends?)\b|每|通常|经常|常常"
    r"|总是|一般|平时|基本|一向|从不|雷打不动|习惯",
    re.IGNORECASE,
)
_WEEKDAY = lazy_compile(
    r"(?<!last )(?<!next )(?<!this )(?<!every )\b(?:on\s+)?(?P<day>(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day)s?\b"
    r"(?!\s+(?:the\s+)?\d)|(?<![上下这本每个])(?P<tag>(?:周|星期|礼拜)[一二三四五六日天末])"
)
_OWN = lazy_compile(r"(?<![\w'-])(?:his|her|their)(?=\s+[a-z])", re.IGNORECASE)
_CJK = lazy_compile(r"[\u3400-\u9fff]")
_ZH = lazy_compile(r"(?<![其吉维])[他她](?!们)")
_RELATED = lazy_compile(r"\buser's\s+([\w-]+)|用户的(" + chinese_words.RELATION + ")")
_USER = "the user"
_AGREEMENT = lazy_compile(
    r"(?P<who>\b[Tt]he\s+user\s+(?:(?:also|always|usually|often|really|currently|now|still)\s+)?)"
    r"(?P<verb>am|are|'m|'re|have|do|don't|go|like|love|hate|live|work|want|need|prefer|own|eat|drink|play|speak|use|know"
    r"|think|enjoy|plan|study|run|drive|teach|learn|feel|keep|take|make|hope|wish|dislike|suffer|visit|read|write)\b"
)
_NAMES_USER = lazy_compile(r"\buser\b|用户", re.IGNORECASE)
_DENIAL = lazy_compile(
    r"\b(?:not|never|no longer|cannot|stopped|quit)\b|n't\b|用户(?:已经|也|从)?[不没]|不再", re.IGNORECASE
)


def repair_wording(text: str, *, subject: str, persons: Sequence[str]) -> str:
    """The statement with pronouns replaced where their meaning is certain; the validator refuses the others."""
    if FIRST_PERSON.search(text) and not (_I.search(text) and _YOU_TOO.search(text)):
        text = _convert_first_person(text)
    if _THIRD.search(text):
        text = _replace_pronouns(text, subject, persons)
    return text


def repair_agreement(text: str) -> str:
    """The statement with its verb in the third person: `The user am` becomes `The user is`."""
    return _AGREEMENT.sub(lambda match: f"{match['who']}{conjugate_verb(match['verb'])}", text)


def name_speaker(text: str, actor: str | None) -> str:
    """The statement with `the user` for the name of the speaker."""
    return re.sub(rf"(?<!\w){re.escape(actor)}(?!\w)", "the user", text) if actor else text


def is_about_user(text: str) -> bool:
    """Whether the statement names the user."""
    return _NAMES_USER.search(text) is not None


def is_denial(text: str) -> bool:
    """Whether the statement denies, or says that something has ended."""
    return _DENIAL.search(text) is not None


def has_open_pronoun(text: str) -> bool:
    """Whether the text has a pronoun of the third person."""
    return _THIRD.search(text) is not None


def repair_dates(text: str, at: datetime, context: str = "") -> str:
    """The statement with its relative dates written out; absolute dates stay.

    A weekday becomes `every Friday` where the text or its context tells of a habit."""
    if _HABIT.search(f"{text}\n{context}"):
        text = _WEEKDAY.sub(lambda day: f"every {day['day']}" if day["day"] else f"每{day['tag']}", text)
    return mentions.expand_dates(text, at) if mentions.has_relative_date(text, at) else text


def _convert_first_person(text: str) -> str:
    """The speaker's words in the third person; unchanged if a sentence cannot be converted."""
    if re.search(r"我|你|您", text):
        return text if _MANY_ZH.search(text) else re.sub(r"(?<![自忘])我(?!国)|你|您", "用户", text)
    sentences = []
    for sentence in _SENTENCE.findall(text):
        bare = sentence.strip()
        for pattern, word in _YOU:
            bare = pattern.sub(word, bare)
        converted = narrate_clause(bare.rstrip(".!? ")) if FIRST_PERSON.search(bare) else sentence.strip().rstrip(".")
        if converted is None:
            return text
        sentences.append(converted)
    return ". ".join(sentences)


def _replace_pronouns(text: str, subject: str, persons: Sequence[str]) -> str:
    """The text with the name in place of he, she and they, if one person alone can be meant."""
    name = _find_referent(text, subject, persons)
    if name is None:
        return text
    if _CJK.search(text):
        return _ZH.sub("用户" if name == _USER else name, text)
    if match := _SUBJECT.match(text):
        verb = _SHORT[match["short"].casefold()] + match["verb"] if match["short"] else _conjugate_verb(match)
        text = f"{name[:1].upper()}{name[1:]} {verb}{text[match.end() :]}"
    text = _MIDDLE.sub(lambda match: f"{name} {_conjugate_verb(match)}", text)
    return _OBJECT.sub(name, _OWN.sub(f"{name}'s", text))


def _find_referent(text: str, subject: str, persons: Sequence[str]) -> str | None:
    """The person that a pronoun of the text means; None if several can be meant."""
    if subject == "user":
        return None if persons else _USER
    if len(persons) == 1:
        return persons[0]
    related = None if persons else _RELATED.search(text)
    return f"the {related[1]}" if related and related[1] else related[2] if related else None


def _conjugate_verb(match: re.Match[str]) -> str:
    """The verb in the form for a name: `they are` becomes `Ana is`."""
    verb = match["verb"]
    return (_PLURAL.get(verb.casefold()) or conjugate_verb(verb)) if match["who"].casefold() == "they" else verb
