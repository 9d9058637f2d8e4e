"""The words that a cited turn has of the user's own, and the question that they answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeGuard

from muniment.memory.domain.turn import Turn
from muniment.memory.rules.extraction.evidence.bearing import Words
from muniment.memory.rules.extraction.evidence.clause_signs import is_denied
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.provenance.quoted import is_own_reply, split_quoted

_ANSWER_WORDS = 6  # a longer answer says itself what it answers
_QUOTATION = lazy_compile(
    r"[\"“](?:\s*[\w'’-]+[,;.]?){5,}[.!?,]?\s*[\"”]|[\"“「『][^\"”」』]*[\u3400-\u9fff][^\"”」』]{6,}[\"”」』]"
)
_QUESTION = lazy_compile(r"[^.!?。！？\n]+[?？]\s*$")
_OPEN_QUESTION = lazy_compile(
    r"\b(?:what|where|who|whom|whose|when|which|how|why)\b|哪|什么|谁|几|多少|怎么|多大|何时", re.IGNORECASE
)
_AFFIRMS = lazy_compile(
    r"^\W*(?:yes|yeah|yep|yup|sure|right|correct|exactly|indeed|of\s+course|absolutely|definitely|true|i\s+do|i\s+am"
    r"|i\s+have|i\s+did|that's\s+(?:right|true|it)|是|对|嗯|没错|当然|有的?|会的?)(?![a-z])",
    re.IGNORECASE,
)
_FIRST_PERSON = lazy_compile(r"^\W*(?:i|we)\s+([a-z]+)", re.IGNORECASE)
_TO_FIRST = (
    (lazy_compile(r"\byou're\b", re.IGNORECASE), "I'm"),
    (lazy_compile(r"\byours?\b", re.IGNORECASE), "my"),
    (lazy_compile(r"\byou\b", re.IGNORECASE), "I"),
    (lazy_compile(r"[你您]"), "我"),
)


def has_own_words(turns: Sequence[Turn]) -> bool:
    """Whether a user says something in the turns in words of their own."""
    return any(_read_own(turn) for turn in turns)


def choose_words(turns: Sequence[Turn], support: Sequence[Turn], quote: str) -> Words:
    """The user's own words in the cited turns, with the question that they answer and all else that the user says."""
    spoken = [turn for turn in support if _read_own(turn)]
    last = spoken[-1]
    own = [_read_own(turn) for turn in spoken]
    known = [_read_own(turn) for turn in turns] + [turn.actor or "" for turn in turns]
    return Words(
        cited=own,
        at=last.at,
        question=_find_question(turns, last),
        known="\n".join(filter(None, known)),
        quote=quote,
    )


@lru_cache(maxsize=64)
def _read_own(turn: Turn) -> str:
    """The words of a user's turn that are neither pasted nor in quotation marks; a quoted name stays."""
    if turn.role != "user" or turn.source != "user":
        return ""
    return _QUOTATION.sub(" ", split_quoted(turn).own_text).strip()


def _find_question(turns: Sequence[Turn], answer: Turn) -> str:
    """The assistant's question as the user would say it, if the user's answer affirms it or fills it in."""
    place = turns.index(answer)
    before = turns[place - 1] if place else None
    asked = _QUESTION.search(before.text.rstrip()) if _is_asking(before) else None
    if asked is None:
        return ""
    question, own = asked.group().strip(), _read_own(answer)
    if not _is_answer(question, own):
        return ""
    for pattern, word in _TO_FIRST:
        question = pattern.sub(word, question)
    return question.rstrip("?？ ")


def _is_asking(turn: Turn | None) -> TypeGuard[Turn]:
    return turn is not None and turn.role == "assistant" and not is_own_reply(turn)


def _is_answer(question: str, own: str) -> bool:
    if _AFFIRMS.match(own):
        return True
    if is_denied(own):
        return False
    if _OPEN_QUESTION.search(question):
        return len(re.findall(r"[\w'-]+", own)) <= _ANSWER_WORDS
    verb = _FIRST_PERSON.match(own)
    return verb is not None and tokens.stem_word(verb[1].lower()) in map(tokens.stem_word, tokens.split_runs(question))
