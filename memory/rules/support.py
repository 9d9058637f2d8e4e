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


def supported(statement: str, value: str, turns: Sequence[Turn], at: datetime) -> bool:
    """Whether `statement` about `value` can come from the turns: its numbers and names occur in them, and the value does,
    or, where the value is not of the statement's own words, a third of the statement.

    Lenient with inflection; a translation is held to its numbers alone."""
    text = "\n".join(turn.text for turn in turns)
    bare = dates.without(statement, at)
    thing = dates.without(value, at)
    if not numerals.digits(bare) | numerals.digits(thing) <= numerals.meant(text):
        return False
    if words.has_cjk(statement) != words.has_cjk(text):
        return True
    own, object_ = words.lexeme_set(bare), words.lexeme_set(thing)
    known = words.lexeme_set(text)
    if not object_ or share(object_, own, statement) == 0:
        return share(own, known, text) >= _SOME
    # The first word of a sentence has its capital for nothing.
    names = [found.group() for found in _NAME.finditer(thing) if found.start() or len(thing.split()) <= _FEW]
    if names:
        return all(_occurs(name, text, known) for name in names)
    return share(object_, known, text) > 0 and share(own, known, text) > 0


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
