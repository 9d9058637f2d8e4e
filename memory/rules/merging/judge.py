"""Whether a new statement says the same as a known one, supersedes it, or speaks of something else.

By subject, attribute and value where both have a fact, else by their words. Doubt is `different`: a memory too many can
be seen and taken away, two people's facts in one memory cannot be told apart again."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

from muniment.memory.domain.memory import Fact, Memory
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.normalize import parse_vocabulary
from muniment.memory.rules.merging.wording import Verdict, compare_texts, is_guarded, is_retraction
from muniment.memory.rules.statements import predicates
from muniment.memory.rules.statements.parse import ParsedStatement, parse_statement
from muniment.memory.rules.statements.parse_words import ROLES, SYNONYMS

_ALONE = predicates.ONE_AT_A_TIME - {"best_friend"}
_SOME = frozenset(
    f"user's {one}"
    for one in (
        "friend",
        "colleague",
        "classmate",
        "roommate",
        "neighbour",
        "cousin",
        "teacher",
        "client",
        "student",
        "aunt",
        "uncle",
        "nephew",
        "niece",
    )
)
_AREAS = parse_vocabulary(
    "north south east west northern southern eastern western central downtown greater upper lower inner outer mr mrs ms dr prof professor"
)
_ONE_COUPLE = {"partner": "spouse"}
_HAPPENED = frozenset({"event", "experience"})
_EATING = lazy_compile(r"^(?:[吃喝碰]|(?:eat|eating|drink|drinking|have|having)\s+)")
_LEFT = frozenset({"left", "quit"})
_STATUS = {"已婚": "married", "离异": "divorced"}
_WED = {"married": "married", "got_married": "married", "got_engaged": "engaged", "got_divorced": "divorced"}
_MUST_NOT = lazy_compile(r"不能|不可以|不许|cannot|can't|must not|not allowed|allerg|过敏", re.IGNORECASE)
_CHANGED = lazy_compile(
    r"\b(?:now|again|nowadays|started|learned)\b|现在|如今|又|爱上|喜欢上|迷上|终于|居然|竟然|开始|重新", re.IGNORECASE
)
_LATELY = timedelta(days=92)
# To departments and systems one moves otherwise, and within a town without a word of it.
_NO_HOME = lazy_compile(
    r"\b(?:marketing|sales|engineering|finance|hr|support|design|product|operations|research|legal|accounting|management|team|plan|department|vim|windows|mac|macos|linux"
    r"|ubuntu|android|ios|iphone|google|apple|microsoft|amazon|slack|teams|notion|github|gitlab|python|java|rust)\b|[家楼层里面边]$|房|公寓|宿舍|办公|公司|单位|那里|这里|隔壁",
    re.IGNORECASE,
)
_SINCE = (("lives_in", "moved_to"), ("moved_to", "moved_to"))
_STAYS = lazy_compile(r"\bfor\s+(?:an?|one|two|three|four|six|\d+|some|the)\b", re.IGNORECASE)
_SOME_ZH = lazy_compile(r"一[家个所间座位名款本]")


def judge_candidate(candidate: Candidate, memory: Memory, *, is_vouched: bool = False) -> Verdict:
    """What the candidate is beside the memory. `vouched`: the embedder takes the two for one statement."""
    if has_other_time(candidate, memory):
        return "different"
    new, old = _drop_note(candidate.fact), _drop_note(memory.fact)
    if new is None or old is None:
        return compare_texts(parse_statement(candidate.text), parse_statement(memory.text), is_vouched=is_vouched)
    if not has_same_subject(candidate, memory):
        return "different"
    if has_ended(candidate, memory):
        return "supersedes"
    if resolve_attribute(new)[1] == resolve_attribute(old)[1]:
        return "supersedes" if _is_correction(candidate, memory) else _judge_values(new, old)
    if is_food_reversal(new, old, candidate.text, memory.text):
        return "supersedes"
    return _judge_attributes(
        new, old, parse_statement(candidate.text), parse_statement(memory.text), is_vouched=is_vouched
    )


def _is_correction(candidate: Candidate, memory: Memory) -> bool:
    """`Joris, not Joost` is a correction of what is known of Joost; `the half marathon is on the 19th` of its day."""
    new, old = parse_statement(candidate.text), parse_statement(memory.text)
    if is_retraction(new, old):
        return True
    fact, known = candidate.fact, memory.fact
    if fact is None or known is None or fact.kind != "goal" or is_denied(fact) != is_denied(known):
        return False
    less = parse_statement(fact.object).words
    named = re.search(rf"\bthe {re.escape(tokens.fold_text(fact.object))}\b", new.text) and less
    return (
        bool(named)
        and less < parse_statement(known.object).words
        and bool(new.figures - old.figures and old.figures - new.figures)
    )


def has_same_subject(candidate: Candidate, memory: Memory) -> bool:
    """Whether both facts are about one: `user's spouse` is whoever a statement calls so by name, and of whom there is one."""
    if candidate.fact is None or memory.fact is None:
        return False
    new, old = _resolve_subject(candidate.fact), _resolve_subject(memory.fact)
    if new == old:
        return True
    pairs = ((new, old, memory.text), (old, new, candidate.text))
    return any(
        whose == f"user's {role}" and role in _ALONE and bool(said) and name.startswith(said)
        for whose, name, text in pairs
        for role, said in parse_statement(text).roles
    )


def is_food_reversal(new: Fact, old: Fact, new_text: str, old_text: str) -> bool:
    """Whether somebody likes now what was not eaten before: who goes without chocolate may like it all the same, so it has
    to be said that something has changed. What one must not eat one may like in any case."""
    if (resolve_attribute(old)[1], resolve_attribute(new)[1]) != ("cannot", "likes") or is_denied(new):
        return False
    if _MUST_NOT.search(old_text) or not _CHANGED.search(new_text):
        return False
    return (
        tokens.fold_text(_EATING.sub("", old.object)).split() == tokens.fold_text(_EATING.sub("", new.object)).split()
    )


def has_ended(candidate: Candidate, memory: Memory) -> bool:
    """Whether what is known has ended by what is said to have happened: one moved, left a firm, married, or lost a taste."""
    return has_moved(candidate, memory) or _has_left(candidate, memory) or _has_changed_taste(candidate, memory)


def _has_left(candidate: Candidate, memory: Memory) -> bool:
    new, old = candidate.fact, memory.fact
    if new is None or old is None or new.negated or not _is_recent(candidate, memory):
        return False
    if resolve_attribute(old)[1] == "works_at":
        return new.predicate in _LEFT and not is_denied(old) and _has_same_object(new, old)
    wed = _WED.get(new.predicate) if resolve_attribute(old)[1] == "marital_status" else None
    known = tokens.fold_text(old.object)
    return wed is not None and _STATUS.get(known, known) != wed


def _has_changed_taste(candidate: Candidate, memory: Memory) -> bool:
    """Whether one no longer likes what one liked to eat or drink, or likes it by now, with the verb or without."""
    new, old = candidate.fact, memory.fact
    if (
        new is None
        or old is None
        or {resolve_attribute(new)[1], resolve_attribute(old)[1]} != {"likes"}
        or is_denied(new) == is_denied(old)
    ):
        return False
    changed = parse_statement(candidate.text).is_ended or _CHANGED.search(candidate.text)
    return bool(changed) and tokens.fold_text(_EATING.sub("", old.object)) == tokens.fold_text(
        _EATING.sub("", new.object)
    )


def _is_recent(candidate: Candidate, memory: Memory) -> bool:
    when = candidate.event_time
    return when is None or when >= memory.updated_at - _LATELY


def has_moved(candidate: Candidate, memory: Memory) -> bool:
    """Whether one lives somewhere else now: who has moved lately no longer lives where they are known to live, and who lives
    or has moved somewhere else since no longer where they had moved, unless that is told with its day, as what was."""
    new, old = candidate.fact, memory.fact
    if new is None or old is None:
        return False
    told = resolve_attribute(new)[1], resolve_attribute(old)[1]
    since = told in _SINCE and memory.event_time is None and _is_settling(old, memory.text)
    elsewhere = not _has_same_object(replace(new, single=True), replace(old, single=True))
    return (
        (since or told == ("moved_to", "lives_in"))
        and _is_recent(candidate, memory)
        and elsewhere
        and not is_denied(new)
        and _resolve_subject(new) not in _SOME
        and _is_settling(new, candidate.text)
    )


def _is_settling(fact: Fact, text: str) -> bool:
    """Whether a move is one to live there."""
    return not _NO_HOME.search(fact.object) and not _STAYS.search(text)


def resolve_attribute(fact: Fact) -> tuple[str, str]:
    """What a fact is about, whoever named it: its subject and its predicate."""
    said = "_".join(SYNONYMS.get(word, word) for word in fact.predicate.split("_"))
    found = predicates.normalize_predicate(fact.kind, ROLES.get(said, said), _resolve_subject(fact)).predicate
    return _resolve_subject(fact), _ONE_COUPLE.get(found, found)


def has_other_time(candidate: Candidate, memory: Memory) -> bool:
    """What happened at two times happened twice, in whatever words."""
    new, old = candidate.event_time, memory.event_time
    happened = candidate.kind == "episodic" or (candidate.fact is not None and candidate.fact.kind in _HAPPENED)
    return happened and new is not None and old is not None and new != old


def _drop_note(fact: Fact | None) -> Fact | None:
    """A note has no structure: its object is its text."""
    return None if fact is None or fact.predicate == "note" else fact


def _resolve_subject(fact: Fact) -> str:
    return predicates.normalize_subject(fact.subject).casefold()


def is_denied(fact: Fact) -> bool:
    """Whether the fact is said not to be so; to dislike is to like, denied."""
    return fact.negated != predicates.normalize_predicate(fact.kind, fact.predicate, _resolve_subject(fact)).negated


def _judge_values(new: Fact, old: Fact) -> Verdict:
    """The same attribute of the same subject: it has one value or many."""
    if _has_other_topic(new, old):
        return "different"
    same = _has_same_object(new, old)
    agree = is_denied(new) == is_denied(old)
    if _resolve_subject(new) in _SOME and not (same and agree):
        return "different"  # one friend is a nurse, and another a teacher
    one = predicates.normalize_predicate(new.kind, new.predicate, _resolve_subject(new)).single
    if same and agree and _is_shortened_name(new, old):
        return "supersedes"
    if same:
        return "same" if agree else "supersedes"
    if (new.single and old.single) or (one is True and (new.single or old.single)):
        # `no longer at Nokia` takes nothing from being at Bosch.
        return "different" if is_denied(new) else "supersedes"
    return "different"


def _has_other_topic(new: Fact, old: Fact) -> bool:
    """Whether each is for something of its own: the budget of a trip says nothing of the kitchen's.

    Words of two scripts may mean one thing, and a later word without any is about what was spoken of."""
    if resolve_attribute(new)[1] != "budget" or tokens.has_cjk(new.topic or "") != tokens.has_cjk(old.topic or ""):
        return False
    mine, theirs = parse_statement(new.topic or "").words, parse_statement(old.topic or "").words
    return bool(mine and theirs) and not mine & theirs


def _is_shortened_name(new: Fact, old: Fact) -> bool:
    """Whether a firm or a person is now called by a part of the former name: that is no lesser detail, but a correction."""
    named = resolve_attribute(new)[1] in ("works_at", "preferred_name") and new.object[:1].isupper()
    return (
        named and new.single and len(tokens.fold_text(new.object).split()) < len(tokens.fold_text(old.object).split())
    )


def _has_same_object(new: Fact, old: Fact) -> bool:
    left, right = parse_statement(_SOME_ZH.sub("", new.object)), parse_statement(_SOME_ZH.sub("", old.object))
    a, b = left.words | left.figures, right.words | right.figures
    if not a or not b:
        return tokens.fold_text(new.object).split() == tokens.fold_text(old.object).split()
    if tokens.has_cjk(new.object + old.object):
        x, y = "".join(left.content), "".join(right.content)
        named = bool(new.persons or old.persons)
        return left.figures == right.figures and (x == y or (new.single and not named and (x in y or y in x)))
    if a == b or not (new.single and old.single and left.figures == right.figures):
        return a == b
    less, more = (new, old) if a < b else (old, new)
    return (a < b or b < a) and _is_shorter_name(less.object, more.object)


def _is_shorter_name(shorter: str, longer: str) -> bool:
    """Whether one name is the other with less detail: `Ann` is short for `Ann Lee`, but York is not New York, nor Ann Ann-Marie."""
    parts, all_ = shorter.split(), longer.replace(",", "").split()
    if any(
        part[:1].isupper() and part not in all_ and any(one.startswith(f"{part}-") for one in all_) for part in parts
    ):
        return False
    before = all_[: len(all_) - len(parts)] if all_[-len(parts) :] == parts else []
    return not any(one[:1].isupper() and tokens.fold_text(one).rstrip(".") not in _AREAS for one in before)


def _judge_attributes(
    new: Fact, old: Fact, left: ParsedStatement, right: ParsedStatement, *, is_vouched: bool
) -> Verdict:
    """Two attributes of one subject: the same only in the same words, but what is over ends what was."""
    verdict = compare_texts(left, right, is_vouched=False)
    if left.words == right.words and left.figures == right.figures:
        return verdict
    if verdict == "supersedes" and (left.is_ended or right.is_ended) and left.is_negated != right.is_negated:
        return verdict
    unknown = any(predicates.normalize_predicate(one.kind, one.predicate).single is None for one in (new, old))
    if (
        is_vouched
        and unknown
        and _has_same_object(new, old)
        and is_denied(new) == is_denied(old)
        and not is_guarded(left, right)
    ):
        return "same"
    return "different"
