"""Finds secrets in source code: quoted arguments of calls, and elements of XML whose attribute names a secret."""

from __future__ import annotations

from collections.abc import Iterator

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon
from muniment.memory.rules.redaction.secret_names import is_placeholder, is_secret_name, split_name
from muniment.memory.rules.redaction.values import Shape, classify_value

Span = tuple[int, int]
_CALL = lazy_compile(r"(?<![\w$.-])(?P<callee>[A-Za-z_$.][\w$.:-]{1,60})(?:[ \t]*=[ \t]*)?[ \t]?\(")
_ARGUMENT = lazy_compile(
    r"\s{0,40}(?:\w{1,30}[ \t]?[:=]>?[ \t]?)?(?:[bru]?"
    r"(?P<quote>[\"'])(?P<literal>(?:(?!(?P=quote))[^\n]){0,200})(?P=quote)"
    r"|[\w.$]{1,60})\s{0,40}(?P<end>[,)])"
)
_ELEMENT = lazy_compile(
    r"<[\w:.-]{1,40}[ \t][^<>\n]{0,100}?\b(?:name|key|id)=[\"'](?P<name>[A-Za-z_][\w.-]{0,60})[\"']"
    r"[^<>\n]{0,100}>\s{0,20}(?:<\w{1,20}>\s{0,20})?(?P<value>[^<>\s][^<>\n]{0,200})</"
)
_WORDS = load_lexicon("secrets.en")
_READERS, _WRITERS, _LOGINS = map(_WORDS.get_words, ("readers", "writers", "login_calls"))
_MOST_ARGUMENTS = 8
_ADDRESS = lazy_compile(r"[./:@\s]")  # in a host, a path or a name of a user, and in no password that is taken here


def find_literals(text: str) -> Iterator[Span]:
    """The spans of the secrets that are written out in code. Linear in the length of the text."""
    if "(" in text and ('"' in text or "'" in text):
        for call in _CALL.finditer(text):
            yield from _read_call(text, call["callee"], call.end())
    if "</" in text:
        for element in _ELEMENT.finditer(text):
            value = element["value"].rstrip()
            if is_secret_name(element["name"]) and not is_placeholder(value):
                yield element.start("value"), element.start("value") + len(value)


def _read_call(text: str, callee: str, place: int) -> Iterator[Span]:
    """The span of the last argument, where the name of what is called ends with a word of secrecy or is of a login."""
    words = split_name(callee.rpartition(".")[2])
    is_login = not _LOGINS.isdisjoint(words)
    if not words or not (is_login or (is_secret_name(words[-1]) and words[0] not in _READERS)):
        return
    literals = list(_list_literals(text, place))
    if not literals:
        return
    if len(literals) == 1 and words[0] in _WRITERS and not is_login:
        if not is_placeholder(text[slice(*literals[0])]):
            yield literals[0]
        return
    for span in literals[1:] if is_login else literals[-1:]:
        value = text[slice(*span)]
        if classify_value(value) >= Shape.MIXED and not _ADDRESS.search(value):
            yield span
            return


def _list_literals(text: str, place: int) -> Iterator[Span]:
    for _ in range(_MOST_ARGUMENTS):
        argument = _ARGUMENT.match(text, place)
        if argument is None:
            return
        if argument["literal"]:
            yield argument.span("literal")
        if argument["end"] == ")":
            return
        place = argument.end()
