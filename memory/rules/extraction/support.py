"""Whether the words of a conversation carry a statement: its numbers, its names, enough of its content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.rules.dates import mentions
from muniment.memory.rules.language import numerals, tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile

_NAME = lazy_compile(rf"\b[{tokens.UPPER}][\w'&.-]*(?:\s+(?:of\s+|the\s+|de\s+)?[{tokens.UPPER}][\w'&.-]*)*")
_WORD = lazy_compile(r"[a-z]+")
_UNITS = frozenset(
    tokens.get_lexeme_set(
        "kg kilos kilograms grams mg lb lbs pounds cm km kilometres kilometers metres meters miles feet foot inches "
        "hours hrs minutes mins years yrs months weeks days euros eur dollars usd percent"
    )
)
_STEM = 4  # letters: German and Germany, plumber and plumbing
_FEW = 3  # words of a value that is no sentence
_SOME = 1 / 3  # of a statement's words
_HALF = 0.5  # of a value's
_SAYS = 4  # words; a person who says fewer may only say yes
_STRAY = 6  # words; fewer of another script are no language that is spoken, and fewer of any say little


def is_supported(statement: str, value: str, turns: Sequence[Turn], support: Sequence[Turn], at: datetime) -> bool:
    """Whether `statement` about `value` can come from the turns, of which `support` are said to state it: its numbers
    and names occur in them, and so do half of the value's words; a third of its own where the value is in other words.

    Lenient with inflection, and with a value in other words than the statement's. A translation is held to its numbers,
    unless the statement's language is spoken in the conversation, too."""
    text, said = (_join_turns(some) for some in (turns, support))
    bare, thing = mentions.remove_dates(statement, at), mentions.remove_dates(value, at)
    if not numerals.extract_digits(bare) | numerals.extract_digits(thing) <= numerals.expand_numbers(text):
        return False
    own, object_ = tokens.get_lexeme_set(bare), tokens.get_lexeme_set(thing)
    # Not from the cache of `lexeme_set`, which keeps what it has seen: a conversation is long, and seen once.
    known = frozenset(tokens.extract_lexemes(text)) | _expand_abbreviations(f"{bare} ; {thing}", text)
    if (cjk := tokens.has_cjk(statement)) != tokens.has_cjk(said):
        return sum(tokens.has_cjk(one) is cjk for one in known) < _STRAY or measure_overlap(own, known, text) >= _SOME
    if not object_ and value and mentions.find_mentions(value, at):
        return bool(mentions.find_mentions(text, at))
    there = tokens.get_lexeme_set(said)
    near = len(there) < _STRAY or measure_overlap(own, there, said) > 0  # what says little answers what was asked
    if not object_ or measure_overlap(object_, own, statement) == 0:
        return near and measure_overlap(own, known, text) >= _SOME
    # The first word of a sentence has its capital for nothing.
    names = [match.group() for match in _NAME.finditer(thing) if match.start() or len(thing.split()) <= _FEW]
    if names:
        return near and all(measure_overlap(tokens.get_lexeme_set(name), known, text) > 0 for name in names)
    return near and measure_overlap(object_, known, text) >= _HALF


def drop_stray_turns(candidate: Candidate, turns: Sequence[Turn]) -> Candidate:
    """The candidate without the turns of a person that it names for nothing: those that say something else altogether.

    A short answer says what was asked."""
    said = tokens.get_lexeme_set(candidate.text)
    spoken = {turn.id: tokens.get_lexeme_set(turn.text) for turn in turns if turn.role == "user"}
    idle = {
        id_
        for id_, own in spoken.items()
        if len(own) >= _SAYS and tokens.has_cjk(candidate.text) == any(map(tokens.has_cjk, own)) and not own & said
    }
    kept = tuple(id_ for id_ in candidate.turns if id_ not in idle)
    return replace(candidate, turns=kept) if kept else candidate


def _join_turns(turns: Sequence[Turn]) -> str:
    return "\n".join(turn.text for turn in turns)


def measure_overlap(lexemes: frozenset[str], known_lexemes: frozenset[str], text: str) -> float:
    """The share of the lexemes, less numbers and units, that are known by themselves or by their start, the Chinese ones
    by the characters that `text` has of them; 1.0 of none."""
    content = [one for one in lexemes if not one.isdecimal() and one not in _UNITS]
    starts = {one[:_STEM] for one in known_lexemes if len(one) >= _STEM}
    short = {one for one in known_lexemes if len(one) == _STEM - 1}
    found = 0.0
    for one in content:
        if tokens.has_cjk(one):
            found += sum(char in text for char in one) / len(one)
        else:
            found += one in known_lexemes or one[:_STEM] in starts or one[: _STEM - 1] in short
    return found / len(content) if content else 1.0


def _expand_abbreviations(statement: str, text: str) -> frozenset[str]:
    """The lexemes of word sequences that the text abbreviates: `NYC`, `PM`."""
    said = set(_WORD.findall(text.casefold()))
    spelt = _WORD.findall(statement.casefold())
    found: set[str] = set()
    for size in (2, 3, 4):
        for start in range(len(spelt) - size + 1):
            run = spelt[start : start + size]
            if "".join(word[0] for word in run) in said:
                found |= tokens.get_lexeme_set(" ".join(run))
    return frozenset(found)
