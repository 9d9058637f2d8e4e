"""The category of a note, by what it is about: words and phrases of both languages vote for categories.

`python -m benchmarks.notes` measures it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from muniment.memory.rules.language import english_words
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon

_DOUBTFUL = "activity"
_WEIGHTS = {"sure": 3.0, "fairly": 2.0, "likely": 1.0}  # of the sections of the lexicons
_KIN, _TRADE = 2.5, 1.5
_MIN_SCORE = 2.0  # below it nothing is certain
_IN_CONTEXT = {"profile": 3.0, "constraints": 3.0}  # least scores: such a note is in every context
# Of equal scores the first category wins.
_ORDER = (
    "constraints", "style", "tasks", "goals", "event", "history", "relationships", "projects", "knowledge",
    "interests", "preferences", "profile", "activity",
)  # fmt: skip
_MAX_CHARS = 600  # of a sentence; the rest has no say
_WORD = lazy_compile(r"[a-z0-9]+(?:['-][a-z]+)*")
_CJK = lazy_compile(r"[\u3400-\u9fff]+")
_CONDITION = lazy_compile(rf"\b(?:{english_words.CONDITIONS}|{english_words.MEDICINE}|\d+\s?mg)\b")
_SPEAKER = lazy_compile(
    r"\b(?:i(?:'m|'ve)?|me|we)\b|^\W*(?:please\b\W*)?(?:never|don't|do not|no)\b"
    r"|我(?:自己|也|们|不|对|有|从|绝|吃|喝|患|得|只|要|每天|一直)|千万|别|不准|禁止"
)
_POSSESSIVE = lazy_compile(r"\W*(?:my|our|我)")


@dataclass(frozen=True, slots=True)
class _Votes:
    """What each word or phrase votes for, with the weight of its vote, and the most words or characters of one."""

    weights: Mapping[str, tuple[tuple[str, float], ...]]
    longest: int


def choose_category(sentence: str) -> str:
    """The category of a sentence; `activity` in case of doubt."""
    text = sentence[:_MAX_CHARS].lower().replace("’", "'")
    scores = dict.fromkeys(_ORDER, 0.0)
    english, chinese = _load_votes()
    votes = [*_match_phrases(_WORD.findall(text), " ", english)]
    if runs := _CJK.findall(text):
        votes += _match_phrases(" ".join(runs), "", chinese)
    for category, weight in votes:
        scores[category] += weight
    if _CONDITION.search(text):
        scores["constraints"] += _WEIGHTS["sure"]
    if scores["relationships"] and not _SPEAKER.search(text):  # of somebody else: "my sister is allergic to cats"
        scores["relationships"] += _WEIGHTS["likely"] if _POSSESSIVE.match(text) else 0.0
        scores["constraints"] = 0.0
    for category, least in _IN_CONTEXT.items():
        if scores[category] < least:
            scores[category] = 0.0
    best = max(_ORDER, key=scores.__getitem__)
    return best if scores[best] >= _MIN_SCORE else _DOUBTFUL


def _match_phrases(parts: Sequence[str], joint: str, votes: _Votes) -> Iterator[tuple[str, float]]:
    """Yield the votes of the longest phrases; a phrase votes once, however often it is there."""
    at, seen = 0, set[str]()
    while at < len(parts):
        for end in range(min(len(parts), at + votes.longest), at, -1):
            phrase = joint.join(parts[at:end])
            found = votes.weights.get(phrase) or (votes.weights.get(phrase.removesuffix("s")) if joint else None)
            if found:
                if phrase not in seen:
                    seen.add(phrase)
                    yield from found
                at = end
                break
        else:
            at += 1


@lru_cache(maxsize=1)
def _load_votes() -> tuple[_Votes, _Votes]:
    """The votes of English and of Chinese, which the first note reads from the lexicons."""
    english, chinese = _read_table("en"), _read_table("zh")
    for word in english_words.RELATIONS:
        english.setdefault(word, []).append(("relationships", _KIN))
    for word in english_words.TRADES:
        english.setdefault(word, []).append(("profile", _TRADE))
    return _make_votes(english, " "), _make_votes(chinese, "")


def _read_table(language: str) -> dict[str, list[tuple[str, float]]]:
    lexicon = load_lexicon(f"note_categories.{language}")
    table: dict[str, list[tuple[str, float]]] = {}
    for section, weight in _WEIGHTS.items():
        for category, entries in lexicon.get_table(section).items():
            for entry in entries:
                for spelling in {entry, entry.replace("-", " ")}:  # `part-time` is written in both ways
                    table.setdefault(spelling, []).append((category, weight))
    return table


def _make_votes(table: Mapping[str, list[tuple[str, float]]], joint: str) -> _Votes:
    longest = max(len(phrase.split()) if joint else len(phrase) for phrase in table)
    return _Votes({phrase: tuple(dict.fromkeys(found)) for phrase, found in table.items()}, longest)
