"""English verbs whose forms do not share a stem: `bought` answers a question with `buy`."""

from __future__ import annotations

from functools import cache

from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lexicon import load_lexicon


def list_verb_forms(term: str) -> tuple[str, ...]:
    """A stem and the stems of the same verb, itself first."""
    return (term, *_load_forms().get(term, ()))


@cache
def _load_forms() -> dict[str, tuple[str, ...]]:
    lines = load_lexicon("verbs.en").get_phrases("forms")
    verbs = [dict.fromkeys(map(tokens.stem_word, line.split())) for line in lines]
    return {form: tuple(other for other in verb if other != form) for verb in verbs for form in verb}
