"""Whether a text is about the past, the future, or each year, and so which year a date without one means.

A date goes by the tense of the clause that it stands in. The words here are English; those of Chinese are beside its
dates."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field

from muniment.memory.rules.language.lazy_regex import lazy_compile

_FUTURE = lazy_compile(
    r"\b(?:will|going\s+to|plan\w*|want\w*|hop(?:e|es|ing)|shall|training|need\w*|upcoming|scheduled|would\s+like"
    r"|intend\w*|aim\w*|goal|deadline|due|(?:decided|agreed|promised)\s+to"
    r"|(?:'m|am|is|are)\s+(?!born)\w{2,14}ing|remind|next|must|have\s+to|has\s+to|should|looking\s+forward"
    r"|preparing|saving)\b|'ll\b|'d\s+like\b",
    re.IGNORECASE,
)
_DONE = (
    r"was|were|did|didn't|had|went|got|came|met|saw|took|made|bought|left|began|became|ran|won|lost|found|taught"
    r"|wrote|built|gave|ate|felt|sold|flew|drove|broke|quit|spent|told|born|been"
)
_PAST = lazy_compile(rf"\b(?:{_DONE}|read|ago|[a-z]{{2,20}}ed)\b", re.IGNORECASE)

_BOOKED = lazy_compile(
    r"(?<!was )(?<!were )(?<!had )\b(?:(?:re)?booked|reserved|(?:bought|got|made|have|has|'ve)\s+(?:\w+\s+){0,3}?"
    r"(?:reservation|booking|ticket|appointment)s?)\b",
    re.IGNORECASE,
)
_BACK_REACH = 8
_BACK = lazy_compile(r"\bback\s+$", re.IGNORECASE)

# A date without a year may be one of each year, unless the text says that it is past or to come.
_ONCE = lazy_compile(rf"\b(?:{_DONE}|(?!hundred|naked|sacred)[a-z]{{2,20}}(?<!e)ed)\b", re.IGNORECASE)
_SOON = lazy_compile(
    r"\b(?:will|going\s+to|plan(?:s|ned|ning)?|hop(?:e|es|ing)|upcoming|resolution|(?:decided|agreed"
    r"|promised)\s+to|wants?|intends?|looking\s+forward|(?:would|'d)\s+like|(?:'m|am|is|are)\s+(?!born)\w{2,14}ing"
    # Events of one day, and not of each year.
    r"|(?:flight|train|bus|ferry|appointment|check-?up|exam|interview|surgery|operation|wedding|marathon|concert"
    r"|gig|deadline|trip|holiday|vacation"
    r"|delivery|due\s+date|hearing|trial|match|race|game|show|premiere|launch|move|party)\s+(?:(?:to|for|with|in"
    r"|at|from)\s+(?:\w+\s+){1,3}?)?(?:is|leaves|departs|arrives|starts"
    r"|takes\s+place)(?!\s+(?:always|every|usually)))\b|'ll\b",
    re.IGNORECASE,
)
_HABIT = lazy_compile(
    r"\b(?:always|usually|often|every|each|never|normally|typically|generally|mostly|sometimes|tends?|whenever"
    r"|used\s+to|would(?!\s+(?:like|love))"
    r"|growing\s+up|as\s+a\s+(?:kid|child|boy|girl)|when\s+(?:i|we|he|she|they)\s+(?:was|were)"
    r"|born|birthday|named\s+after)\b",
    re.IGNORECASE,
)
_STATE = lazy_compile(
    r"(?:\b(?:am|is|are|gets?|feels?|becomes?)|'m|'s|'re)\s+(?:\w+\s+)?\w+ed\b|(?:'ve|have|has|'s)\s+got\b",
    re.IGNORECASE,
)
# What follows a date that is complete. Before another word it may be part of a name, as in Easter Island.
ALONE = (
    r"(?=\s*(?:$|[^\w\s-]|\s(?:and|but|or|so|because|since|as|when|while|where|if|although|that|which|who|with"
    r"|without|in|on|at|to|for|from|by|about"
    r"|after|before|during|until|till|over|through|around|near|back|again|too|also|together|alone|there|here|then"
    r"|now|this|last|next|these|those"
    r"|my|our|your|his|her|its|their|the|an?|some|all|both|no|not|i|we|you|he|she|it|they|me|us|him|them|someone"
    r"|everyone|everybody|nobody|one"
    r"|am|is|are|was|were|did|does|do|has|have|had|will|would|can|could|may|might|shall|should|must|won't|didn't"
    r"|wasn't|isn't|i'm|we're|i've)\b))"
)
_BY_ITSELF = lazy_compile(ALONE, re.IGNORECASE)
_STARTS = lazy_compile(r"(?:^|[.!?:;,\n])[\s\"'“‘(*-]*$")
# A run of marks is looked at from its first one only: from each of them it would take time by the square.
_SENTENCE = lazy_compile(r"(?<![.!?;\n])[.!?;\n]+(?:\s+|$)")
_CLAUSE = lazy_compile(
    r"(?<![.!?;,\n])[.!?;,\n]+(?:\s+|$)|\s+[-–—]\s+|\s+(?:and|but|so|because)\s+(?=(?:i|we|he|she|it|they|my|our|the)\b)",
    re.IGNORECASE,
)
_REACH = 200  # characters of a sentence on either side
_CAPITAL = lazy_compile(r"\s+[A-Z]")


@dataclass(frozen=True, slots=True)
class TenseWords:
    """How a language ends clauses and sentences, and tells past from future."""

    clause_end: re.Pattern[str]
    sentence_end: re.Pattern[str]
    booked: re.Pattern[str]  # an arrangement: its date without a year is that of what is arranged
    find_direction: Callable[[str], int]  # of a text: -1 for the past, 1 for the future, 0 where no word tells it


@dataclass(frozen=True, slots=True, eq=False)
class ClauseTenses:
    """The directions of the clauses of a text. Each clause is searched once, however many dates it has."""

    text: str
    words: TenseWords
    _known: dict[tuple[int, int, bool], int] = field(default_factory=dict)
    _bounds: dict[re.Pattern[str], list[int]] = field(default_factory=dict)

    def infer_direction(self, start: int, end: int, *, is_booked: bool) -> int:
        """-1 or 1 for a date at that place, by its clause, else by its sentence, else by the text. 1 where no word
        tells it. `is_booked`: the date may be that of a booking, which is still to come."""
        for mark in (self.words.clause_end, self.words.sentence_end):
            bounds = self._find_bounds(mark)
            part = bounds[bisect_right(bounds, start) - 1], bounds[bisect_left(bounds, end)]
            if direction := self._find_direction(*part, is_booked=is_booked):
                return direction
        return self._find_direction(0, len(self.text), is_booked=False) or 1

    def _find_direction(self, start: int, end: int, *, is_booked: bool) -> int:
        key = (start, end, is_booked)
        if key not in self._known:
            part = self.text[start:end]
            has_booking = is_booked and self.words.booked.search(part)
            self._known[key] = 1 if has_booking else self.words.find_direction(part)
        return self._known[key]

    def _find_bounds(self, end: re.Pattern[str]) -> list[int]:
        if end not in self._bounds:
            inner = (match.end() for match in end.finditer(self.text))
            size = len(self.text)
            self._bounds[end] = [0, *(place for place in inner if 0 < place < size), size]
        return self._bounds[end]


def infer_direction(text: str) -> int:
    """-1 for a text about the past, else 1: the direction in which the nearest date is searched."""
    return _find_direction(text) or 1


def infer_mention_direction(tenses: ClauseTenses, start: int, end: int, preposition: str, *, partial: bool) -> int:
    """The direction of a date at that place of a statement: -1 or 1. `partial` is a date without its year."""
    if preposition == "since" or _BACK.search(tenses.text, max(0, start - _BACK_REACH), start):
        return -1
    return tenses.infer_direction(start, end, is_booked=partial or preposition == "for")


def _find_direction(text: str) -> int:
    """1 or -1 by the words of a text that tell it, else 0."""
    if _FUTURE.search(text):
        return 1
    return -1 if _PAST.search(text) else 0


TENSE_WORDS = TenseWords(_CLAUSE, _SENTENCE, _BOOKED, _find_direction)


def infer_date_direction(text: str, start: int, end: int, preposition: str) -> int:
    """The direction of a date without a year at that place. 0 where it may be one of each year or part of a name."""
    if not _BY_ITSELF.match(text, end) or _is_title(text, start, preposition):
        return 0
    before, after = text[max(0, start - _REACH) : start], text[end : end + _REACH]
    sentence = _SENTENCE.split(before)[-1] + text[start:end] + _SENTENCE.split(after)[0]
    if _HABIT.search(sentence):
        return 0
    if preposition == "since":
        return -1
    return 1 if _SOON.search(sentence) else -1 if _ONCE.search(_STATE.sub(" ", sentence)) else 0


def infer_question_direction(text: str, start: int, end: int, preposition: str) -> int:
    """1 for a date without a year in a question, which may be about each year. 0 for part of a name."""
    return 0 if _CAPITAL.match(text, end) or _is_title(text, start, preposition) else 1


def _is_title(text: str, start: int, preposition: str) -> bool:
    """Whether the preposition has a capital inside a sentence, as in The Nightmare Before Christmas."""
    capital = preposition and text[start].isupper() and not text.isupper()
    return bool(capital) and not _STARTS.search(text[max(0, start - _REACH) : start])
