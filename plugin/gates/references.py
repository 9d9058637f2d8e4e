"""Whether a message refers to earlier work, and by which words it names it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.tokens import extract_terms, normalize_text
from muniment.plugin.gates import reference_forms as forms
from muniment.plugin.gates.reference_forms import ReferenceKind

_READ_CHARS = 600  # at each end of a message: people say at its ends what they want, and paste between
_MOST_WORDS = 16
_CJK = lazy_compile(r"[\u3400-\u9fff]")
_PIECE = lazy_compile(r"[^.!?。！？\n]+[.!?。！？]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A reference to earlier work. Without words it is to whatever was worked on last."""

    kind: ReferenceKind
    words: tuple[str, ...] = ()  # lexemes that name the work
    is_bare: bool = False  # a resumption that names neither work nor an occasion: "continue"


def find_reference(text: str) -> Reference | None:
    """Return how a message refers to earlier work, or None. Only both ends of a long message are read."""
    for sentence in _list_sentences(text):
        if reference := _read_sentence(sentence):
            return reference
    return None


def _list_sentences(text: str) -> Iterator[str]:
    ends = text if len(text) <= 2 * _READ_CHARS else f"{text[:_READ_CHARS]}\n{text[-_READ_CHARS:]}"
    return (match.group().strip() for match in _PIECE.finditer(normalize_text(ends).replace("’", "'")))


def _read_sentence(sentence: str) -> Reference | None:
    is_chinese = _CJK.search(sentence) is not None
    if resumed := _find_resumption(sentence, is_chinese=is_chinese):
        named = _list_words(resumed["rest"].partition(",")[0].partition("，")[0])
        is_dated = forms.TIME.search(sentence) or forms.TIME_ZH.search(sentence) or forms.MEMORY.search(sentence)
        return Reference(kind="resumption", words=named, is_bare=not named and not is_dated)
    kinds: tuple[tuple[ReferenceKind, re.Pattern[str], re.Pattern[str]], ...] = (
        ("memory", forms.MEMORY, forms.MEMORY_ZH),
        ("time", forms.TIME, forms.TIME_ZH),
    )
    for kind, english, chinese in kinds:
        match = (chinese.search(sentence) if is_chinese else None) or english.search(sentence)
        if match:
            return Reference(kind=kind, words=_list_words(f"{sentence[: match.start()]} {sentence[match.end() :]}"))
    return None


def _find_resumption(sentence: str, *, is_chinese: bool) -> re.Match[str] | None:
    """A verb of taking up again with an object that is not at hand, or without one."""
    if is_chinese and (match := forms.RESUMPTION_ZH.search(sentence)):
        is_open = forms.THEN_ZH.match(match["verb"]) and not forms.DEFINITE_ZH.match(match["rest"])
        return None if is_open or forms.NOT_EARLIER_ZH.search(match["rest"]) else match
    match = forms.RESUMPTION.search(sentence)
    if match is None or forms.NOT_EARLIER.search(match["rest"]):
        return None
    is_noun = forms.NOUN_LIKE.match(match["verb"]) and not forms.DEFINITE.match(match["rest"])
    return None if is_noun else match


def _list_words(text: str) -> tuple[str, ...]:
    """The lexemes that are left of what a reference is to, without the occasion."""
    return extract_terms(forms.OCCASION_ZH.sub(" ", forms.OCCASION.sub(" ", text)), _MOST_WORDS)
