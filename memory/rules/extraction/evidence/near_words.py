"""The words that a statement and its source have in common, by themselves or by a concept that both name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache

from muniment.memory.rules.dates import mentions
from muniment.memory.rules.extraction.support import UNITS, expand_abbreviations
from muniment.memory.rules.language import chinese_words, english_words, tokens
from muniment.memory.rules.language.english_words import NATIONALITIES
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon

_STEM = 4  # letters: German and Germany
_WORD = lazy_compile(r"[\w'-]+")
_CJK = lazy_compile(r"[\u3400-\u9fff]")
_LIGHT_ZH = frozenset("用户我的了是在有会将于与和也都很被把从到着过吗呢吧啊这那个只位名每其之以为并且而但给对由不没再")
_LIGHT = frozenset(
    (
        "one", "person", "someone", "thing", "good", "get", "make", "take", "go", "come", "regular", "usual", "current",
        "kind", "type", "sort", "name", "user", "longer", "anymore",
    )
)  # fmt: skip
_IS_IN = lazy_compile(
    rf"\b(?:[Ii]'m|[Ii] am|[Ww]e're|[Ww]e are)(?: \w+)? in [{tokens.UPPER}]"
    r"(?!.{0,40}\b(?:this|today|week|until|trip|days)\b)"
)
_LEXICONS = load_lexicon("bearing.en"), load_lexicon("bearing.zh")
_CLAIMS = {
    word: name for lexicon in _LEXICONS for name, words in lexicon.get_table("claims", ",").items() for word in words
}


def measure_share(statement: str, words: str, at: datetime) -> float:
    """The share of the statement's words that the words have, or nearly; in Chinese of its characters."""
    bare = mentions.remove_dates(statement, at)
    groups = list_concepts(words)
    known = frozenset(tokens.extract_lexemes(words)) | expand_abbreviations(bare, words)
    total = borne = 0.0
    for lexeme in tokens.get_lexeme_set(_CJK.sub(" ", bare)):
        if lexeme in _LIGHT or lexeme in UNITS or lexeme.isdecimal():
            continue
        total += 1
        borne += is_known(lexeme, known, words) or not _read_groups(0).get(lexeme, frozenset()).isdisjoint(groups)
    evoked = (word for word, names in _read_groups(1).items() if not names.isdisjoint(groups))
    near = {place for word in evoked for place in _positions(word, bare)}
    for place, char in enumerate(bare):
        if _CJK.match(char) and char not in _LIGHT_ZH:
            total += 1
            borne += char in words or place in near
    return borne / total if total else 1.0


def has_unborne_claim(statement: str, words: str) -> bool:
    """Whether the statement claims what the words do not: who has been somewhere does not live there."""
    said = {word.casefold() for word in _WORD.findall(statement)}
    claimed = {name for word, name in _CLAIMS.items() if (word in statement if _CJK.search(word) else word in said)}
    borne = list_concepts(words) | ({"residence"} if _IS_IN.search(words) else set())
    borne |= {"origin"} if NATIONALITIES & {word.casefold() for word in _WORD.findall(words)} else set()
    return not claimed <= borne


def score_likeness(part: str, clause: str) -> float:
    """How much of a part of a statement a clause has, in [0, 1]; a near word counts less than the same one."""
    lexemes = tokens.get_lexeme_set(part)
    if not lexemes:
        return 0.0
    known, groups = tokens.get_lexeme_set(clause), list_concepts(clause)
    exact = sum(is_known(lexeme, known, clause) for lexeme in lexemes)
    near = sum(not _read_groups(0).get(lexeme, frozenset()).isdisjoint(groups) for lexeme in lexemes)
    return (exact + 0.4 * near) / len(lexemes)


def find_position(part: str, clause: str) -> int | None:
    """Where the first word of the statement's part stands in the clause that the clause shares; None for nowhere."""
    lexemes = tokens.get_lexeme_set(part)
    for match in _WORD.finditer(clause):
        if _CJK.search(match.group()):
            continue
        own = tokens.get_lexeme_set(match.group())
        if own and any(is_known(lexeme, own, "") for lexeme in lexemes):
            return match.start()
    places = [clause.find(lexeme) for lexeme in lexemes if tokens.has_cjk(lexeme) and lexeme in clause]
    return min(places, default=None)


def find_end(part: str, clause: str) -> int:
    """Where the last word ends that the clause shares with the part; the end of the clause for none, or in Chinese."""
    lexemes = tokens.get_lexeme_set(part)
    ends = [
        match.end()
        for match in _WORD.finditer(clause)
        if any(is_known(each, tokens.get_lexeme_set(match.group()), "") for each in lexemes)
    ]
    return len(clause) if _CJK.search(clause) else max(ends, default=len(clause))


def is_known(lexeme: str, known: frozenset[str], text: str) -> bool:
    """Whether a lexeme is known, in whatever inflection; a Chinese one, whether it is in the text."""
    if tokens.has_cjk(lexeme):
        return lexeme in text or lexeme in known
    if lexeme in known:
        return True
    return len(lexeme) >= _STEM and any(each[:_STEM] == lexeme[:_STEM] for each in known if len(each) >= _STEM)


def is_evoked(lexeme: str, text: str) -> bool:
    """Whether the text has a word of a concept that the lexeme names."""
    return not _read_groups(0).get(lexeme, frozenset()).isdisjoint(list_concepts(text))


def list_concepts(text: str) -> frozenset[str]:
    """The concepts that a text has a word for."""
    found = {name for lexeme in _stem_words(text) for name in _read_groups(0).get(lexeme, frozenset())}
    if tokens.has_cjk(text):
        found |= {name for word, names in _read_groups(1).items() if word in text for name in names}
    return frozenset(found)


def _stem_words(text: str) -> frozenset[str]:
    """The stems of all words, also of those that a search leaves out."""
    return frozenset(tokens.stem_word(part) for run in tokens.split_runs(text) for part in run.split("'"))


def _positions(word: str, text: str) -> Iterator[int]:
    for match in re.finditer(re.escape(word), text):
        yield from range(match.start(), match.end())


@cache
def _read_groups(place: int) -> Mapping[str, frozenset[str]]:
    groups: dict[str, set[str]] = {}
    for name, entries in _LEXICONS[place].get_table("concepts", ",").items():
        for entry in entries:
            for word in (entry,) if place else _stem_words(entry):
                groups.setdefault(word, set()).add(name)
    kin = {word: name for word, (name, _) in chinese_words.RELATIONS.items()} if place else english_words.RELATIONS
    for entry, name in kin.items():
        for word in (entry,) if place else _stem_words(entry):
            groups.setdefault(word, set()).add(name)
    return {word: frozenset(names) for word, names in groups.items()}
