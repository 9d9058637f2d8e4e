"""Whether a new statement says the same as a known one, supersedes it, or speaks of something else.

By subject, attribute and value where both have a fact, else by their words. Doubt is `different`: a memory too many can
be seen and taken away, two people's facts in one memory cannot be told apart again."""

from __future__ import annotations

import re
from typing import Literal

from muniment.memory.records import Candidate, Fact, Memory
from muniment.memory.rules import predicates, words
from muniment.memory.rules.reading import Reading, read
from muniment.memory.rules.reading_words import CONTRASTS, ROLES, SAME
from muniment.memory.rules.text import vocabulary

Verdict = Literal["same", "supersedes", "different"]
_ALIKE = 0.8  # share of common words from which two statements are about one thing
_VOUCHED = 0.5  # the same where the embedder takes them for one statement
_ABOUT = 0.7  # the same for a denial, which has words of its own
_CORRECTED = 0.5  # share of the shorter statement that a declared correction has in common with the known one
_LESS, _MORE = 0.5, 0.34  # how short a statement may be beside a longer one and still say it
_ONE_COUPLE = {"partner": "spouse"}
_HAPPENED = frozenset({"event", "experience"})
_LOCATIVE = r"(?:in|on|at|under|behind|beside|with|from|until|near)\b"
_COPULA = re.compile(
    rf"^(?:correction:\s*)?(?P<left>.+?)\s+(?P<verb>is named|(?:is|are|was)(?:\s+{_LOCATIVE})?"
    rf"|lives in|lives at|works at|works for|works as|leaves(?:\s+(?:from|at))?|starts at|goes to|ends at)\s+(?P<right>.+)$"
)
_COPULA_ZH = re.compile(r"^(?P<left>.+?)(?P<verb>叫|是|住在|在)(?P<right>.+)$")
_EATING = re.compile(r"^(?:[吃喝碰]|(?:eat|drink|have)\s+)")
_MUST_NOT = re.compile(r"不能|不可以|不许|cannot|can't|must not|not allowed|allerg|过敏", re.IGNORECASE)
_CHANGED = re.compile(
    r"\b(?:now|again|nowadays|started|learned)\b|现在|如今|又|爱上|喜欢上|迷上|终于|居然|竟然|开始|重新", re.IGNORECASE
)
_SOME_ZH = re.compile(r"一[家个所间座位名款本]")
_BARE = frozenset({"is", "are", "was"})
_NAMING = _BARE | {"is named", "叫", "是"}
_PLACE_ZH = re.compile(r".{1,4}|.*(?:[里上下旁边街路楼室市区处层旁]|那里|附近)")
_VALUE = re.compile(r"\b(?:favou?rite|preferred|next|current|number|size|address|password|code|deadline|birthday)\b")
_SEVERAL = vocabulary(
    """
    friend brother sister son daughter cousin child children colleague aunt uncle nephew niece roommate neighbour
    grandmother grandfather student client 朋友 哥哥 弟弟 姐姐 妹妹 儿子 女儿 同事 同学 邻居 室友 孩子
    """
)


def judge(candidate: Candidate, memory: Memory, *, vouched: bool = False) -> Verdict:
    """What the candidate is beside the memory. `vouched`: the embedder takes the two for one statement."""
    if another_time(candidate, memory):
        return "different"
    new, old = _fact(candidate.fact), _fact(memory.fact)
    if new is None or old is None:
        return compare(read(candidate.text), read(memory.text), vouched=vouched)
    if _subject(new) != _subject(old):
        return "different"
    if attribute(new) == attribute(old):
        return "supersedes" if _corrects(candidate, memory) else _values(new, old)
    if eats_again(new, old, candidate.text, memory.text):
        return "supersedes"
    return _attributes(new, old, read(candidate.text), read(memory.text), vouched=vouched)


def _corrects(candidate: Candidate, memory: Memory) -> bool:
    """`Joris, not Joost` is a correction of what is known of Joost; `the half marathon is on the 19th` of its day."""
    new, old = read(candidate.text), read(memory.text)
    if _takes_back(new, old):
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


def eats_again(new: Fact, old: Fact, said: str, known: str) -> bool:
    """Whether somebody likes now what was not eaten before: who goes without chocolate may like it all the same, so it has
    to be said that something has changed. What one must not eat one may like in any case."""
    if (attribute(old)[1], attribute(new)[1]) != ("cannot", "likes") or denied(new):
        return False
    if _MUST_NOT.search(known) or not _CHANGED.search(said):
        return False
    return words.fold(_EATING.sub("", old.object)).split() == words.fold(_EATING.sub("", new.object)).split()


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
    return a == b or (new.single and old.single and left.figures == right.figures and (a < b or b < a))


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


def compare(new: Reading, old: Reading, *, vouched: bool = False) -> Verdict:
    """Two statements by their words alone."""
    if new.said == old.said:
        return "same"
    if _other_owner(new, old) or _other_lead(new, old):
        return "different"
    if _takes_back(new, old):
        return "supersedes"
    if new.denies(old) != old.denies(new):
        return _denial(new, old)
    if swapped(new, old) or (new.planned != old.planned and (new.dated_past or old.dated_past)):
        return "different"
    if not (new.figures <= old.figures or old.figures <= new.figures):
        return _step(new, old)
    # Two names may have one stem: Clark and Clarke.
    if (new.words <= old.words or old.words <= new.words) and not names_differ(new, old):
        return _part(new, old)
    return _differing(new, old, vouched=vouched)


def _differing(new: Reading, old: Reading, *, vouched: bool) -> Verdict:
    """Each says something that the other does not: another value, other words for it, or another thing."""
    if _same_slot(new, old) or (new.corrects and _common(new, old) >= _CORRECTED):
        return "supersedes"
    if names_differ(new, old):
        return "different"
    if vouched and not guarded(new, old):
        return "same"
    near = len(new.words & old.words) / len(new.words | old.words)
    alike = near >= _ALIKE and new.figures == old.figures and not _cjk(new, old) and not contrast(new, old)
    return "same" if alike else "different"


def guarded(new: Reading, old: Reading) -> bool:
    """Whether something stands between two statements that look nearly the same: whose it is, who is named, which
    numbers, whether it is so, who did it to whom, or too few common words."""
    return (
        _other_owner(new, old)
        or new.figures != old.figures
        or new.denies(old) != old.denies(new)
        or new.planned != old.planned
        or names_differ(new, old)
        or contrast(new, old)
        or swapped(new, old)
        or (_cjk(new, old) and bool(new.words - old.words) and bool(old.words - new.words))
        or len(new.words & old.words) < _VOUCHED * len(new.words | old.words)
    )


def names_differ(new: Reading, old: Reading) -> bool:
    """Whether each names somebody or something that the other does not."""
    return bool(_own_names(new, old)) and bool(_own_names(old, new))


def contrast(new: Reading, old: Reading) -> bool:
    """Whether each is about another one of several: the left and the right door, the elder and the younger son."""
    added, gone = new.words - old.words, old.words - new.words
    return any(added & kinds and gone & kinds for kinds in CONTRASTS)


def _other_lead(new: Reading, old: Reading) -> bool:
    """Whether each begins with a name that the other does not have: somebody else did it."""
    return bool(new.lead and old.lead) and new.lead not in old.said and old.lead not in new.said


def _own_names(one: Reading, other: Reading) -> frozenset[str]:
    names = one.names | ({one.lead} if one.lead else frozenset())
    return names - set(other.said)


def _other_owner(new: Reading, old: Reading) -> bool:
    """The user's brother is not the user, nor the user's cousin; the user's brother Tom is Tom."""
    apart = {
        role
        for role, name in new.roles
        for other, said in old.roles
        if role == other and name and said and name != said
    }
    mine, theirs = {role for role, _ in new.roles}, {role for role, _ in old.roles}
    named = {role for role, name in new.roles if name and _mentions(old, name)}
    named |= {role for role, name in old.roles if name and _mentions(new, name)}
    return bool(apart) or mine - named != theirs - named


def _mentions(reading: Reading, name: str) -> bool:
    return name in reading.said or (words.has_cjk(name) and name in "".join(reading.said))


def swapped(new: Reading, old: Reading) -> bool:
    """Whether the same words have two of them in each other's place: `Tom lent Ben`, `Ben lent Tom`."""
    if new.words != old.words or len(new.order) != len(old.order) or new.passive != old.passive:
        return False
    apart = [n for n, (a, b) in enumerate(zip(new.order, old.order, strict=True)) if a != b]
    if not apart:
        return False
    a, b = new.order[apart[0] : apart[-1] + 1], old.order[apart[0] : apart[-1] + 1]
    for size in range(1, len(a) // 2 + 1):
        for other in range(1, len(a) - size):
            if (
                a[:size] == b[-size:]
                and a[-other:] == b[:other]
                and a[size:-other] == b[other:-size]
                and a[size:-other]
            ):
                return True
    return False


def _takes_back(new: Reading, old: Reading) -> bool:
    """`Braga, not Porto` supersedes what said Porto of the same thing."""
    rest = new.words & old.words - new.retracted
    return (
        bool(new.retracted)
        and new.retracted <= old.words | old.figures
        and bool(rest)
        and not new.retracted <= new.words
    )


def _denial(new: Reading, old: Reading) -> Verdict:
    if names_differ(new, old):
        return "different"
    added, gone = new.words - old.words, old.words - new.words
    if not new.words or not old.words or not (added and gone):
        return "supersedes" if new.words & old.words else "different"
    return "supersedes" if len(new.words & old.words) / len(new.words | old.words) >= _ABOUT else "different"


def _step(new: Reading, old: Reading) -> Verdict:
    """Other numbers of the same thing correct them, unless both tell what happened on a date."""
    if (new.dated_past and old.dated_past) or names_differ(new, old):
        return "different"
    if not (new.words - old.words) or not (old.words - new.words) or _same_slot(new, old):
        return "supersedes" if new.words & old.words else "different"
    return "supersedes" if new.corrects and _common(new, old) >= _CORRECTED else "different"


def _part(new: Reading, old: Reading) -> Verdict:
    """One says all that the other says, and maybe more."""
    longer, shorter = (new, old) if len(new.words) >= len(old.words) else (old, new)
    if new.words != old.words:
        if "except" in longer.said or "除" in longer.said:
            return "supersedes"
        least = _MORE if longer is new else _LESS
        if len(shorter.words) < least * len(longer.words) and len(shorter.words) < 3:
            return "different"
        if _compound(longer, shorter) or _possessed(longer, shorter):
            return "different"
    return "same"


def _possessed(longer: Reading, shorter: Reading) -> bool:
    """What the user's team does is not what the user does: the longer one begins with something of the subject's own."""
    english = longer.text.startswith("the user's ") and shorter.text.startswith("the user ")
    chinese = longer.text.startswith("用户的") and re.match("用户[^的]", shorter.text) is not None
    return (english or chinese) and bool(longer.order) and longer.order[0] not in shorter.words


def _compound(longer: Reading, shorter: Reading) -> bool:
    """Coffee cake is no coffee: the last word of the shorter statement goes on as another word in the longer one."""
    if not shorter.said or longer.said[: len(shorter.said)] != shorter.said:
        return False
    after = longer.said[len(shorter.said) :]
    return bool(after) and after[0] not in words.STOP and after[0] not in ("every", "each", "last", "next", "，")


def _common(new: Reading, old: Reading) -> float:
    least = min(len(new.words), len(old.words))
    return len(new.words & old.words) / least if least else 0.0


def _same_slot(new: Reading, old: Reading) -> bool:
    """Whether both give a value to the same definite thing: the user's bank is …, the router is in …."""
    return _slot(new) is not None and _slot(new) == _slot(old)


def _slot(reading: Reading) -> tuple[frozenset[str], str] | None:
    """The definite thing and the kind of value that a statement gives it; None when it does not read like that."""
    text = reading.text
    chinese = words.has_cjk(text)
    found = (_COPULA_ZH if chinese else _COPULA).match(text)
    if not found:
        return None
    thing, verb = read(found["left"]), found["verb"]
    if thing.words & _SEVERAL:
        return None
    if chinese:
        known = bool(thing.words) or verb == "住在"
        fits = _PLACE_ZH.fullmatch(found["right"]) if verb == "在" else not found["right"].endswith("的")
    else:
        known = found["left"].startswith("the ") and (bool(thing.words) or verb not in _BARE)
        fits = verb not in _BARE or _VALUE.search(found["left"]) or bool(reading.names & set(found["right"].split()))
    return (thing.words, "is" if verb in _NAMING else verb) if known and fits else None


def _cjk(new: Reading, old: Reading) -> bool:
    return words.has_cjk(new.text) or words.has_cjk(old.text)
