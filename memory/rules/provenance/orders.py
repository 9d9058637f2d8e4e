"""Finds what a person tells the assistant to write for somebody, to say in another language, or to play."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.provenance.fiction import opens_role_play
from muniment.memory.rules.provenance.leads import POLITE

_SENTENCE = lazy_compile(r"(?:[^.!?。！？\n]|(?<=\b[DM]r)\.|(?<=\bM[rs]s)\.|\.(?=\w))+[.!?。！？]*")
_SHOWN = 240  # characters of a sentence in which an order begins
_KINDS = (
    r"(?:e-?mails?|letters?|messages?|texts?|posts?|tweets?|notes?|repl(?:y|ies)|responses?|speech|toast|reviews?|complaint"
    r"|bio|ad|stor(?:y|ies)|poems?|songs?|tales?|scenes?|novel|dialog(?:ue)?|essay|jokes?|script|invitation|card|caption"
    r"|status|resignation|application|apology|excuse|monologue)"
)
_WRITE = lazy_compile(
    rf"(?i)^\W{{0,4}}{POLITE}(?:(?:write|draft|compose|prepare|create|make|send|generate|post|tell|invent|continue)\b"
    rf"(?:\s+[\w'’.-]+){{0,8}}?\s+{_KINDS}\b|(?:e-?mail|text|message|tell|inform|remind)\s+(?:my|our|the|him|her|them)\b)"
)
_CONTENT = lazy_compile(
    r"(?i)\b(?:saying|says?|that|stating|telling|tell|explaining|who|whose|where|because)\b|(?P<colon>:(?=\s)|：)"
)
_TOLD_BY_I = lazy_compile(r"(?i)(?:where|who|whose)\s+(?:i|i'm|my)\b")  # what follows is told by the same person
_WRITE_ZH = lazy_compile(
    r"^(?:我(?:想让|要|想请|需要|想麻烦)你)?(?:[^，,。！？写拟编发回：:\n我他她]|(?<=[帮替给])我)*(?:写|起草|拟|回|发|编)"
    r"[^，。！？：:\n]{0,16}?(?:信|邮件|短信|消息|微信|朋友圈|帖子|微博|回复|通知|请假条|条子|文案|评论|检讨|稿|故事|小说|诗|歌"
    r"|剧本|笑话|祝福|留言)[^，。！？：:\n]{0,16}"
)
_CONTENT_ZH = lazy_compile(r"[，,]?(?:就|内容|大意|里面|主角|主人公|他|她)*(?:说|告诉|写|是|表示|讲)|(?P<colon>[：:])")
_SAY = lazy_compile(
    r"(?i)\bhow\s+(?:(?:do|would|can|could|should|to)\s+)(?:(?:you|i|we|one)\s+)?(?:say|write|spell|pronounce|translate"
    r"|phrase)\b"
)
_SAY_ZH = lazy_compile(r"[语文话](?:里|中)?(?:该|应该)?怎么(?:说|写|讲|念|翻|表达)")


def find_ordered_spans(text: str) -> Iterator[tuple[int, int]]:
    """The spans of text that the assistant is to say or to write, and of a role play from its beginning on."""
    for sentence in _SENTENCE.finditer(text):
        head = sentence.group()[:_SHOWN]
        bare = head.lstrip()
        if (at := opens_role_play(bare)) is not None:
            yield sentence.start() + len(head) - len(bare) + at, len(text)
            return
        if content := _find_content(head):
            goes_on = content["colon"] or _TOLD_BY_I.match(head, content.start())
            yield sentence.start() + content.end(), len(text) if goes_on else sentence.end()
        if asked := _SAY.search(head):
            yield sentence.start() + asked.end(), sentence.end()
        if asked := _SAY_ZH.search(head):
            yield sentence.start(), sentence.start() + asked.start()


def _find_content(sentence: str) -> re.Match[str] | None:
    """The word after which an order says what to write."""
    if written := _WRITE.search(sentence):
        return _CONTENT.search(sentence, written.end())
    written = _WRITE_ZH.search(sentence.lstrip(" ，,"))
    if written is None:
        return None
    return _CONTENT_ZH.search(sentence, written.end() + len(sentence) - len(sentence.lstrip(" ，,")))
