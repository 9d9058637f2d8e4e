"""Whether a new statement says the same as a memory, supersedes it, or is about something else.

It compares subject, attribute and value where both have a fact, else their words. In doubt it says `different`: a
redundant memory can be found and removed, but the facts of two people in one memory cannot be separated again."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

from muniment.memory.domain.memory import Fact, StoredMemory, is_note, is_structured
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon
from muniment.memory.rules.merging.restatements import is_same_claim, split_statements, strip_quotation
from muniment.memory.rules.merging.wording import Verdict, compare_texts, is_guarded, is_retraction
from muniment.memory.rules.statements import predicates
from muniment.memory.rules.statements.parse import ParsedStatement, parse_statement
from muniment.memory.rules.statements.predicates import resolve_fact

_SINGLE_ROLES = predicates.ONE_AT_A_TIME - {"best_friend"}
_WORDS = load_lexicon("merging.en")
_PLURAL_ROLES = frozenset(f"user's {role}" for role in _WORDS.get_words("plural_roles"))
_EVENT_KINDS, _LEAVING = frozenset({"event", "experience"}), frozenset({"left", "quit"})
_EATING = lazy_compile(r"^(?:[吃喝碰]|(?:eat|eating|drink|drinking|have|having)\s+)")
_AREAS_AND_TITLES = _WORDS.get_words("areas_and_titles")
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
_SOME_ZH = lazy_compile(r"一[家个所间座位名款本]")
_STAYS = lazy_compile(r"\bfor\s+(?:an?|one|two|three|four|six|\d+|some|the)\b", re.IGNORECASE)
_AVERSIONS = {"cannot", "likes"}
_FREE = ("preference", "goal")  # kinds whose predicates depend on the wording more than on the fact
_REPETITION_SHARE = 0.6  # share of the shorter statement's words that two statements of one turn have in common


def judge_candidate(candidate: Candidate, memory: StoredMemory, *, is_vouched: bool = False) -> Verdict:
    """Judge a candidate beside a memory. `is_vouched`: by the embedder the two are one statement."""
    if has_other_time(candidate, memory):
        return "different"
    new, old = candidate.fact, memory.fact
    if is_note(new) or is_note(old):
        return _judge_note(candidate, memory)
    # A text that was asked to be remembered has no structure: its object is its text.
    if new is None or old is None or "note" in (new.predicate, old.predicate):
        return compare_texts(parse_statement(candidate.text), parse_statement(memory.text), is_vouched=is_vouched)
    if not has_same_subject(candidate, memory):
        return "different"
    if has_ended(candidate, memory):
        return "supersedes"
    if resolve_fact(new).attribute == resolve_fact(old).attribute:
        return "supersedes" if _is_correction(candidate, memory) else _judge_values(new, old)
    if is_food_reversal(new, old, candidate.text, memory.text):
        return "supersedes"
    return _judge_attributes(
        new, old, parse_statement(candidate.text), parse_statement(memory.text), is_vouched=is_vouched
    )


def _judge_note(candidate: Candidate, memory: StoredMemory) -> Verdict:
    """Judge two statements of which one is a note in a person's own words.

    It says the same only where it says nothing more; a note of several sentences is never superseded as a whole.
    A fact that is read from a note's turn is no repetition of it: it takes the place of the note that it covers."""
    if is_structured(candidate.fact) and is_note(memory.fact) and set(candidate.turns) & set(memory.turns):
        return "different"
    new, old = parse_statement(strip_quotation(candidate.text)), parse_statement(strip_quotation(memory.text))
    is_held = new.words <= old.words and new.figures <= old.figures
    may_be_same = is_held or (is_note(memory.fact) and old.words <= new.words and old.figures <= new.figures)
    may_be_ended = len(split_statements(memory.text)) <= 1
    verdict = compare_texts(new, old) if may_be_same or may_be_ended else "different"
    return verdict if {"same": may_be_same, "supersedes": may_be_ended}.get(verdict) else "different"


def _is_correction(candidate: Candidate, memory: StoredMemory) -> bool:
    """Whether the candidate corrects the memory: the name by `Joris, not Joost`, a day by `the run is on the 19th`."""
    new, old = parse_statement(candidate.text), parse_statement(memory.text)
    if is_retraction(new, old):
        return True
    fact, old_fact = candidate.fact, memory.fact
    if fact is None or old_fact is None or fact.kind != "goal":
        return False
    if resolve_fact(fact).is_denied != resolve_fact(old_fact).is_denied:
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
    new, old = resolve_fact(candidate.fact).subject, resolve_fact(memory.fact).subject
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
    a, b = resolve_fact(new), resolve_fact(old)
    if (b.attribute, a.attribute) != ("cannot", "likes") or a.is_denied:
        return False
    if _MUST_NOT.search(old_text) or not _CHANGED.search(new_text):
        return False
    return _fold_food(old).split() == _fold_food(new).split()


def _fold_food(fact: Fact) -> str:
    return tokens.fold_text(_EATING.sub("", fact.object))


def has_ended(candidate: Candidate, memory: StoredMemory) -> bool:
    """Whether the candidate ends what the memory says: a move, a job left, a wedding, a change of taste."""
    new, old = candidate.fact, memory.fact
    if new is None or old is None:
        return False
    a, b = resolve_fact(new), resolve_fact(old)
    if b.attribute == "likes":  # the object may contain the verb: `drinking tea`, `tea`
        if a.attribute != "likes" or a.is_denied == b.is_denied:
            return False
        changed = parse_statement(candidate.text).is_ended or _CHANGED.search(candidate.text)
        return bool(changed) and _fold_food(old) == _fold_food(new)
    if candidate.event_time is not None and candidate.event_time < memory.updated_at - _RECENT:
        return False
    if b.attribute in ("lives_in", "moved_to"):
        return _has_moved(new, candidate.text, memory)
    if new.negated:
        return False
    if b.attribute == "works_at":
        return new.predicate in _LEAVING and not b.is_denied and _has_same_object(new, old)
    status, before = _WEDDING_STATUS.get(new.predicate), tokens.fold_text(old.object)
    return b.attribute == "marital_status" and status is not None and _STATUS_ZH.get(before, before) != status


def _has_moved(new: Fact, text: str, memory: StoredMemory) -> bool:
    """Whether a recent statement says that the home of the memory has changed.

    A move replaces a home, and a home or a later move replaces an earlier move without a date."""
    old, resolved = memory.fact, resolve_fact(new)
    if old is None or resolved.attribute not in ("lives_in", "moved_to") or resolved.is_denied:
        return False
    if resolve_fact(old).attribute == "moved_to":
        is_later = memory.event_time is None and _is_settling(old, memory.text)
    else:
        is_later = resolved.attribute == "moved_to"
    return (
        is_later
        and not _has_same_object(replace(new, single=True), replace(old, single=True))
        and resolved.subject not in _PLURAL_ROLES
        and _is_settling(new, text)
    )


def _is_settling(fact: Fact, text: str) -> bool:
    """Whether a move is a change of home."""
    return not _NO_HOME.search(fact.object) and not _STAYS.search(text)


def has_other_time(candidate: Candidate, memory: StoredMemory) -> bool:
    """Whether both are events with different times: what happened at two times happened twice."""
    new, old = candidate.event_time, memory.event_time
    fact = candidate.fact
    is_event = candidate.kind == "episodic" or (fact is not None and (fact.kind in _EVENT_KINDS or is_note(fact)))
    return is_event and new is not None and old is not None and new != old


def _judge_values(new: Fact, old: Fact) -> Verdict:
    """Judge two values of one attribute of one subject, which has one value or many."""
    a, b = resolve_fact(new), resolve_fact(old)
    if a.attribute == "budget" and _has_other_topic(new, old):
        return "different"
    same, agree = _has_same_object(new, old), a.is_denied == b.is_denied
    if a.subject in _PLURAL_ROLES and not (same and agree):
        return "different"  # one friend is a nurse, another one a teacher
    if same and agree and _is_shortened_name(new, old):
        return "supersedes"
    if same:
        return "same" if agree else "supersedes"
    if (new.single and old.single) or (a.is_single and (new.single or old.single)):
        # `no longer at Nokia` does not end the job at Bosch.
        return "different" if a.is_denied else "supersedes"
    return "different"


def _has_other_topic(new: Fact, old: Fact) -> bool:
    """Whether two budgets have different topics, such as a trip and a kitchen.

    Topics in two scripts may be one thing, and a value without a topic continues the topic before."""
    if tokens.has_cjk(new.topic or "") != tokens.has_cjk(old.topic or ""):
        return False
    a, b = parse_statement(new.topic or "").words, parse_statement(old.topic or "").words
    return bool(a and b) and not a & b


def _is_shortened_name(new: Fact, old: Fact) -> bool:
    """Whether a firm or a person has now a part of the former name: that corrects the name, it does not lose detail."""
    is_name = resolve_fact(new).attribute in ("works_at", "preferred_name") and new.object[:1].isupper()
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
    """Whether one name is the other with less detail: Ann for Ann Lee, not York for New York or Ann for Ann-Marie."""
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
    if left.words == right.words and left.figures == right.figures:
        return compare_texts(left, right)
    is_ending = (left.is_ended or right.is_ended) and left.is_negated != right.is_negated
    if is_ending and compare_texts(left, right) == "supersedes":
        return "supersedes"
    if (
        is_vouched
        and _has_free_predicate(new, old)
        and _has_same_object(new, old)
        and resolve_fact(new).is_denied == resolve_fact(old).is_denied
        and not is_guarded(left, right)
    ):
        return "same"
    return "different"


def is_related(candidate: Candidate, memory: StoredMemory) -> bool:
    """Whether the facts have one attribute, or one ends or reverses the other."""
    new, old = candidate.fact, memory.fact
    if new is None or old is None:
        return False
    if (new.predicate, new.kind, new.subject) == (old.predicate, old.kind, old.subject):
        return True
    if has_same_subject(candidate, memory) and (
        resolve_fact(new).attribute == resolve_fact(old).attribute or has_ended(candidate, memory)
    ):
        return True
    return is_food_reversal(new, old, candidate.text, memory.text)


def is_repetition(candidate: Candidate, memory: StoredMemory) -> bool:
    """Whether both come from one turn and say one thing, as when a model reads what the rules have already read."""
    is_of_one_turn = not set(candidate.turns).isdisjoint(memory.turns)
    if has_other_time(candidate, memory) and not is_of_one_turn:
        return False
    if candidate.text == memory.text or is_same_claim(candidate.text, memory.text):
        return True
    if not is_of_one_turn or is_note(candidate.fact) or is_note(memory.fact):
        return False
    new, old = parse_statement(candidate.text), parse_statement(memory.text)
    if candidate.fact and memory.fact:
        if not parse_statement(candidate.fact.object).measure_overlap(parse_statement(memory.fact.object)):
            return False  # two facts about one person in one turn: the employer and the job
        if _has_same_meaning(candidate.fact, memory.fact) or _is_same_aversion(candidate.fact, memory.fact):
            return True
    return (
        new.measure_overlap(old) >= _REPETITION_SHARE
        and not is_guarded(new, old)
        and judge_candidate(candidate, memory) != "supersedes"
    )


def _has_same_meaning(new: Fact, old: Fact) -> bool:
    """Whether two facts of a turn have the same subject, kind and value under two predicates, one of which is free:
    to drink only tea is to prefer it."""
    if (new.kind, new.subject.casefold()) != (old.kind, old.subject.casefold()):
        return False
    if resolve_fact(new).is_denied != resolve_fact(old).is_denied:
        return False
    a, b = parse_statement(new.object), parse_statement(old.object)
    return (
        (new.kind in _FREE or _has_free_predicate(new, old))
        and bool(a.words)
        and a.words == b.words
        and a.figures == b.figures
    )


def _is_same_aversion(new: Fact, old: Fact) -> bool:
    """Whether by two facts of a turn somebody does not like and does not eat one thing."""
    a, b = resolve_fact(new), resolve_fact(old)
    averse = all((each.attribute == "cannot") != each.is_denied for each in (a, b) if each.attribute in _AVERSIONS)
    return averse and {a.attribute, b.attribute} == _AVERSIONS and _fold_food(new).split() == _fold_food(old).split()


def _has_free_predicate(new: Fact, old: Fact) -> bool:
    """Whether the name of one of the predicates does not say how many values it has."""
    return any(predicates.normalize_predicate(fact.kind, fact.predicate).single is None for fact in (new, old))
