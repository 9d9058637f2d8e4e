"""Holds a model's statement to the words that it cites: whose it is, whether it is so, its numbers, names and dates.

What is left to say in other words is measured in two ways: by the words and their near synonyms, and, where those are
not enough, by the embedder's cosine, which the caller has to ask for (`Support.need`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from muniment.memory.rules.extraction.evidence import clause_signs as signs
from muniment.memory.rules.extraction.evidence.clause_signs import Clause
from muniment.memory.rules.extraction.evidence.details import (
    find_names,
    has_other_details,
    has_other_numbers,
    remove_numbers,
)
from muniment.memory.rules.extraction.evidence.near_words import (
    find_end,
    find_position,
    has_unborne_claim,
    list_concepts,
    measure_share,
    score_likeness,
)
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile

Need = Literal["none", "related", "close"]
_ABSENT = "not in the turn"
_MIN_SHARE = 0.5  # of a statement's words, borne by the same or a near word
_MIN_SHARE_ZH = 0.6  # of its characters
_MIN_VALUE_SHARE = 0.4  # of a value's words, where any is borne
_FEW = 0.2  # of them; with less the cosine alone would decide
_CLOSE_SHARE = 0.5  # of what the best clause has of a statement
_TOLD_SHARE = 0.3  # of what a question has of a statement
_QUOTED_SHARE = 0.8  # of a quote's words
_CONTRAST = lazy_compile(r"\b(?:but|not|rather|instead|except|no)\b|但|不是|而非|除了", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The words that may bear a statement.

    `cited` are the own texts of the cited turns; `question` is what they answer, if they affirm it; `known` is all that
    the same person said in the passage, from which names may come; `quote` is what the model says it read."""

    cited: Sequence[str]
    at: datetime
    question: str = ""
    known: str = ""
    quote: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """The words that bear a statement, and how near the embedder has to find the two, or the fault of the statement."""

    fault: str | None = None
    words: str = ""
    need: Need = "none"


def find_support(statement: str, value: str, words: Words, *, names: Sequence[str] = ()) -> Support:
    """What bears a statement in the words, or why nothing does."""
    text = _choose_text(words)
    clauses = signs.split_clauses(text)
    if words.question:
        clauses += [Clause(text=words.question, sentence=words.question.rstrip("?？ "))]
    if not clauses:
        return Support(fault=_ABSENT)
    whole = f"{text}\n{words.question}"
    fault = _ABSENT if has_other_details(statement, value, whole, f"{whole}\n{words.known}", words.at) else None
    is_foreign = tokens.has_cjk(statement) != tokens.has_cjk(text)
    anchors = []
    for part in _split_statement(statement):
        anchor = _find_anchor(part.text, value, clauses)
        anchors.append(anchor)
        if has_other_numbers(part.text, anchor.text):
            fault = fault or _ABSENT
        if not is_foreign or len(clauses) == 1:
            near = [clause for clause in clauses if score_likeness(part.text, clause.text) > 0]
            fault = fault or _find_sign_fault(part, anchor, near, words, [*names, *find_names(statement)])
    if fault:
        return Support(fault=fault)
    evidence = " ".join(dict.fromkeys(anchor.text for anchor in anchors))
    return Support(words=evidence) if is_foreign else _weigh_words(statement, value, whole, evidence, words.at)


def _weigh_words(statement: str, value: str, whole: str, evidence: str, at: datetime) -> Support:
    """How near the embedder has to find the statement and its evidence, by the words that they share."""
    share = measure_share(statement, whole, at)
    value_share = measure_share(value, whole, at) if value else share
    if value and 0 < value_share < _MIN_VALUE_SHARE:
        return Support(fault=_ABSENT)  # a part of the value is said, and the rest made up
    if has_unborne_claim(statement, whole) or value_share == 0:
        return Support(words=evidence, need="close")
    if max(share, value_share) >= (_MIN_SHARE_ZH if tokens.has_cjk(statement) else _MIN_SHARE):
        return Support(words=evidence)
    return Support(words=evidence, need="related" if share >= _FEW else "close")


def contains_quote(quote: str, text: str) -> bool:
    """Whether most words of a quote stand in a text."""
    own = tokens.get_lexeme_set(quote)
    return bool(own) and len(own & tokens.get_lexeme_set(text)) >= _QUOTED_SHARE * len(own)


def _choose_text(words: Words) -> str:
    """The cited texts, or the sentences of them that the quote repeats."""
    text = "\n".join(words.cited)
    quoted = [
        clause.sentence
        for clause in signs.split_clauses(text)
        if words.quote
        and (contains_quote(words.quote, clause.sentence) or contains_quote(clause.sentence, words.quote))
    ]
    return "\n".join(dict.fromkeys(quoted)) or text


def _split_statement(statement: str) -> list[Clause]:
    first_person = signs.as_first_person(statement)
    clauses = signs.split_clauses(first_person.text)
    return [replace(clause, sentence=first_person.text) for clause in clauses] or [first_person]


def _find_anchor(part: str, value: str, clauses: Sequence[Clause]) -> Clause:
    """The clause that has most of the statement's words, the value's counting twice."""
    bare, bare_value = remove_numbers(part), remove_numbers(value)
    scores = [score_likeness(bare, clause.text) + 2 * score_likeness(bare_value, clause.text) for clause in clauses]
    told = [0.0 if signs.is_asked(clause) else score for clause, score in zip(clauses, scores, strict=True)]
    # A question may name the thing of which the next sentence tells.
    chosen = told if max(told) >= max(scores) * _TOLD_SHARE else scores
    if max(chosen) == 0:
        whole = " ".join(clause.text for clause in clauses)
        return clauses[0] if len(clauses) == 1 else Clause(text=whole, sentence=clauses[-1].sentence)
    best, is_denied = max(chosen), signs.is_denied(part)
    close = [place for place, score in enumerate(chosen) if score >= best * _CLOSE_SHARE]
    # Of clauses that say about as much, the one that denies as the statement does.
    return clauses[max(close, key=lambda place: (signs.is_denied(clauses[place].text) == is_denied, chosen[place]))]


def _find_sign_fault(
    part: Clause, anchor: Clause, near: Sequence[Clause], words: Words, names: Sequence[str]
) -> str | None:
    """Why the clause does not say what the part of the statement says: another person's, denied, imagined, asked."""
    if signs.is_imagined(anchor.sentence) and not signs.is_imagined(part.text):
        return "only imagined"
    if signs.is_asked(anchor) and anchor.sentence not in words.question:
        return "only asked"
    subject, start = signs.find_subject(anchor, until=find_position(part.text, anchor.text), names=names)
    if fault := _find_owner_fault(part, anchor, subject, words, names):
        return fault
    segment = signs.cut_start(anchor, start)
    said = anchor.text[start : max(start, find_end(part.text, anchor.text))]
    if signs.is_wish(said) and not signs.is_wish(part.text):
        return "only a wish or a plan"
    is_denied = signs.is_denied(part.text)
    has_contrast = _CONTRAST.search(part.sentence) and any(signs.is_denied(each.text) == is_denied for each in near)
    if signs.is_denied(segment.text) != is_denied and not has_contrast:
        return "denied, or no longer so"
    return "no longer so" if signs.is_death(anchor.text) and "death" not in list_concepts(part.text) else None


def _find_owner_fault(part: Clause, anchor: Clause, subject: str, words: Words, names: Sequence[str]) -> str | None:
    """Why the statement is not about the person that the clause is about."""
    claimed = signs.find_subject(part, names=names)[0] or signs.USER
    first = signs.find_subject(part, until=0, names=names)[0]
    claimed = first if first != signs.USER else claimed
    known_kin = signs.find_kin(f"{anchor.sentence}\n{words.known}\n{words.question}")
    for kin in signs.find_owned_kin(part.text) | ({claimed} & signs.KIN_NAMES):
        if not signs.is_same_kin(kin, known_kin) and kin != "pet":
            return "another person's"
    is_users = claimed == signs.USER
    if not is_users and subject == signs.USER and _has_same_verb(part.text, claimed, anchor.text):
        return "the user's own"
    if is_users and subject != signs.USER:
        mentioned = signs.is_same_kin(subject, signs.find_kin(part.text)) or (subject in names and subject in part.text)
        if mentioned and subject in names:
            return "another person's"
        return None if mentioned or signs.concerns_user(anchor.text) else "another person's"
    if not is_users and subject == signs.USER and signs.names_user(anchor.text):
        has_mention = signs.is_same_kin(claimed, signs.find_kin(anchor.text)) or claimed in anchor.text
        return None if has_mention or claimed not in signs.KIN_NAMES else "the user's own"
    if not is_users and subject in signs.KIN_NAMES and claimed in signs.KIN_NAMES:
        near = signs.find_kin(anchor.sentence)
        return None if signs.is_same_kin(claimed, {subject} | near) else "another person's"
    return None


def _has_same_verb(part: str, claimed: str, anchor: str) -> bool:
    """Whether the user does in the clause what the other person does in the part, and not the other with them."""
    told = re.search(rf"(?i){re.escape(claimed)}(?:'s)?\s+([a-z]+)", part)
    done = re.search(r"(?i)(?<![\w'])(?:i|we)(?:'ve|'d)?\s+(?:\w+ly\s+)?([a-z]+)", anchor)
    if not told or not done or re.search(r"(?i)\b(?:with|and)\b", anchor):
        return False
    verbs = tokens.stem_word(told[1].lower()), tokens.stem_word(done[1].lower())
    return verbs[0] == verbs[1] and told[1].lower() not in tokens.STOP_WORDS
