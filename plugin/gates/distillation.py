"""Tells what a person said as a statement about it: in the third person, and without their own sentence."""

from __future__ import annotations

import re

from muniment.memory.domain.memory import Fact, FactKind, is_note
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.language.lazy_regex import lazy_compile

_MAX_CHARS = 280
_CJK = lazy_compile(r"[\u3400-\u9fff]")
_EDGES = " \t\r\n,，.。!！;；:：\"“”'"
# Who holds it, and how: English, then Chinese.
_FRAMES: dict[FactKind, tuple[str, str]] = {
    "decision": ("The user decided", "用户决定"),
    "rule": ("The user's rule", "用户的规则"),
    "discovery": ("The user found out", "用户发现"),
    "todo": ("The user has to do", "用户要做"),
    "note": ("The user states", "用户说明"),
}
# A plural subject keeps the verb of `we`.
_PERSONS = (
    (lazy_compile(r"(?i)\b(?:we're|we are)\b"), "the user and the team are"),
    (lazy_compile(r"(?i)\b(?:we've|we have)\b"), "the user and the team have"),
    (lazy_compile(r"(?i)\b(?:we'll|we will)\b"), "the user and the team will"),
    (lazy_compile(r"(?i)\bwe\b"), "the user and the team"),
    (lazy_compile(r"(?i)\b(?:us|ourselves)\b(?<!US)"), "the team"),
    (lazy_compile(r"(?i)\bours?\b"), "the team's"),
    (lazy_compile(r"(?i)\b(?:i'm|i am)\b"), "the user is"),
    (lazy_compile(r"(?i)\b(?:i've|i have)\b"), "the user has"),
    (lazy_compile(r"(?i)\b(?:i'll|i will)\b"), "the user will"),
    (lazy_compile(r"(?<![\w/.-])I(?![\w/.-])|\bi\b(?![/.])|(?i:\b(?:me|myself)\b)"), "the user"),
    (lazy_compile(r"(?i)\b(?:my|mine)\b"), "the user's"),
    (lazy_compile(r"(?i)\b(?:your|yours)\b"), "the assistant's"),
    (lazy_compile(r"(?i)\b(?:you|yourself)\b"), "the assistant"),
    (lazy_compile("我们|咱们|俺们"), "团队"),
    (lazy_compile("[我咱俺](?!国)"), "用户"),
    (lazy_compile("你们?|您"), "助手"),
)
_LASTING = lazy_compile(r"(?i)^\W*(?:please\s+)?(?P<how>always|never)\s+(?P<act>\w.*)$")
_DENIED = lazy_compile(r"(?i)^\W*(?:please\s+)?(?:do\s+not|don't|don’t|avoid\s+to)\s+(?P<act>\w.*)$")
_OBLIGED = lazy_compile(
    r"(?i)^\W*(?P<who>(?:the|all|every|each|any)\s.{1,80}?|[\w.-]+)\s+(?:must|should|shall|has\s+to|have\s+to|needs?\s+to)"
    r"\s+(?P<not>not\s+|never\s+)?(?P<act>\w.*)$"
)
_CLAUSE = lazy_compile(r"[;；,，.。]\s*")


def distill_statement(candidate: Candidate) -> str | None:
    """Return what a find says in the third person, at most 280 characters; None where that cannot be told.

    What the rules read as a fact is told so already. What stands in a person's own words gets a frame that says who
    holds it, loses its subject, and names persons by what they are."""
    fact = candidate.fact
    if fact is None or not is_note(fact):
        return candidate.text if len(candidate.text) <= _MAX_CHARS else None
    said = fact.object.strip(_EDGES)
    if not said:
        return None
    text = _tell_fix(candidate, fact) if fact.kind == "fix" else _tell_order(said) or _frame(fact.kind, said)
    return text if len(text) <= _MAX_CHARS else None


def _frame(kind: FactKind, said: str) -> str:
    is_chinese = _CJK.search(said) is not None
    english, chinese = _FRAMES.get(kind, _FRAMES["note"])
    told = name_persons(said)
    return f"{chinese}：{told}" if is_chinese else f"{english}: {told}"


def _tell_order(said: str) -> str | None:
    """An order as what the user wants: the adverb goes to the verb of wanting, and a modal becomes an infinitive."""
    if match := _LASTING.match(said):
        return f"The user {match['how'].lower()} wants the assistant to {name_persons(match['act'])}"
    if match := _DENIED.match(said):
        return f"The user does not want the assistant to {name_persons(match['act'])}"
    if match := _OBLIGED.match(said):
        denied = "not " if match["not"] else ""
        return f"The user requires {name_persons(match['who'])} {denied}to {name_persons(match['act'])}"
    return None


def _tell_fix(candidate: Candidate, fact: Fact) -> str:
    """A fix as the remedy, then what it is of: the clauses of the sentence that do not name it."""
    rest = [part.strip(_EDGES) for part in _CLAUSE.split(_quoted(candidate.text)) if fact.object not in part]
    problem = name_persons("; ".join(filter(None, rest)))
    remedy = name_persons(fact.object.strip(_EDGES))
    if _CJK.search(remedy):
        return f"解决办法：{remedy}" + (f"（问题：{problem}）" if problem else "")
    return f"Fixed by {remedy}" + (f" (problem: {problem})" if problem else "")


def _quoted(text: str) -> str:
    """What stands between the first and the last quotation mark, or the whole text."""
    match = re.search(r'[：:]\s*["“](.*)["”]\s*$', text, re.DOTALL)
    return match[1] if match else text


def name_persons(text: str) -> str:
    """Return a text with what persons are in place of pronouns of the first and second person."""
    for pattern, name in _PERSONS:
        text = pattern.sub(name, text)
    return text
