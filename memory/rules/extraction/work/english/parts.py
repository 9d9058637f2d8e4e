"""The parts of English clauses: who speaks, what stands before a verb, and where a clause begins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from muniment.memory.domain.memory import FactKind
from muniment.memory.rules.extraction.work.signs import Sign, make_filler
from muniment.memory.rules.language.lazy_regex import join_alternatives, lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon

LEXICON = load_lexicon("work.en")
_VERBS = load_lexicon("verbs.en")
fill_classes = make_filler(LEXICON, is_spaced=True)
_NO_ACTS = frozenset(("was", "were", "had", "did", "felt", "thought"))
IRREGULAR = join_alternatives(_VERBS.get_words("past"))
ACTED = join_alternatives(_VERBS.get_words("past") - _NO_ACTS)
PAST = rf"(?:\w+ed|(?:re|un|over|mis)?{ACTED}|put|cut|set|reset)"

# Parts of a clause.
WORDS = r"[^,;:.]"  # of the same clause
PERFECT = r"(?:'ve|'s|\s+(?:have|has|had))?"
ADVERBS = r"(?:\s+(?:<adverb>|\w+ly))*"
BESIDE = r"(?:(?:my|our|the)\s+)?[\w-]+(?:\s+[\w-]+)?\s+and\s+i"
GROUP = r"(?:(?:the|this)\s+(?:whole\s+|entire\s+|ward\s+)?|the\s+\w+s'\s+|(?:our|my)\s+(?:[\w'-]+\s+){0,2}?)<group>"
WHO = rf"(?P<who>(?:{BESIDE}|<self>|{GROUP}|<everyone>)(?![\w-]){PERFECT}){ADVERBS}\s+"
SELF = rf"(?P<who>(?:{BESIDE}|<self>)(?![\w-]){PERFECT}){ADVERBS}\s+"
SELF_OR_NONE = rf"(?:{SELF}|(?P<dropped>)(?:(?:<adverb>|\w+ly)\s+)*?)"
WHO_OR_NONE = rf"(?:{WHO}|(?P<dropped>)(?:(?:<adverb>|\w+ly)\s+)*?)"
PLACE = (
    r"(?:(?:(?:in|at|on|within)\s+(?:our|my|this|the)|(?:for|of)\s+(?:our|my|this))\s+(?:[\w-]+\s+){0,2}?<place>s?(?![\w-])|(?:in"
    r"|at|on|within|for)\s+our\s+(?!<private>\b)[\w-]+(?:\s+(?:room|shop|floor|lab|office|store|hall"
    r"|deck))?|(?:around\s+|over\s+|in\s+)?here(?!\s+on\b)|at\s+work|on\s+site|in\s+house)"
)
OBJECT = r"(?P<object>\S.*)"
NOUNS = rf"(?!(?:the|an?|this|that|my|your|his|her|i|we|it|there|you|they|he|she)\b){WORDS}{{2,80}}?"


# What may stand before a clause: words that open a talk, and an adverbial up to its comma or its subject.
OPENING = lazy_compile(
    r"(?:[\s\W]+|(?:ok|okay|so|and|but|well|right|huh|hm+|oh|ah|yes|yeah|no|great|good\s+news|big"
    r"\s+news|small\s+update|update|news|fyi|btw|important|note|also|anyway|alright|listen|heads\s+up"
    r"|for\s+the\s+record|just\s+so\s+you\s+know|by\s+the\s+way|interesting|funny|finally|solved|fixed"
    r"|done|yay|hooray|phew|because|since|then|now|please|apparently|as\s+discussed|quick\s+(?:note"
    r"|update))\b(?!')(?:[\s,.:;!–—-]+))+",
    re.IGNORECASE,
)
TIME = lazy_compile(
    r"(?:after|at|on|in|for|since|during|before|with|from|last|this|today|yesterday|tonight|until|by"
    r"|over|as|within|per|across|following|then|meanwhile|eventually|recently|while|given|every"
    r"|looking)\b[^,;:.]{0,70}(?:[,;:]\s+|(?=$))?",
    re.IGNORECASE,
)
_SUBJECTS = lazy_compile(
    r"\s(?=(?:i|we|the|our|nobody|everyone|every|no|my|it|all|only|two|both|i'm|i've|we're|we've)\b)", re.IGNORECASE
)
_MOST_SUBJECTS = 4  # of an adverbial that no comma ends
_WITHIN = lazy_compile(rf"{PLACE},?\s+", re.IGNORECASE, fill=fill_classes)
_BORDER = lazy_compile(
    r"[,;:.!—–]\s+|\s+-+\s+|\s*\(|\s+(?:and|but|so|because|since|that)\s+|\b(?:means|says|know)\s+"
    r"(?=the\b)",
    re.IGNORECASE,
)
_MOST_STARTS = 14  # of a sentence of 280 characters


def list_starts(text: str) -> Iterator[int]:
    """The places at which a clause begins, with and without what opens it."""
    given: set[int] = set()
    borders = [0, *(match.end() for match in _BORDER.finditer(text))][:_MOST_STARTS]
    for border in borders:
        places = [border]
        if opening := OPENING.match(text, border):
            places.append(opening.end())
        for place in tuple(places):
            if lead := TIME.match(text, place):
                subjects = _SUBJECTS.finditer(text, place, lead.end())
                places += [lead.end(), *(match.end() for match in islice(subjects, _MOST_SUBJECTS))]
            places += [match.end() for match in [_WITHIN.match(text, place)] if match]
        for place in places:
            if place not in given and place < len(text):
                given.add(place)
                yield place


AUX = r"(?:is|are|was|were|has|have|had|does|do|did|can|will|must|cannot|\w+n't)"
# A clause about a thing: with a verb that is one by its form, or an -s behind a singular subject.
FINDING = (
    r"(?P<finding>)(?P<object>(?:(?:the|our|its?|this|that|every|each|a|an|one)\s+(?:[\w'-]+"
    rf"\s+){{0,4}}?[\w'-]*[^s\W]\s+(?:\w+ly\s+)?(?:{AUX}|\w\w+s|\w\w+ed|{IRREGULAR})\s+\S|(?:the|our|all"
    rf"|both|most|some|half|none|two|three|no|nobody|there|these|those|in|on|\w+s|\w+)\b{WORDS}{{0,80}}?"
    rf"\s{AUX}\s+\S).*)"
)


def make_sign(kind: FactKind, pattern: str, *needs: str, is_order: bool = False, is_whole: bool = False) -> Sign:
    """A sign of which the pattern has the names of classes in it: `<decided>`."""
    compiled = lazy_compile(pattern, re.IGNORECASE, fill=fill_classes)
    return Sign(kind=kind, pattern=compiled, needs=needs, is_order=is_order, is_whole=is_whole)
