"""Whether a new statement says the same as a known one, supersedes it, or speaks of something else.

By subject, attribute and value where both have a fact, else by their words. Doubt is `different`: a memory too many can
be seen and taken away, two people's facts in one memory cannot be told apart again."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

from muniment.memory.domain.memory import Fact, Memory
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.language import tokens as words
from muniment.memory.rules.language.lazy_regex import late
from muniment.memory.rules.language.normalize import vocabulary
from muniment.memory.rules.merging.wording import Verdict, compare, guarded, takes_back
from muniment.memory.rules.statements import predicates
from muniment.memory.rules.statements.parse import Reading, read
from muniment.memory.rules.statements.parse_words import ROLES, SAME

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
_AREAS = vocabulary(
    "north south east west northern southern eastern western central downtown greater upper lower inner outer mr mrs ms dr prof professor"
)
_ONE_COUPLE = {"partner": "spouse"}
_HAPPENED = frozenset({"event", "experience"})
_EATING = late(r"^(?:[吃喝碰]|(?:eat|eating|drink|drinking|have|having)\s+)")
_LEFT = frozenset({"left", "quit"})
_STATUS = {"已婚": "married", "离异": "divorced"}
_WED = {"married": "married", "got_married": "married", "got_engaged": "engaged", "got_divorced": "divorced"}
_MUST_NOT = late(r"不能|不可以|不许|cannot|can't|must not|not allowed|allerg|过敏", re.IGNORECASE)
_CHANGED = late(
    r"\b(?:now|again|nowadays|started|learned)\b|现在|如今|又|爱上|喜欢上|迷上|终于|居然|竟然|开始|重新", re.IGNORECASE
)
_LATELY = timedelta(days=92)
# To departments and systems one moves otherwise, and within a town without a word of it.
_NO_HOME = late(
    r"\b(?:marketing|sales|engineering|finance|hr|support|design|product|operations|research|legal|accounting|management|team|plan|department|vim|windows|mac|macos|linux"
    r"|ubuntu|android|ios|iphone|google|apple|microsoft|amazon|slack|teams|notion|github|gitlab|python|java|rust)\b|[家楼层里面边]$|房|公寓|宿舍|办公|公司|单位|那里|这里|隔壁",
    re.IGNORECASE,
)
_SINCE = (("lives_in", "moved_to"), ("moved_to", "moved_to"))
_STAYS = late(r"\bfor\s+(?:an?|one|two|three|four|six|\d+|some|the)\b", re.IGNORECASE)
_SOME_ZH = late(r"一[家个所间座位名款本]")


def judge(candidate: Candidate, memory: Memory, *, vouched: bool = False) -> Verdict:
    """What the candidate is beside the memory. `vouched`: the embedder takes the two for one statement."""
    if another_time(candidate, memory):
        return "different"
    new, old = _fact(candidate.fact), _fact(memory.fact)
    if new is None or old is None:
        return compare(read(candidate.text), read(memory.text), vouched=vouched)
    if not one_subject(candidate, memory):
        return "different"
    if outlived(candidate, memory):
        return "supersedes"
    if attribute(new)[1] == attribute(old)[1]:
        return "supersedes" if _corrects(candidate, memory) else _values(new, old)
    if eats_again(new, old, candidate.text, memory.text):
        return "supersedes"
    return _attributes(new, old, read(candidate.text), read(memory.text), vouched=vouched)


def _corrects(candidate: Candidate, memory: Memory) -> bool:
    """`Joris, not Joost` is a correction of what is known of Joost; `the half marathon is on the 19th` of its day."""
    new, old = read(candidate.text), read(memory.text)
    if takes_back(new, old):
        return True
    fact, known = candidate.fact, memory.fact
    if fact is None or known is None or fact.kind != "goal" or denied(fact) != denied(known):
        return False
    less = read(fact.object).words
    named = re.search(rf"\bthe {re.escape(words.fold(fact.object))}\b", new.text) and less
    return (
        bool(named)
        and less < read(known.object).words
        and bool(new.figures - old.figures and old.figures - new.figures)
    )


def one_subject(candidate: Candidate, memory: Memory) -> bool:
    """Whether both facts are about one: `user's spouse` is whoever a statement calls so by name, and of whom there is one."""
    if candidate.fact is None or memory.fact is None:
        return False
    new, old = _subject(candidate.fact), _subject(memory.fact)
    if new == old:
        return True
    pairs = ((new, old, memory.text), (old, new, candidate.text))
    return any(
        whose == f"user's {role}" and role in _ALONE and bool(said) and name.startswith(said)
        for whose, name, text in pairs
        for role, said in read(text).roles
    )


def eats_again(new: Fact, old: Fact, said: str, known: str) -> bool:
    """Whether somebody likes now what was not eaten before: who goes without chocolate may like it all the same, so it has
    to be said that something has changed. What one must not eat one may like in any case."""
    if (attribute(old)[1], attribute(new)[1]) != ("cannot", "likes") or denied(new):
        return False
    if _MUST_NOT.search(known) or not _CHANGED.search(said):
        return False
    return words.fold(_EATING.sub("", old.object)).split() == words.fold(_EATING.sub("", new.object)).split()


def outlived(candidate: Candidate, memory: Memory) -> bool:
    """Whether what is known has ended by what is said to have happened: one moved, left a firm, married, or lost a taste."""
    return moved_away(candidate, memory) or _left(candidate, memory) or _lost(candidate, memory)


def _left(candidate: Candidate, memory: Memory) -> bool:
    new, old = candidate.fact, memory.fact
    if new is None or old is None or new.negated or not _lately(candidate, memory):
        return False
    if attribute(old)[1] == "works_at":
        return new.predicate in _LEFT and not denied(old) and _same_object(new, old)
    wed = _WED.get(new.predicate) if attribute(old)[1] == "marital_status" else None
    known = words.fold(old.object)
    return wed is not None and _STATUS.get(known, known) != wed


def _lost(candidate: Candidate, memory: Memory) -> bool:
    """Whether one no longer likes what one liked to eat or drink, or likes it by now, with the verb or without."""
    new, old = candidate.fact, memory.fact
    if new is None or old is None or {attribute(new)[1], attribute(old)[1]} != {"likes"} or denied(new) == denied(old):
        return False
    changed = read(candidate.text).ended or _CHANGED.search(candidate.text)
    return bool(changed) and words.fold(_EATING.sub("", old.object)) == words.fold(_EATING.sub("", new.object))


def _lately(candidate: Candidate, memory: Memory) -> bool:
    when = candidate.event_time
    return when is None or when >= memory.updated_at - _LATELY


def moved_away(candidate: Candidate, memory: Memory) -> bool:
    """Whether one lives somewhere else now: who has moved lately no longer lives where they are known to live, and who lives
    or has moved somewhere else since no longer where they had moved, unless that is told with its day, as what was."""
    new, old = candidate.fact, memory.fact
    if new is None or old is None:
        return False
    told = attribute(new)[1], attribute(old)[1]
    since = told in _SINCE and memory.event_time is None and _settles(old, memory.text)
    elsewhere = not _same_object(replace(new, single=True), replace(old, single=True))
    return (
        (since or told == ("moved_to", "lives_in"))
        and _lately(candidate, memory)
        and elsewhere
        and not denied(new)
        and _subject(new) not in _SOME
        and _settles(new, candidate.text)
    )


def _settles(fact: Fact, text: str) -> bool:
    """Whether a move is one to live there."""
    return not _NO_HOME.search(fact.object) and not _STAYS.search(text)


def attribute(fact: Fact) -> tuple[str, str]:
    """What a fact is about, whoever named it: its subject and its predicate."""
    said = "_".join(SAME.get(word, word) for word in fact.predicate.split("_"))
    found = predicates.name(fact.kind, ROLES.get(said, said), _subject(fact)).predicate
    return _subject(fact), _ONE_COUPLE.get(found, found)


def another_time(candidate: Candidate, memory: Memory) -> bool:
    """What happened at two times happened twice, in whatever words."""
    new, old = candidate.event_time, memory.event_time
    happened = candidate.kind == "episodic" or (candidate.fact is not None and candidate.fact.kind in _HAPPENED)
    return happened and new is not None and old is not None and new != old


def _fact(fact: Fact | None) -> Fact | None:
    """A note has no structure: its object is its text."""
    return None if fact is None or fact.predicate == "note" else fact


def _subject(fact: Fact) -> str:
    return predicates.subject(fact.subject).casefold()


def denied(fact: Fact) -> bool:
    """Whether the fact is said not to be so; to dislike is to like, denied."""
    return fact.negated != predicates.name(fact.kind, fact.predicate, _subject(fact)).negated


def _values(new: Fact, old: Fact) -> Verdict:
    """The same attribute of the same subject: it has one value or many."""
    if _of_another(new, old):
        return "different"
    same = _same_object(new, old)
    agree = denied(new) == denied(old)
    if _subject(new) in _SOME and not (same and agree):
        return "different"  # one friend is a nurse, and another a teacher
    one = predicates.name(new.kind, new.predicate, _subject(new)).single
    if same and agree and _shortened(new, old):
        return "supersedes"
    if same:
        return "same" if agree else "supersedes"
    if (new.single and old.single) or (one is True and (new.single or old.single)):
        # `no longer at Nokia` takes nothing from being at Bosch.
        return "different" if denied(new) else "supersedes"
    return "different"


def _of_another(new: Fact, old: Fact) -> bool:
    """Whether each is for something of its own: the budget of a trip says nothing of the kitchen's.

    Words of two scripts may mean one thing, and a later word without any is about what was spoken of."""
    if attribute(new)[1] != "budget" or words.has_cjk(new.topic or "") != words.has_cjk(old.topic or ""):
        return False
    mine, theirs = read(new.topic or "").words, read(old.topic or "").words
    return bool(mine and theirs) and not mine & theirs


def _shortened(new: Fact, old: Fact) -> bool:
    """Whether a firm or a person is now called by a part of the former name: that is no lesser detail, but a correction."""
    named = attribute(new)[1] in ("works_at", "preferred_name") and new.object[:1].isupper()
    return named and new.single and len(words.fold(new.object).split()) < len(words.fold(old.object).split())


def _same_object(new: Fact, old: Fact) -> bool:
    left, right = read(_SOME_ZH.sub("", new.object)), read(_SOME_ZH.sub("", old.object))
    a, b = left.words | left.figures, right.words | right.figures
    if not a or not b:
        return words.fold(new.object).split() == words.fold(old.object).split()
    if words.has_cjk(new.object + old.object):
        x, y = "".join(left.order), "".join(right.order)
        named = bool(new.persons or old.persons)
        return left.figures == right.figures and (x == y or (new.single and not named and (x in y or y in x)))
    if a == b or not (new.single and old.single and left.figures == right.figures):
        return a == b
    less, more = (new, old) if a < b else (old, new)
    return (a < b or b < a) and _lesser(less.object, more.object)


def _lesser(less: str, more: str) -> bool:
    """Whether one name is the other with less detail: `Ann` is short for `Ann Lee`, but York is not New York, nor Ann Ann-Marie."""
    parts, all_ = less.split(), more.replace(",", "").split()
    if any(
        part[:1].isupper() and part not in all_ and any(one.startswith(f"{part}-") for one in all_) for part in parts
    ):
        return False
    before = all_[: len(all_) - len(parts)] if all_[-len(parts) :] == parts else []
    return not any(one[:1].isupper() and words.fold(one).rstrip(".") not in _AREAS for one in before)


def _attributes(new: Fact, old: Fact, left: Reading, right: Reading, *, vouched: bool) -> Verdict:
    """Two attributes of one subject: the same only in the same words, but what is over ends what was."""
    verdict = compare(left, right, vouched=False)
    if left.words == right.words and left.figures == right.figures:
        return verdict
    if verdict == "supersedes" and (left.ended or right.ended) and left.denied != right.denied:
        return verdict
    unknown = any(predicates.name(one.kind, one.predicate).single is None for one in (new, old))
    if vouched and unknown and _same_object(new, old) and denied(new) == denied(old) and not guarded(left, right):
        return "same"
    return "different"
