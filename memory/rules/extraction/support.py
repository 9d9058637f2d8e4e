"""Checks that the words of a conversation support a statement: its numbers, its names, enough of its words."""

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
UNITS = frozenset(
    tokens.get_lexeme_set(
        "kg kilos kilograms grams mg lb lbs pounds cm km kilometres kilometers metres meters miles feet foot inches "
        "hours hrs minutes mins years yrs months weeks days euros eur dollars usd percent"
    )
)
_STEM = 4  # letters: German and Germany, plumber and plumbing
_FEW = 3  # words of a value that is no sentence
_SOME = 1 / 3  # of a statement's words
_HALF = 0.5  # of a value's
_SAYS = 4  # words; a shorter turn may only say yes
_STRAY = 6  # words; fewer of another script are no language of the conversation, and fewer of any say little


def is_supported(statement: str, value: str, turns: Sequence[Turn], support: Sequence[Turn], at: datetime) -> bool:
    """Whether `statement` about `value` can come from `turns`, of which the model names `support`.

    Its numbers and names occur in the turns, and half of the value's words or a third of the statement's do. Inflection
    is ignored. Of a translation only the numbers are checked, unless the conversation has its language, too."""
    text, support_text = ("\n".join(turn.text for turn in group) for group in (turns, support))
    undated, undated_value = mentions.remove_dates(statement, at), mentions.remove_dates(value, at)
    if not numerals.extract_digits(undated) | numerals.extract_digits(undated_value) <= numerals.expand_numbers(text):
        return False
    own_lexemes, value_lexemes = tokens.get_lexeme_set(undated), tokens.get_lexeme_set(undated_value)
    # `get_lexeme_set` caches its texts; a conversation is long and used once.
    lexemes = frozenset(tokens.extract_lexemes(text)) | expand_abbreviations(f"{undated} ; {undated_value}", text)
    if (cjk := tokens.has_cjk(statement)) != tokens.has_cjk(support_text):
        return (
            sum(tokens.has_cjk(lexeme) is cjk for lexeme in lexemes) < _STRAY
            or measure_overlap(own_lexemes, lexemes, text) >= _SOME
        )
    if not value_lexemes and value and mentions.find_mentions(value, at):
        return bool(mentions.find_mentions(text, at))
    support_lexemes = tokens.get_lexeme_set(support_text)
    # A short turn may answer a question.
    is_near = len(support_lexemes) < _STRAY or measure_overlap(own_lexemes, support_lexemes, support_text) > 0
    if not value_lexemes or measure_overlap(value_lexemes, own_lexemes, statement) == 0:
        return is_near and measure_overlap(own_lexemes, lexemes, text) >= _SOME
    # The capital of a sentence's first word makes no name.
    names = [
        match.group() for match in _NAME.finditer(undated_value) if match.start() or len(undated_value.split()) <= _FEW
    ]
    if names:
        return is_near and all(measure_overlap(tokens.get_lexeme_set(name), lexemes, text) > 0 for name in names)
    return is_near and measure_overlap(value_lexemes, lexemes, text) >= _HALF


def drop_stray_turns(candidate: Candidate, turns: Sequence[Turn]) -> Candidate:
    """The candidate without the user's turns of four words or more that share no word with it; at least one stays."""
    lexemes = tokens.get_lexeme_set(candidate.text)
    spoken = {turn.id: tokens.get_lexeme_set(turn.text) for turn in turns if turn.role == "user"}
    idle = {
        id_
        for id_, own in spoken.items()
        if len(own) >= _SAYS and tokens.has_cjk(candidate.text) == any(map(tokens.has_cjk, own)) and not own & lexemes
    }
    turn_ids = tuple(id_ for id_ in candidate.turns if id_ not in idle)
    return replace(candidate, turns=turn_ids) if turn_ids else candidate


def measure_overlap(lexemes: frozenset[str], known_lexemes: frozenset[str], text: str) -> float:
    """The share in [0, 1] of the lexemes that are known, also by their first letters alone; 1.0 for no lexemes.

    Numbers and units do not count. A Chinese lexeme counts by the share of its characters in `text`."""
    content = [lexeme for lexeme in lexemes if not lexeme.isdecimal() and lexeme not in UNITS]
    starts = {lexeme[:_STEM] for lexeme in known_lexemes if len(lexeme) >= _STEM}
    short = {lexeme for lexeme in known_lexemes if len(lexeme) == _STEM - 1}
    overlap = 0.0
    for lexeme in content:
        if tokens.has_cjk(lexeme):
            overlap += sum(char in text for char in lexeme) / len(lexeme)
        else:
            overlap += lexeme in known_lexemes or lexeme[:_STEM] in starts or lexeme[: _STEM - 1] in short
    return overlap / len(content) if content else 1.0


def expand_abbreviations(statement: str, text: str) -> frozenset[str]:
    """The lexemes of the statement's word sequences that the text abbreviates: `NYC`, `PM`."""
    words = set(_WORD.findall(text.casefold()))
    spelt = _WORD.findall(statement.casefold())
    lexemes: set[str] = set()
    for size in (2, 3, 4):
        for start in range(len(spelt) - size + 1):
            run = spelt[start : start + size]
            if "".join(word[0] for word in run) in words:
                lexemes |= tokens.get_lexeme_set(" ".join(run))
    return frozenset(lexemes)
