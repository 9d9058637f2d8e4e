"""Finds the text between marks: fences, triple quotes, tags, quoting lines and quotation marks.

A mark of a document's own ends no quotation: of several marks of one kind, the text from the first to the last is
quoted."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.provenance.instructions import CJK, has_instructions
from muniment.memory.rules.provenance.speech import is_own_speech

_LONG_QUOTE = 80  # characters; a Chinese one counts three times
_INTRODUCTION = 80  # characters before a quote that are looked at

_FENCE = lazy_compile(r"`{3,}|~{3,}")
_TRIPLE = lazy_compile(r'"""')
_ANGLES = lazy_compile(r"<<<|>>>")
# Of these an opening tag is enough; of others, a pair.
_TAG = lazy_compile(
    r"<(?P<close>/?)(?P<name>(?:e?mail|document|doc|page|web_?page|article|file|transcript|quote|content|context|text"
    r"|message|data|tool_result|output|search_results?|result)\b|[^\W\d][\w-]{0,30})[^<>\n]{0,200}>",
    re.IGNORECASE,
)
_DOCUMENT_TAG = lazy_compile(
    r"e?mail|document|doc|page|web_?page|article|file|transcript|quote|content|context|text|message|data|tool_result"
    r"|output|search_results?|result",
    re.IGNORECASE,
)
_FORMAT_TAG = lazy_compile(
    r"[abiqsu]|br|em|strong|sub|sup|del|ins|code|span|small|big", re.IGNORECASE
)  # inside a sentence
_QUOTING_LINE = lazy_compile(r"^[ \t]*>.*$", re.MULTILINE)
_RULE = lazy_compile(r"^[ \t]*(?:[-=*_#]{3,}|\W{0,6}(?:BEGIN|END)\b[^\n]{0,40})[ \t]*$", re.MULTILINE)
_STRAIGHT = lazy_compile(r'(?<!\d)"[^"]{2,4000}"')  # after a number it means inches
_PAIRS = {"「": "」", "『": "』", "«": "»", "“": "”"}
_PAIRED = lazy_compile("[" + "".join([*_PAIRS, *_PAIRS.values()]) + "]")
# A clause in the first person: a name or a title has only capitals beside it.
_FIRST_PERSON = lazy_compile(r"\b(?:I|i|[Mm]y|[Ww]e|[Oo]ur)\b(?=.*\b[a-z]{3,}\b)|[我咱俺]", re.DOTALL)
_LETTER = 3  # characters with the marks; a letter is no quote
_FEW = 8  # characters; a shorter quote is a name


def find_marked_spans(text: str) -> list[tuple[int, int]]:
    """The spans between fences, triple quotes and tags, the lines between rules, and the quoting lines."""
    return [*_find_fenced(text), *_find_angled(text), *_find_tagged(text), *_find_lines(text)]


def find_quotes(text: str) -> list[tuple[int, int]]:
    """The spans between quotation marks, the outermost of nested ones."""
    spans = [match.span() for match in _STRAIGHT.finditer(text)]
    opened: list[tuple[str, int]] = []
    for mark in _PAIRED.finditer(text):
        closing = mark.group()
        if closing in _PAIRS:
            opened.append((_PAIRS[closing], mark.start()))
            continue
        start = -1
        while opened and start < 0:  # a mark that is left open inside ends with those around it
            kind, at = opened.pop()
            start = at if kind == closing else -1
        if start >= 0 and not opened and mark.end() - start > _LETTER:
            spans.append((start, mark.end()))
    return spans


def select_foreign_quotes(text: str, quotes: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Those of the quotes that are another's words: long ones, instructions, and first persons that a person does not
    report of themselves."""
    for start, end in quotes:
        inside = text[start + 1 : end - 1]
        if (
            end - start + 2 * len(CJK.findall(inside)) >= _LONG_QUOTE
            or has_instructions(inside)
            or (
                len(inside) + len(CJK.findall(inside)) >= _FEW
                and _FIRST_PERSON.search(inside)
                and not is_own_speech(text[max(0, start - _INTRODUCTION) : start])
            )
        ):
            yield start, end


def _find_lines(text: str) -> Iterator[tuple[int, int]]:
    rules = list(_RULE.finditer(text))
    if len(rules) > 1:
        yield rules[0].start(), rules[-1].end()
    yield from (match.span() for match in _QUOTING_LINE.finditer(text))


def _find_fenced(text: str) -> Iterator[tuple[int, int]]:
    """From the first mark of a kind to the last one; to the end of the text where one is left open."""
    for pattern in (_FENCE, _TRIPLE):
        found = list(pattern.finditer(text))
        kinds = [mark.group() for mark in found]
        if found:
            is_closed = kinds[0] == kinds[-1] and kinds.count(kinds[0]) % 2 == 0
            yield found[0].start(), found[-1].end() if is_closed else len(text)


def _find_angled(text: str) -> Iterator[tuple[int, int]]:
    found = list(_ANGLES.finditer(text))
    start = next((mark.start() for mark in found if mark.group() == "<<<"), None)
    if start is not None:
        last = found[-1]
        yield start, last.end() if last.group() == ">>>" else len(text)


def _find_tagged(text: str) -> Iterator[tuple[int, int]]:
    """From the first opening tag of a name to its last closing tag."""
    opened: dict[str, int] = {}
    closed: dict[str, int] = {}
    for tag in _TAG.finditer(text):
        name = tag["name"].lower()
        if _FORMAT_TAG.fullmatch(name):
            continue
        if tag["close"]:
            closed[name] = tag.end()
        else:
            opened.setdefault(name, tag.start())
    for name, start in opened.items():
        end = closed.get(name, 0)
        if end > start:
            yield start, end
        elif _DOCUMENT_TAG.fullmatch(name):
            yield start, len(text)
