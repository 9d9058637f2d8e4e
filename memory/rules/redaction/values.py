"""Decides what a text after the name of a secret is: a value, a word of the sentence, or a reference to a value."""

from __future__ import annotations

from enum import IntEnum
from functools import cache

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.stop_words import load_stop_words
from muniment.memory.rules.redaction.random_tokens import count_changes
from muniment.memory.rules.redaction.secret_data import load_secret_data
from muniment.memory.rules.redaction.secret_names import is_placeholder

_FILE = "password_words"
_TEMPLATE = lazy_compile(
    r"\$[\w{(].{0,200}|\{\{.{0,200}|%\(.{0,200}|<[^<>]{0,60}>?.{0,20}|(?i:x{3,}.{0,20}|example|dummy|tbd|todo|n/?a|redacted)|\[[^\[\]]{0,60}\].{0,20}"
    r"|!(?:vault|secret|include|env|ENV|Ref|Sub|GetAtt|env_var)(?:[ \t].{0,200})?|https?://.{0,400}|[A-Za-z_][\w.]{0,100}[(\[][\"')\]$\w].{0,200}|[\w-]{1,40}=[\"'].{0,200}|[.…]{2,}|[*•●xX]{3,}"
)
# How many characters something has, in Chinese, Japanese and Korean.
_QUANTITY = lazy_compile(r"[^!-~]{0,8}\d{1,2}(?:[-–~～〜至到]\d{1,3})?(?:位|个|個|字|文字|桁|자)[^!-~]{0,20}")
_SYMBOL = lazy_compile(r"[!@#$%^&*+=?~§€£]")
_MAIL = lazy_compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
_END = lazy_compile(r"[ \t]*(?:[\n,;.!?)\]}\"'|<>*`。，；！？、」』(（—–]|\Z|[-/][ \t]|[^\W\d_]{1,20}[ \t]{0,2}[:=])")
_NEXT_WORD = lazy_compile(r"[ \t]*([^\s,;.!?:|<>]{1,30})")
_JOINED, _FEWEST_JOINED, _SHORT_WORD = lazy_compile(r"[-_.]"), 4, 3
_SHORTEST_MIXED, _SHORTEST_NUMBER, _FEW_CHANGES = 6, 4, 3


class Shape(IntEnum):
    """What the characters of a text prove: more of them, more. A word may be a password; a mix of characters is one."""

    NOTHING = 0
    WORD = 1
    SHORT = 2
    NUMBER = 3
    MIXED = 4
    STRONG = 5


def classify_value(text: str) -> Shape:
    """The shape of a value without a blank. A placeholder, a reference and an expression of code are nothing."""
    if not text or is_placeholder(text) or _TEMPLATE.fullmatch(text) or _QUANTITY.fullmatch(text):
        return Shape.NOTHING
    letters, digits = sum(map(str.isalpha, text)), sum(map(str.isdigit, text))
    if not letters:
        return Shape.NUMBER if digits >= _SHORTEST_NUMBER else Shape.SHORT if digits else Shape.NOTHING
    if _MAIL.fullmatch(text):
        return Shape.WORD
    has_symbol = _SYMBOL.search(text[:-1]) is not None
    if not digits and not has_symbol:
        if _is_phrase(text):
            return Shape.MIXED
        return Shape.STRONG if count_changes(text) >= _FEW_CHANGES else Shape.WORD
    if digits and "".join(filter(str.isalpha, text)).casefold() in _load_words("technical"):
        return Shape.WORD
    if len(text) < _SHORTEST_MIXED:
        return Shape.SHORT
    return Shape.STRONG if has_symbol or count_changes(text) >= _FEW_CHANGES else Shape.MIXED


def _is_phrase(text: str) -> bool:
    """Whether a text is four words or more that hyphens join, none of which is such as `of` in `state-of-the-art`."""
    words = _JOINED.split(text)
    short = {word.lower() for word in words if len(word) <= _SHORT_WORD}
    return len(words) >= _FEWEST_JOINED and all(words) and load_stop_words("en").isdisjoint(short)


def ends_clause(text: str, end: int) -> bool:
    """Whether what stands at `end` is no part of the clause before it: the end, a comma, another setting, `and`."""
    if _END.match(text, end):
        return True
    word = _NEXT_WORD.match(text, end)
    return word is None or word[1].casefold() in _load_words("breaks")


def is_said_of_secret(word: str, languages: frozenset[str]) -> bool:
    """Whether a word says something about a secret, as in "my password is weak", or what to do with it."""
    word = word.casefold().strip("'\"")
    if word in _load_said(languages) or word.endswith(_load_endings(languages)):
        return True
    return any(len(part) <= _SHORT_WORD and part in load_stop_words("en") for part in word.split("-")[1:-1])


def is_plain_word(word: str, languages: frozenset[str]) -> bool:
    """Whether a word may as well be a word of the sentence: of small letters, in German with a capital, or with
    letters that not every keyboard has."""
    return not word.isascii() or word.islower() or (languages == {"de"} and word[1:].islower())


def is_function_word(word: str, languages: frozenset[str]) -> bool:
    """Whether a word may stand anywhere, such as "the" and "that's"."""
    word = word.casefold().removesuffix("'s")
    return any(word in load_stop_words(each) for each in languages)


def is_request(word: str) -> bool:
    """Whether a word begins what to do with a secret, as in "my passphrase: keep it safe"."""
    return word.casefold() in _load_words("requests")


@cache
def _load_words(section: str) -> frozenset[str]:
    return load_secret_data(_FILE).get_words(section)


@cache
def _load_said(languages: frozenset[str]) -> frozenset[str]:
    """The words that say something about a secret in some languages and in English, and the stop words."""
    qualities = load_secret_data(_FILE).get_table("qualities")
    every = languages | {"en"}
    return _load_words("requests").union(*map(load_stop_words, every), *(qualities.get(each, ()) for each in every))


@cache
def _load_endings(languages: frozenset[str]) -> tuple[str, ...]:
    """The endings of adjectives in some languages and in English."""
    endings = load_secret_data(_FILE).get_table("endings")
    return tuple(ending for each in languages | {"en"} for ending in endings.get(each, ()))
