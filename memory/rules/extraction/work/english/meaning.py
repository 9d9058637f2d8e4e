"""Whether an English clause says the kind whose form it has: of its speaker's own, as a fact, and not of a moment."""

from __future__ import annotations

import re

from muniment.memory.rules.extraction.work.english.parts import OPENING, PLACE, TIME, fill_classes
from muniment.memory.rules.extraction.work.signs import Sign
from muniment.memory.rules.language.lazy_regex import lazy_compile

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
