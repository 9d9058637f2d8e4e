"""The parse of a statement: content words in one spelling, names, figures, owners, what it denies, and whether it
changes what was said before.

The same person or day has the same word in English and Chinese: `老婆`, `wife` and `husband` are `spouse`, `周四` is
`thursday`. Other Chinese, which has no word borders, is read character by character."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from muniment.memory.rules.dates.chinese import parse_number
from muniment.memory.rules.language import chinese_words, tokens as words
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.statements import changes, parse_words

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
_ROLE_NAMES_ZH = frozenset(parse_words.ROLES_ZH.values())
_TITLES = frozenset({"dr", "mr", "mrs", "ms", "professor", "prof"})
_LONGEST_CHANGE = 4_000  # characters of what may correct, move or end what was said before


@dataclass(frozen=True, kw_only=True)
class ParsedStatement:
    """A parsed statement. `content` has the content words in order, `tokens` every word, folded.

    Most statements that are compared have too few words in common to be one. What is asked only of the others is read
    when it is first asked."""

    written: str  # with straight quotes, without its full stop
    folded: str
    plain: str  # folded, without what it takes back, with one phrase for those that mean the same
    content: tuple[str, ...]
    words: frozenset[str]
    tokens: tuple[str, ...]
    figures: frozenset[str]  # numbers, weekdays and months
    retracted_words: frozenset[str]  # what it says is not so: Porto of `Braga, not Porto`
    is_retracting: bool  # it takes something back
    is_ended: bool  # it was so and is no longer

    @cached_property
    def text(self) -> str:
        """Return it folded, without what it takes back and without words such as `now`."""
        return " ".join(parse_words.ADVERBS.sub(" ", self.plain).split())

    @cached_property
    def _capitals(self) -> tuple[frozenset[str], str | None]:
        return _find_names(self.written, self.figures)

    @property
    def names(self) -> frozenset[str]:
        """Return the words of alphabetic scripts with a capital, but for the first."""
        return self._capitals[0]

    @property
    def first_word(self) -> str | None:
        """Return the first word if it has a capital, which is no sign of a name there."""
        return self._capitals[1]

    @cached_property
    def roles(self) -> frozenset[tuple[str, str]]:
        """Return each owner's relative, with the name if one follows: the user's brother Tom."""
        english = ((parse_words.ROLES[own["role"]], own["name"]) for own in _OWNED.finditer(self.written))
        chinese = ((parse_words.ROLES_ZH[own["role"]], own["name"] or "") for own in _OWNED_ZH.finditer(self.written))
        return frozenset((*((role, words.fold_text(name or "")) for role, name in english), *chinese))

    @cached_property
    def is_negated(self) -> bool:
        """Whether it denies something; to hate is to like, denied."""
        is_denied = self.is_ended or parse_words.DENIALS.search(self.plain) is not None
        return is_denied != (parse_words.OPPOSITES.search(self.plain) is not None)

    @cached_property
    def is_planned(self) -> bool:
        """Whether it is a plan or a wish."""
        return parse_words.PLANS.search(self.plain) is not None

    @cached_property
    def is_correction(self) -> bool:
        """Whether it says that something changed."""
        return self.is_retracting or parse_words.CHANGE_CUES.search(self.plain) is not None

    @cached_property
    def missing_words(self) -> frozenset[str]:
        """Return what it says is absent: sugar of `without sugar`."""
        return frozenset(canonicalize_word(word) for word in _WITHOUT.findall(self.plain))

    @cached_property
    def is_passive(self) -> bool:
        """Whether it may be in the passive voice."""
        return _PASSIVE.search(self.plain) is not None

    @cached_property
    def directions(self) -> frozenset[tuple[str, str]]:
        """Return each preposition with the word after it: from, riga."""
        return frozenset(_find_directions(self.plain))

    @cached_property
    def is_dated_past(self) -> bool:
        """Whether it says what happened on a date."""
        has_date = parse_words.DATE_MARKS.search(self.folded) is not None
        return has_date and parse_words.PAST_MARKS.search(self.folded) is not None

    def contradicts(self, other: ParsedStatement) -> bool:
        """Whether it denies the other statement. `Without sugar` denies sugar, but not coffee."""
        return self.is_negated != bool(self.missing_words & other.words)

    def measure_overlap(self, other: ParsedStatement) -> float:
        """The share of the shorter statement's words that the other has, too."""
        shorter = min(len(self.words), len(other.words))
        return len(self.words & other.words) / shorter if shorter else float(self.tokens == other.tokens)


@words.cache_texts(4_096)
def parse_statement(text: str) -> ParsedStatement:
    """The parse of a statement. Cached, because stored memories are compared many times."""
    straight = text.replace("’", "'").strip(" .。!！")
    folded = _ISO.sub(_format_day, words.fold_text(straight))
    main, retracted, corrects = _split_retraction(folded)
    plain = _replace_phrases(main)
    figures, rest = _extract_figures(plain)
    content = tuple(_extract_content(rest))
    out_figures, out_rest = _extract_figures(_replace_phrases(retracted)) if retracted else (frozenset[str](), "")
    return ParsedStatement(
        written=straight,
        folded=folded,
        plain=plain,
        content=content,
        # A CJK character that repeats gets its number, so that each counts: 书, 书2.
        words=frozenset(
            word if number == 1 else f"{word}{number}"
            for word, times in Counter(content).items()
            for number in range(1, 2 if word.isascii() else times + 1)
        ),
        tokens=tuple(_split_tokens(folded)),
        figures=figures,
        retracted_words=(frozenset(_extract_content(out_rest)) if retracted else frozenset()) | out_figures,
        is_retracting=corrects,
        is_ended=parse_words.ENDINGS.search(plain) is not None,
    )


def normalize_sentence(text: str) -> str:
    """The text folded, with single spaces, without its full stop."""
    return " ".join(words.fold_text(text).split()).rstrip(".。")


def _format_day(match: re.Match[str]) -> str:
    """An ISO date in words: `2026-05-12` is 12 may 2026."""
    year, month, day = map(int, match.groups())
    return f"{day} {parse_words.MONTHS[month - 1]} {year}" if 1 <= month <= len(parse_words.MONTHS) else match.group()


@words.cache_texts(32_768)
def canonicalize_word(word: str) -> str:
    """The stem of a word, which is the same for all its spellings and synonyms."""
    short = words.stem_word(word)
    return words.stem_word(parse_words.SYNONYMS.get(word) or parse_words.SYNONYMS.get(short) or word)


def _split_retraction(text: str) -> tuple[str, str, bool]:
    """The text without what it takes back, what it takes back, and whether it takes anything back."""
    for pattern in parse_words.RETRACTIONS if parse_words.RETRACTING.search(text) else ():
        if match := pattern.search(text):
            parts = match.groupdict(default="")
            return f"{parts['before']} {parts.get('main', '')}", parts["out"], True
    return text, "", False


def _replace_phrases(text: str) -> str:
    for pattern, plain in parse_words.PHRASES_ZH if words.has_cjk(text) else parse_words.PHRASES:
        text = pattern.sub(plain, text)
    return text


def _find_directions(text: str) -> Iterator[tuple[str, str]]:
    for match in parse_words.DIRECTIONS.finditer(text):
        following = (word.removesuffix("'s") for word in _TOKEN.findall(match["what"]))
        if target := next((word for word in following if word not in words.STOP_WORDS), None):
            yield match["way"], canonicalize_word(target)
    for match in parse_words.DIRECTIONS_ZH.finditer(text):
        yield ("from" if match["way"] == "从" else "to"), match["what"]


def _extract_figures(text: str) -> tuple[frozenset[str], str]:
    """The numbers, weekdays and months, and the text without them. `1` is left out, because it is mostly an article."""
    figures = {_normalize_figure(figure) for figure in parse_words.FIGURE.findall(text)}
    return frozenset(figures - {"1"}), parse_words.FIGURE.sub(" ", text) if figures else text


def _normalize_figure(figure: str) -> str:
    if figure in parse_words.FIGURES:
        return parse_words.FIGURES[figure]
    hour, colon, minute = figure.partition(":")
    if figure[0].isascii() and figure[0].isalpha():
        return str(sum(parse_words.NUMBERS[word] for word in re.split("[ -]", figure)))
    if figure.startswith("第"):
        return f"no. {parse_number(figure[1:])}"
    plain = hour.replace(",", ".") if hour[0].isdecimal() else str(parse_number(hour))
    return plain + colon + minute


def _extract_content(text: str) -> Iterator[str]:
    text = parse_words.ROLE_ZH.sub(
        lambda role: f" {parse_words.ROLES_ZH[role.group()]} ", parse_words.EMPTY_WORDS.sub(" ", text)
    )
    for match in _TOKEN.finditer(text):
        token = match.group().removesuffix("'s").removesuffix("'")
        if token in parse_words.ROLES:
            yield parse_words.ROLES[token]
        elif token in _ROLE_NAMES_ZH:
            yield token
        else:
            for part in (token,) if token.isascii() else _CJK_RUN.split(token):
                if not part.isascii() and _CJK_RUN.fullmatch(part):
                    yield from (word for word in part if word not in parse_words.CJK_FUNCTION_WORDS)
                elif part and part not in words.STOP_WORDS and part not in parse_words.FILLERS:
                    yield from map(
                        canonicalize_word, (word for word in part.split("-") if word and word not in words.STOP_WORDS)
                    )


def _split_tokens(folded: str) -> Iterator[str]:
    for token in _TOKEN.findall(folded):
        bare = token.removesuffix("'s")
        for part in (bare,) if bare.isascii() else _CJK_RUN.split(bare):
            if not part.isascii() and _CJK_RUN.fullmatch(part):
                yield from part
            elif part:
                yield part


def _find_names(text: str, figures: frozenset[str]) -> tuple[frozenset[str], str | None]:
    tokens = _WORD.findall(text)
    starts_latin = bool(tokens) and not words.has_cjk(text.partition(tokens[0])[0])
    lead = words.fold_text(tokens[0]) if starts_latin and not tokens[0][0].islower() else None
    # Among words with capitals, a word of a script without any is most likely a name in its own spelling.
    has_capitals = text.lower() != text.upper()
    candidates = [
        words.fold_text(word)
        for index, word in enumerate(tokens)
        if (has_capitals and word.lower() == word.upper()) or (word[0].isupper() and not (starts_latin and index == 0))
    ]
    names = frozenset(
        word for word in candidates if word not in _TITLES and word not in figures and word not in words.STOP_WORDS
    )
    return names, lead if lead and lead not in words.STOP_WORDS and lead not in _TITLES else None


def may_change_known(text: str) -> bool:
    """Whether a text has any word with which people correct, move or end what was said before; most texts have none.

    A long text tells much, and does not do that."""
    return len(text) <= _LONGEST_CHANGE and any(pattern.search(text) for pattern in changes.CHANGES)


def is_correcting(sentence: str) -> bool:
    """Whether a sentence may correct or end what was said before."""
    return changes.CORRECTING.search(sentence) is not None


def strip_cues(sentence: str) -> str:
    """The sentence without the words that say that something was wrong, ends or was moved."""
    return changes.NAMED_ENDING.sub(" ", changes.CORRECTING.sub(" ", sentence))


def find_contrasts(sentence: str) -> list[tuple[str, str]]:
    """What a sentence says is so and is not so: `Rowan` and `Rowena` of `it's Rowan, not Rowena`."""
    return [(match["new"], match["old"]) for pattern in changes.CONTRASTS if (match := pattern.search(sentence))]


def is_respelling(sentence: str) -> bool:
    """Whether a sentence says how a name is written."""
    return changes.SPELT.search(sentence) is not None


def has_changed_condition(sentence: str) -> bool:
    """Whether a sentence says that its speaker has another home, job, course of study, partner or diet."""
    return any(condition.change.search(sentence) for condition in changes.CONDITIONS)
