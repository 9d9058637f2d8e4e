"""What a person's message states, found by rule: English and Chinese, precision before recall."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from muniment.memory.domain.turn import Candidate, Extraction, Turn, Wish
from muniment.memory.rules.dates import mentions as dates
from muniment.memory.rules.extraction.chinese import clauses as chinese
from muniment.memory.rules.extraction.clauses import clauses, sentences, undecorated
from muniment.memory.rules.extraction.draft import Draft
from muniment.memory.rules.extraction.english import clauses as english, spoken as english_spoken
from muniment.memory.rules.extraction.forget_requests import POLITE, wish
from muniment.memory.rules.language.clause import Clause
from muniment.memory.rules.language.lazy_regex import late

_CJK = late(r"[\u3400-\u9fff]")
_MOST = 24
_READ = 1000  # clauses: a pasted book is not searched to its end on the hot path
_ASKED_FOR = 3  # importance, at least, of what the person wants remembered

_REMEMBER = late(
    POLITE
    + r"(?:(?:remember|note|keep\s+in\s+mind|bear\s+in\s+mind|don't\s+forget|do\s+not\s+forget|never\s+forget|make\s+a\s+note|take\s+note|memori[sz]e|write\s+down|save|store)"
    r"(?:\s+(?:this|the\s+following|it|for\s+(?:later|me|next\s+time|the\s+future)))*\s*(?:[:,]\s*|\s+)(?:that\s+|of\s+)?)(?P<inner>\S.*)$",
    re.IGNORECASE | re.DOTALL,
)
_NOT_TO_KEEP = late(
    r"(?:to\s|when\b|how\b|what\b|why\b|where\b|who\b|the\s+(?:time|day|days|good|last\s+time|moment)\b|me\b|us\b|it\b|your\b|you\b|back\b|those\b|these\b|and\b|or\b|money\b|time\b|space\b|about\b)",
    re.IGNORECASE,
)
_OWN = late(r"(?:i|i'm|i've|my|our|call\s+me)\b", re.IGNORECASE)
_REMEMBER_ZH = late(
    r"^[\s，,]*(?:请|麻烦|帮我|你要|你|一定要|务必|好好)*(?:记住|记一下|记下来?|记着|牢记|(?:记得|别忘了|不要忘记|不要忘了)(?=我))(?:一下|这个|这件事|这一点|，|,|：|:|\s)*(?P<inner>\S.*)$",
    re.DOTALL,
)
# What the assistant asked last, and how the answer starts when it is said in full.
_ANSWERS = (
    (late(r"what(?:'s|\s+is)\s+your\s+name\s*\?$", re.IGNORECASE), "My name is "),
    (late(r"what\s+(?:should|shall|may|can)\s+i\s+call\s+you\s*\?$", re.IGNORECASE), "Call me "),
    (
        late(
            r"where\s+(?:do\s+you\s+live|are\s+you\s+based)\s*\?$|which\s+city\s+do\s+you\s+live\s+in\s*\?$",
            re.IGNORECASE,
        ),
        "I live in ",
    ),
    (late(r"how\s+old\s+are\s+you\s*\?$", re.IGNORECASE), "I'm "),
    (late(r"怎么称呼(?:你|您)?呢?[?？]$"), "叫我"),
    (late(r"(?:你|您)(?:叫什么名字|的名字是什么)呢?[?？]$"), "我叫"),
    (late(r"(?:你|您)住在(?:哪里|哪儿|哪个城市)呢?[?？]$"), "我住在"),
)
_PRONOUN = late(r"\b(?:he|she)\b", re.IGNORECASE)
_BARE_ANSWER = late(r"(?!(?:i|i'm|my|no|yes|it's|call|none|nothing|why)\b|我|叫|不)[\w' -]{1,40}", re.IGNORECASE)


def extract(turn: Turn, previous: tuple[Turn, ...] = ()) -> Extraction:
    """The statements of a user's turn, the last word on each thing, and what it asks to forget.

    At most 24 statements from the first 1,000 clauses. Turns of other roles hold nothing. `previous`, oldest first, says what a bare answer answers."""
    if turn.role != "user":
        return Extraction()
    text = _completed(turn.text, previous)
    lower = turn.text == turn.text.lower()
    found: dict[str, Candidate] = {}
    forget: dict[str, Wish] = {}
    asked: set[str] = set()
    budget = iter(range(_READ))
    who: english_spoken.Person | None = None
    for sentence in sentences(text):
        if wanted := wish(sentence):
            stated = () if wanted.keys or not wanted.words else _stated(wanted.said, turn, budget, who, lower=lower)
            forget[wanted.said] = replace(wanted, facts=tuple(one.fact for one in stated))
            continue
        for one in _stated(sentence, turn, budget, who, lower=lower):
            candidate = _candidate(one, turn)
            found[_key(candidate)] = candidate
            if _asked(sentence):
                asked.add(candidate.text)
        who = english_spoken.somebody(english_spoken.written(sentence)) or (who if _PRONOUN.search(sentence) else None)
        if len(found) >= _MOST:
            break
    return Extraction(candidates=tuple(found.values())[:_MOST], forget=tuple(forget.values()), asked=frozenset(asked))


def _completed(text: str, previous: tuple[Turn, ...]) -> str:
    """A bare answer to the assistant's question as a statement."""
    bare = text.strip(" .!。！")
    if not previous or previous[-1].role != "assistant" or not _BARE_ANSWER.fullmatch(bare):
        return text
    question = previous[-1].text.rstrip()[-200:]
    return next((start + bare for pattern, start in _ANSWERS if pattern.search(question)), text)


def _key(candidate: Candidate) -> str:
    return candidate.fact.key if candidate.fact else candidate.text


def _stated(
    sentence: str, turn: Turn, budget: Iterator[int], who: english_spoken.Person | None, *, lower: bool
) -> Iterator[Draft]:
    inner = _asked(sentence)
    subject = ""
    for text, _ in zip(clauses(inner or sentence), budget, strict=False):
        language = chinese if _CJK.search(text) else english
        for form in (undecorated(text), text):  # `I love 🍣` says nothing without it
            said = form
            if language is chinese:
                said, subject = chinese.with_subject(form, carried=subject)
            else:
                said = english_spoken.named(form, who)
                who = english_spoken.somebody(said) or who
            clause = Clause(text=said, at=turn.at, lower=lower, directive=bool(inner))
            if drafts := language.facts(clause):
                break
        kept = language.note(clause) if inner and not drafts else None
        for one in [*drafts, *([kept] if kept else [])]:
            yield replace(one, importance=max(one.importance, _ASKED_FOR)) if inner else one


def _asked(sentence: str) -> str | None:
    """What follows `remember that`, as a sentence of its own."""
    found = _REMEMBER.match(sentence)
    if found:
        advice = "," in sentence[: found.start("inner")][-2:] and not _OWN.match(found["inner"])
        return None if advice or _NOT_TO_KEEP.match(found["inner"]) else found["inner"].rstrip(" ?")
    found = _REMEMBER_ZH.match(sentence)
    return found["inner"] if found and not sentence.rstrip().endswith(("吗", "吗？", "吗?")) else None


def _candidate(one: Draft, turn: Turn) -> Candidate:
    text = one.text if one.timeless else dates.absolute(one.text, turn.at)
    # The clause is in the person's tense, the statement may not be: "used to" and "plans to" lean on the text as told.
    when = None if one.timeless or one.fact.kind == "identity" else dates.resolve(one.text, turn.at)
    return Candidate(text=text.strip(" .。"), category=one.category, fact=one.fact, importance=one.importance, confidence=one.confidence,
                     event_time=when, turns=(turn.id,), actor=turn.actor, role=turn.role)  # fmt: skip
