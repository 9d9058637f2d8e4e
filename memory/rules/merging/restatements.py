"""Two memories by their words alone, without a model: whether one restates the other or corrects it explicitly.

In a conversation the last statement most likely corrects an earlier one. Two memories from different days and sources
are most likely both true, so that every additional word counts here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon
from muniment.memory.rules.language.tokens import has_cjk
from muniment.memory.rules.merging.wording import has_same_slot, is_retraction, is_whereabouts
from muniment.memory.rules.statements.parse import ParsedStatement, canonicalize_word, parse_statement
from muniment.memory.rules.statements.parse_words import NUMBERS
from muniment.memory.rules.statements.people import USER, has_other_order

_EN, _ZH = load_lexicon("merging.en"), load_lexicon("merging.zh")
_LIGHT, _TIMES, _LIGHT_VERBS, _DENIALS = (
    _EN.get_words(section) | _ZH.get_words(section) for section in ("light", "times", "light_verbs", "denials")
)
# Turns of phrase that say the same, and the one for all.
_PHRASES = tuple(
    (lazy_compile(pattern, re.IGNORECASE), plain)
    for pattern, plain in (
        (r"\b(?:has|have)\s+an?\s+allergy\s+to\b", "is allergic to"),
        (r"\b(?:has|have|suffers?\s+from)\s+(?:an?\s+)?((?:[\w-]+\s+){1,3})allerg(?:y|ies)\b", r"is allergic to \1"),
        (r"\b(?:has|have)\s+an?\s+((?:[\w-]+\s+){1,2})intolerance\b", r"is \1intolerant"),
        (r"\bis\s+intolerant\s+(?:to|of)\s+([\w-]+)", r"is \1 intolerant"),
        (r"\b(?:works?|is\s+working|is\s+employed)\s+as\s+(?=an?\b)", "is "),
        (r"\buser's\s+(?:job|occupation|profession)\s+is\s+", "user is "),
        (r"\b(?:resides|is\s+based|is\s+living)\s+in\b", "lives in"),
        (r"有([\u3400-\u9fff]{1,6})过敏症?", r"对\1过敏"),
        (r"的(?:职业|工作)是(?:一[名位个])?|是一[名位个]", "是"),
        (r"(?:居住|定居)在|现居", "住在"),
    )
)
_DIRECTION_WORDS = frozenset(("from", "as"))


def has_same_words(a: ParsedStatement, b: ParsedStatement) -> bool:
    """Whether both have the same content words and numbers, in any order."""
    return (
        a.figures == b.figures
        and Counter(_list_content_words(a)) == Counter(_list_content_words(b))
        and _find_direction_words(a) == _find_direction_words(b)
    )


def is_same_claim(text: str, other: str) -> bool:
    """Whether two statements say the same in two turns of phrase: `has a penicillin allergy`, `is allergic to
    penicillin`. It asks for every word, name and number, so that it holds across predicates and categories."""
    if not any(pattern.search(text) or pattern.search(other) for pattern, _ in _PHRASES):
        return False
    a, b = parse_statement(_rewrite_phrases(text)), parse_statement(_rewrite_phrases(other))
    return has_same_words(a, b) and a.names == b.names and a.is_negated == b.is_negated and not has_other_order(a, b)


def _rewrite_phrases(text: str) -> str:
    for pattern, plain in _PHRASES:
        text = pattern.sub(plain, text)
    return text


def _find_direction_words(statement: ParsedStatement) -> frozenset[str]:
    """Return the words that turn a relation between two people around: `has a vote from Ana`, `has Ana as coach`."""
    several = len(statement.names | ({statement.first_word} if statement.first_word else frozenset())) > 1
    return _DIRECTION_WORDS & set(statement.tokens) if several else frozenset()


def is_corrected(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether the newer one gives the same thing another value, says that it changed, or denies the older one."""
    if has_same_slot(new, old) and not is_whereabouts(new):
        return True
    if new.contradicts(old) != old.contradicts(new):
        new_words, old_words = set(_list_content_words(new)), set(_list_content_words(old))
        return new.figures == old.figures and new_words - _DENIALS == old_words - _DENIALS
    # The former value is the numbers, or one word if there are none; the rest has to be repeated. In Chinese each
    # character is a word.
    gone = old.words - new.words
    return new.is_correction and len(gone) <= (0 if new.figures or has_cjk(old.text) else 1)


def is_taken_back(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether the newer one names what it replaces, and the older one says that: `Riga, not Oslo`.

    It has to repeat every name and word of the older one but light verbs, with the people in the same order."""
    names = old.names | ({old.first_word} if old.first_word else frozenset())
    rest = old.words - new.retracted_words
    return (
        is_retraction(new, old)
        and not old.is_negated
        and bool(rest)
        and rest - new.words <= _LIGHT_VERBS
        and names - new.retracted_words <= set(new.tokens)
        and not has_other_order(new, old)
    )


def is_unrelated(a: ParsedStatement, b: ParsedStatement) -> bool:
    """Whether the two have only names, numbers, times and light words in common, so that neither updates the other."""
    names = a.names | b.names | frozenset(filter(None, (a.first_word, b.first_word))) | USER | set("用户") | _TIMES
    return set(_list_content_words(a)).isdisjoint(set(_list_content_words(b)) - names)


def _list_content_words(statement: ParsedStatement) -> Iterator[str]:
    """Yield every word but light words and numbers, in one form for all spellings and synonyms."""
    for token in statement.tokens:
        if token not in _LIGHT and token not in NUMBERS and not token.isdecimal() and token not in statement.figures:
            yield canonicalize_word(token)
