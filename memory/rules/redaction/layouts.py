"""Finds secrets by what stands around them: their names in several languages, the next line or cell, cookies.

Where the words around a value prove little, it is a secret only with a digit among its letters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.tokens import extract_lexemes
from muniment.memory.rules.redaction.secret_data import load_secret_data

_FILE = "password_words"
_EDGE = r"(?<![^\W_])"
_MIXED = r"(?!\[redacted:)((?=[!-~]{0,40}?[0-9])(?=[!-~]{0,40}?[A-Za-z])[!-{}~]{6,200})"
_CHANGED = r"\b(?:changed|set|reset|updated)[ \t](?:\w{1,12}[ \t]){0,3}?"
_COOKIE = lazy_compile(r"(?i)(?<![\w-])(?:set-)?cookie2?[ \t]{0,4}[:=][ \t]{0,4}(?=[\"']?[\w.-]{1,64}=)([^\n]{4,4000})")
_COOKIE_VALUE = lazy_compile(r"(?<![\w.-])[\w.-]{1,64}=(?=[^;\s\"']{0,80}?[0-9])([^;,\s\"']{8,})")
_ENCODED = lazy_compile(
    r"(?i)(?:pass(?:word|wd|phrase)|pwd|secret|token|api[_-]?key)%(?:25)?(?:3d|3a|22%3a%22)([a-z0-9._~+*-]{1,200}"
    r"(?:%(?!26|2c|22|7d|0d|0a)[0-9a-f]{2}[a-z0-9._~+*-]{0,200}){0,40})"
)
_SHARE_OF_LEXEMES = 0.75  # of the words of a passphrase, at least; a sentence has function words
# A token that goes on at the beginning of the next line, which has nothing else.
_CONTINUED = lazy_compile(r"[\\=]?\n[ \t>|]{0,8}(?=[A-Za-z_+/=.-]{0,64}[0-9])([A-Za-z0-9_+/=.-]{8,200})[ \t]*(?=\n|\Z)")


def find_named_values(text: str) -> Iterator[tuple[int, int]]:
    """The spans of values that the words, lines and cells around them say to be secrets."""
    for pattern in _compile_patterns():
        for match in pattern.finditer(text):
            start, end = match.span(1)
            while end > start and text[end - 1] in ".,;!?)":
                end -= 1
            yield start, end
    for match in _compile_phrase_pattern().finditer(text):
        if _is_passphrase(match.group(1)):
            yield match.span(1)
    for header in _COOKIE.finditer(text):
        yield from (pair.span(1) for pair in _COOKIE_VALUE.finditer(text, *header.span(1)))
    yield from (match.span(1) for match in _ENCODED.finditer(text))


def find_continuation(text: str, end: int) -> int:
    """Where a token ends that was broken over lines; `end` is the end of its first part."""
    match = _CONTINUED.match(text, end)
    return match.end(1) if match else end


def _is_passphrase(phrase: str) -> bool:
    words = phrase.replace("-", " ").split()
    return len(list(extract_lexemes(" ".join(words)))) >= len(words) * _SHARE_OF_LEXEMES


@cache
def _compile_patterns() -> tuple[re.Pattern[str], ...]:
    words = load_secret_data(_FILE)
    name = rf"{_EDGE}(?:{_join(words.get_phrases('names'))})[*_`\"']{{0,3}}"
    copula = _join(words.get_phrases("copulas"))
    return tuple(
        re.compile(pattern, re.IGNORECASE)
        for pattern in (
            name + rf"[ \t]{{0,4}}(?:{copula})[ \t]{{0,4}}[:：]?[ \t]{{0,4}}" + _MIXED,
            name + r"[ \t]{0,4}[:：=][*_`]{0,3}[ \t]{0,4}(?!\[redacted:)([!#-&(-Z\\^-z~]{4,200})(?=[ \t]*(?:\n|$))",
            name + r"[ \t,]{1,4}" + _MIXED,
            _CHANGED + name + r"[ \t]to[ \t]" + _MIXED,
            name + r"[ \t]{0,4}[:：]?[*_`\"']{0,3}[ \t]{0,4}\n[ \t>*`-]{0,8}" + _MIXED,
            name + r"[ \t]{0,40}[|\t][ \t]{0,40}[`\"']?" + _MIXED,
        )
    )


@cache
def _compile_phrase_pattern() -> re.Pattern[str]:
    phrases = _join(load_secret_data(_FILE).get_phrases("phrases"))
    return re.compile(
        rf"(?i){_EDGE}(?:{phrases})[ \t]{{0,4}}(?:is|are|ist|est|es|=|:|：)[ \t:]{{0,4}}\n?"
        r"((?:[a-z]{2,14}(?:[ \t]{1,2}|,[ \t]|-)){3,23}[a-z]{2,14})(?![a-z])"
    )


def _join(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))
