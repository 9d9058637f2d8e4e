"""What a text is like, apart from what it says: traits that say how likely it answers a question.

They are kept with the words of a memory, in dimensions of their own: a search reads both in one pass."""

from __future__ import annotations

from datetime import UTC, datetime

from muniment.memory.rules.dates import mentions
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile

# The first dimensions; of a billion that words have, a word is not to be expected there.
DATED, ASKING, NAMING = 1, 2, 3
LAST = NAMING

# Every date in `rules.dates` has a figure like these, or a word that may tell a time. A quick look: most texts have none.
_FIGURE = lazy_compile(r"\d(?:[/.-]\d|(?i:st|nd|rd|th)\b|(?<=[3-9])0['’]?[sS]\b|(?<=1)9\d\d|(?<=2)0\d\d)")
_QUESTION = lazy_compile(r"[^.!?。！？\n]*[?？]")
_NAME = lazy_compile(r"[A-Z](?<=[a-z,;] [A-Z])[a-z]{2,}")  # the rare letter first, and then what stands before it
# Whether there is a date does not depend on when it was said, only which one it is; of Chinese feasts these years are known.
_ANY_TIME = datetime(2020, 1, 1, tzinfo=UTC)


def index_text(text: str, context: str | None = None) -> dict[int, float]:
    """What a search knows of a text: its traits and the weights of its words, by dimension, in their order."""
    return dict(zip(*list_dimensions(text, context), strict=True))


def list_dimensions(text: str, context: str | None = None) -> tuple[list[int], list[float]]:
    """The dimensions of `indexed`, and the value of each."""
    places, values, timely = tokens.weigh_dimensions(text, context)
    if found := _find_traits(text, may_have_date=timely):
        return [*found, *places], [*found.values(), *values]
    return places, values


def _find_traits(text: str, *, may_have_date: bool) -> dict[int, float]:
    """Dimensions and values in (0, 1]: DATED 1 if the text says when, and not only at what time of the year, ASKING the share of its characters that
    stand in questions, NAMING 1 if it has a capitalised word inside a sentence. What is 0 is left out. `timely`: a word of the text may tell a time."""
    found: dict[int, float] = {}
    if (may_have_date or _FIGURE.search(text)) and not all(
        one.is_vague for one in mentions.find_mentions(text, _ANY_TIME)
    ):
        found[DATED] = 1.0
    if "?" in text or "？" in text:
        found[ASKING] = round(sum(map(len, _QUESTION.findall(text))) / len(text), 4)
    if _NAME.search(text):
        found[NAMING] = 1.0
    return found
