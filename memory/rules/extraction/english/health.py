"""The English rules for allergies, diet, conditions and medicine."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.memory.rules.extraction.clauses import Draft, Rule, make_draft
from muniment.memory.rules.extraction.english.self import ADV, AM, ENDED, strip_article
from muniment.memory.rules.language.clause import Clause
from muniment.memory.rules.language.english_words import (
    CONDITIONS,
    DIETS,
    IN_JEST,
    MEDICINE,
    conjugate_verb,
    parse_list,
    parse_object,
    trim_phrase,
)
from muniment.memory.rules.language.lazy_regex import lazy_compile

_WAS = r"(?:i(?:'?m|\s+am)|i've\s+been|i\s+have\s+been)\s+" + ADV

# `and carry a card` goes on with a verb, `and all the nuts` with another allergen.
_NEXT_VERB = lazy_compile(
    r",?\s+(?:and|so|but)\s+(?!(?:all|both|most|many|even|also|only|to|in|of|with|not|or)\b)[a-z]+(?<!ing)\s+(?:an?|the"
    r"|my|it)\b",
    re.IGNORECASE,
)


def _allergy(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    against, said = bool(match["neg"]), trim_phrase(_NEXT_VERB.split(match["value"], maxsplit=1)[0])
    be = _deny(match["neg"], ended=ENDED.search(said) is not None)
    for value in parse_list(ENDED.sub("", said), clause):
        if not IN_JEST.match(value):
            text, thing = f"The user {be} allergic to {value}", strip_article(value)
            yield make_draft("constraint", "allergic_to", thing, text, negated=against, importance=4)


def _intolerant(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value, text = match["value"].casefold(), f"The user {_deny(match['neg'])} {match['value'].casefold()} intolerant"
    yield make_draft("constraint", "intolerant_to", value, text, negated=bool(match["neg"]), importance=4)


def _diet(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value, ended = match["value"].casefold(), bool(match["ended"])
    text = f"The user {_deny(match['neg'], ended=ended)} {f'on a {value} diet' if match['on'] else value}"
    against = ended or bool(match["neg"])
    yield make_draft("constraint", "diet", value, text, single=True, negated=against, importance=4)


def _deny(neg: str | None, *, ended: bool = False) -> str:
    """`is`, or its denial: `no longer` is not only `not`."""
    return "is no longer" if ended or (neg or "").casefold().startswith("no ") else "is not" if neg else "is"


_EACH = lazy_compile(r",\s*(?:and\s+)?|\s+and\s+")


def _condition(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    has = match["has"].casefold().startswith("i have")
    for value in _EACH.split(re.sub(r"\s+", " ", match["value"])):
        text = f"The user {'has' if has else 'is'} {value}"
        yield make_draft("constraint", "health_condition", strip_article(value), text, importance=4)


_SO_MUCH = lazy_compile(r"\b(?:another|one\s+more|enough|much|straight)\b", re.IGNORECASE)
_HOW = {"don't": "does not", "do not": "does not", "dont": "does not", "never": "never"}


def _cannot(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = parse_object(f"{match['verb']} {ENDED.sub('', trim_phrase(match['value'] or ''))}", clause)
    if not value or _SO_MUCH.search(value):
        return
    how = _HOW.get(re.sub(r"\s+", " ", match["neg"].casefold()), "cannot")
    does = conjugate_verb(match["verb"]) + value[len(match["verb"]) :] if how == "never" else value
    yield make_draft("constraint", "cannot", value, f"The user {how} {does}", importance=4)


def _again(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    """What the person eats or drinks again."""
    if value := parse_object(match["value"], clause):
        what = f"{match['verb'].casefold()} {value}"
        does = f"can {what}" if match["can"] else conjugate_verb(match["verb"].casefold()) + f" {value}"
        text = f"The user {does} {match['how'].casefold()}"
        yield make_draft("constraint", "cannot", what, text, negated=True, importance=3)


def _medicine(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    for value in _EACH.split(match["value"].casefold()):
        text = f"The user {'takes' if match['take'] else 'is on'} {value}"
        yield make_draft("constraint", "takes", value, text, importance=4)


_DIET = "|".join(map(re.escape, DIETS))
RULES: tuple[Rule, ...] = tuple((lazy_compile(pattern, re.IGNORECASE), build) for pattern, build in (
    ((rf"{AM}(?P<neg>not\s+|no\s+longer\s+)?{ADV}(?:severely\s+|deathly\s+|highly\s+|very\s+)?allergic\s+to\s+"
     r"(?P<value>.+)$"), _allergy),
    (AM + r"(?P<neg>not\s+|no\s+longer\s+)?(?P<value>lactose|gluten|fructose|histamine)[ -]intolerant$", _intolerant),
    (_WAS + r"(?P<neg>not\s+|no\s+longer\s+)?(?:an?\s+)?(?:strict\s+|strictly\s+|lifelong\s+)?(?P<on>on\s+an?\s+)?"
     rf"(?P<value>{_DIET})(?:\s+diet)?(?P<ended>\s+any\s?more)?(?:\s+(?:since|for)\s+.*)?$", _diet),
    ((rf"(?P<has>i\s+have|{AM})\s*{ADV}(?:an?\s+)?(?P<value>{CONDITIONS}(?:(?:{_EACH.pattern})(?:an?\s+)?"
     rf"{CONDITIONS}){{0,3}})$"), _condition),
    ((rf"i(?:\s+{ADV}|')(?P<neg>can't|cannot|can\s+not|cant|must\s+not|mustn't|am\s+not\s+allowed\s+to"
     rf"|m\s+not\s+allowed\s+to|don't|do\s+not|dont|never)\s+{ADV}(?P<verb>eat|drink|tolerate|consume|digest)"
     r"(?P<value>\s+.+)?$"), _cannot),
    (rf"i\s+{ADV}(?P<can>can\s+)?{ADV}(?P<verb>eat|drink)\s+(?P<value>.+?)\s+(?P<how>again|now)$", _again),
    ((rf"(?:{AM}(?:on|taking)|(?P<take>i\s+{ADV}take))\s+(?P<value>{MEDICINE}(?:(?:{_EACH.pattern}){MEDICINE}){{0,3}})"
     r"(?:\s+(?:daily|every\s+\w+|(?:once|twice)\s+a\s+day|(?:for|against)\s+(?:my|it|that|the)\b.*))?$"), _medicine),
))  # fmt: skip
