"""A statement as the judge reads it: content words in one spelling, names, figures, whose it is, and what it denies.

English and Chinese come out in the same words where they mean the same person or day: `老婆`, `wife` and `husband` are
`spouse`, `周四` is `thursday`. Chinese, which has no word borders, is read character by character."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from muniment.memory.rules.dates.chinese import number
from muniment.memory.rules.language import chinese_words, tokens as words
from muniment.memory.rules.language.lazy_regex import late
from muniment.memory.rules.statements import parse_words as known

_TOKEN = late(r"\d+(?:[.:,]\d+)*|[^\W\d_]+(?:['-][^\W\d_]+)*")
_CJK_RUN = late(r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+)")
_WORD = late(
    r"[^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af][^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]*(?:-[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+)*"
)
_LACKING = late(r"\b(?:without|without any|without an?|without the)\s+([a-z]+)")
_OWNED = late(
    r"'s?\s+(?:[a-z]+\s+){0,2}?(?P<role>" + "|".join(sorted(known.ROLES, key=len, reverse=True)) + r")\b(?!-)(?:'s)?(?:\s+(?P<name>[" + words.UPPER + r"]\w+))?"
)  # fmt: skip
_OWNED_ZH = late(f"的[^，。]{{0,4}}?(?P<role>{known.ROLE_ZH.pattern})(?P<name>{chinese_words.NAME})?")
_ISO = late(r"\b((?:19|20)\d\d)-(\d\d)-(\d\d)\b")
_PASSIVE = late(r"\bby\b|由|被|把|让")
_TITLES = frozenset({"dr", "mr", "mrs", "ms", "professor", "prof"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a statement says. `order` has the content words as they come, `said` every word, folded."""

    text: str  # folded, without what it takes back and without `now` and the like
    order: tuple[str, ...]
    words: frozenset[str]
    said: tuple[str, ...]
    names: frozenset[str]  # words with a capital, of the alphabetic scripts
    lead: str | None  # the first word, whose capital proves nothing
    figures: frozenset[str]  # numbers, weekdays and months: what a correction steps
    roles: frozenset[tuple[str, str]]  # whose it is, with the name if one follows: the user's brother Tom
    denied: bool
    ended: bool  # it was so and is no more
    planned: bool
    corrects: bool  # it says of itself that something changed
    retracted: frozenset[str]  # what it says is not so: `Braga, not Porto`
    lacking: frozenset[str]  # what it is without
    passive: bool
    ways: frozenset[tuple[str, str]]  # what stands behind a word for whence, whither, for whom or when: from, riga
    dated_past: bool  # it tells what happened on a date

    def denies(self, other: Reading) -> bool:
        """Whether it denies what the other statement is about; `without sugar` is no denial of coffee."""
        return self.denied != bool(self.lacking & other.words)


@lru_cache(maxsize=4_096)
def read(text: str) -> Reading:
    """How a statement reads. Kept, because a known memory is met again and again."""
    straight = text.replace("’", "'").strip(" .。!！")
    folded = _ISO.sub(_day, words.fold(straight))
    main, out, corrects = _retracted(folded)
    plain = _phrases(main)
    ended = known.ENDED.search(plain) is not None
    figures, rest = _figures(plain)
    order = tuple(_content(rest))
    said = tuple(_said(folded))
    names, lead = _names(straight, figures)
    out_figures, out_rest = _figures(_phrases(out)) if out else (frozenset[str](), "")
    return Reading(
        text=" ".join(known.ADVERBS.sub(" ", plain).split()),
        order=order,
        words=frozenset(_counted(order)),
        said=said,
        names=names,
        lead=lead,
        figures=figures,
        roles=_roles(straight),
        denied=(ended or known.DENIALS.search(plain) is not None) != (known.OPPOSITES.search(plain) is not None),
        ended=ended,
        planned=known.PLANNED.search(plain) is not None,
        corrects=corrects or known.CUES.search(plain) is not None,
        retracted=frozenset(_content(out_rest)) | out_figures,
        lacking=frozenset(stem(one) for one in _LACKING.findall(plain)),
        passive=_PASSIVE.search(plain) is not None,
        ways=frozenset(_ways(plain)),
        dated_past=known.DATED.search(folded) is not None and known.PAST.search(folded) is not None,
    )


def _day(found: re.Match[str]) -> str:
    """A day as it is said: `2026-05-12` is 12 may 2026."""
    year, month, day = map(int, found.groups())
    return f"{day} {known.MONTHS[month - 1]} {year}" if 1 <= month <= len(known.MONTHS) else found.group()


def stem(word: str) -> str:
    """The stem of a word, the same for all spellings and words of one meaning."""
    short = words.stem(word)
    return words.stem(known.SAME.get(word) or known.SAME.get(short) or word)


def _retracted(text: str) -> tuple[str, str, bool]:
    """What the text says, what it takes back, and whether it takes something back."""
    for pattern in known.RETRACTIONS if known.RETRACTING.search(text) else ():
        if found := pattern.search(text):
            said = found.groupdict(default="")
            return f"{said['before']} {said.get('main', '')}", said["out"], True
    return text, "", False


def _phrases(text: str) -> str:
    for pattern, plain in known.PHRASES_ZH if words.has_cjk(text) else known.PHRASES:
        text = pattern.sub(plain, text)
    return text


def _ways(text: str) -> Iterator[tuple[str, str]]:
    for found in known.WAYS.finditer(text):
        behind = (one.removesuffix("'s") for one in _TOKEN.findall(found["what"]))
        if what := next((one for one in behind if one not in words.STOP), None):
            yield found["way"], stem(what)
    for found in known.WAYS_ZH.finditer(text):
        yield ("from" if found["way"] == "从" else "to"), found["what"]


def _figures(text: str) -> tuple[frozenset[str], str]:
    """The numbers, weekdays and months, and the text without them. `1` is mostly an article and left out."""
    found = {_figure(said) for said in known.FIGURE.findall(text)}
    return frozenset(found - {"1"}), known.FIGURE.sub(" ", text) if found else text


def _figure(said: str) -> str:
    if said in known.FIGURES:
        return known.FIGURES[said]
    hour, colon, minute = said.partition(":")
    if said[0].isascii() and said[0].isalpha():
        return str(sum(known.NUMBERS[one] for one in re.split("[ -]", said)))
    if said.startswith("第"):
        return f"no. {number(said[1:])}"
    plain = hour.replace(",", ".") if hour[0].isdecimal() else str(number(hour))
    return plain + colon + minute


def _content(text: str) -> Iterator[str]:
    text = known.ROLE_ZH.sub(lambda said: f" {known.ROLES_ZH[said.group()]} ", known.EMPTY.sub(" ", text))
    for found in _TOKEN.finditer(text):
        token = found.group().removesuffix("'s").removesuffix("'")
        if token in known.ROLES:
            yield known.ROLES[token]
        elif token in known.ROLES_ZH.values():
            yield token
        else:
            yield from _pieces(token)


def _pieces(token: str) -> Iterator[str]:
    for part in _CJK_RUN.split(token):
        if _CJK_RUN.fullmatch(part):
            yield from (one for one in part if one not in known.CJK_EMPTY)
        elif part and part not in words.STOP and part not in known.FILLERS:
            yield from (stem(one) for one in part.split("-") if one and one not in words.STOP)


def _counted(order: Iterable[str]) -> Iterator[str]:
    """The words, a character that comes again with its number: a bookshelf of the study has two of `书`."""
    seen: Counter[str] = Counter()
    for one in order:
        seen[one] += 1
        yield one if seen[one] == 1 or one.isascii() else f"{one}{seen[one]}"


def _said(folded: str) -> Iterator[str]:
    for found in _TOKEN.findall(folded):
        for part in _CJK_RUN.split(found.removesuffix("'s")):
            if _CJK_RUN.fullmatch(part):
                yield from part
            elif part:
                yield part


def _names(text: str, figures: frozenset[str]) -> tuple[frozenset[str], str | None]:
    found = _WORD.findall(text)
    begins = bool(found) and not words.has_cjk(text.partition(found[0])[0])
    lead = words.fold(found[0]) if begins and not found[0][0].islower() else None
    # Among words of a script with capitals one of a script without any is a name, most likely: Samir, as he writes himself.
    strange = text.lower() != text.upper()
    named = [
        words.fold(one)
        for at, one in enumerate(found)
        if (strange and one.lower() == one.upper()) or (one[0].isupper() and not (begins and at == 0))
    ]
    names = frozenset(one for one in named if one not in _TITLES and one not in figures and one not in words.STOP)
    return names, lead if lead and lead not in words.STOP and lead not in _TITLES else None


def _roles(text: str) -> frozenset[tuple[str, str]]:
    english = ((known.ROLES[one["role"]], words.fold(one["name"] or "")) for one in _OWNED.finditer(text))
    chinese = ((known.ROLES_ZH[one["role"]], one["name"] or "") for one in _OWNED_ZH.finditer(text))
    return frozenset((*english, *chinese))
