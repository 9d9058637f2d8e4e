"""Whether a new statement says the same as a memory, supersedes it, or is about something else.

It compares subject, attribute and value where both have a fact, else their words. In doubt it says `different`: a
redundant memory can be found and removed, but the facts of two people in one memory cannot be separated again."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

from muniment.memory.domain.memory import Fact, StoredMemory
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon
from muniment.memory.rules.merging.wording import Verdict, compare_texts, is_guarded, is_retraction
from muniment.memory.rules.statements import predicates
from muniment.memory.rules.statements.parse import ParsedStatement, parse_statement
from muniment.memory.rules.statements.parse_words import ROLES, SYNONYMS

_SINGLE_ROLES = predicates.ONE_AT_A_TIME - {"best_friend"}
_WORDS = load_lexicon("merging.en")
_PLURAL_ROLES = frozenset(f"user's {role}" for role in _WORDS.get_words("plural_roles"))
_AREAS_AND_TITLES = _WORDS.get_words("areas_and_titles")
_ONE_COUPLE = {"partner": "spouse"}
_EVENT_KINDS = frozenset({"event", "experience"})
_EATING = lazy_compile(r"^(?:[吃喝碰]|(?:eat|eating|drink|drinking|have|having)\s+)")
_LEAVING = frozenset({"left", "quit"})
_STATUS_ZH = {"已婚": "married", "离异": "divorced"}
_WEDDING_STATUS = {"married": "married", "got_married": "married", "got_engaged": "engaged", "got_divorced": "divorced"}
_MUST_NOT = lazy_compile(r"不能|不可以|不许|cannot|can't|must not|not allowed|allerg|过敏", re.IGNORECASE)
_CHANGED = lazy_compile(
    r"\b(?:now|again|nowadays|started|learned)\b|现在|如今|又|爱上|喜欢上|迷上|终于|居然|竟然|开始|重新", re.IGNORECASE
)
_RECENT = timedelta(days=92)
# A move to a department, a system or another room is no move to another town.
_NO_HOME = lazy_compile(
    r"\b(?:marketing|sales|engineering|finance|hr|support|design|product|operations|research|legal|accounting"
    r"|management|team|plan|department|vim|windows|mac|macos|linux|ubuntu|android|ios|iphone|google|apple|microsoft"
    r"|amazon|slack|teams|notion|github|gitlab|python|java|rust)\b"
    r"|[家楼层里面边]$|房|公寓|宿舍|办公|公司|单位|那里|这里|隔壁",
    re.IGNORECASE,
)
_AFTER_A_MOVE = (("lives_in", "moved_to"), ("moved_to", "moved_to"))
_STAYS = lazy_compile(r"\bfor\s+(?:an?|one|two|three|four|six|\d+|some|the)\b", re.IGNORECASE)
_SOME_ZH = lazy_compile(r"一[家个所间座位名款本]")


def judge_candidate(candidate: Candidate, memory: StoredMemory, *, is_vouched: bool = False) -> Verdict:
    """Judge a candidate beside a memory. `is_vouched`: by the embedder the two are one statement."""
    if has_other_time(candidate, memory):
        return "different"
    new, old = candidate.fact, memory.fact
    # A note has no structure: its object is its text.
    if new is None or old is None or "note" in (new.predicate, old.predicate):
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


def _is_correction(candidate: Candidate, memory: StoredMemory) -> bool:
    """Whether the candidate corrects the memory: the name by `Joris, not Joost`, a day by `the run is on the 19th`."""
    new, old = parse_statement(candidate.text), parse_statement(memory.text)
    if is_retraction(new, old):
        return True
    fact, old_fact = candidate.fact, memory.fact
    if fact is None or old_fact is None or fact.kind != "goal" or is_denied(fact) != is_denied(old_fact):
        return False
    goal = parse_statement(fact.object).words
    return (
        bool(goal and re.search(rf"\bthe {re.escape(tokens.fold_text(fact.object))}\b", new.text))
        and goal < parse_statement(old_fact.object).words
        and bool(new.figures - old.figures and old.figures - new.figures)
    )


def has_same_subject(candidate: Candidate, memory: StoredMemory) -> bool:
    """Whether both facts have one subject. `user's spouse` is also the person whom a statement names as the spouse."""
    if candidate.fact is None or memory.fact is None:
        return False
    new, old = _resolve_subject(candidate.fact), _resolve_subject(memory.fact)
    if new == old:
        return True
    pairs = ((new, old, memory.text), (old, new, candidate.text))
    return any(
        subject == f"user's {role}" and role in _SINGLE_ROLES and bool(person) and name.startswith(person)
        for subject, name, text in pairs
        for role, person in parse_statement(text).roles
    )


def is_food_reversal(new: Fact, old: Fact, new_text: str, old_text: str) -> bool:
    """Whether somebody now likes what they did not eat before.

    The new statement has to say that something changed: people may like what they do not eat, or must not eat."""
    if (resolve_attribute(old)[1], resolve_attribute(new)[1]) != ("cannot", "likes") or is_denied(new):
        return False
    if _MUST_NOT.search(old_text) or not _CHANGED.search(new_text):
        return False
    return _fold_food(old).split() == _fold_food(new).split()


def _fold_food(fact: Fact) -> str:
    return tokens.fold_text(_EATING.sub("", fact.object))


def has_ended(candidate: Candidate, memory: StoredMemory) -> bool:
    """Whether the candidate ends what the memory says: a move, a job left, a wedding, a change of taste."""
    return has_moved(candidate, memory) or _has_left(candidate, memory) or _has_changed_taste(candidate, memory)


def _has_left(candidate: Candidate, memory: StoredMemory) -> bool:
    """Whether the candidate says that a job or a marital status has ended."""
    new, old = candidate.fact, memory.fact
    if new is None or old is None or new.negated or not _is_recent(candidate, memory):
        return False
    if resolve_attribute(old)[1] == "works_at":
        return new.predicate in _LEAVING and not is_denied(old) and _has_same_object(new, old)
    status = _WEDDING_STATUS.get(new.predicate) if resolve_attribute(old)[1] == "marital_status" else None
    before = tokens.fold_text(old.object)
    return status is not None and _STATUS_ZH.get(before, before) != status


def _has_changed_taste(candidate: Candidate, memory: StoredMemory) -> bool:
    """Whether a taste for a food has changed. The object may contain the verb: `drinking tea`, `tea`."""
    new, old = candidate.fact, memory.fact
    if (
        new is None
        or old is None
        or {resolve_attribute(new)[1], resolve_attribute(old)[1]} != {"likes"}
        or is_denied(new) == is_denied(old)
    ):
        return False
    changed = parse_statement(candidate.text).is_ended or _CHANGED.search(candidate.text)
    return bool(changed) and _fold_food(old) == _fold_food(new)


def _is_recent(candidate: Candidate, memory: StoredMemory) -> bool:
    when = candidate.event_time
    return when is None or when >= memory.updated_at - _RECENT


def has_moved(candidate: Candidate, memory: StoredMemory) -> bool:
    """Whether the candidate says that the home of the memory has changed.

    A recent move replaces a home, and a home or a later move replaces an earlier move without a date."""
    new, old = candidate.fact, memory.fact
    if new is None or old is None:
        return False
    attributes = resolve_attribute(new)[1], resolve_attribute(old)[1]
    later = attributes in _AFTER_A_MOVE and memory.event_time is None and _is_settling(old, memory.text)
    return (
        (later or attributes == ("moved_to", "lives_in"))
        and _is_recent(candidate, memory)
        and not _has_same_object(replace(new, single=True), replace(old, single=True))
        and not is_denied(new)
        and _resolve_subject(new) not in _PLURAL_ROLES
        and _is_settling(new, candidate.text)
    )


def _is_settling(fact: Fact, text: str) -> bool:
    """Whether a move is a change of home."""
    return not _NO_HOME.search(fact.object) and not _STAYS.search(text)


def resolve_attribute(fact: Fact) -> tuple[str, str]:
    """Return the normalized subject and predicate of a fact."""
    subject = _resolve_subject(fact)
    predicate = "_".join(SYNONYMS.get(word, word) for word in fact.predicate.split("_"))
    normal = predicates.normalize_predicate(fact.kind, ROLES.get(predicate, predicate), subject).predicate
    return subject, _ONE_COUPLE.get(normal, normal)


def has_other_time(candidate: Candidate, memory: StoredMemory) -> bool:
    """Whether both are events with different times: what happened at two times happened twice."""
    new, old = candidate.event_time, memory.event_time
    is_event = candidate.kind == "episodic" or (candidate.fact is not None and candidate.fact.kind in _EVENT_KINDS)
    return is_event and new is not None and old is not None and new != old


def _resolve_subject(fact: Fact) -> str:
    return predicates.normalize_subject(fact.subject).casefold()


def is_denied(fact: Fact) -> bool:
    """Whether the fact is denied; to dislike is to like, denied."""
    return fact.negated != predicates.normalize_predicate(fact.kind, fact.predicate, _resolve_subject(fact)).negated


def _judge_values(new: Fact, old: Fact) -> Verdict:
    """Judge two values of one attribute of one subject, which has one value or many."""
    if _has_other_topic(new, old):
        return "different"
    same = _has_same_object(new, old)
    agree = is_denied(new) == is_denied(old)
    if _resolve_subject(new) in _PLURAL_ROLES and not (same and agree):
        return "different"  # one friend is a nurse, another one a teacher
    single = predicates.normalize_predicate(new.kind, new.predicate, _resolve_subject(new)).single
    if same and agree and _is_shortened_name(new, old):
        return "supersedes"
    if same:
        return "same" if agree else "supersedes"
    if (new.single and old.single) or (single is True and (new.single or old.single)):
        # `no longer at Nokia` does not end the job at Bosch.
        return "different" if is_denied(new) else "supersedes"
    return "different"


def _has_other_topic(new: Fact, old: Fact) -> bool:
    """Whether two budgets have different topics, such as a trip and a kitchen.

    Topics in two scripts may be one thing, and a value without a topic continues the topic before."""
    if resolve_attribute(new)[1] != "budget" or tokens.has_cjk(new.topic or "") != tokens.has_cjk(old.topic or ""):
        return False
    a, b = parse_statement(new.topic or "").words, parse_statement(old.topic or "").words
    return bool(a and b) and not a & b


def _is_shortened_name(new: Fact, old: Fact) -> bool:
    """Whether a firm or a person has now a part of the former name: that corrects the name, it does not lose detail."""
    is_name = resolve_attribute(new)[1] in ("works_at", "preferred_name") and new.object[:1].isupper()
    shorter, longer = (len(tokens.fold_text(fact.object).split()) for fact in (new, old))
    return is_name and new.single and shorter < longer


def _has_same_object(new: Fact, old: Fact) -> bool:
    """Whether two facts have the same value, or a name and its short form."""
    left, right = parse_statement(_SOME_ZH.sub("", new.object)), parse_statement(_SOME_ZH.sub("", old.object))
    a, b = left.words | left.figures, right.words | right.figures
    if not a or not b:
        return tokens.fold_text(new.object).split() == tokens.fold_text(old.object).split()
    if tokens.has_cjk(new.object + old.object):
        x, y = "".join(left.content), "".join(right.content)
        is_part = new.single and not (new.persons or old.persons) and (x in y or y in x)
        return left.figures == right.figures and (x == y or is_part)
    if a == b or not (new.single and old.single and left.figures == right.figures):
        return a == b
    less, more = (new, old) if a < b else (old, new)
    return (a < b or b < a) and _is_shorter_name(less.object, more.object)


def _is_shorter_name(shorter: str, longer: str) -> bool:
    """Whether one name is the other with less detail: `Ann` for `Ann Lee`, but not York for New York, nor Ann for
    Ann-Marie."""
    parts, words = shorter.split(), longer.replace(",", "").split()
    if any(
        part[:1].isupper() and part not in words and any(word.startswith(f"{part}-") for word in words)
        for part in parts
    ):
        return False
    before = words[: len(words) - len(parts)] if words[-len(parts) :] == parts else []
    return not any(
        word[:1].isupper() and tokens.fold_text(word).rstrip(".") not in _AREAS_AND_TITLES for word in before
    )


def _judge_attributes(
    new: Fact, old: Fact, left: ParsedStatement, right: ParsedStatement, *, is_vouched: bool
) -> Verdict:
    """Judge two attributes of one subject: the same only in the same words, but an ending supersedes what it ends."""
    verdict = compare_texts(left, right, is_vouched=False)
    if left.words == right.words and left.figures == right.figures:
        return verdict
    if verdict == "supersedes" and (left.is_ended or right.is_ended) and left.is_negated != right.is_negated:
        return verdict
    free = any(predicates.normalize_predicate(fact.kind, fact.predicate).single is None for fact in (new, old))
    if (
        is_vouched
        and free
        and _has_same_object(new, old)
        and is_denied(new) == is_denied(old)
        and not is_guarded(left, right)
    ):
        return "same"
    return "different"
