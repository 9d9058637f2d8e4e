"""Which memory a statement in ordinary words ends: a home that was left, a thing that was sold, a plan that was given
up.

A statement ends a memory of the same person. Of what a person has one at a time - a home, a job, a course of study, a
partner, a diet - it ends the one that is known; of all else the one that it names. Where several fit equally well, none
is ended: both stay, and the newer one is marked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher

from muniment.memory.domain.ids import MemoryId
from muniment.memory.domain.memory import StoredMemory, is_structured
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.english_words import RELATION
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.merging.restatements import split_statements, strip_quotation
from muniment.memory.rules.statements.changes import CONDITIONS, NAMED_ENDING
from muniment.memory.rules.statements.parse import find_contrasts, is_respelling, parse_statement

_NAMED_SHARE = 0.3  # of a memory's words that the ending clause names
_LEAST_SHARE = 0.15  # the same where one of them is a name right beside the ending
_BESIDE = 4  # words between an ending and what it ends
ALIKE = 0.7  # of two spellings of one name
_NAME = lazy_compile(r"(?<!^)\b[A-Z][\w'’-]{2,}")
_CJK = lazy_compile(r"[\u3400-\u9fff]")


_ATTITUDE = frozenset({"like"})  # the form that to love and to hate have, too: none of them names a thing
_PLAIN_ZH = frozenset("的了是在有一个把和也都就很我家")  # signs that name nothing
_CLAUSE = lazy_compile(
    r"[,;:.!?，。；：！？]|\b(?:and|but|since|because|so|when|while|before|although|though)\b", re.IGNORECASE
)
_SPEAKER = lazy_compile(r"\b(?:i|i'm|im|i've|my|the user)\b|[我咱俺]|用户", re.IGNORECASE)
_KIN = lazy_compile(rf"\b(?:my|user's)\s+(?P<kin>{RELATION})\b", re.IGNORECASE)
_KIN_ZH = lazy_compile(
    r"(?:我|用户)(?:的|家)?(?P<kin>[爸妈哥弟姐妹叔姨舅姑爷奶]|老公|老婆|丈夫|妻子|儿子|女儿|女朋友|男朋友)"
)
_DENIED = lazy_compile(
    r"\b(?:no longer|any ?more|not|n't|never|used to|gave up|sold|died|left|ended|cancelled)\b|不再|已经不|以前|曾经"
    r"|没有|不.{0,8}了",
    re.IGNORECASE,
)


def find_ended(candidate: Candidate, memories: Iterable[StoredMemory]) -> list[StoredMemory]:
    """The memories that a statement ends, the best first; several only where none of them fits best."""
    said = strip_quotation(candidate.text)
    changed = [condition.state for condition in CONDITIONS if _changes_own(condition.change, said)]
    endings = list(_split_endings(said))
    if not changed and not endings:
        return []
    known = [
        memory
        for memory in memories
        if memory.kind == "semantic"
        and memory.state == "active"
        and not set(memory.turns) & set(candidate.turns)
        and not memory.pinned
        and not (is_structured(candidate.fact) and is_structured(memory.fact))
        and len(split_statements(memory.text)) <= 1
    ]
    found = [memory for state in changed for memory in known if _has_state(memory, state)]
    if len(found) != 1:
        found = _find_named(said, endings, found or known) or found
    return found


def correct_text(said: str, text: str) -> str | None:
    """A memory's text with the value that a statement puts in the place of another one; None where it puts none."""
    if text_after := replace_contrast(said, text):
        return text_after
    if is_respelling(said):
        for new in _NAME.findall(strip_quotation(said)):
            for old in _NAME.findall(text):
                if new != old and SequenceMatcher(None, new, old).ratio() >= ALIKE:
                    return text.replace(old, new)
    return None


def replace_contrast(said: str, text: str, value: str = "") -> str | None:
    """A memory's text with `Emily` in the place of `Emma` where a statement says `Emily, not Emma`; else None.

    `value` is what a rule has read as the right one."""
    for found, old in find_contrasts(strip_quotation(said)):
        new = value if value and value in found else found
        if tokens.STOP_WORDS & {new.casefold(), old.casefold()}:
            continue
        pattern = rf"(?<!\w){re.escape(old)}(?!\w)" if old.isascii() else re.escape(old)
        if re.search(pattern, text, re.IGNORECASE) and new.casefold() != old.casefold():
            return re.sub(pattern, new.replace("\\", r"\\"), text, flags=re.IGNORECASE)
    return None


def _changes_own(change: re.Pattern[str], said: str) -> bool:
    """Whether a statement has the words of a change, and of the user's own condition."""
    match = change.search(said)
    return match is not None and not find_holder(said, match.end())


def _has_state(memory: StoredMemory, condition: re.Pattern[str]) -> bool:
    """Whether a memory says what the user's condition is, by the words of one."""
    text = strip_quotation(memory.text)
    state = condition.search(text)
    if state is None or _DENIED.search(text):
        return False
    holder = find_holder(text)
    return not holder or state.group().casefold() == holder


def _find_named(said: str, endings: list[tuple[str, str]], memories: list[StoredMemory]) -> list[StoredMemory]:
    """The memories that a clause with an ending names; those with the largest share of their words."""
    shares: dict[MemoryId, float] = {}
    for clause, before in endings:
        words = _list_words(clause) or _list_words(before)  # `I actually like it now` names nothing by itself
        is_own = _SPEAKER.search(clause) is not None
        holder = find_holder(clause if is_own else said)
        is_open = not holder and not is_own  # a clause without a subject may be about anybody
        for memory in memories:
            own = _list_named(memory)
            shared = own & words
            if not shared:
                continue
            text = strip_quotation(memory.text)
            if _DENIED.search(text) or not (is_open or find_holder(text) == holder):
                continue
            share = len(shared) / len(own)
            if share >= _NAMED_SHARE or (share >= _LEAST_SHARE and _is_named_beside(clause, text)):
                shares[memory.id] = max(round(share, 2), shares.get(memory.id, 0.0))
    return [memory for memory in memories if shares and shares.get(memory.id) == max(shares.values())]


def _is_named_beside(clause: str, text: str) -> bool:
    """Whether a name of a memory stands within a few words of the ending."""
    words = clause.split()
    ends = [n for n, word in enumerate(words) if NAMED_ENDING.search(word)]
    names = set(_NAME.findall(text))
    return any(
        word.strip("'\".") in names and any(abs(n - end) <= _BESIDE for end in ends) for n, word in enumerate(words)
    )


def _split_endings(said: str) -> Iterator[tuple[str, str]]:
    """The clauses that have a word of an ending, each with what is said before it."""
    starts = [0, *(match.end() for match in _CLAUSE.finditer(said))]
    ends = [*(match.start() for match in _CLAUSE.finditer(said)), len(said)]
    for start, end in zip(starts, ends, strict=True):
        if NAMED_ENDING.search(said, start, end):
            yield said[start:end], said[:start]


def _list_named(memory: StoredMemory) -> frozenset[str]:
    """The words that name what a memory is about: those of a fact's values, else all of its text."""
    fact = memory.fact
    if fact is None or not is_structured(fact):
        return _list_words(strip_quotation(memory.text))
    return _list_words(" ".join(filter(None, (fact.object, fact.topic, *fact.persons, *fact.entities))))


def _list_words(text: str) -> frozenset[str]:
    """The words of a text that name something; of Chinese its pairs of characters."""
    if not _CJK.search(text):
        return parse_statement(text).words - _ATTITUDE
    return frozenset(pair for pair in tokens.get_lexeme_set(text) - {"用户"} if not _PLAIN_ZH.intersection(pair))


def find_holder(text: str, end: int | None = None) -> str:
    """The relative that a statement names, before `end`; empty for the user."""
    end = len(text) if end is None else end
    match = _KIN.search(text, 0, end) or _KIN_ZH.search(text, 0, end)
    return match["kin"].casefold() if match else ""
