"""What a person's message states, found by rule: English and Chinese, precision before recall."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.memory.records import Candidate, Extraction, Turn, evolve
from muniment.memory.rules import chinese, dates, english
from muniment.memory.rules.clauses import clauses, sentences
from muniment.memory.rules.draft import Clause, Draft

_CJK = re.compile(r"[\u3400-\u9fff]")
_MOST = 24
_ASKED_FOR = 3  # importance, at least, of what the person wants remembered

_POLITE = r"^[\s,]*(?:(?:and|but|so|also|oh|ok|okay|well|hey|hi|hello|actually|btw|yes|no|now|please|kindly|just|can you|could you|will you|would you|i want you to|i need you to|i'd like you to|you should|you can|you must|always)[\s,]+)*"
_REMEMBER = re.compile(
    _POLITE + r"(?:(?:remember|note|keep\s+in\s+mind|bear\s+in\s+mind|don't\s+forget|do\s+not\s+forget|never\s+forget|make\s+a\s+note|take\s+note|memori[sz]e|write\s+down|save|store)"
    r"(?:\s+(?:this|the\s+following|it|for\s+(?:later|me|next\s+time|the\s+future)))*\s*(?:[:,]\s*|\s+)(?:that\s+|of\s+)?)(?P<inner>\S.*)$",
    re.IGNORECASE | re.DOTALL,
)
_NOT_TO_KEEP = re.compile(r"(?:to\s|when\b|how\b|what\b|why\b|where\b|who\b|the\s+(?:time|day|days|good|last\s+time|moment)\b|me\b|us\b|it\b|your\b|you\b|back\b|those\b|these\b|and\b|or\b|money\b|time\b|space\b|about\b)", re.IGNORECASE)
_FORGET = re.compile(
    _POLITE + r"(?:forget|stop\s+remembering|don't\s+remember|do\s+not\s+remember|don't\s+save|do\s+not\s+save|don't\s+store|(?:delete|erase|remove|clear|drop)\s+(?:the\s+)?(?:memory|memories|note|notes|fact|information|everything|all|what)"
    r"(?:\s+(?:you\s+(?:know|have|remember|saved|stored)|i\s+(?:said|told\s+you)))?(?:\s+about)?)\s+(?:(?:about|that|everything|all|anything|the\s+fact|what\s+(?:i\s+said|i\s+told\s+you|you\s+know)|the\s+thing|of)\s+)*(?P<inner>\S.*)$",
    re.IGNORECASE | re.DOTALL,
)
_IDLE_FORGET = re.compile(r"(?:it|that|this|them|me|him|her|you|to\b.*|about\s+(?:it|that)|the\s+(?:rest|past|haters)|all\s+(?:that|this)|everything|how\b.*|what\b.*|where\b.*|when\b.*|why\b.*|if\b.*|last\s+\w+|never\s*mind)\W*$", re.IGNORECASE)
_REMEMBER_ZH = re.compile(r"^[\s，,]*(?:请|麻烦|帮我|你要|你|一定要|务必|好好)*(?:记住|记一下|记下来?|记着|牢记|(?:记得|别忘了|不要忘记|不要忘了)(?=我))(?:一下|这个|这件事|这一点|，|,|：|:|\s)*(?P<inner>\S.*)$", re.DOTALL)
_FORGET_ZH = re.compile(
    r"^[\s，,]*(?:请|麻烦|帮我|你|把)*(?:忘掉|忘记|忘了|别记住?|不要记住?|不用记住?|别再记|删掉|删除|清除|抹掉)(?:了|关于|有关|我说的|我说过的|你记得的|：|:|，|,|\s)*(?P<inner>\S.*)$|^[\s，,]*把(?P<moved>.{1,60}?)(?:忘掉|忘了|删掉|删除|抹掉)(?:吧|了)?[。.！!]*$",
    re.DOTALL,
)
_IDLE_FORGET_ZH = re.compile(r"(?:它|这个|那个|这些|吧|这件事|他|她|我|一切|什么.*)[吧了。.！!]*$")


def extract(turn: Turn, previous: tuple[Turn, ...] = ()) -> Extraction:
    """The statements of a user's turn, in order and once each, and the phrases that it asks to forget.

    Turns of other roles hold nothing. `previous` is there for extractors that read more than one turn."""
    if turn.role != "user":
        return Extraction()
    lower = turn.text == turn.text.lower()
    found: dict[str, Candidate] = {}
    forget: dict[str, None] = {}
    for sentence in sentences(turn.text):
        phrase = _to_forget(sentence)
        if phrase:
            forget[phrase] = None
            continue
        for one in _stated(sentence, turn, lower=lower):
            candidate = _candidate(one, turn)
            found.setdefault(_key(candidate), candidate)
        if len(found) >= _MOST:
            break
    return Extraction(candidates=tuple(found.values())[:_MOST], forget=tuple(forget))


def _key(candidate: Candidate) -> str:
    return candidate.fact.key if candidate.fact else candidate.text


def _to_forget(sentence: str) -> str | None:
    found = _FORGET.match(sentence)
    if found:
        inner = found["inner"].strip(" .,!?")
        return None if _IDLE_FORGET.match(inner) or re.match(r"(?:don't|do not|never)\b", sentence.strip(), re.IGNORECASE) and "forget" in sentence.casefold()[:20] else inner
    found = _FORGET_ZH.match(sentence)
    if found and not sentence.rstrip().endswith(("？", "?", "吗")):
        inner = (found["inner"] or found["moved"]).strip(" 。，！.,!")
        inner = re.sub(r"^我的?|(?:的(?:事情?|记忆|内容|信息))?[吧了]?$", "", inner)
        return inner if inner and not _IDLE_FORGET_ZH.match(inner) else None
    return None


def _stated(sentence: str, turn: Turn, *, lower: bool) -> Iterator[Draft]:
    inner = _asked(sentence)
    subject = False
    for text in clauses(inner or sentence):
        if _CJK.search(text):
            text, subject = chinese.with_subject(text, carried=subject)
            clause = Clause(text=text, at=turn.at, lower=lower, directive=bool(inner))
            drafts, note = chinese.facts(clause), chinese.note
        else:
            clause = Clause(text=text, at=turn.at, lower=lower, directive=bool(inner))
            drafts, note = english.facts(clause), english.note
        if inner and not drafts:
            kept = note(clause)
            drafts = [kept] if kept else []
        for one in drafts:
            yield evolve(one, importance=max(one.importance, _ASKED_FOR)) if inner else one


def _asked(sentence: str) -> str | None:
    """What follows `remember that`, as a sentence of its own."""
    found = _REMEMBER.match(sentence)
    if found:
        return None if _NOT_TO_KEEP.match(found["inner"]) else found["inner"].rstrip(" ?")
    found = _REMEMBER_ZH.match(sentence)
    return found["inner"] if found and not sentence.rstrip().endswith(("吗", "吗？", "吗?")) else None


def _candidate(one: Draft, turn: Turn) -> Candidate:
    text = one.text if one.timeless else dates.absolute(one.text, turn.at)
    # The clause is in the person's tense, the statement may not be: "used to" and "plans to" lean on the text as told.
    when = None if one.timeless or one.fact.kind == "identity" else dates.resolve(one.text, turn.at)
    return Candidate(text=text.strip(" .。"), category=one.category, fact=one.fact, importance=one.importance, confidence=one.confidence,
                     event_time=when, turns=(turn.id,), actor=turn.actor, role=turn.role)  # fmt: skip
