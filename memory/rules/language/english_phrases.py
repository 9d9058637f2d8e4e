"""The parts of an English clause: its object, names, places and lists."""

from __future__ import annotations

import re

from muniment.memory.rules.language import tokens as words
from muniment.memory.rules.language.calendar import MONTHS, WEEKDAYS
from muniment.memory.rules.language.clause import Clause
from muniment.memory.rules.language.english_words import DIETS, NATIONALITIES, TRADES, replace_pronouns
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon

_PEOPLE = load_lexicon("people.en")
_NOT_FIRST_NAMES = _PEOPLE.get_words("not_first_names")
_ACRONYM = lazy_compile(r"[A-Z]{3,}")  # AFK, ADHD
NAME = rf"[^\W\d_][\w'-]*(?:\s+[{words.UPPER}][\w'-]*\.?){{0,3}}"

_SUBORDINATE = lazy_compile(
    r"\s*(?:,\s*)?\b(?:because|although|(?:even\s+)?though|(?<!a )(?<!a\n)while|which|who|where|but"
    r"|so(?!\s+called)|cause|cuz|whenever|when|as\s+well\s+as|given|considering|and\s+(?:i|it|that|they|he"
    r"|she|we|you|i'm|i've|then|so)\b|since\s+(?:i|it|he|she|they|we|the|my|there)\b|after\s+(?:i|we)\b"
    r"|before\s+(?:i|we)\b)\b.*$|\s*(?:[,.:](?=\s|$)|[;!?(]|(?<!\d)[–—]|[–—](?!\d)).*$|\s+-\s.*$",
    re.IGNORECASE | re.DOTALL,
)  # `12:30`, `1,200` and `9–17` are one word each
_SUBORDINATE_KEEP_COMMAS = lazy_compile(_SUBORDINATE.pattern.replace("[,.:]", ":"), re.IGNORECASE | re.DOTALL)
_FILLERS = lazy_compile(
    r"(?<![\s,])(?:[\s,]++(?:too|also|as\s+well|very\s+much|a\s+lot|so\s+much|a\s+bit|really|right\s+now|now"
    r"|at\s+the\s+moment|these\s+days|nowadays|lately|currently|actually|though|anyway"
    r"|lol|haha+|btw|please|of\s+course|most\s+of\s+all|the\s+most|in\s+general|you\s+know|by\s+the\s+way"
    r"|to\s+be\s+honest|tbh|ok|okay|again|thanks|thank\s+you|at\s+all|after\s+all|more\s+than\s+anything)(?=[\s,]"
    r"|$))++",
    re.IGNORECASE,
)
_NOT_NAMES = NATIONALITIES | TRADES | frozenset(DIETS) | _PEOPLE.get_words("not_names")
_NOT_PLACES = _PEOPLE.get_words("not_places")
_PLACE_END = lazy_compile(
    r"\s+(?:with|for|and\s+(?!the\s+\w|(?-i:[A-Z]))|since|as|now|at|on|during|by|near|right|these|until|from|to"
    r"|alone|together|last|next|again|after|before|when|where|because|which|doing|working|who)\b.*$",
    re.IGNORECASE,
)
_EMPTY_START = lazy_compile(
    r"(?:how|what|when|where|why|who|whoever|that|to\s+see\s+(?:it|that|you)|the\s+(?:way|idea|fact|feeling"
    r"|sound\s+of\s+that)|being\s+able|all\s+(?:the|of)|and|or|of|is|are"
    r"|so|too|very|much|more|most|both|each|such|same|no|nothing|everyone|people)\b",
    re.IGNORECASE,
)
_EMPTY_END = lazy_compile(
    r"(?:^|\s)(?:few|some|many|more|lot|of|the|and|to|an?|for|with|same|others?|another|especially|even|mostly"
    r"|including|user)$",
    re.IGNORECASE,
)
_ARTICLE = lazy_compile(r"^(?:an?|the)\s+", re.IGNORECASE)
_CAPITAL = lazy_compile(r"\b[A-Z][\w'&.-]*(?:\s+(?:of\s+|the\s+|de\s+)?[A-Z][\w'&.-]*)*")
_NOT_ENTITIES = frozenset(("I", "I'm", "I've", "The", "A", "My", "On", "In", "At", *MONTHS, *WEEKDAYS))


def trim_phrase(words: str) -> str:
    """The words before a subordinate clause, without trailing fillers and punctuation."""
    return strip_fillers(_SUBORDINATE_KEEP_COMMAS.sub("", words))


def strip_fillers(words: str) -> str:
    """The words without trailing fillers and punctuation."""
    phrase = words.strip(" .,!~")
    # Runs of fillers are searched from the front. A pattern that is bound to the end would read each filler many times.
    end = next((run.start() for run in _FILLERS.finditer(phrase) if run.end() == len(phrase)), None)
    return phrase[:end].strip(" .,!~\"'")


def parse_object(words: str, clause: Clause) -> str | None:
    """The object of a verb. None where it is missing, too long, or unclear by itself."""
    phrase = trim_phrase(_SUBORDINATE.sub("", words) if "," in words and len(words) > 120 else words)
    if not phrase or len(phrase.split()) > 20 or _EMPTY_START.match(phrase) or _EMPTY_END.search(phrase):
        return None
    if (
        re.match(r"the\s", phrase, re.IGNORECASE)
        and not clause.is_lowercase
        and not _CAPITAL.search(phrase[4:])
        and len(phrase.split()) < 4
    ):
        return None
    return replace_pronouns(phrase)


def parse_list(words: str, clause: Clause) -> list[str]:
    """The things of an enumeration, or the phrase as one thing. Unclear things are left out."""
    phrase = trim_phrase(words)
    parts = [part.strip() for part in re.split(r"\s*,\s*(?:and\s+|or\s+)?|\s+(?:and|or|&)\s+", phrase) if part.strip()]
    if not parts:
        return []
    # "rock and pop music" is one thing: the last noun may belong to all parts
    lengths = [len(_ARTICLE.sub("", part).split()) for part in parts]
    is_enumeration = max(lengths) <= 3 and lengths[-1] <= max(lengths[:-1] or lengths)
    if len(parts) > 1 and is_enumeration and not re.search(r"\b(?:to|both|between)\b", phrase):
        objects = [part for part in parts if parse_object(part, clause)]
        return [item for part in objects if (item := replace_pronouns(part))]
    if len(parts) > 1 and "," in phrase and not all(len(part.split()) <= 5 for part in parts):
        phrase = phrase.split(",")[0]
    whole = parse_object(phrase, clause)
    return [whole] if whole else []


def is_name(words: str, clause: Clause) -> bool:
    """Whether the words can be the name of a person."""
    parts = words.split()
    if not parts or any(part.casefold().rstrip(".") in _NOT_NAMES or _ACRONYM.fullmatch(part) for part in parts):
        return False
    if parts[0].casefold() in _NOT_FIRST_NAMES:
        return False
    return (clause.is_lowercase and len(parts) == 1 and len(words) > 1) or all(part[0].isupper() for part in parts)


def parse_place(words: str, clause: Clause) -> str | None:
    """The name of a place or a firm at the start of the words, or None."""
    place = _PLACE_END.sub("", trim_phrase(words)).strip(" ,.")
    parts = place.split()
    if not parts or len(parts) > 6 or replace_pronouns(place) != place:
        return None
    if parts[0].casefold() == "the" and len(parts) > 1 and parts[1][0].isupper():
        return place
    if parts[0][0].isupper() or re.match(r"[a-z]?[A-Z0-9]", parts[0]):
        return place
    return (
        place
        if clause.is_lowercase and len(parts) <= 2 and parts[0] not in _NOT_PLACES | {"a", "an", "the", "my"}
        else None
    )


def find_names(words: str) -> tuple[str, ...]:
    """The proper names in the words."""
    return tuple(dict.fromkeys(name for name in _CAPITAL.findall(words) if name not in _NOT_ENTITIES))


def make_slug(words: str) -> str:
    """The words as a predicate: lower case, joined by underscores."""
    return re.sub(r"\W+", "_", words.casefold()).strip("_")
