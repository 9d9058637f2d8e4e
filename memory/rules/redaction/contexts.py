"""Finds values by the names of secrets before them, in several languages, and by what joins the name with the value.

The stronger the joint, the less the value has to look like one: after a colon it may be a word, and in the next line or
cell it has a digit among its letters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property

from muniment.memory.rules.language.lazy_regex import join_alternatives, lazy_compile
from muniment.memory.rules.language.tokens import extract_lexemes
from muniment.memory.rules.redaction.random_tokens import is_random
from muniment.memory.rules.redaction.secret_data import load_secret_data
from muniment.memory.rules.redaction.secret_names import is_folder
from muniment.memory.rules.redaction.values import Shape, classify_value, ends_clause, is_request, is_said_of_secret

Span = tuple[int, int]
_FILE = "password_words"
_KINDS = ("codes", "phrases", "keys", "logins", "passwords", "tokens")
_UNSPACED = frozenset({"zh", "ja", "ko", "th"})
_LONG_NAME = 7  # letters, from which on a name may be the end of a longer word: Masterpasswort
_MARKS = r"[*_`\"')\]]{0,4}"
_QUOTES = {'"': '"', "'": "'", "`": "`", "«": "»", "„": '"', "「": "」", "『": "』"}
_TYPE = r":[ \t]*[&\w\[\]|. ]{1,30}=(?![=>])(?=[ \t]*[\"'])"  # of a variable, before its value
_SIGN = rf"(?:{_TYPE}|[:：]{{1,3}}=?|[?|+]{{0,2}}[=＝](?!=)>?|[-=]>|→)"
_BLANK = r"(?:'s)?[ \t]{1,4}(?:[-–—|👉➡][ \t]{1,4})?|,[ \t]{0,4}"
_AFTER_NAME = lazy_compile(_BLANK)
_PURPOSE = r"(?P<of>(?:[ \t]{1,4}[^\s,.;:!?|<>=]{1,30}){0,6}?)"
_GAP = lazy_compile(
    r"[ \t]*[*_]{0,3}[ \t]*(?:[|>][+-]?[ \t]*(?=\n)|&\w{1,20}[ \t])?(?P<lines>(?:\n[ \t>*-]{0,8}(?:```\w{0,12}[ \t]*(?=\n))?){0,3})[ \t]*[*_]{0,3}"
)
_STOP = lazy_compile(r"</|&[\w.-]{1,40}=")  # a closing tag, or the next field of a form
_TOKEN = lazy_compile(r"[^\s，。；！？、|]{1,400}")
_WORDS = lazy_compile(
    r"(?:\d{1,2}[.)][ \t]?)?[^\W\d_]{2,14}"
    r"(?:(?:[ \t]{1,2}|,[ \t]?|-|[ \t]?\n)(?:\d{1,2}[.)][ \t]?)?[^\W\d_]{2,14}){3,23}"
    r"(?=[ \t]*(?:[.!?]?[ \t]*(?:\n|\Z)|[,;)\"'`]))"
)
_WORD = lazy_compile(r"[^\W\d_]{2,14}")
_SEED_LENGTHS = frozenset({12, 15, 18, 21, 24})
_SEED_WORD, _LEAST_TOKEN = 8, 20
_MOST_WORDS, _FEW_WORDS, _LABEL = 8, 3, 40
_SHARE_OF_LEXEMES = 0.75  # of the words of a passphrase, at least; a sentence has function words
_DIGITS = lazy_compile(r"[ \t]{0,4}[\"'`*]{0,3}(\d(?:[ -]?\d){2,8})(?![\w-])")
_DOOR_DIGITS = lazy_compile(r"[ \t]{0,4}[\"'`*]{0,3}([*#A-D]?\d(?:[ -]?[\d*#]){2,9}[A-D#*]?)(?!\w)")
_LOGIN = lazy_compile(
    r"[ \t]{0,4}(?:[:=][ \t]{0,4}(?!-)[^\s/|:,=]{1,64}(?:[ \t]{0,2}[/|:,][ \t]{0,2}|[ \t]{1,2})"
    r"|(?!-)[^\s/|:,=]{1,64}[ \t]{0,2}[/:][ \t]{0,2})(?=[^\s/|-])(?![^\s=]{1,40}=)"
)
_GIVEN = lazy_compile(r"[ \t]{1,4}([A-Za-z0-9_.=+/-]{20,400})(?!\S)")
_BACK = lazy_compile(
    r"(?<![!-~])([!-~]{6,200})[ \t](?:as|for|is|als|ist|comme|est|como|es|come|è|é|jako|som|это)"
    r"(?:[ \t][^\W\d_]{1,20}){1,3}[ \t]\Z"
)
_CHANGED = lazy_compile(r"([^\W\d_]{3,12})(?:[ \t][^\W\d_]{1,12}){0,3}[ \t]\Z")
_LAST_WORD = lazy_compile(r"([A-Za-z]{2,20})[ \t_-]\Z")
_TO = lazy_compile(r"[ \t](?:to|into|auf|en|a|à|naar|на)[ \t]")
# For each joint, what a value must look like where its clause goes on, and where it ends.
_LEAST_SHAPES = {
    "sign": (Shape.MIXED, Shape.WORD), "copula": (Shape.MIXED, Shape.WORD), "line": (Shape.STRONG, Shape.NUMBER),
    "cell": (Shape.STRONG, Shape.NUMBER), "blank": (Shape.STRONG, Shape.MIXED),
}  # fmt: skip
_BEHIND, _LONGEST_QUOTE, _REDACTED = 100, 202, "[redacted:"


@dataclass(frozen=True)
class _Name:
    """A name of a secret in a text."""

    kind: str
    languages: frozenset[str]
    start: int
    end: int


@dataclass(frozen=True)
class _Joint:
    """What stands between a name and a value: a sign, a copula, nothing but a blank, or another line or cell."""

    kind: str
    end: int
    is_plain: bool = True  # nothing stands between the name and the copula, or what the secret is for

    def __bool__(self) -> bool:
        return bool(self.kind)


def find_named_values(text: str, *, doors: bool = False) -> Iterator[Span]:
    """The spans of the values whose names say that they are secrets. Linear in the length of the text."""
    vocabulary = _WITH_DOORS if doors else _VOCABULARY
    for match in vocabulary.pattern.finditer(text):
        if text.startswith(_REDACTED, max(match.start() - len(_REDACTED), 0)):
            continue
        name = vocabulary.describe(match)
        if name.kind in ("codes", "doors"):
            yield from _find_code(text, name)
        elif name.kind == "logins":
            yield from _find_login(text, name)
        else:
            yield from _find_value(text, name)


def is_secret_label(text: str) -> bool:
    """Whether a label, such as the head of a column, is the name of a secret."""
    label = text.strip(" \t*_`\"':")
    match = _VOCABULARY.pattern.search(label)
    return match is not None and match.end() == len(label) and label[: match.start()].count(" ") <= 3


def _find_value(text: str, name: _Name) -> Iterator[Span]:
    joint = _find_joint(text, name)
    found = tuple(_read_value(text, name, joint)) if joint else ()
    if not found and joint.kind == "copula" and (blank := _AFTER_NAME.match(text, name.end)):
        found = tuple(_read_value(text, name, _Joint("blank", blank.end())))  # the copula follows the value
    yield from found
    if not found and name.kind == "passwords":
        before = _BACK.search(text[max(name.start - _BEHIND, 0) : name.start])
        if before and classify_value(before[1].strip("\"'`")) >= Shape.MIXED:
            start = name.start - len(before[0])
            yield start, start + len(before[1])


def _find_joint(text: str, name: _Name) -> _Joint:
    match = _compile_joint(name.languages).match(text, name.end)
    if match is None:
        return _Joint("", 0)
    kind = match.lastgroup or ""
    if kind == "copula":
        purpose = (match.groupdict().get("of") or "").lower().split()
        purposes = {word for language in name.languages for word in _load_row("purposes", language)}
        kind = "sign" if match["colon"] and not purpose else kind
        return _Joint(kind, match.end(), is_plain=not purpose or purpose[0] in purposes)
    if kind == "blank" and (to := _TO.match(text, name.end)) and _is_changed(text, name):
        return _Joint("copula", to.end())
    if kind == "line" and not _is_label_line(text, name):
        return _Joint("", 0)
    return _Joint(kind, match.end())


def _read_value(text: str, name: _Name, joint: _Joint) -> Iterator[Span]:
    """The span of the value after a joint, if it is one. Here alone is decided where a value ends."""
    gap = _GAP.match(text, joint.end)
    start = gap.end() if gap else joint.end
    if gap and gap["lines"]:
        joint = replace(joint, kind="line")
    if text.startswith(_REDACTED, start) or start >= len(text):
        return
    close = _QUOTES.get(text[start])
    end = text.find(close, start + 1, start + _LONGEST_QUOTE) if close else -1
    if close and end > start and "\n" not in text[start:end]:
        if _is_quoted_value(text[start + 1 : end], name, joint.kind):
            yield start + 1, end
        return
    words = _WORDS.match(text, start) if joint.kind in ("sign", "copula", "line") else None
    if words and _is_passphrase(words[0], name, joint):
        yield words.span()
    elif token := _TOKEN.match(text, start):
        end = _strip_end(text, start, token.end())
        if _is_value(text, (start, end), name, joint):
            yield start, end


def _strip_end(text: str, start: int, end: int) -> int:
    stop = _STOP.search(text, start + 1, end)
    end = stop.start() if stop else end
    while end > start and text[end - 1] in ".,;:!?)]}>*`'\"»」』":
        end -= 1
    return end


def _is_quoted_value(value: str, name: _Name, kind: str) -> bool:
    if " " in value:
        return kind in ("sign", "copula") and not any(mark in value for mark in "<{$") and len(value.split()) <= 8
    shape = classify_value(value)
    return shape > Shape.WORD or (shape is Shape.WORD and not is_said_of_secret(value, name.languages))


def _is_value(text: str, span: Span, name: _Name, joint: _Joint) -> bool:
    value = text[slice(*span)]
    shape = classify_value(value)
    if shape is Shape.NOTHING or is_folder(text[name.start : name.end], value):
        return False
    if name.kind == "tokens":
        return len(value) >= _LEAST_TOKEN and is_random(value) and not _is_harmless(text, name)
    is_unspaced = bool(name.languages & _UNSPACED)
    within, at_end = _LEAST_SHAPES[joint.kind]
    if name.kind == "phrases" or (is_unspaced and joint.kind == "blank"):
        at_end = Shape.MIXED if name.kind == "phrases" else Shape.NUMBER
    is_last = _is_alone(text, span[1]) if joint.kind in ("line", "cell") else ends_clause(text, span[1])
    if shape < (at_end if is_last else within):
        return False
    return shape is not Shape.WORD or _is_password_word(value, name, joint, is_unspaced=is_unspaced)


def _is_harmless(text: str, name: _Name) -> bool:
    """Whether the word before a name says that it is no secret, such as "cache key"."""
    before = _LAST_WORD.search(text, max(name.start - _BEHIND, 0), name.start)
    return before is not None and before[1].lower() in _load_words("harmless")


def _is_password_word(word: str, name: _Name, joint: _Joint, *, is_unspaced: bool) -> bool:
    """Whether a word is a password, and does not say something about one; a sentence in Chinese is one long word."""
    is_joined = joint.kind == "sign" or (name.kind == "passwords" and joint.is_plain)
    return is_joined and (word.isascii() or not is_unspaced) and not is_said_of_secret(word, name.languages)


def _is_alone(text: str, end: int) -> bool:
    """Whether nothing but marks follows in the line or cell."""
    while end < len(text) and text[end] in " \t*_`\"'.,;)>":
        end += 1
    return end >= len(text) or text[end] in "\n|<"


def _is_label_line(text: str, name: _Name) -> bool:
    """Whether the line of a name has no more than a label, not cells of a table or a sentence."""
    before = text[text.rfind("\n", max(name.start - _BEHIND, 0), name.start) + 1 : name.start]
    return len(before) < _LABEL and not any(mark in before for mark in "|\t,;")


def _is_changed(text: str, name: _Name) -> bool:
    before = _CHANGED.search(text[max(name.start - _BEHIND, 0) : name.start])
    words = before[0].lower().split() if before else []
    return not _load_words("changes").isdisjoint(words)


def _is_passphrase(phrase: str, name: _Name, joint: _Joint) -> bool:
    words = _WORD.findall(phrase)
    if len(words) in _SEED_LENGTHS and max(map(len, words)) <= _SEED_WORD and name.kind == "phrases":
        return True
    if is_request(words[0]) or "\n" in phrase:
        return False
    if name.kind not in ("phrases", "passwords"):
        return False
    lexemes = len(list(extract_lexemes(" ".join(words))))
    if name.kind == "phrases" and joint.kind != "sign":
        return lexemes >= len(words) * _SHARE_OF_LEXEMES
    said = sum(is_said_of_secret(word, name.languages) for word in words[1:])
    return lexemes == len(words) and said <= (len(words) // 2 if joint.kind == "sign" else 0)


def _find_code(text: str, name: _Name) -> Iterator[Span]:
    """The span of the digits after the name of a code; after no more than a blank, four of them or three of a card."""
    joint = _find_joint(text, name)
    digits = (_DOOR_DIGITS if name.kind == "doors" else _DIGITS).match(text, joint.end) if joint else None
    if digits is None and joint:
        gap = _GAP.match(text, joint.end)
        digits = _DIGITS.match(text, gap.end()) if gap and gap["lines"] else None
    if digits is None:
        return
    least = 3 if joint.kind != "blank" or text[name.start : name.end].lower().startswith("cv") else 4
    if joint.kind == "blank" and not digits[1].isdigit():
        return
    if len(digits[1]) >= least and (joint.kind != "copula" or joint.is_plain):
        yield digits.span(1)


def _find_login(text: str, name: _Name) -> Iterator[Span]:
    """The span of the password after the name of a login and of a user: `login: ana / …`."""
    given = _GIVEN.match(text, name.end)
    if given and is_random(given[1]):
        yield given.span(1)
        return
    user = _LOGIN.match(text, name.end)
    token = _TOKEN.match(text, user.end()) if user else None
    if token:
        end = _strip_end(text, token.start(), token.end())
        shape = classify_value(text[token.start() : end])
        if shape is Shape.STRONG or (shape >= Shape.MIXED and ends_clause(text, end)):
            yield token.start(), end


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

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """All names. A short one is a whole word; a long one may be the end of a compound."""
        short: list[str] = []
        long: list[str] = []
        unspaced: list[str] = []
        for name, (_, languages) in self.names.items():
            is_long = len(name) >= _LONG_NAME and " " not in name
            (unspaced if languages & _UNSPACED and not name.isascii() else long if is_long else short).append(name)
        return re.compile(
            rf"(?:(?<![^\W_]){_join(short)}\d?(?!\w)|{_join(long)}\d?(?!\w)|{_join(unspaced)})", re.IGNORECASE
        )

    @cached_property
    def stems(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name.endswith("*"))

    def describe(self, match: re.Match[str]) -> _Name:
        """What a match of the pattern is a name of."""
        word = match[0].lower().rstrip("0123456789")
        if word not in self.names:
            word = next((stem for stem in self.stems if word.startswith(stem[:-1])), "password")
        return _Name(*self.names[word], *match.span())


_VOCABULARY, _WITH_DOORS = _Vocabulary(_KINDS), _Vocabulary(("doors", *_KINDS))


def _join(names: Iterable[str]) -> str:
    endings = (re.escape(name).replace(r"\*", r"[^\W\d_]{0,5}").replace(r"\ ", r"[ ]") for name in names)
    return "(?:" + "|".join(sorted(endings, key=len, reverse=True)) + ")"


@cache
def _compile_joint(languages: frozenset[str]) -> re.Pattern[str]:
    spaced = {word for each in languages - _UNSPACED for word in _load_row("copulas", each)}
    unspaced = {word for each in languages & _UNSPACED for word in _load_row("copulas", each)}
    copula = [rf"{_PURPOSE}[ \t]{{1,4}}{join_alternatives(spaced)}(?!\w)"] * bool(spaced)
    copula += [rf"[ \t]{{0,4}}{join_alternatives(unspaced)}"] * bool(unspaced)
    purposes = {word for each in languages - _UNSPACED for word in _load_row("purposes", each)}
    purpose = (
        rf"(?:[ \t]{join_alternatives(purposes)}(?:[ \t][^\W\d_]{{1,20}}){{1,3}}?(?=[ \t][!-~]{{0,40}}?\d))?" if purposes else ""
    )
    return re.compile(
        rf"{_MARKS}(?:[ \t]{{1,2}}\([^()\n]{{1,40}}\))?(?:(?P<sign>[ \t]{{0,40}}{_SIGN})"
        rf"|(?P<copula>(?:{'|'.join(copula)})[ \t]{{0,4}}(?P<colon>{_SIGN})?)"
        r"|(?P<cell>[ \t]{0,40}(?:\||\t|<[^<>\n]{1,40}>)[ \t|]{0,40})"
        rf"|(?P<line>[ \t]{{0,4}}(?=\n))|(?P<blank>{purpose}(?:{_BLANK})))",
        re.IGNORECASE,
    )


@cache
def _load_row(section: str, language: str) -> tuple[str, ...]:
    return load_secret_data(_FILE).get_table(section, ",").get(language, ())


@cache
def _load_words(section: str) -> frozenset[str]:
    return load_secret_data(_FILE).get_words(section)
