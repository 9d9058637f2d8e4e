"""Finds chat exports and transcripts: lines or sentences that begin with who speaks, or with who and when.

`Diet: no pork` and `Meds: none` have the same form. Lines are a conversation where a time stands beside the name, a
name comes back after another, the names are roles, the words around them call it a conversation, all lines speak of
themselves, or they talk to each other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.provenance.leads import POLITE, POLITE_ZH

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
_LEAST = 2  # turns of a conversation
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
    if len(headers) >= _LEAST:
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
    return named if len({turn.label for turn in named}) >= _LEAST else turns


def _has_capital(text: str, turn: _Turn) -> bool:
    return any(letter.isupper() for letter in text[turn.start : turn.end])


def _is_conversation(text: str, turns: Sequence[_Turn]) -> bool:
    if sum(turn.is_bracketed for turn in turns) >= _LEAST or any(
        turn.is_stamped or _MACHINE.fullmatch(turn.label) for turn in turns
    ):
        return True
    labels = [turn.label for turn in turns]
    if len(set(labels)) < _LEAST:
        return False
    return (
        sum(label in labels[:place] and labels[place - 1] != label for place, label in enumerate(labels[:99])) > 0
        or len({label for label in labels if _ROLE.fullmatch(label)}) >= _LEAST
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
