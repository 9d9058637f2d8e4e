"""Whether the words of a conversation carry a statement: its numbers, its names, enough of its content."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from muniment.memory.records import Turn
from muniment.memory.rules import dates, numerals, words

_NAME = re.compile(r"\b[A-Z][\w'&.-]*(?:\s+(?:of\s+|the\s+|de\s+)?[A-Z][\w'&.-]*)*")
_STEM = 4  # letters: German and Germany, plumber and plumbing
_FEW = 3  # words of a value that is no sentence
_SOME = 1 / 3  # of a statement's words
_HALF = 0.5  # of a value's
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
    known = words.lexeme_set(text)
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
        return near and all(_occurs(name, text, known) for name in names)
    return near and share(object_, known, text) >= _HALF


def _joined(turns: Sequence[Turn]) -> str:
    return "\n".join(turn.text for turn in turns)


def share(own: frozenset[str], known: frozenset[str], text: str) -> float:
    """The share of the lexemes, less numbers, that are known by themselves or by their start, the Chinese ones by the
    characters that `text` has of them; 1.0 of none."""
    content = [one for one in own if not one.isdecimal()]
    starts = {one[:_STEM] for one in known if len(one) >= _STEM}
    found = 0.0
    for one in content:
        if words.has_cjk(one):
            found += sum(char in text for char in one) / len(one)
        else:
            found += one in known or one[:_STEM] in starts
    return found / len(content) if content else 1.0


def _occurs(name: str, text: str, known: frozenset[str]) -> bool:
    """Whether a name, a part of it or its initials are said."""
    if share(words.lexeme_set(name), known, text) > 0:
        return True
    initials = "".join(part[0] for part in name.split() if part[0].isupper())
    return len(initials) > 1 and re.search(rf"\b{re.escape(initials)}\b", text, re.IGNORECASE) is not None
