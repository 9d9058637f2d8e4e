"""Traits of a text, such as a date in it, that make it a likely answer.

They are stored with the words of a memory, in dimensions of their own, so that a search reads both in one pass."""

from __future__ import annotations

from datetime import UTC, datetime

from muniment.memory.rules.dates import mentions
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile

# The first dimensions; words have a billion dimensions, so that none is expected here.
DATED, ASKING, NAMING = 1, 2, 3
LAST = NAMING

# Every date in `rules.dates` has digits like these, or a time word. This test is fast, and most texts have neither.
_FIGURE = lazy_compile(r"\d(?:[/.-]\d|(?i:st|nd|rd|th)\b|(?<=[3-9])0['’]?[sS]\b|(?<=1)9\d\d|(?<=2)0\d\d)")
_QUESTION = lazy_compile(r"[^.!?。！？\n]*[?？]")
_NAME = lazy_compile(r"[A-Z](?<=[a-z,;] [A-Z])[a-z]{2,}")  # the rare letter first, then the text before it
# Whether there is a date does not depend on the day it was said, only which date it is.
_ANY_TIME = datetime(2020, 1, 1, tzinfo=UTC)


def index_text(text: str, context: str | None = None) -> dict[int, float]:
    """Return the traits of a text and the weights of its words by dimension, in the order of the dimensions."""
    return dict(zip(*list_dimensions(text, context), strict=True))


def list_dimensions(text: str, context: str | None = None) -> tuple[list[int], list[float]]:
    """Return the dimensions of `index_text` in order, and the value of each."""
    dimensions, values, may_have_date = tokens.weigh_dimensions(text, context)
    if traits := _find_traits(text, may_have_date=may_have_date):
        return [*traits, *dimensions], [*traits.values(), *values]
    return dimensions, values


def _find_traits(text: str, *, may_have_date: bool) -> dict[int, float]:
    """Return dimensions with values in (0, 1], without those that are 0.

    DATED is 1 for a date that is more than a time of the year, ASKING the share of characters in questions, NAMING 1
    for a capitalised word inside a sentence. `may_have_date`: the text has a time word."""
    traits: dict[int, float] = {}
    if may_have_date or _FIGURE.search(text):
        dates = mentions.find_mentions(text, _ANY_TIME)
        if not all(date.is_vague for date in dates):
            traits[DATED] = 1.0
    if "?" in text or "？" in text:
        traits[ASKING] = round(sum(map(len, _QUESTION.findall(text))) / len(text), 4)
    if _NAME.search(text):
        traits[NAMING] = 1.0
    return traits
