"""Bare answers to a question of the assistant, as full sentences: `In Porto` to `Where do you live?`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon

# The assistant's last question, and the start of an answer in a full sentence.
ANSWER_STARTS = (
    (lazy_compile(r"what(?:'s|\s+is)\s+your\s+name\s*\?$", re.IGNORECASE), "My name is "),
    (lazy_compile(r"what\s+(?:should|shall|may|can)\s+i\s+call\s+you\s*\?$", re.IGNORECASE), "Call me "),
    (
        lazy_compile(
            r"where\s+(?:do\s+you\s+live|are\s+you\s+based)\s*\?$|which\s+city\s+do\s+you\s+live\s+in\s*\?$",
            re.IGNORECASE,
        ),
        "I live in ",
    ),
    (lazy_compile(r"where\s+do\s+you\s+work\s*\?$", re.IGNORECASE), "I work at "),
    (lazy_compile(r"who\s+do\s+you\s+work\s+for\s*\?$", re.IGNORECASE), "I work for "),
    (lazy_compile(r"where\s+(?:are\s+you|do\s+you\s+come)\s+from\s*\?$", re.IGNORECASE), "I'm from "),
    (lazy_compile(r"how\s+old\s+are\s+you\s*\?$", re.IGNORECASE), "I'm "),
    (lazy_compile(r"怎么称呼(?:你|您)?呢?[?？]$"), "叫我"),
    (lazy_compile(r"(?:你|您)(?:叫什么名字|的名字是什么)呢?[?？]$"), "我叫"),
    (lazy_compile(r"(?:你|您)住在(?:哪里|哪儿|哪个城市)呢?[?？]$"), "我住在"),
    (lazy_compile(r"(?:你|您)来自(?:哪里|哪儿|哪个城市)呢?[?？]$"), "我来自"),
)
_QUESTION_CHARS = 200  # at the end of a message
_ADVERBS = lazy_compile(r"(?:(?:\w+ly|just|still|right)\s+){1,2}(?=\S)", re.IGNORECASE)
_PREPOSITIONS = load_lexicon("merging.en").get_words("prepositions")


def answer_in_full(question: str, answer: str) -> str | None:
    """Return a bare answer to the question at the end of a message as a full sentence; None after another message."""
    asked = question.rstrip()[-_QUESTION_CHARS:]
    return next((_join(start, answer) for pattern, start in ANSWER_STARTS if pattern.search(asked)), None)


def _join(start: str, answer: str) -> str:
    """Return the sentence of a start and an answer, each word of it once: an answer may repeat the end of the start
    (`I live in`, `In Porto`), and another preposition takes the place of that of the start (`Near Porto`)."""
    if not start.endswith(" "):  # Chinese has no blanks between words
        return start + answer[_measure_overlap(start, answer) :]
    words = start.split()
    led = _ADVERBS.match(answer)
    for said in (answer, answer[led.end() :] if led else ""):
        parts = said.split()
        repeated = _measure_overlap([each.casefold() for each in words], [each.casefold() for each in parts])
        if repeated == len(parts) > 0:
            return answer  # it says nothing of its own
        if repeated:
            return " ".join([*words, *parts[repeated:]])
        if words[-1] in _PREPOSITIONS and len(parts) > 1 and parts[0].casefold() in _PREPOSITIONS:
            return " ".join([*words[:-1], parts[0].casefold(), *parts[1:]])
    return start + answer


def _measure_overlap(start: Sequence[str], answer: Sequence[str]) -> int:
    """Return with how many of the last items of a start an answer begins, at most."""
    longest = min(len(start), len(answer))
    return next((count for count in range(longest, 0, -1) if start[-count:] == answer[:count]), 0)
