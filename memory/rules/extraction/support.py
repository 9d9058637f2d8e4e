"""Whether the words of a conversation carry a statement: its numbers, its names, enough of its content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.rules.dates import mentions as dates
from muniment.memory.rules.language import numerals, tokens as words
from muniment.memory.rules.language.lazy_regex import late

_NAME = late(rf"\b[{words.UPPER}][\w'&.-]*(?:\s+(?:of\s+|the\s+|de\s+)?[{words.UPPER}][\w'&.-]*)*")
_WORD = late(r"[a-z]+")
_UNITS = frozenset(words.lexeme_set(
    "kg kilos kilograms grams mg lb lbs pounds cm km kilometres kilometers metres meters miles feet foot inches hours hrs minutes"
    " mins years yrs months weeks days euros eur dollars usd percent"
))  # fmt: skip
_STEM = 4  # letters: German and Germany, plumber and plumbing
_FEW = 3  # words of a value that is no sentence
_SOME = 1 / 3  # of a statement's words
_HALF = 0.5  # of a value's
_SAYS = 4  # words; a person who says fewer may only say yes
_STRAY = 6  # words; fewer of another script are no language that is spoken, and fewer of any say little


def supported(statement: str, value: str, turns: Sequence[Turn], support: Sequence[Turn], at: datetime) -> bool:
    """Whether `statement` about `value` can come from the turns, of which `support` are said to state it: its numbers
    and names occur in them, and so do half of the value's words; a third of its own where the value is in other words.

    Lenient with inflection, and with a value in other words than the statement's. A translation is held to its numbers,
    unless the statement's language is spoken in the conversation, too."""
    text, said = (_joined(some) for some in (turns, support))
    bare, thing = dates.without(statement, at), dates.without(value, at)
    if not numerals.digits(bare) | numerals.digits(thing) <= numerals.meant(text):
        return False
    own, object_ = words.lexeme_set(bare), words.lexeme_set(thing)
    # Not from the cache of `lexeme_set`, which keeps what it has seen: a conversation is long, and seen once.
    known = frozenset(words.lexemes(text)) | _spelt_out(f"{bare} ; {thing}", text)
    if (cjk := words.has_cjk(statement)) != words.has_cjk(said):
        return sum(words.has_cjk(one) is cjk for one in known) < _STRAY or share(own, known, text) >= _SOME
    if not object_ and value and dates.mentions(value, at):
        return bool(dates.mentions(text, at))
    there = words.lexeme_set(said)
    near = len(there) < _STRAY or share(own, there, said) > 0  # what says little answers what was asked
    if not object_ or share(object_, own, statement) == 0:
        return near and share(own, known, text) >= _SOME
    # The first word of a sentence has its capital for nothing.
    names = [found.group() for found in _NAME.finditer(thing) if found.start() or len(thing.split()) <= _FEW]
    if names:
        return near and all(share(words.lexeme_set(name), known, text) > 0 for name in names)
    return near and share(object_, known, text) >= _HALF


def said_in(one: Candidate, turns: Sequence[Turn]) -> Candidate:
    """The candidate without the turns of a person that it names for nothing: those that say something else altogether.

    A short answer says what was asked."""
    said = words.lexeme_set(one.text)
    spoken = {turn.id: words.lexeme_set(turn.text) for turn in turns if turn.role == "user"}
    idle = {
        id_
        for id_, own in spoken.items()
        if len(own) >= _SAYS and words.has_cjk(one.text) == any(map(words.has_cjk, own)) and not own & said
    }
    kept = tuple(id_ for id_ in one.turns if id_ not in idle)
    return replace(one, turns=kept) if kept else one


def _joined(turns: Sequence[Turn]) -> str:
    return "\n".join(turn.text for turn in turns)


def share(own: frozenset[str], known: frozenset[str], text: str) -> float:
    """The share of the lexemes, less numbers and units, that are known by themselves or by their start, the Chinese ones
    by the characters that `text` has of them; 1.0 of none."""
    content = [one for one in own if not one.isdecimal() and one not in _UNITS]
    starts = {one[:_STEM] for one in known if len(one) >= _STEM}
    short = {one for one in known if len(one) == _STEM - 1}
    found = 0.0
    for one in content:
        if words.has_cjk(one):
            found += sum(char in text for char in one) / len(one)
        else:
            found += one in known or one[:_STEM] in starts or one[: _STEM - 1] in short
    return found / len(content) if content else 1.0


def _spelt_out(told: str, text: str) -> frozenset[str]:
    """The lexemes of word sequences that the text abbreviates: `NYC`, `PM`."""
    said = set(_WORD.findall(text.casefold()))
    spelt = _WORD.findall(told.casefold())
    found: set[str] = set()
    for size in (2, 3, 4):
        for start in range(len(spelt) - size + 1):
            run = spelt[start : start + size]
            if "".join(word[0] for word in run) in said:
                found |= words.lexeme_set(" ".join(run))
    return frozenset(found)
