"""The signs and cues of English, and whether a clause in the form of a sign says its kind."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from muniment.memory.domain.memory import FactKind
from muniment.memory.rules.extraction.work.english.decisions import DECISIONS
from muniment.memory.rules.extraction.work.english.discoveries import DISCOVERIES
from muniment.memory.rules.extraction.work.english.fixes import FIXES
from muniment.memory.rules.extraction.work.english.parts import LEXICON, OPENING, PLACE, TIME, fill_classes, list_starts
from muniment.memory.rules.extraction.work.english.rules import RULES
from muniment.memory.rules.extraction.work.english.tasks import TASKS
from muniment.memory.rules.extraction.work.signs import Language, Sign
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

# What makes a clause in the form of a sign say something else.
_OTHERS = lazy_compile(r"(?<![\w'-])(?:<others>)(?![\w'-])", re.IGNORECASE, fill=fill_classes)
_NO_OBJECT = lazy_compile(r"(?:<no_objects>)\b", re.IGNORECASE, fill=fill_classes)
_PERSONAL = lazy_compile(r"(?:<personal>)(?![\w'-])", re.IGNORECASE, fill=fill_classes)
_NO_ORDER = lazy_compile(r"(?:<no_orders>)(?![\w'-])", re.IGNORECASE, fill=fill_classes)
_NO_TASK = lazy_compile(r"(?:<no_tasks>)\b", re.IGNORECASE, fill=fill_classes)
_MOMENT = lazy_compile(r"\b(?:<moments>)\b", re.IGNORECASE, fill=fill_classes)
_HABIT = lazy_compile(r"\b(?:<habits>)\b", re.IGNORECASE, fill=fill_classes)
_SPEAKER = lazy_compile(r"(?<![\w'])(?:<speaker>)(?![\w])", re.IGNORECASE, fill=fill_classes)
# What is told to the assistant in the same breath.
_ORDER = lazy_compile(
    r"(?:^|[,;:.!]\s+|\band\s+)(?:please\s+)?(?:write|translate|summari[sz]e|turn|draft|rewrite|explain"
    r"|give\s+me|tell\s+me|show\s+me|help\s+me|make\s+(?:it|this|me)|can\s+you|could\s+you|list)\b",
    re.IGNORECASE,
)
_TO_ASSISTANT = lazy_compile(r"\b(?:you|your|me)\b", re.IGNORECASE)
_ADDRESS = lazy_compile(r"\b(?:keep|bear)\s+(?:that|this)\s+in\s+mind\b", re.IGNORECASE)
_PLACED = lazy_compile(PLACE, re.IGNORECASE, fill=fill_classes)
_DONE = lazy_compile(r"\w+(?:ed|ing)\b", re.IGNORECASE)
_ELIDED = lazy_compile(r"\W*(?:haven't|didn't|not|still|nearly|almost|forgot|had)\b", re.IGNORECASE)  # of `I`
_JOINT = lazy_compile(
    r"\s*(?:both\s+)?(?:agreed|approved|concluded|voted)\b", re.IGNORECASE
)  # never said without a subject
_IF = lazy_compile(r"\b(?:if|would|might|could|maybe|perhaps|probably|hopefully|unless)\b", re.IGNORECASE)
# A clause of theirs that goes on with the one behind it: `their rule is that`.
_THEIRS = lazy_compile(r"\b(?:their|his|her|your|they|he|she|you)\b[^,;:.]*\bthat\s*$", re.IGNORECASE)
_SUBJECT = lazy_compile(r"\b(?:i|i've|i'm|we|we've|we're|our|my|us)\b", re.IGNORECASE)
_REPORT = lazy_compile(
    r"\b(?:said|says|told|tells|claims?|claimed|thinks?|believes?|wrote|writes|asked|asks|say|read"
    r"|heard|suggested|recommends?|reads|states|mentioned|apparently\s+(?:he|she|they))\b",
    re.IGNORECASE,
)


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


def is_said(sign: Sign, match: re.Match[str]) -> bool:
    """Whether a clause in the form of a sign says its kind: of the speaker's own, as a fact, and not of a moment."""
    text, found = match.string, match.groupdict()
    value = (found.get("object") or "").strip()
    if not _is_own(sign, match, found):
        return False
    if (sign.kind != "todo" and value and _NO_OBJECT.match(value)) or ("finding" in found and _PERSONAL.match(value)):
        return False
    if sign.kind in ("rule", "todo") and not sign.is_order and _ORDER.search(text):
        return False
    if sign.kind == "fix":
        return not _IF.search(text)
    if sign.kind == "rule":
        return not _is_moment(sign, match, found)
    return sign.kind != "todo" or not (_NO_TASK.match(value) or _HABIT.search(text))


def _is_own(sign: Sign, match: re.Match[str], found: dict[str, str | None]) -> bool:
    """Whether nobody else stands in or before a clause, nothing doubts or reports it, and what it lacks a subject for
    is its speaker's."""
    text, before = match.string, match.string[: match.start()]
    until = "act" if found.get("act") else "object"  # `decided not to` denies no deciding
    head = text[match.start() : match.start(until)] if found.get("object") else ""
    if _OTHERS.search(f"{head} {found.get('topic') or ''}") or _IF.search(before) or _REPORT.search(before):
        return False
    if _THEIRS.search(before):
        return False
    if found.get("dropped") is None:
        return True
    if sign.kind == "decision" and _JOINT.match(text, match.end("dropped")):
        return False
    return not before.strip(" ,.;:!-") or _is_open(before)


def _is_open(before: str) -> bool:
    """Whether a clause without a subject is the speaker's: behind words that only open it, or behind their own."""
    if _ELIDED.match(before):
        return True
    rest = before
    if opening := OPENING.match(rest):
        rest = rest[opening.end() :]
    if not rest.strip(" ,.;:!-") or ((time := TIME.match(rest)) and not rest[time.end() :].strip()):
        return True
    return bool(_SUBJECT.search(rest))


def _is_moment(sign: Sign, match: re.Match[str], found: dict[str, str | None]) -> bool:
    """Whether what looks like a rule is told to somebody, or is done once."""
    rest = _ADDRESS.split(match.string[match.start() :], maxsplit=1)[0]
    if _MOMENT.search(match.string) or (_TO_ASSISTANT.search(rest) and not _PLACED.search(match.string)):
        return True
    order = found.get("order") or ""
    if order and (_NO_ORDER.fullmatch(order) or (sign.is_order and _DONE.fullmatch(order))):
        return True
    return sign.is_order and _SPEAKER.search(match.string[: match.start()]) is not None


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
