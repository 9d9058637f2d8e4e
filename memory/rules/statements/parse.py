"""A statement as the judge reads it: content words in one spelling, names, figures, whose it is, and what it denies.

English and Chinese come out in the same words where they mean the same person or day: `老婆`, `wife` and `husband` are
`spouse`, `周四` is `thursday`. Chinese, which has no word borders, is read character by character."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from muniment.memory.rules.dates.chinese import parse_number
from muniment.memory.rules.language import chinese_words, tokens as words
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.statements import parse_words

_TOKEN = lazy_compile(r"\d+(?:[.:,]\d+)*|[^\W\d_]+(?:['-][^\W\d_]+)*")
_CJK_RUN = lazy_compile(r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+)")
_WORD = lazy_compile(
    r"[^\W\d_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af][^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]*(?:-[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+)*"
)
_WITHOUT = lazy_compile(r"\b(?:without|without any|without an?|without the)\s+([a-z]+)")
_OWNED = lazy_compile(
    r"'s?\s+(?:[a-z]+\s+){0,2}?(?P<role>"
    + "|".join(sorted(parse_words.ROLES, key=len, reverse=True))
    + r")\b(?!-)(?:'s)?(?:\s+(?P<name>["
    + words.UPPER
    + r"]\w+))?"
)
_OWNED_ZH = lazy_compile(f"的[^，。]{{0,4}}?(?P<role>{parse_words.ROLE_ZH.pattern})(?P<name>{chinese_words.NAME})?")
_ISO = lazy_compile(r"\b((?:19|20)\d\d)-(\d\d)-(\d\d)\b")
_PASSIVE = lazy_compile(r"\bby\b|由|被|把|让")
_TITLES = frozenset({"dr", "mr", "mrs", "ms", "professor", "prof"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedStatement:
    """What a statement says. `order` has the content words as they come, `said` every word, folded."""

    text: str  # folded, without what it takes back and without `now` and the like
    content: tuple[str, ...]
    words: frozenset[str]
    tokens: tuple[str, ...]
    names: frozenset[str]  # words with a capital, of the alphabetic scripts
    first_word: str | None  # the first word, whose capital proves nothing
    figures: frozenset[str]  # numbers, weekdays and months: what a correction steps
    roles: frozenset[tuple[str, str]]  # whose it is, with the name if one follows: the user's brother Tom
    is_negated: bool
    is_ended: bool  # it was so and is no more
    is_planned: bool
    is_correction: bool  # it says of itself that something changed
    retracted_words: frozenset[str]  # what it says is not so: `Braga, not Porto`
    missing_words: frozenset[str]  # what it is without
    is_passive: bool
    directions: frozenset[
        tuple[str, str]
    ]  # what stands behind a word for whence, whither, for whom or when: from, riga
    is_dated_past: bool  # it tells what happened on a date

    def contradicts(self, other: ParsedStatement) -> bool:
        """Whether it denies what the other statement is about; `without sugar` is no denial of coffee."""
        return self.is_negated != bool(self.missing_words & other.words)


@lru_cache(maxsize=4_096)
def parse_statement(text: str) -> ParsedStatement:
    """How a statement reads. Kept, because a known memory is met again and again."""
    straight = text.replace("’", "'").strip(" .。!！")
    folded = _ISO.sub(_format_day, words.fold_text(straight))
    main, out, corrects = _split_retraction(folded)
    plain = _replace_phrases(main)
    ended = parse_words.ENDINGS.search(plain) is not None
    figures, rest = _extract_figures(plain)
    order = tuple(_extract_content(rest))
    said = tuple(_split_tokens(folded))
    names, lead = _find_names(straight, figures)
    out_figures, out_rest = _extract_figures(_replace_phrases(out)) if out else (frozenset[str](), "")
    return ParsedStatement(
        text=" ".join(parse_words.ADVERBS.sub(" ", plain).split()),
        content=order,
        words=frozenset(_number_repeats(order)),
        tokens=said,
        names=names,
        first_word=lead,
        figures=figures,
        roles=_find_roles(straight),
        is_negated=(ended or parse_words.DENIALS.search(plain) is not None)
        != (parse_words.OPPOSITES.search(plain) is not None),
        is_ended=ended,
        is_planned=parse_words.PLANS.search(plain) is not None,
        is_correction=corrects or parse_words.CHANGE_CUES.search(plain) is not None,
        retracted_words=frozenset(_extract_content(out_rest)) | out_figures,
        missing_words=frozenset(canonicalize_word(one) for one in _WITHOUT.findall(plain)),
        is_passive=_PASSIVE.search(plain) is not None,
        directions=frozenset(_find_directions(plain)),
        is_dated_past=parse_words.DATE_MARKS.search(folded) is not None
        and parse_words.PAST_MARKS.search(folded) is not None,
    )


def _format_day(match: re.Match[str]) -> str:
    """A day as it is said: `2026-05-12` is 12 may 2026."""
    year, month, day = map(int, match.groups())
    return f"{day} {parse_words.MONTHS[month - 1]} {year}" if 1 <= month <= len(parse_words.MONTHS) else match.group()


def canonicalize_word(word: str) -> str:
    """The stem of a word, the same for all spellings and words of one meaning."""
    short = words.stem_word(word)
    return words.stem_word(parse_words.SYNONYMS.get(word) or parse_words.SYNONYMS.get(short) or word)


def _split_retraction(text: str) -> tuple[str, str, bool]:
    """What the text says, what it takes back, and whether it takes something back."""
    for pattern in parse_words.RETRACTIONS if parse_words.RETRACTING.search(text) else ():
        if found := pattern.search(text):
            said = found.groupdict(default="")
            return f"{said['before']} {said.get('main', '')}", said["out"], True
    return text, "", False


def _replace_phrases(text: str) -> str:
    for pattern, plain in parse_words.PHRASES_ZH if words.has_cjk(text) else parse_words.PHRASES:
        text = pattern.sub(plain, text)
    return text


def _find_directions(text: str) -> Iterator[tuple[str, str]]:
    for found in parse_words.DIRECTIONS.finditer(text):
        behind = (one.removesuffix("'s") for one in _TOKEN.findall(found["what"]))
        if what := next((one for one in behind if one not in words.STOP_WORDS), None):
            yield found["way"], canonicalize_word(what)
    for found in parse_words.DIRECTIONS_ZH.finditer(text):
        yield ("from" if found["way"] == "从" else "to"), found["what"]


def _extract_figures(text: str) -> tuple[frozenset[str], str]:
    """The numbers, weekdays and months, and the text without them. `1` is mostly an article and left out."""
    found = {_normalize_figure(said) for said in parse_words.FIGURE.findall(text)}
    return frozenset(found - {"1"}), parse_words.FIGURE.sub(" ", text) if found else text


def _normalize_figure(figure: str) -> str:
    if figure in parse_words.FIGURES:
        return parse_words.FIGURES[figure]
    hour, colon, minute = figure.partition(":")
    if figure[0].isascii() and figure[0].isalpha():
        return str(sum(parse_words.NUMBERS[one] for one in re.split("[ -]", figure)))
    if figure.startswith("第"):
        return f"no. {parse_number(figure[1:])}"
    plain = hour.replace(",", ".") if hour[0].isdecimal() else str(parse_number(hour))
    return plain + colon + minute


def _extract_content(text: str) -> Iterator[str]:
    text = parse_words.ROLE_ZH.sub(
        lambda said: f" {parse_words.ROLES_ZH[said.group()]} ", parse_words.EMPTY_WORDS.sub(" ", text)
    )
    for found in _TOKEN.finditer(text):
        token = found.group().removesuffix("'s").removesuffix("'")
        if token in parse_words.ROLES:
            yield parse_words.ROLES[token]
        elif token in parse_words.ROLES_ZH.values():
            yield token
        else:
            yield from _split_token(token)


def _split_token(token: str) -> Iterator[str]:
    for part in _CJK_RUN.split(token):
        if _CJK_RUN.fullmatch(part):
            yield from (one for one in part if one not in parse_words.CJK_FUNCTION_WORDS)
        elif part and part not in words.STOP_WORDS and part not in parse_words.FILLERS:
            yield from (canonicalize_word(one) for one in part.split("-") if one and one not in words.STOP_WORDS)


def _number_repeats(content: Iterable[str]) -> Iterator[str]:
    """The words, a character that comes again with its number: a bookshelf of the study has two of `书`."""
    seen: Counter[str] = Counter()
    for one in content:
        seen[one] += 1
        yield one if seen[one] == 1 or one.isascii() else f"{one}{seen[one]}"


def _split_tokens(folded: str) -> Iterator[str]:
    for found in _TOKEN.findall(folded):
        for part in _CJK_RUN.split(found.removesuffix("'s")):
            if _CJK_RUN.fullmatch(part):
                yield from part
            elif part:
                yield part


def _find_names(text: str, figures: frozenset[str]) -> tuple[frozenset[str], str | None]:
    found = _WORD.findall(text)
    begins = bool(found) and not words.has_cjk(text.partition(found[0])[0])
    lead = words.fold_text(found[0]) if begins and not found[0][0].islower() else None
    # Among words of a script with capitals one of a script without any is a name, most likely: Samir, as he writes himself.
    strange = text.lower() != text.upper()
    named = [
        words.fold_text(one)
        for at, one in enumerate(found)
        if (strange and one.lower() == one.upper()) or (one[0].isupper() and not (begins and at == 0))
    ]
    names = frozenset(one for one in named if one not in _TITLES and one not in figures and one not in words.STOP_WORDS)
    return names, lead if lead and lead not in words.STOP_WORDS and lead not in _TITLES else None


def _find_roles(text: str) -> frozenset[tuple[str, str]]:
    english = ((parse_words.ROLES[one["role"]], words.fold_text(one["name"] or "")) for one in _OWNED.finditer(text))
    chinese = ((parse_words.ROLES_ZH[one["role"]], one["name"] or "") for one in _OWNED_ZH.finditer(text))
    return frozenset((*english, *chinese))
