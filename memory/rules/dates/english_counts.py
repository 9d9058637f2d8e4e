"""English counts of a unit, ordinals for the days of a month, and parts of a month or year."""

from __future__ import annotations

import re

from muniment.memory.rules.language.lexicon import load_lexicon

_NUMBERS = {phrase: int(count) for phrase, count in load_lexicon("numbers.en").get_index("counts", ",").items()}
COUNT = (
    r"(?P<count>\d{1,4}|an?\s+couple\s+of|a\s+few|couple\s+of|few|several|an?|one|two|three|four|five|six|seven"
    r"|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty)"
)
_ONES = "first second third fourth fifth sixth seventh eighth ninth"
_TEENS = "tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
_ORDINALS = (
    {word: n for n, word in enumerate(f"{_ONES} {_TEENS}".split(), 1)}
    | {
        f"{tens}{word}": start + n
        for tens, start, most in (("twenty", 20, 9), ("thirty", 30, 1))
        for n, word in enumerate(_ONES.split()[:most], 1)
    }
    | {"thirtieth": 30}
)
# Longer ordinals first. Between the two words of one there may be a hyphen or a space.
ORDINAL = "|".join(re.sub(r"^(twenty|thirty)", r"\1[\\s-]?", word) for word in sorted(_ORDINALS, key=len, reverse=True))
PART_OF = (
    r"(?P<which>(?:the\s+)?(?:very\s+)?(?:beginning|start|middle|end|(?:first|second)\s+half|(?:first|second|third"
    r"|fourth|last)\s+week)\s+of\s+|(?:early|mid|late)(?:\s+in)?[\s-]+)"
)


def parse_count(phrase: str) -> tuple[int, str]:
    """The number of a phrase, and the phrase in lower case with single spaces."""
    word = re.sub(r"\s+", " ", phrase.casefold())
    return (int(word) if word.isdigit() else _NUMBERS.get(word, 2)), word


def parse_day(phrase: str) -> int:
    """The day of a month for a figure or an ordinal."""
    word = re.sub(r"[\s-]", "", phrase.casefold())
    return _ORDINALS[word] if word in _ORDINALS else int(re.sub(r"\D", "", word))


def parse_part(phrase: str) -> str:
    """The part of a month or year in the spelling of the calendar."""
    words = phrase.casefold().replace("-", " ").split()
    if words[0] in ("early", "mid", "late"):
        return words[0]
    return "the " + " ".join(word for word in words if word not in ("the", "very"))
