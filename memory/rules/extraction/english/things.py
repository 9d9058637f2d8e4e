"""What an English clause states of things and sums that are the person's own: a make, a floor, a rent."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.memory.rules.extraction.draft import Draft, make_draft
from muniment.memory.rules.extraction.english.grammar import Rule, make_rule
from muniment.memory.rules.language.clause import Clause
from muniment.memory.rules.language.english_phrases import find_names, make_slug
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.normalize import parse_vocabulary

_MINE = r"(?:my|our)\s+(?:new\s+|current\s+|own\s+)?"
_NOW = r"(?:(?:now|currently)\s+)?"
_THING = (
    r"(?P<what>(?:(?:work|company|family|gaming|road|mountain|electric|acoustic|bass)\s+)?(?:car|van|truck|motorbike"
    r"|motorcycle|scooter|bike|bicycle|boat|phone|smartphone|laptop|computer|pc|tablet|camera|watch|guitar|piano|violin"
    r"|printer|tv|fridge))"
)
# A make has a capital or a figure where the words for a mood have none: a red Skoda, an iPhone 13, but a mess.
_MAKE = (
    r"(?-i:an?\s+(?:(?!(?:from|of|for|by|like|to|in|on|with|at|and|or|called|named|than|about|former|total|real"
    r"|absolute|complete|bit|piece|gift|present|copy)\b)[a-z0-9][a-z0-9-]*\s+){0,3}(?:[A-Z][\w.&-]*|[a-z][A-Z]\w+)"
    r"(?:\s+(?:[A-Z0-9][\w.&-]*|[a-z][A-Z]\w+)){0,4})"
)
_LOUD = lazy_compile(r"\b[A-Z]{4,}\b")  # emphasis, not a make
_NO_MAKE = parse_vocabulary("lemon godsend lifesaver pos disaster nightmare mess joke miracle blessing")
_SUM = r"(?:\d[\d,.]*(?<![,.])(?:\s?(?:k|thousand|million|grand))?)"
_MONEY = (
    r"(?:euros?|dollars?|pounds?|francs?|yuan|yen|rupees?|zloty|kron(?:or|er|a)|bucks|quid|usd|eur|gbp|chf|cny|rmb"
    r"|[$€£¥])"
)
_A_TIME = r"(?:\s*(?:a|an|per|each|every|/)\s*(?:hour|day|week|month|year|annum))"
_AMOUNT = (
    rf"(?:(?:[$€£¥]\s?{_SUM}|{_SUM}\s?{_MONEY}){_A_TIME}?|{_SUM}{_A_TIME})(?:\s+(?:before\s+tax|after\s+tax|net|gross"
    rf"|warm|cold))?"
)
_DUE = (
    r"(?P<what>(?:(?!(?:first|last|next|old|former|previous|dream|ideal|other|second)\b)[a-z-]+\s+)?(?:rent|salary"
    r"|mortgage|income|pension|wages?|pay|allowance|tuition|loan|debt|stipend|scholarship|savings|net\s+worth"
    r"|credit\s+limit|hourly\s+rate|day\s+rate))"
)
_FLOOR = r"(?:ground|top|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|\d{1,2}(?:st|nd|rd|th))"


def _make(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    told = found["value"]
    if not _LOUD.search(told) and told.split()[-1].casefold() not in _NO_MAKE:
        yield _own(found["what"], told, f"is {told}", entities=find_names(told))


def _sum(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    yield _own(found["what"], found["value"], f"{found['be']} {found['value']}")


def _floor(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    yield _own(f"{found['what']} floor", found["value"], f"is on the {found['value']} floor", found["what"])


def _own(key: str, value: str, said: str, what: str = "", *, entities: tuple[str, ...] = ()) -> Draft:
    text = f"The user's {(what or key).casefold()} {said}"
    return make_draft("note", make_slug(f"own {key}"), value, text, single=True, entities=entities)


RULES: tuple[Rule, ...] = (
    make_rule(_MINE + _THING + r"\s+is\s+" + _NOW + r"(?P<value>" + _MAKE + r")$", _make),
    make_rule(_MINE + _DUE + r"\s+(?P<be>is|are)\s+" + _NOW + r"(?P<value>(?:(?:only|about|around|roughly|exactly)\s+"
          r")?" + _AMOUNT + r")$", _sum),
    make_rule(_MINE + r"(?P<what>flat|apartment|office|room|studio|desk)\s+is\s+" + _NOW + r"on\s+the\s+(?P<value>" + _FLOOR
          + r")\s+floor$", _floor),
)  # fmt: skip
