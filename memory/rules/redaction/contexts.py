"""Finds values by the names of secrets before them, in several languages, and by what joins the name with the value.

The stronger the joint, the less the value has to look like one: after a colon it may be a word, and in the next line or
cell it has a digit among its letters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, pairwise

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.tokens import extract_lexemes
from muniment.memory.rules.redaction.joints import BEHIND, Joint, find_begin, find_joint
from muniment.memory.rules.redaction.random_tokens import is_random
from muniment.memory.rules.redaction.secret_names import is_folder, is_reference
from muniment.memory.rules.redaction.values import (
    Shape,
    classify_value,
    ends_clause,
    is_function_word,
    is_plain_word,
    is_request,
    is_said_of_secret,
)
from muniment.memory.rules.redaction.vocabulary import (
    BLANK,
    REDACTED,
    UNSPACED,
    Name,
    find_names,
    load_row,
    load_words,
)

Span = tuple[int, int]
_QUOTES = {'"': '"', "'": "'", "`": "`", "«": "»", "„": '"', "「": "」", "『": "』"}
_AFTER_NAME = lazy_compile(BLANK)
_GAP = lazy_compile(
    r"[ \t]*[*_]{0,3}[ \t]*(?:[|>][+-]?[ \t]*(?=\n)|&\w{1,20}[ \t])?"
    r"(?P<lines>(?:\n[ \t>*-]{0,8}(?:```\w{0,12}[ \t]*(?=\n))?){0,3}"
    r"(?:(?<=[\n \t>*-])\d{1,2}[.)][ \t]{1,3})?)[ \t]*[*_]{0,3}"
)
_STOP = lazy_compile(r"</|&[\w.-]{1,40}=")  # a closing tag, or the next field of a form
_TOKEN = lazy_compile(r"[^\s，。；！？、|]{1,400}")
_WORDS = lazy_compile(
    r"(?:\d{1,2}[.)][ \t]?)?[^\W\d_]{2,14}"
    r"(?:(?:[ \t]{1,2}|,[ \t]?|-|[ \t]?\n)(?:\d{1,2}[.)][ \t]?)?[^\W\d_]{2,14}){3,23}"
    r"(?=[ \t]*(?:\n|\Z|[.!?](?:\s|\Z)|[,;)\"'`]))"
)
_WORD = lazy_compile(r"[^\W\d_]{2,14}")
_SEED_LENGTHS = frozenset({12, 15, 18, 21, 24})
_SEED_WORD, _LEAST_TOKEN = 8, 20
_FEWEST_WORDS, _MOST_WORDS = 4, 8
_SHARE_OF_LEXEMES = 0.75  # of the words of a passphrase, at least; a sentence has function words
_DIGITS = lazy_compile(r"[ \t]{0,4}[\"'`*]{0,3}(\d(?:[ -]?\d){2,8})(?![\w-])")
_CODE_BEFORE = lazy_compile(
    r"(?<![\w.,/-])(?:[A-Z]{1,2}-)?(\d{3}[ -]?\d{3}|\d{4,8})[ \t](?:is|as|ist|est|es|è|é|это)[ \t]"
    r"(?:(?:your|my|the|[^\W\d_]{2,4})[ \t])?(?:[^\W\d_]{1,20}[ \t]){0,2}\Z"
)
_SOME_DIGITS = lazy_compile(r"\d(?:[ -]?\d){2}")
_DOOR_DIGITS = lazy_compile(r"[ \t]{0,4}[\"'`]{0,3}([*#A-D]?\d(?:[ -]?[\d*#]){2,9}[A-D#*]?)(?!\w)")
_LOGIN = lazy_compile(
    r"[ \t]{0,4}(?:(?:(?:[^\s:=/]{1,20}[ \t]{1,2}){0,5}?[:=]|(?:is|are|ist|est|es|è)[ \t])[ \t]{0,4}(?!-)"
    r"[^\s/|:,=]{1,64}(?:[ \t]{0,2}[/|:,][ \t]{0,2}|[ \t]and[ \t]|[ \t]{1,2})"
    r"|(?!-)[^\s/|:,=]{1,64}[ \t]{0,2}[/:][ \t]{0,2})(?=[^\s/|-])(?![^\s=]{1,40}=)"
)
_GIVEN = lazy_compile(r"[ \t]{1,4}([A-Za-z0-9_.=+/-]{20,400})(?!\S)")
_BACKWARD = frozenset(
    ["as", "for", "is", "als", "ist", "comme", "est", "como", "es", "come", "è", "é", "jako", "som", "это"]
)
# What joins a value before a name with it; before a name, what says that a word such as `pass` or `key` is one.
_NEXT_ITEM = lazy_compile(
    r"[`\"',]{0,2}[ \t]*\n[ \t>*-]{0,6}(?:\d{1,2}[.)][ \t]{1,3})?[`\"']?([!-+\--~]{6,64})"
    r"(?=[`\"',]{0,2}[ \t]*(?:\n|\Z))"
)
_MOST_LINES = 24
_SIGNS_BACK = frozenset(["(", "-", "–", "—", "<-", "<--", "←"])
_BESIDE = lazy_compile(r"(?i)(?<!\w)(?:user(?:name)?|login|usr|id|ssid|wi-?fi|wlan)(?!\w)")
_NETWORK = lazy_compile(r"(?i)(?<!\w)(?:ssid|wi-?fi|wlan|hotspot|network name)(?!\w)")
_LONG_NUMBER = 6
_NO_WORD = lazy_compile(r"[0-9!@#$%^&*+=?~§€£]|[a-z][A-Z]")
_BLANKLESS = lazy_compile(r"[!-~]+")
_ELIDED = ("...", "…")  # of a value that is not written out
_CLAUSE = lazy_compile(r"[,.;:!?(]")
_FEW_WORDS = 3  # before a name, which may say whose it is
_MOST_BEFORE = 5  # words of a value, its copula and what stands between them and the name
_LAST_WORD = lazy_compile(r"([A-Za-z]{2,20})[ \t_-]\Z")
# For each joint, what a value must look like where its clause goes on, and where it ends.
_LEAST_SHAPES = {
    "sign": (Shape.MIXED, Shape.WORD), "copula": (Shape.MIXED, Shape.WORD), "line": (Shape.STRONG, Shape.NUMBER),
    "cell": (Shape.STRONG, Shape.NUMBER), "blank": (Shape.STRONG, Shape.MIXED),
    "label": (Shape.STRONG, Shape.MIXED), "answer": (Shape.STRONG, Shape.MIXED),
}  # fmt: skip
_LONGEST_QUOTE = 202


def find_named_values(text: str, *, doors: bool = False) -> Iterator[Span]:
    """The spans of the values whose names say that they are secrets. Linear in the length of the text."""
    has_network = _NETWORK.search(text) is not None
    for name in find_names(text, doors=doors):
        if name.kind in ("codes", "doors"):
            yield from _find_code(text, name)
        elif name.kind == "logins":
            yield from _find_login(text, name)
        else:
            yield from _find_value(text, name, may_be_network=has_network)


def _find_value(text: str, name: Name, *, may_be_network: bool) -> Iterator[Span]:
    joint = find_joint(text, name)
    if may_be_network and name.kind == "tokens" and joint.kind in ("sign", "blank"):
        is_network = _NETWORK.search(text, find_begin(name), name.start) is not None
        name = replace(name, kind="signed") if is_network else name
    if name.kind == "signed" and joint.kind == "blank" and not _BESIDE.search(text, find_begin(name), name.start):
        return
    found = tuple(_read_value(text, name, joint)) if joint else ()
    if not found and joint.has_purpose and (blank := _AFTER_NAME.match(text, name.end)):
        found = tuple(_read_value(text, name, Joint("blank", blank.end())))  # the copula follows the value
    yield from found
    if found and name.kind in ("keys", "passwords") and "\n" in text[name.end : found[0][0]]:
        yield from _read_list(text, found[0][1])
    if not found and name.kind == "passwords":
        yield from _find_value_before(text, name)


def _read_list(text: str, place: int) -> Iterator[Span]:
    """The spans of more values, each alone in one of the next lines, such as codes to recover an account."""
    for _ in range(_MOST_LINES):
        line = _NEXT_ITEM.match(text, place)
        if line is None or classify_value(line[1]) < Shape.MIXED:
            return
        yield line.span(1)
        place = line.end()


def _find_value_before(text: str, name: Name) -> Iterator[Span]:
    """The span of a value before its name: `hunter22 is my password`, `kR7vqz2m (password)`."""
    begin = find_begin(name)
    if not _NO_WORD.search(text, begin, name.start):
        return
    words = list(_BLANKLESS.finditer(text, begin, name.start))[-_MOST_BEFORE:]
    for place, (value, link) in enumerate(pairwise(words), 2):
        if link[0].lower() in _BACKWARD:
            least = Shape.MIXED
        elif link[0] in _SIGNS_BACK and ends_clause(text, name.end):
            if not all(is_function_word(word[0], name.languages) for word in words[place:]):
                continue
            least = Shape.STRONG
        else:
            continue
        if classify_value(value[0].strip("\"'`,;")) >= least:
            yield value.span()


def _read_value(text: str, name: Name, joint: Joint) -> Iterator[Span]:
    """The span of the value after a joint, if it is one. Here alone is decided where a value ends."""
    gap = _GAP.match(text, joint.end)
    start = gap.end() if gap else joint.end
    if gap and gap["lines"]:
        joint = replace(joint, kind="line")
    if text.startswith(REDACTED, start) or start in (len(text), name.following):
        return
    close = _QUOTES.get(text[start])
    end = text.find(close, start + 1, start + _LONGEST_QUOTE) if close else -1
    if close and end > start and "\n" not in text[start:end]:
        if _is_quoted_value(text[start + 1 : end], name, joint):
            yield start + 1, end
        return
    may_be_words = name.kind in ("phrases", "passwords") and joint.kind in ("sign", "copula", "line")
    limit = name.following if name.following > 0 else len(text)  # no phrase has the name of a secret in it
    words = _WORDS.match(text, start, limit) if may_be_words else None
    phrases = (words[0], words[0].partition("\n")[0]) if words else ()
    if phrase := next((each for each in phrases if _is_passphrase(each, name, joint)), ""):
        yield start, start + len(phrase)
    elif token := _TOKEN.match(text, start):
        end = _strip_end(text, start, token.end())
        if name.languages & UNSPACED and (ascii_part := _BLANKLESS.match(text, start, end)):
            end = ascii_part.end()
        if _is_value(text, (start, end), name, joint):
            yield start, end


def _strip_end(text: str, start: int, end: int) -> int:
    stop = _STOP.search(text, start + 1, end)
    end = stop.start() if stop else end
    while end > start and text[end - 1] in ".,;:!?)]}>*`'\"»」』":
        end -= 1
    return end


def _is_quoted_value(value: str, name: Name, joint: Joint) -> bool:
    if " " in value:
        is_joined = joint.kind in ("sign", "copula") and joint.is_plain
        return is_joined and not any(mark in value for mark in "<{$") and len(value.split()) <= _MOST_WORDS
    if name.kind == "tokens":
        return len(value) >= _LEAST_TOKEN and is_random(value)
    shape = classify_value(value)
    return shape > Shape.WORD or (
        shape is Shape.WORD and joint.is_plain and not is_said_of_secret(value, name.languages)
    )


def _is_value(text: str, span: Span, name: Name, joint: Joint) -> bool:
    value = text[slice(*span)]
    if name.kind == "tokens" and len(value) < _LEAST_TOKEN:
        return False
    shape = classify_value(value)
    called = text[name.start : name.end]
    if text.startswith(_ELIDED, span[1]):
        return False
    if shape is Shape.NOTHING or is_folder(called, value) or is_reference(called, value):
        return False
    if name.kind == "tokens":
        return is_random(value) and not _is_harmless(text, name)
    is_unspaced = bool(name.languages & UNSPACED)
    within, at_end = _LEAST_SHAPES[joint.kind]
    if name.kind == "signed":
        within, at_end = Shape.STRONG, Shape.STRONG if joint.kind == "copula" else Shape.MIXED
    if name.kind == "phrases" or (is_unspaced and joint.kind == "blank"):
        at_end = Shape.MIXED if name.kind == "phrases" else Shape.NUMBER
    is_last = _is_alone(text, span[1]) if joint.kind in ("line", "cell") else ends_clause(text, span[1])
    if joint.kind == "blank" and shape is Shape.NUMBER and name.kind == "passwords" and is_last:
        return value.isdigit() and len(value) >= _LONG_NUMBER
    if shape < (at_end if is_last else within):
        return False
    return shape is not Shape.WORD or _is_password_word(text, span, name, joint)


def _is_harmless(text: str, name: Name) -> bool:
    """Whether the word before a name says that it is no secret, such as "cache key"."""
    before = _LAST_WORD.search(text, find_begin(name), name.start)
    return before is not None and before[1].lower() in load_words("harmless")


def _is_password_word(text: str, span: Span, name: Name, joint: Joint) -> bool:
    """Whether a word is a password, and does not say something about one; a sentence in Chinese is one long word."""
    word = text[slice(*span)]
    if is_said_of_secret(word, name.languages) or not (word.isascii() or name.languages.isdisjoint(UNSPACED)):
        return False
    if joint.kind == "sign":
        return True
    if name.kind != "passwords" or not joint.is_plain:
        return False
    return not is_plain_word(word, name.languages) or (
        not any(text[name.start : name.end].lower() in load_row("mottoes", each) for each in name.languages)
        and (joint.has_purpose or _has_owner(text, name))
    )


def _has_owner(text: str, name: Name) -> bool:
    """Whether the words before a name say whose it is, or what it opens: "our password", "the router password"."""
    line = text[find_begin(name) : name.start].rpartition("\n")[2]
    if line[-1:].isalnum() or line[-1:] == "-":
        return True  # a compound such as WLAN-Passwort
    before = _WORD.findall(_CLAUSE.split(line)[-1])[-_FEW_WORDS:]
    owners = {word for each in name.languages for word in load_row("owners", each)}
    return not owners.isdisjoint(map(str.lower, before)) or (
        bool(before) and not is_said_of_secret(before[-1], name.languages)
    )


def _is_alone(text: str, end: int) -> bool:
    """Whether nothing but marks follows in the line or cell."""
    while end < len(text) and text[end] in " \t*_`\"'.,;)>":
        end += 1
    return end >= len(text) or text[end] in "\n|<"


def _is_passphrase(phrase: str, name: Name, joint: Joint) -> bool:
    words = _WORD.findall(phrase)
    if len(words) < _FEWEST_WORDS:
        return False
    if len(words) in _SEED_LENGTHS and max(map(len, words)) <= _SEED_WORD and name.kind == "phrases":
        return True
    if is_request(words[0]) or "\n" in phrase:
        return False
    if name.kind == "passwords" or joint.kind == "sign":
        most = len(words) // 2 if joint.kind == "sign" else 0
        said = (n for n, word in enumerate(words) if n and is_said_of_secret(word, name.languages))
        if next(islice(said, most, None), None) is not None:
            return False
    lexemes = len(list(extract_lexemes(" ".join(words))))
    return lexemes >= len(words) * (_SHARE_OF_LEXEMES if name.kind == "phrases" else 1)


def _find_code(text: str, name: Name) -> Iterator[Span]:
    """The span of the digits after the name of a code, or before it: `481516 is your verification code`.

    After no more than a blank these are four digits, or three of a card."""
    before = _CODE_BEFORE.search(text, find_begin(name), name.start)
    if before and ends_clause(text, name.end):
        yield before.span(1)
    if not _SOME_DIGITS.search(text, name.end, name.end + BEHIND):
        return
    joint = find_joint(text, name)
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


def _find_login(text: str, name: Name) -> Iterator[Span]:
    """The span of the password after the name of a login and of a user: `login: ana / …`."""
    given = _GIVEN.match(text, name.end)
    if given and is_random(given[1]):
        yield given.span(1)
        return
    user = _LOGIN.match(text, name.end)
    if user and is_request(user[0].strip(" \t:=/|,")):
        return
    token = _TOKEN.match(text, user.end()) if user else None
    if token:
        end = _strip_end(text, token.start(), token.end())
        shape = classify_value(text[token.start() : end])
        if shape is Shape.STRONG or (shape >= Shape.MIXED and ends_clause(text, end)):
            yield token.start(), end
