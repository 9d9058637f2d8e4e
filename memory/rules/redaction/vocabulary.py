"""Knows what secrets are called in several languages, and what joins a name with its value, as `password_words.yaml`
says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from itertools import chain, pairwise

from muniment.memory.rules.language.lazy_regex import join_alternatives, lazy_compile
from muniment.memory.rules.redaction.secret_data import load_secret_data

_FILE = "password_words"
_KINDS = ("codes", "phrases", "keys", "logins", "passwords", "signed", "tokens")
_HAS_UNSPACED = lazy_compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
UNSPACED = frozenset({"zh", "ja", "ko", "th"})
_LONG_NAME = 7  # letters, from which on a name may be the end of a longer word: Masterpasswort
_MARKS = r"[*_`\"')\]]{0,4}"
_TYPE = r":[ \t]*[&\w\[\]|. ]{1,30}=(?![=>])(?=[ \t]*[\"'])"  # of a variable, before its value
_SIGN = rf"(?:{_TYPE}|[:：]{{1,3}}=?|[?|+]{{0,2}}[=＝](?!=)>?|[-=]>|<-|>>|[→➜➔⇒➡👉])"
BLANK = r"(?:'s)?[ \t]{1,4}(?:[-–—|👉➡][ \t]{1,4})?|,[ \t]{0,4}"
_WORD = r"[^\s,;:!?|<>=]{0,39}[^\s,.;:!?|<>=]"
_PURPOSE = rf"(?P<of>(?:[ \t]{{1,4}}{_WORD}){{0,6}}?)"
_NO_VALUE = lazy_compile(r"[ \t\n:=,|*_-]{0,40}")
_FEW_WORDS = 3  # before a name in a label
REDACTED = "[redacted:"


@dataclass(frozen=True)
class Name:
    """A name of a secret in a text."""

    kind: str
    languages: frozenset[str]
    start: int
    end: int
    following: int  # where the next name begins, which is no value; -1 without one
    reach: int  # where the search for a joint ends: the same name once more, or the end of the text


def find_names(text: str, *, doors: bool = False) -> Iterator[Name]:
    """The names of secrets in a text that no other name follows at once, with those of codes of doors if asked for."""
    vocabulary = _WITH_DOORS if doors else _VOCABULARY
    for match, following in pairwise(chain(vocabulary.find_matches(text), (None,))):
        if match is None or text.startswith(REDACTED, max(match.start() - len(REDACTED), 0)):
            continue
        name = vocabulary.describe(match, following)
        if name.following < 0 or not _NO_VALUE.fullmatch(text, name.end, name.following):
            yield name


def is_secret_label(text: str) -> bool:
    """Whether a label, such as the head of a column, is the name of a secret."""
    label = text.strip(" \t*_`\"':")
    match = next(iter(_VOCABULARY.find_matches(label)), None)
    return match is not None and match.end() == len(label) and label[: match.start()].count(" ") <= _FEW_WORDS


@cache
def load_unusual_names() -> tuple[str, ...]:
    """The names outside ASCII in lower case, without those that another name is a part of."""
    names = [name.rstrip("*") for name in _WITH_DOORS.names if not name.isascii()]
    return tuple(name for name in names if not any(other != name and other in name for other in names))


class _Vocabulary:
    """The names of secrets of some kinds, read when the first text may have one."""

    def __init__(self, kinds: tuple[str, ...]) -> None:
        self._kinds = kinds

    @cached_property
    def names(self) -> dict[str, tuple[str, frozenset[str]]]:
        """For each name, its kind and the languages that have it."""
        found: dict[str, tuple[str, frozenset[str]]] = {}
        for kind in self._kinds:
            for language, names in load_secret_data(_FILE).get_table(kind, ",").items():
                for name in names:
                    before = found.get(name.lower(), (kind, frozenset()))
                    found[name.lower()] = before[0], before[1] | {language}
        return found

    def find_matches(self, text: str) -> Iterable[re.Match[str]]:
        """The places of the names in a text."""
        lowered = text.lower()
        present = tuple(name for name in self.names if name.rstrip("*") in lowered)
        return _compile_names(present).finditer(text) if present else ()

    @cached_property
    def stems(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name.endswith("*"))

    def describe(self, match: re.Match[str], following: re.Match[str] | None) -> Name:
        """What a match of the pattern is a name of. A name with a digit may be a value."""
        next_start = following.start() if following and not following[0][-1:].isdigit() else -1
        word = match[0].lower().rstrip("0123456789")
        if word not in self.names:
            word = next((stem for stem in self.stems if word.startswith(stem[:-1])), "password")
        reach = following.start() if following and following[0] == match[0] else len(match.string)
        return Name(*self.names[word], *match.span(), next_start, reach)


_VOCABULARY, _WITH_DOORS = _Vocabulary(_KINDS), _Vocabulary(("doors", *_KINDS))


@lru_cache(maxsize=256)
def _compile_names(names: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern of names. A short one is a whole word; a long one may be the end of a compound."""
    return re.compile("|".join(map(_write_name, sorted(names, key=len, reverse=True))), re.IGNORECASE)


def _write_name(name: str) -> str:
    if _HAS_UNSPACED.search(name):
        return re.escape(name)
    start = r"(?<![^\W_])" if len(name) < _LONG_NAME or " " in name else ""
    ending = re.escape(name).replace(r"\*", r"[^\W\d_]{0,5}")
    return rf"{start}{ending}\d?(?![^\W_]|_\w)"


@cache
def compile_joint(languages: frozenset[str]) -> re.Pattern[str]:
    """The pattern of what stands between a name in some languages and a value; its last group is the kind of joint."""
    spaced = {word for each in languages - UNSPACED for word in load_row("copulas", each)}
    unspaced = {word for each in languages & UNSPACED for word in load_row("copulas", each)}
    copula = [rf"{_PURPOSE}[ \t]{{1,4}}{join_alternatives(spaced)}(?!\w)"] * bool(spaced)
    copula += [rf"[ \t]{{0,4}}{join_alternatives(unspaced)}"] * bool(unspaced)
    purposes = {word for each in languages - UNSPACED for word in load_row("purposes", each)}
    head = rf"[ \t]{join_alternatives(purposes)}" if purposes else "(?!)"
    before_sign = rf"(?:{head}(?:[ \t]{_WORD}){{1,4}}?)?"
    label = rf"(?:[ \t]{{1,2}}[^\W\d_][\w-]{{1,20}}){{1,2}}[ \t]{{0,2}}{_SIGN}"
    answer = r"\?[\"')]?\s{1,3}(?:[-–>*][ \t]{1,2})?(?:[^\W\d_]{1,20}:[ \t]{1,2})?"
    blank = rf"{BLANK}|(?=[!-~])" if languages & UNSPACED else BLANK
    before_value = rf"(?:{head}(?:[ \t][^\W\d_]{{1,20}}){{1,3}}?(?=[ \t][!-~]{{0,40}}?\d))?"
    return re.compile(
        rf"{_MARKS}(?:[ \t]{{0,2}}\([^():=\n]{{1,40}}\))?(?:(?P<sign>{before_sign}[ \t]{{0,40}}{_SIGN})"
        rf"|(?P<copula>(?:{'|'.join(copula)})[ \t]{{0,4}}(?P<colon>{_SIGN})?)"
        r"|(?P<cell>[ \t]{0,40}(?:\||\t|<[^<>\n]{1,40}>)[ \t|]{0,40})"
        rf"|(?P<line>[ \t]{{0,4}}(?=\n))|(?P<label>{label})|(?P<answer>{answer})"
        rf"|(?P<blank>{before_value}(?:{blank})))",
        re.IGNORECASE,
    )


@cache
def load_row(section: str, language: str) -> tuple[str, ...]:
    """The words of a language in a section."""
    return load_secret_data(_FILE).get_table(section, ",").get(language, ())


@cache
def load_words(section: str) -> frozenset[str]:
    """The words of a section."""
    return load_secret_data(_FILE).get_words(section)
