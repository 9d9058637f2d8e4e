"""Notes: sentences of a person about themselves in their own words, where the rules read no fact or only a part of it.

A note is one statement of at most `MAX_CHARS` characters. Neighbouring sentences share a note, so that a message makes
few. It is told in the third person where that is certain, else quoted."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from muniment.memory.domain.memory import NOTE, Fact
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.rules.dates import mentions
from muniment.memory.rules.extraction import gate
from muniment.memory.rules.extraction.note_category import choose_category
from muniment.memory.rules.extraction.own_statement import is_request, score_statement
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.english_phrases import strip_fillers
from muniment.memory.rules.language.english_words import narrate_first_person
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.statements.changes import has_changed_condition

MAX_CHARS = 280
IMPORTANCE = 1
_MIN_SCORE = -0.5
_LEAST_SCORE = -1.5  # of a sentence of which the rules read a part
_CONTEXT_CHARS = 300  # of a turn before a note, its end
_OTHER_WORDS = 0.25  # the share of a sentence's words that its facts may put in other words
_PLAIN_ZH = frozenset("我的了是在有和也都就很还又着过吗呢吧啊呀哦嗯这那个们叫")
_FEW_CJK = 3
_MIN_REST = 5  # words that are understood by themselves
_MIN_WORDS, _MIN_CJK = 3, 4
_LEAD_EN, _LEAD_ZH = 'The user said: "', '用户说："'
_WORD = lazy_compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d+")
_CJK = lazy_compile(r"[\u3400-\u9fff]")
_LATIN_QUOTES = str.maketrans({'"': "'", "“": "'", "”": "'", "\n": " "})
_REDACTED = "[redacted:"
_WONDERS = lazy_compile(r"^\W*(?:i\s+(?:was\s+|am\s+)?|i'm\s+)wonder(?:ing|ed)?\b", re.IGNORECASE)
_SPEAKER = lazy_compile(r"\b(?:i|i'm|im|i've|my|we)\b|[我咱俺]", re.IGNORECASE)
_UNFINISHED = lazy_compile(r"[?？:：]\s*$|\b(?:said|says|wrote|asked|told me)\W*$", re.IGNORECASE)
_CLAUSES = lazy_compile(
    r"[，,;；。]\s*(?:(?:and|but|so|because)\s+)?|\s+[-–—]\s+|\s+(?:and|but|so|because)\s+", re.IGNORECASE
)
_BARE_NOUN = lazy_compile(r"(?:the|this|that|these|those|all)\s+\w+(?:\s+for\s+[\w ]{1,30})?[.!]*", re.IGNORECASE)
_PARTS = lazy_compile(r"[，,;；]\s*|(?<=[\u3400-\u9fff])\s+(?=[\u3400-\u9fff])|\s+[-–—]\s+|(?<=[.!?])\s+")
_NAME = lazy_compile(r"(?<!^)(?<![.!?]\s)\b(?!I['’])[A-Z][\w'’-]+")
_ZH_PERSON = lazy_compile(r"[你您咱俺]|我们|自我|忘我|我国")
_ZH_SUBJECT = lazy_compile(r"^(?:[^，,。]{0,6})我")


def select_statement(sentence: str, *, is_read: bool) -> str:
    """What of a sentence its speaker states and is worth a note: all of it, what is left without its questions and
    requests, or nothing. `is_read`: a rule read a part of it."""
    if is_own_statement(sentence, is_read=is_read):
        return sentence
    parts = [part for part in _PARTS.split(sentence) if part.strip()]
    stated = [part for part in parts if not is_request(part)]
    if not stated or len(stated) == len(parts):
        return ""
    rest = ("，" if _CJK.search(sentence) else ", ").join(part.strip(" ,，;；") for part in stated)
    return rest if is_own_statement(rest, is_read=is_read) else ""


def states_something(sentence: str) -> bool:
    """Whether a sentence that a person asks to remember says something: `the steps for next time` does not."""
    is_nothing = _BARE_NOUN.fullmatch(sentence) or is_request(sentence)
    return not is_nothing and score_statement(sentence) > _LEAST_SCORE


def is_own_statement(sentence: str, *, is_read: bool) -> bool:
    """Whether a sentence states something of its speaker that is worth a note. `is_read`: a rule read a part of it."""
    if _REDACTED in sentence or _UNFINISHED.search(sentence):
        return False
    if not is_read and _WONDERS.search(sentence):  # a question by its meaning
        return False
    cjk = len(_CJK.findall(sentence))
    if cjk < _MIN_CJK and len(_WORD.findall(sentence)) < _MIN_WORDS:
        return False
    is_certain = is_read or (_SPEAKER.search(sentence) is not None and has_changed_condition(sentence))
    return score_statement(sentence) > (_LEAST_SCORE if is_certain else _MIN_SCORE)


def strip_covered(sentence: str, texts: Sequence[str], at: datetime) -> str:
    """The clauses of a sentence that statements do not hold yet; empty when they hold all of it."""
    if is_covered(sentence, texts, at):
        return ""
    parts = [part for part in _CLAUSES.split(sentence) if part.strip()] if texts else [sentence]
    rest = [part for part in parts if not is_covered(part, texts, at)]
    if not rest or len(rest) == len(parts):
        return sentence
    return ("，" if _CJK.search(sentence) else ", ").join(part.strip(" ,，;；.。") for part in rest)


def keep_remainder(rest: str, sentence: str) -> str:
    """What is noted of a sentence of which `rest` is not read: the rest, all of it where the rest is too short to be
    understood, or nothing where the rest says nothing."""
    if not rest or gate.find_skip_reason(rest, "user"):  # `Hi, call me …` leaves a greeting
        return ""
    if _NAME.search(f"x {rest}") or tokens.extract_numbers(rest) or is_own_statement(rest, is_read=True):
        has_subject = _SPEAKER.match(rest) is not None
        return (
            rest
            if has_subject or len(_WORD.findall(rest)) >= _MIN_REST or len(_CJK.findall(rest)) >= _MIN_CJK
            else sentence
        )
    return ""


def is_covered(sentence: str, texts: Sequence[str], at: datetime) -> bool:
    """Whether statements hold what a sentence says: all its names and numbers, and its words but for one of four.

    A rule may put a word such as `call` in its own terms; of two words or fewer none may be missing."""
    if not texts:
        return False
    said, bare = " ".join(texts), mentions.remove_dates(strip_fillers(sentence), at)
    folded = tokens.fold_text(said)
    details = [*_NAME.findall(bare), *tokens.extract_numbers(bare)]
    if any(tokens.fold_text(detail) not in folded for detail in details):
        return False
    if _CJK.search(bare):
        signs = set(_CJK.findall(bare)) - _PLAIN_ZH
        missing = [sign for sign in signs if sign not in folded]
        return len(missing) <= (max(2, _OTHER_WORDS * len(signs)) if len(signs) > _FEW_CJK else len(signs) // 2)
    words, there = tokens.get_lexeme_set(bare), tokens.get_lexeme_set(said)
    return len(words - there) <= (max(1, _OTHER_WORDS * len(words)) if len(words) > 1 else 0)


def make_notes(
    sentences: Sequence[str], turn: Turn, previous: Sequence[Turn] = (), *, importance: int = IMPORTANCE
) -> Iterator[Candidate]:
    """The notes of a turn's sentences, in their order; as few as fit."""
    group: list[str] = []
    for sentence in _cut_long(sentences):
        if group and len(_write_note([*group, sentence], turn.at)) > MAX_CHARS:
            yield _make_note(group, turn, previous, importance)
            group = []
        group.append(sentence)
    if group:
        yield _make_note(group, turn, previous, importance)


def _make_note(sentences: Sequence[str], turn: Turn, previous: Sequence[Turn], importance: int) -> Candidate:
    text = _write_note(sentences, turn.at)
    said = " ".join(sentences)
    return Candidate(
        text=text,
        category=choose_category(said),
        fact=Fact(kind="note", predicate=NOTE, object=said[:MAX_CHARS]),
        importance=importance,
        event_time=mentions.resolve_date(said, turn.at),
        context=_describe_context(said, turn, previous),
        turns=(turn.id,),
        actor=turn.actor,
        role=turn.role,
    )


def _describe_context(said: str, turn: Turn, previous: Sequence[Turn]) -> str:
    """What helps to find the note: the day it was said, the turns before it, and the rest of the message."""
    lines = [f"{turn.at.day} {turn.at:%B %Y}"]
    lines += [" ".join(each.text.split())[-_CONTEXT_CHARS:] for each in previous if each.role in ("user", "assistant")]
    if (rest := " ".join(turn.text.split())) != said:
        lines.append(rest[: 2 * _CONTEXT_CHARS])
    return "\n".join(lines)


def _write_note(sentences: Sequence[str], at: datetime) -> str:
    """The sentences as one text: about the user where every one can be told so, else as a quotation."""
    told = [_narrate(sentence) for sentence in sentences]
    if all(told):
        return mentions.annotate_dates(" ".join(filter(None, told)), at)
    joined = " ".join(sentences)
    lead = _LEAD_ZH if len(_CJK.findall(joined)) > len(_WORD.findall(joined)) else _LEAD_EN
    return f'{lead}{mentions.annotate_dates(joined.translate(_LATIN_QUOTES), at)}"'


def _narrate(sentence: str) -> str | None:
    """The sentence in the third person with its full stop, or None where that is not certain."""
    if not _CJK.search(sentence):
        text = narrate_first_person(sentence)
        return text if text is None or text.endswith((".", "!", "…")) else f"{text}."
    if _ZH_PERSON.search(sentence) or not _ZH_SUBJECT.search(sentence):
        return None
    text = sentence.replace("我", "用户")
    return text if text.endswith(("。", "！", "!")) else f"{text}。"


def _cut_long(sentences: Sequence[str]) -> Iterator[str]:
    """The sentences, a long one in pieces at its commas or blanks that fit a note."""
    room = MAX_CHARS - len(_LEAD_EN) - 40
    for sentence in sentences:
        rest = sentence
        while len(rest) > room:
            cut = max(rest.rfind(mark, 0, room) for mark in ("，", ", ", "；", "; "))
            cut = cut + 1 if cut > room // 3 else (rest.rfind(" ", 0, room) if " " in rest[:room] else room)
            yield rest[:cut].strip()
            rest = rest[cut:].strip()
        if rest:
            yield rest
