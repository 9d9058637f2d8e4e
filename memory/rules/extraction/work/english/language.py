"""The signs and cues of English."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from muniment.memory.domain.memory import FactKind
from muniment.memory.rules.extraction.work.english.decisions import DECISIONS
from muniment.memory.rules.extraction.work.english.discoveries import DISCOVERIES
from muniment.memory.rules.extraction.work.english.fixes import FIXES
from muniment.memory.rules.extraction.work.english.meaning import is_said
from muniment.memory.rules.extraction.work.english.parts import LEXICON, PLACE, fill_classes, list_starts
from muniment.memory.rules.extraction.work.english.rules import RULES
from muniment.memory.rules.extraction.work.english.tasks import TASKS
from muniment.memory.rules.extraction.work.signs import Language
from muniment.memory.rules.language.lazy_regex import join_alternatives, lazy_compile

_WORD = lazy_compile(r"[a-z0-9][\w'-]*")
# Of each kind the words and classes of which one stands in any of its signs.
_HINTS: dict[FactKind, str] = {
    "fix": "remedy repaired worked mended vanished improved | fix solve resolve rid avoid repair again stopped q"
    "uit ceased"
    " longer made anymore more since fine finishes takes loads managed took needed until finally now gone"
    " fixed solved"
    " sorted resolved cured up normal working trick got brought back normally",
    "decision": "decided chose adopted staying planning outcome ending drop | decision verdict choice call conclusion"
    " is"
    " agreed table final settled forward not stay stick keep go carry continue took kept booked hired bought ordered"
    " extended extend signed on",
    "discovery": "turned_out found_out expected inspected results cause fault | turned traced tracked pinned narrowed"
    " along whole silently secretly apparently interesting interestingly strange huh funny weird surprisi"
    "ngly surprise"
    " blame culprit caused due worn wasn't isn't explains explained looking going digging reading "
    "searching know"
    " understand identified found spotted",
    "rule": "norm own_norm nobody anybody every forbidden always habit | no only must need needs have has may can"
    " cannot"
    " can't mustn't aren't are is don't do first rule every two three both whoever",
    "todo": "list list_place remember must promised mine | owe due need needs has have must list plate tomorrow t"
    "onight"
    " today got told i'll we'll monday tuesday wednesday thursday friday saturday sunday",
}
_CUES = {
    "closure": r"\b(?:<closure>)(?![\w-])",
    "contrast": r"\b(?:<contrast>)(?![\w-])",
    "force": r"\b(?:<force>)(?![\w-])|\bfrom\s+[\w ]{3,20}\s+on\b|\bstarting\s+(?:\w+day|in|on|next|tomorrow)",
    "who": r"\b(?:we|i|our|us)\b",
    "colon": r":",
    "vote": r"\b(?:vote|voted|poll|show\s+of\s+hands|agreed)\b",
    "deliberation": r"\b(?:after\s+(?:sleeping|thinking|talking|much|all|a\s+long|some\s+back)|slept\s+on|back\s+and"
    r"\s+forth|weigh(?:ed|ing)|in\s+the\s+end\b.*\b(?:over|instead)|compar(?:ed|ing)|thought\s+it"
    r"\s+over)\b",
    "for us": r"\b(?:for\s+us|on\s+our\s+side|with\s+us)\b",
    "place": rf"\b{PLACE}",
    "bound": r"\b(?:<bound>)\b",
    "strict": r"\b(?:<strict>)\b",
    "stress": r"(?:[,.:;–—-]\s*|\b)(?:<stress>)\b",
    "our": r"\b(?:our|we)\b",
    "owned": rf"\b(?:our|my|house|team|{PLACE})\b",
    "modal": r"\b(?:must|have\s+to|has\s+to|may|can|need|needs|should|allowed|goes|go|gets|get)\b",
    "exact": r"\b(?:<exact>)\b|\d|n't\b|\w+er\s+(?:when|if|in|on|than)\b",
    "than": r"\b(?:than|as)\b",
    "number": r"\d|\b(?:two|three|four|five|six|ten|twice|half|thirds?|double|percent)\b",
    "evidence": r"\b(?:<inspected>)\b|\bno\s+wonder\b",
    "past": r"\b(?:was|were|turned\s+out)\b",
    "again": r"\bagain\b|\bin\s+seconds\b|\bfine\b|\bwithout\b|\bsince\b",
    "fault": r"\b(?:<fault>)s?\b",
    "term": r"\b(?:<term>)\b",
    "advice": r"\A(?!.*\byou)",
    "day": r"\bon\s+the\s+\d+(?:st|nd|rd|th)\b|\bby\s+the\s+\d|\b\w+day\b|\bnoon\b",
}


def list_kinds(text: str) -> list[FactKind]:
    """The kinds of which a sign has its words in a text, in the order in which they are looked for."""
    words = set(_WORD.findall(text.casefold()))
    return [kind for kind, hints in _find_hints() if not hints.isdisjoint(words)]


@cache
def _find_hints() -> tuple[tuple[FactKind, frozenset[str]], ...]:
    """For each kind the longest word of each phrase of its classes, and the words that its signs have themselves."""

    def find_words(line: str) -> Iterator[str]:
        sections, _, words = line.partition(" | ")
        yield from words.split()
        for section in sections.split():
            for row in LEXICON.get_phrases(section):
                for phrase in row.casefold().split(", "):
                    yield max(_WORD.findall(phrase), key=len)

    return tuple((kind, frozenset(find_words(line))) for kind, line in _HINTS.items())


@cache
def load_language() -> Language:
    """The signs and cues of English."""

    def match_words(section: str) -> re.Pattern[str]:
        body = join_alternatives(LEXICON.get_words(section)).replace(r"\-", r"[\s-]")
        return lazy_compile(rf"\b{body}\b(?!')", re.IGNORECASE)

    return Language(
        name="en",
        signs={"fix": FIXES, "decision": DECISIONS, "discovery": DISCOVERIES, "rule": RULES, "todo": TASKS},
        list_kinds=list_kinds,
        cues={name: lazy_compile(pattern, re.IGNORECASE, fill=fill_classes) for name, pattern in _CUES.items()},
        not_said=lazy_compile(
            r"\b(?:<not_said>)\b|^\W*(?:if|would|could|maybe|perhaps|say)\b", re.IGNORECASE, fill=fill_classes
        ),
        starts=list_starts,
        is_said=is_said,
        work=match_words("work"),
        means=lazy_compile(r"(?:<means>)\b", re.IGNORECASE, fill=fill_classes),
        named=lazy_compile(
            r"\b(?:in|for|of|on)\s+(?:the|our|this|my)\s+(?P<name>(?:(?!the\b|our\b)[\w-]+\s+){1,2}<named>)\b",
            re.IGNORECASE,
            fill=fill_classes,
        ),
        names=LEXICON.get_table("names", ","),
    )
