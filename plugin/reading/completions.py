"""Reads what a person says is done, and finds what was to do."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from muniment.memory.rules.extraction.clauses import split_sentences
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.tokens import get_lexeme_set
from muniment.memory.rules.provenance import quoted
from muniment.plugin.domain.item import MemoryItem

if TYPE_CHECKING:
    from muniment.memory.domain.turn import Turn

_MAX_SENTENCES = 20
_MAX_CHARS = 280  # of a sentence
_SHARE = 0.6  # of the words of what is said to be done, and of those of what was to do
_DONE = (
    lazy_compile(
        r"(?i)^\W*(?P<what>.{3,160}?)\s+(?:is|are|was|were|has\s+been|have\s+been)\s+(?:now\s+|all\s+|already\s+)?"
        r"(?:done|finished|complete[d]?|merged|shipped|deployed|implemented|written|fixed|added|removed|migrated)\b"
    ),
    lazy_compile(
        r"(?i)^\W*(?:(?:i|we)(?:'ve|\s+have|\s+had)?\s+)?(?:just\s+|already\s+|now\s+)*(?:done\s+with|finished(?:\s+with)?|completed"
        r"|shipped|merged|implemented|wrote|written|added|migrated|removed|deployed)\s+(?P<what>.{3,160}?)\W*$"
    ),
    lazy_compile(
        r"^\W*(?:我们?|团队)?(?:已经?|刚刚?|把)*(?P<what>.{2,80}?)(?:都|已经?)?(?:写|做|改|弄|搞)?(?:完成?|好)了\W*$"
    ),
    lazy_compile(r"^\W*(?:我们?)?(?:已经?|刚刚?)?(?:完成|写完|做完|搞定)了?(?P<what>.{2,80}?)\W*$"),
)
_OPEN = lazy_compile(
    r"(?i)\b(?:not|n't|never|almost|nearly|half|until|once|when|if|after|before|will|should)\b|没|未|还|如果|等"
)
_FRAME = lazy_compile(r"(?i)^(?:the\s+user\s+has\s+to\s+do:\s*)|^用户要做：")


def find_done(turn: Turn, todos: Sequence[MemoryItem]) -> list[MemoryItem]:
    """Return which items are done by the words of a person's turn.

    What is said to be done has to name most of what was to do, or the other way round. Where it fits several items
    equally well none is done: it would be a guess."""
    done = [item for what in list_done(turn) for item in _find_best(what, todos)]
    return list({item.id: item for item in done}.values())


def list_done(turn: Turn) -> list[str]:
    """Return what a person's turn says is done, in its words."""
    done: list[str] = []
    for sentence in islice(split_sentences(quoted.strip_quoted(turn).text), _MAX_SENTENCES):
        if len(sentence) > _MAX_CHARS or sentence.rstrip().endswith(("?", "？")) or _OPEN.search(sentence):
            continue
        match = next(filter(None, (pattern.match(sentence) for pattern in _DONE)), None)
        if match is not None:
            done.append(match["what"])
    return done


def _find_best(what: str, todos: Sequence[MemoryItem]) -> list[MemoryItem]:
    said = get_lexeme_set(what)
    scored: list[tuple[float, MemoryItem]] = []
    for item in todos:
        wanted = get_lexeme_set(_FRAME.sub("", item.content))
        shared = len(said & wanted)
        if said and wanted and shared >= _SHARE * min(len(said), len(wanted)) and shared >= min(2, len(said)):
            scored.append((shared / len(said | wanted), item))
    best = max((score for score, _ in scored), default=0.0)
    found = [item for score, item in scored if score == best]
    return found if len(found) == 1 else []
