"""Finds documents by their form: mails and letters, chat exports and transcripts, and what a machine wrote or reads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.provenance.requests import POLITE, POLITE_ZH

# One of these, in lower case and with single blanks, a line break, a colon, `[`, `{` or `<` stands in each text in
# which a span is found.
SIGNS = (
    "dear ", "--", "$", "#", "❯", "➜", "traceback", "select ", "insert into", "update ", "delete from",
    "create table",
)  # fmt: skip

# Mails, with their headers, and letters, from the salutation on.

_HEADED = lazy_compile(
    r"^(?:(?:subject|主题)\s*[:：][^\n]{1,200}\n|-{2,}\s*(?:original|forwarded)\b|begin\s+forwarded\s+message:"
    r"|-{2,}\s*(?:原始邮件|转发)|on\s[^\n]{5,120}\swrote:\s*$|(?:from|发件人)\s*[:：][^\n]{1,200}\n(?:[^\n]{0,200}\n){0,3}?"
    r"(?:to|subject|date|sent|cc|主题|收件人|日期)\s*[:：])",
    re.IGNORECASE | re.MULTILINE,
)
_SALUTATION = lazy_compile(
    r"^[ \t]*(?:(?P<formal>Dear|To whom)\s|(?:Hi|Hello|Hey|Good (?:morning|day|evening))\b)[^\n.!?]{0,60}[,:][ \t]*$"
    r"|\b(?P<inline>Dear[ ](?!diary\b)[^\n.!?,]{1,40}(?:(?:Mr|Mrs|Ms|Dr)\.[ ][^\n.!?,]{1,30})?,)(?=[ ])"
    r"|^[ \t]*(?P<formal_zh>尊敬的|亲爱的)[^\n。！？]{1,30}?[：:，,！!][ \t]*$",
    re.MULTILINE,
)
_CLOSING = lazy_compile(
    r"\b(?:(?:kind|best|warm)(?:est)?\s+(?:regards|wishes)|regards|sincerely|faithfully|yours|all the best|best|cheers"
    r"|love|thanks)[ \t]*,?[ \t]*(?:\n|[A-Z])|此致|敬礼|敬上|谨上|祝好|顺祝",
    re.IGNORECASE,
)
_LETTER_SIGNS = ("\n", ":", "：", "Dear", "-")  # one of them stands in each header and salutation


def _is_followed(text: str, closing: int) -> bool:
    """Whether a paragraph follows the one with the closing formula: then the formula closes no message."""
    paragraph = text.find("\n\n", closing)
    return paragraph >= 0 and bool(text[paragraph:].strip())


def find_letter_spans(text: str) -> Iterator[tuple[int, int]]:
    """The span from a header or a salutation to the end of the text.

    A message to the assistant may itself begin with a greeting: the first line of a text is a salutation only where it
    is formal and a closing formula follows."""
    if not any(mark in text for mark in _LETTER_SIGNS):
        return
    starts = [header.start()] if (header := _HEADED.search(text)) else []
    last_closing = max((closing.start() for closing in _CLOSING.finditer(text)), default=-1)
    for salutation in _SALUTATION.finditer(text):
        is_formal = salutation["formal"] or salutation["formal_zh"] or salutation["inline"]
        is_first = not text[: salutation.start()].strip()
        is_closed = last_closing > salutation.end()
        if is_formal and (is_closed or (not is_first and not salutation["inline"])):
            starts.append(salutation.start())
            break
        if is_closed and (not is_first or _is_followed(text, last_closing)):
            starts.append(salutation.start())
            break
    if starts:
        yield min(starts), len(text)


# Chats and transcripts: lines or sentences that begin with who speaks, or with who and when. `Diet: no pork` and
# `Meds: none` have the same form. Lines are a conversation where a time stands beside the name, a name comes back after
# another, the names are roles, the words around them call it a conversation, all lines speak of themselves, or they
# talk to each other.

_NAME = r"[^\W\d_](?:[\w.'’&-]|[ ](?=[^\s:：])){0,28}"
_CLOCK = r"\d{1,2}[:：.]\d{2}(?:[:：.]\d{2})?(?:\s?[AaPp]\.?[Mm]\.?)?"
_DAY = r"\d{1,4}[-/.年]\d{1,2}(?:[-/.月]\d{1,4}日?)?"
_TURN = lazy_compile(
    rf"(?:^|(?<=[/|])|(?<=[.!?;])(?=\s)|(?<=[。！？；]))[ \t]*(?:[-*•][ \t]+)?"
    rf"(?P<stamp>[\[(【](?:{_DAY}[,\s]*)?{_CLOCK}[\])】][ \t]*|{_DAY},?[ \t]+{_CLOCK}(?:[ \t]*[-–][ \t]*|[ \t]+))?"
    rf"(?:{_CLOCK}[ \t]+)?"
    rf"(?:(?P<irc><[@+ ]?[\w.-]{{1,30}}>)[ \t]|[@*_]{{0,2}}(?P<label>{_NAME})[ \t]*"
    rf"(?P<after>[\[(（](?:{_DAY}[,\s]*)?{_CLOCK}[\])）][ \t]*)?(?::(?=[ \t*_]|[\u3400-\u9fff])|：))(?=[ \t]*\S)",
    re.MULTILINE,
)
_HEADER = lazy_compile(
    rf"^[ \t]*@?(?P<name>{_NAME})[ \t,·|—–-]+[\[(]?(?:(?:[Tt]oday|[Yy]esterday|今天|昨天|{_DAY})[ \t,]*(?:at[ \t]+)?)?"
    rf"{_CLOCK}[\])]?[ \t]*$",
    re.MULTILINE,
)
_SELF = lazy_compile(r"(?i)(?:i|i'\w+|my|we|our)\b|我")
_ROLE = lazy_compile(
    r"(?i)[a-z]|q\d?|a\d?|user|human|assistant|ai|bot|chatbot|agent|customer|interviewer|interviewee"
    r"|speaker ?\w?|[甲乙丙丁]|用户|助手|客服|客户|顾客|记者|问|答"
)
_MACHINE = lazy_compile(r"(?i)user|human|用户")  # nobody calls themselves so
_ANNOUNCED = lazy_compile(
    r"(?i)\b(?:chats?|conversation|dialog(?:ue)?|transcript|thread|interview|argument|messages|minutes|who(?:'s|\s+is|\s+was)"
    r"\s+\w+)\b|聊天|对话|群里|谁说|谁对|采访|会议记录|讨论"
)
_ADDRESS = lazy_compile(
    r"(?i)[?？]|\b(?:you|u|your)\b|^\s*(?:hi|hey|hello|ok|okay|yeah|yep|nope|lol|haha|thanks|sure)\b|[你您]|^\s*(?:嗯|好的|哈|在$"
    r"|谢谢|是的|收到)"
)
_SENTENCE = lazy_compile(r"[^.!?。！？\n]+[.!?。！？]*")
_REQUEST = lazy_compile(
    rf"(?i)^\s*{POLITE}(?:what|how|who|why|which|when|can|could|should|shall|is|are|do|does|did|would|will|summari[sz]e|sum"
    rf"|translate|help|tell|explain|reply|write|draft|make|give|list|find|thanks|thx|thank)\b|[?？]\s*$"
    rf"|^\s*{POLITE_ZH}(?:总结|翻译|整理|帮|看看|回复|分析|写|谁|怎么|如何|什么|谢谢)|(?:怎么|如何|什么|谁).{{0,12}}$"
)
_LEAST_TURNS = 2  # turns of a conversation
_MOST_WORDS = 3  # of a name
_BEFORE = 200  # characters before a conversation that may announce it
_VALUE = 200  # characters of what a speaker says that are looked at


@dataclass(frozen=True, slots=True)
class _Turn:
    start: int
    end: int
    label: str
    is_stamped: bool
    is_bracketed: bool


def find_transcript_spans(text: str) -> Iterator[tuple[int, int]]:
    """The span from the first turn of a conversation to its end, the person's request after it left out."""
    if not any(mark in text for mark in ":：<"):
        return
    turns = _find_turns(text)
    if _is_conversation(text, turns):
        yield turns[0].start, _find_end(text, turns[-1].end)
    headers = _find_headers(text)
    if len(headers) >= _LEAST_TURNS:
        yield headers[0][0], _find_end(text, headers[-1][1])


def _find_turns(text: str) -> list[_Turn]:
    turns = []
    for match in _TURN.finditer(text):
        label = match["irc"] or match["label"]
        if len(label.split()) > _MOST_WORDS or _SELF.match(label):
            continue
        is_stamped = bool(match["stamp"] or match["after"])
        turns.append(_Turn(match.start(), match.end(), label.strip("<>@ ").lower(), is_stamped, bool(match["irc"])))
    named = [turn for turn in turns if turn.is_stamped or not text[turn.end - 2].islower() or _has_capital(text, turn)]
    return named if len({turn.label for turn in named}) >= _LEAST_TURNS else turns


def _has_capital(text: str, turn: _Turn) -> bool:
    return any(letter.isupper() for letter in text[turn.start : turn.end])


def _is_conversation(text: str, turns: Sequence[_Turn]) -> bool:
    if sum(turn.is_bracketed for turn in turns) >= _LEAST_TURNS or any(
        turn.is_stamped or _MACHINE.fullmatch(turn.label) for turn in turns
    ):
        return True
    labels = [turn.label for turn in turns]
    if len(set(labels)) < _LEAST_TURNS:
        return False
    return (
        sum(label in labels[:place] and labels[place - 1] != label for place, label in enumerate(labels[:99])) > 0
        or len({label for label in labels if _ROLE.fullmatch(label)}) >= _LEAST_TURNS
        or _ANNOUNCED.search(text, max(0, turns[0].start - _BEFORE), turns[0].start) is not None
        or _ANNOUNCED.search(text, turns[-1].end, turns[-1].end + _BEFORE) is not None
        or all(_SELF.match(value) for value in _get_values(text, turns))
        or any(_ADDRESS.search(value) for value in _get_values(text, turns))
    )


def _get_values(text: str, turns: Sequence[_Turn]) -> Iterator[str]:
    """What the speakers say, a line of each."""
    ends = [turn.start for turn in turns[1:]] + [len(text)]
    for turn, end in zip(turns, ends, strict=True):
        yield text[turn.end : min(end, turn.end + _VALUE)].strip().partition("\n")[0]


def _find_headers(text: str) -> list[tuple[int, int]]:
    """The lines with a name and a time alone, if words stand below each."""
    found: list[tuple[int, int]] = []
    for match in _HEADER.finditer(text):
        if len(match["name"].split()) > _MOST_WORDS or _SELF.match(match["name"]):
            continue
        if found and not text[found[-1][1] : match.start()].strip():
            return []
        found.append(match.span())
    return found if found and text[found[-1][1] :].strip() else []


def _find_end(text: str, last: int) -> int:
    """Where a conversation ends whose last turn begins at `last`: before the requests with which the text ends."""
    end = len(text)
    line_end = text.find("\n", last)
    if line_end < 0:
        return end
    for sentence in reversed(list(_SENTENCE.finditer(text, line_end))):
        if not _REQUEST.search(sentence.group()):
            break
        end = sentence.start()
    return end


# Lines that a machine wrote or reads: JSON, YAML, tables, logs, code and commands.

_OBJECT = lazy_compile(r"\{\s{0,20}[\"'][^\"'\n]{1,60}[\"']\s{0,20}:|\[\s{0,20}\{")
_LOG = lazy_compile(
    r"^.*\[(?:INFO|DEBUG|WARN(?:ING)?|ERROR|TRACE)\].*$"
    r"|^[ \t]*\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d"
    r"(?::\d\d[^\s]{0,14}[ \t]+\S|[^\n]{0,12}\b(?:INFO|DEBUG|WARN(?:ING)?|ERROR|TRACE|FATAL)\b).*$",
    re.MULTILINE,
)
_COMMAND = lazy_compile(
    r"^[ \t]*(?:(?:\$|❯|➜)[ \t]+[a-z./]|[\w.-]{1,32}@[\w.-]{1,32}[:~][^$#\n]{0,40}[$#][ \t]|PS [A-Z]:\\"
    r"|[A-Z]:\\[^>\n]{0,60}>|Traceback \(most recent call|(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|CREATE TABLE)[ ]\S)",
    re.MULTILINE,
)
_CODE = lazy_compile(
    r"[ \t]*(?:import[ ][\w.]+|from[ ][\w.]+[ ]import[ ].*|(?:async[ ])?(?:def|class|fn|func|function)[ ]\w+[ ]?[({:].*"
    r"|#include.*|(?:const|let|var)[ ]\w+[ ]?=.*|[\w.\[\]\"']+[ ]?[+-]?=[ ]?[^\s=].*|//.*|/\*.*|[}\])]+[;,]?"
    r"|(?:if|for|while|elif|switch)[ ]?\(.*|return[ ].*|(?:SELECT|INSERT|UPDATE|DELETE|CREATE)[ ].*)[ \t]*"
)
_LINE = lazy_compile(r"[^\n]+")
_KEY = lazy_compile(r"^(?P<indent>[ \t]*)(?:-[ ])?[a-z_][\w.-]{0,40}:(?P<value>[ ].*)?$", re.MULTILINE)
_CELLS = lazy_compile(r"^[^\s,;|\t]+(?:[,;|\t][^\s,;|\t]+){2,}$", re.MULTILINE)
_ROW = lazy_compile(r"^[ \t]*\|.*\|[ \t]*$|^[^\n\t]+\t.*$", re.MULTILINE)
_SEPARATOR = lazy_compile(r"[,;|\t]")
_LISTING_SIGN = lazy_compile(r"[\n:{\[$(|\t>#❯➜=]|INSERT|SELECT|CREATE|UPDATE|DELETE")
_LEAST_LINES = 2  # lines of a listing


def find_listing_spans(text: str) -> Iterator[tuple[int, int]]:
    """The spans of machine-made lines. Between two of a kind, the text is theirs."""
    if not _LISTING_SIGN.search(text):
        return
    if opening := _OBJECT.search(text):
        closing = max(text.rfind("}"), text.rfind("]"))
        is_closed = closing > opening.end() and not _OBJECT.search(text, closing)
        yield opening.start(), closing + 1 if is_closed else len(text)
    yield from _span_all([match.span() for match in _LOG.finditer(text)], 1)
    yield from _span_all([line.span() for line in _LINE.finditer(text) if _is_code(line.group())], _LEAST_LINES)
    if command := _COMMAND.search(text):
        last = max(match.end() for match in _COMMAND.finditer(text))
        yield command.start(), _find_paragraph_end(text, last)
    yield from _span_all([row.span() for row in _ROW.finditer(text)], _LEAST_LINES)
    yield from _find_keys(text)
    yield from _find_tables(text)


def _is_code(line: str) -> bool:
    bare = line.rstrip()
    return (bare.endswith((";", "{")) and any(mark in bare for mark in "=(){}")) or _CODE.fullmatch(bare) is not None


def _span_all(spans: list[tuple[int, int]], least: int) -> Iterator[tuple[int, int]]:
    if len(spans) >= least:
        yield spans[0][0], spans[-1][1]


def _find_paragraph_end(text: str, at: int) -> int:
    end = text.find("\n\n", at)
    return len(text) if end < 0 else end


def _find_keys(text: str) -> Iterator[tuple[int, int]]:
    """Keys below a key: a person's list has one level."""
    found = list(_KEY.finditer(text))
    if any(
        not upper["value"] and len(lower["indent"]) > len(upper["indent"]) and lower.start() == upper.end() + 1
        for upper, lower in pairwise(found)
    ):
        yield found[0].start(), _find_paragraph_end(text, found[-1].end())


def _find_tables(text: str) -> Iterator[tuple[int, int]]:
    """Rows below a row of single words without a space after its commas."""
    done = 0
    for header in _CELLS.finditer(text):
        if header.start() < done:
            continue
        width = len(_SEPARATOR.findall(header.group()))
        line_end = text.find("\n", header.end() + 1)
        row = text[header.end() + 1 : len(text) if line_end < 0 else line_end]
        if len(_SEPARATOR.findall(row)) >= width:
            done = _find_paragraph_end(text, header.end())
            yield header.start(), done
