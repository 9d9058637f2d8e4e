"""Two statements by their words alone: the same, superseded or different, and what holds them apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Set as AbstractSet
from itertools import groupby, takewhile
from typing import Literal

from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.normalize import parse_vocabulary
from muniment.memory.rules.statements.numbered import has_other_number
from muniment.memory.rules.statements.parse import ParsedStatement, canonicalize_word, parse_statement
from muniment.memory.rules.statements.parse_words import CONTRASTS, OPPOSED_DIRECTIONS, ROLES, ROLES_ZH
from muniment.memory.rules.statements.people import LOCATED_PERSON_ZH, POSSESSIVE_ZH
from muniment.memory.rules.statements.possession import has_other_owner

Verdict = Literal["same", "supersedes", "different"]
_ALIKE_SHARE = 0.8  # share of common words from which two statements are about one thing
_VOUCHED_SHARE = 0.5  # the same where the embedder takes them for one statement
_DENIAL_SHARE = 0.7  # the same for a denial, which has words of its own
_CORRECTION_SHARE = 0.5  # share of the shorter statement that a declared correction has in common with the known one
_LESS_SHARE, _MORE_SHARE = 0.5, 0.34  # how short a statement may be beside a longer one and still say it
_LOCATIVE = r"(?:in|on|at|under|behind|beside|with|from|until|near)\b"
_COPULA = lazy_compile(
    rf"^(?:correction:\s*)?(?P<left>.+?)\s+(?P<verb>is named|(?:is|are|was)(?:\s+{_LOCATIVE})?"
    rf"|lives in|lives at|works at|works for|works as|leaves(?:\s+(?:from|at))?|starts at|goes to|ends at)\s+(?P<right>.+)$"
)
_DONE_BY = lazy_compile(
    r"\b(?:is|are|was|were|be|been|being|got) (?P<verb>\w+)\b.*?\bby (?:(?:the|an?|my) )?(?P<by>\w+)"
)
_COPULA_ZH = lazy_compile(r"^(?P<left>.+?)(?P<verb>叫|是|住在|(?<!正)在)(?P<right>.+)$")
# What is so every day, or on a day, is nobody's and nothing's own.
_WHEN_ZH = lazy_compile(
    r"每.*|.*[都也就还只总才又]|(?:(?:周|星期)[一二三四五六日末天]|[今明昨]天|\d+月\d+日|[上下中]午|[早晚]上)+"
)
_TOGETHER_ZH = lazy_compile(
    r"[和跟与]|[^最选一](?:恋|想|爱|怕|恨|信|帮|教|送|请|借)的$"
)  # two may be several things, and one may V several
_ONE_ZH = lazy_compile(r"有(?:[一几两]?[个位名只条]|一)")
_DOING_ZH = lazy_compile(
    r"(?:差一?点儿?|险些|几乎|[常总曾正刚都也还又再就才只]|经常|有时|偶尔|一直|已经|打算|计划|准备|想|要|会|能|喜欢|不)$"
)
_BOND = lazy_compile(
    r"(?P<a>.+?) (?:is|was) (?:(?P<b>.+?)['’]s (?P<r>[\w-]+)|(?:(?:an?|the) )?(?P<of>[\w-]+) of (?P<c>.+?))\.?"
)
_PREPOSITIONS = parse_vocabulary(
    "at in on to from with for by near behind under over into about of during before after through as via against without"
)
_BARE = frozenset({"is", "are", "was"})
_NAMING = _BARE | {"is named", "叫", "是"}
# What somebody does, or is for, is no value of theirs: `is reading Dune`, `is in favour of …`.
_NO_VALUE = lazy_compile(
    r"(?:\w{3,}|su|do|go|ly|us|ow)ing\b|(?:\w+er|more \w+|less \w+) than\b|(?:often|always|usually|sometimes|rarely|regularly)\b|(?:to be )?\w+ by\b|[\w .-]+['’]s [\w-]+$|(?:what|where|who|how|why)\b|(?:favou?r|charge|love|touch|need|search|possession|support) (?:of|with)\b"
)
_PLACE_ZH = lazy_compile(r".{1,4}|.*(?:[里上下旁边街路楼室市区处层旁]|那里|附近)")
_PEOPLE = frozenset((*ROLES.values(), *ROLES_ZH.values()))
_VALUE = lazy_compile(r"\b(?:favou?rite|preferred|next|current|number|size|address|password|code|deadline|birthday)\b")
_SEVERAL = parse_vocabulary(
    """
    friend brother sister son daughter cousin child children colleague aunt uncle nephew niece roommate neighbour
    grandmother grandfather student client 朋友 哥哥 弟弟 姐姐 妹妹 儿子 女儿 同事 同学 邻居 室友 孩子
    """
)


def compare_texts(new: ParsedStatement, old: ParsedStatement, *, is_vouched: bool = False) -> Verdict:
    """Two statements by their words alone."""
    if new.tokens == old.tokens:
        return "same"
    if is_about_another(new, old):
        return "different"
    if is_retraction(new, old):
        return "supersedes"
    if new.contradicts(old) != old.contradicts(new):
        return _judge_denial(new, old)
    if has_swapped_roles(new, old) or (new.is_planned != old.is_planned and (new.is_dated_past or old.is_dated_past)):
        return "different"
    if not (new.figures <= old.figures or old.figures <= new.figures):
        return _judge_figures(new, old)
    # Two names may have one stem: Clark and Clarke.
    if (new.words <= old.words or old.words <= new.words) and not has_name_conflict(new, old):
        return _judge_part(new, old)
    return _compare_differing(new, old, is_vouched=is_vouched)


def _compare_differing(new: ParsedStatement, old: ParsedStatement, *, is_vouched: bool) -> Verdict:
    """Each says something that the other does not: another value, other words for it, or another thing."""
    if has_same_slot(new, old) or (new.is_correction and _compute_common_share(new, old) >= _CORRECTION_SHARE):
        return "supersedes"
    if has_name_conflict(new, old):
        return "different"
    if is_vouched and not is_guarded(new, old):
        return "same"
    near = len(new.words & old.words) / len(new.words | old.words)
    alike = (
        near >= _ALIKE_SHARE and new.figures == old.figures and not _has_cjk(new, old) and not has_contrast(new, old)
    )
    return "same" if alike else "different"


def is_guarded(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether something stands between two statements that look nearly the same: whose it is, who is named, which
    numbers, whether it is so, who did it to whom, or too few common words."""
    return (
        is_incompatible(new, old)
        or _has_other_place(new, old)
        or (_has_cjk(new, old) and bool(new.words - old.words) and bool(old.words - new.words))
        or len(new.words & old.words) < _VOUCHED_SHARE * len(new.words | old.words)
    )


def _has_other_place(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether all that differs is one word behind the same preposition: bread from the bakery is none from the market."""
    added, gone = new.words - old.words, old.words - new.words
    if len(added) != 1 or len(gone) != 1:
        return False
    mine, theirs = _find_preposition(new, *added), _find_preposition(old, *gone)
    return mine is not None and mine == theirs


def _find_preposition(statement: ParsedStatement, word: str) -> str | None:
    """The preposition that a word stands behind, with an article between them or not."""
    at = next((n for n, said in enumerate(statement.tokens) if canonicalize_word(said) == word), 0)
    before = [
        said
        for said in statement.tokens[max(0, at - 2) : at]
        if said not in ("the", "a", "an", "his", "her", "their", "my")
    ]
    return before[-1] if before and before[-1] in _PREPOSITIONS else None


def is_incompatible(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether two statements cannot say the same, in however many words: see `guarded`."""
    return (
        _has_other_owner(new, old)
        or new.figures != old.figures
        or new.contradicts(old) != old.contradicts(new)
        or new.is_planned != old.is_planned
        or has_name_conflict(new, old)
        or has_contrast(new, old)
        or has_swapped_roles(new, old)
    )


def is_about_another(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether the two are about different persons, what belongs to different persons, or things of different numbers."""
    return _has_other_owner(new, old) or _has_other_lead(new, old) or has_other_number(new, old)


def has_name_conflict(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether each names somebody or something that the other does not."""
    return bool(_list_own_names(new, old)) and bool(_list_own_names(old, new))


def has_contrast(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether each is about another one of several: the left and the right door, the elder and the younger son."""
    added, gone = new.words - old.words, old.words - new.words
    return any(added & kinds and gone & kinds for kinds in CONTRASTS)


def _has_other_lead(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether each begins with a name that the other does not have: somebody else did it."""
    return (
        bool(new.first_word and old.first_word)
        and new.first_word not in old.tokens
        and old.first_word not in new.tokens
    )


def _list_own_names(one: ParsedStatement, other: ParsedStatement) -> frozenset[str]:
    names = one.names | ({one.first_word} if one.first_word else frozenset())
    return names - set(other.tokens) - other.names


def _has_other_owner(new: ParsedStatement, old: ParsedStatement) -> bool:
    """The user's brother is not the user, nor the user's cousin, and his phone is not theirs; the user's brother Tom is Tom."""
    apart = {
        role
        for role, name in new.roles
        for other, said in old.roles
        if role == other and name and said and name != said
    }
    mine, theirs = {role for role, _ in new.roles}, {role for role, _ in old.roles}
    named = {role for role, name in new.roles if name and _has_name(old, name)}
    named |= {role for role, name in old.roles if name and _has_name(new, name)}
    return bool(apart) or mine - named != theirs - named or has_other_owner(new, old)


def _has_name(reading: ParsedStatement, name: str) -> bool:
    return name in reading.tokens or (tokens.has_cjk(name) and name in "".join(reading.tokens))


def has_swapped_roles(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether something has another part in each: it stands in another's place, or is where the other comes from."""
    return _is_exchanged(new, old) or _has_opposed_ways(new, old)


def _is_exchanged(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether the same words have two of them in each other's place: `Tom lent Ben`, `Ben lent Tom`."""
    mine, theirs = _parse_bond(new), _parse_bond(old)
    if mine and theirs and mine[1] == theirs[1] and mine[0] == theirs[2] != mine[2] == theirs[0]:
        return True
    if new.words == old.words and (_is_redirected(new, old) or _is_redirected(old, new)):
        return True
    if new.is_passive != old.is_passive:
        return _is_active_inverse(*((new, old) if new.is_passive else (old, new)))
    if new.words != old.words or len(new.content) != len(old.content):
        return False
    apart = [n for n, (a, b) in enumerate(zip(new.content, old.content, strict=True)) if a != b]
    if not apart:
        return False
    a, b = new.content[apart[0] : apart[-1] + 1], old.content[apart[0] : apart[-1] + 1]
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


def _is_redirected(one: ParsedStatement, other: ParsedStatement) -> bool:
    """Whether what one has behind a preposition is elsewhere in the other: `Ana reports to Ben`, `Ben reports to Ana`."""
    return any(
        way in other.tokens and what in other.words and (way, what) not in other.directions
        for way, what in one.directions
    )


def _parse_bond(statement: ParsedStatement) -> tuple[str, str, str] | None:
    """Who is what to whom: `Ana is Ben's boss`, `Ana is the boss of Ben`."""
    found = _BOND.fullmatch(statement.text)
    return (found["a"], found["r"] or found["of"], found["b"] or found["c"]) if found else None


def _is_active_inverse(passive: ParsedStatement, active: ParsedStatement) -> bool:
    """Whether somebody is done to what they do: `Tom was hired by Ben`, `Tom hired Ben`."""
    found, do = _DONE_BY.search(passive.text), [canonicalize_word(one) for one in active.tokens]
    if not found or not {verb := canonicalize_word(found["verb"]), by := canonicalize_word(found["by"])} <= set(do):
        return False
    return do.index(verb) < do.index(by)


def _has_opposed_ways(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether one thing has the opposite part in each: the train to Riga and from Riga, the cake for Tom and by Tom."""
    mine, theirs = _map_single_ways(new), _map_single_ways(old)
    return any({mine[what], theirs[what]} in OPPOSED_DIRECTIONS for what in mine.keys() & theirs.keys())


def _map_single_ways(statement: ParsedStatement) -> dict[str, str]:
    """What stands behind one such word only; from Riga to Riga is no way."""
    times = Counter(what for _, what in statement.directions)
    return {what: way for way, what in statement.directions if times[what] == 1}


def is_retraction(new: ParsedStatement, old: ParsedStatement) -> bool:
    """`Braga, not Porto` supersedes what said Porto of the same thing."""
    rest = new.words & old.words - new.retracted_words
    return (
        bool(new.retracted_words)
        and new.retracted_words <= old.words | old.figures
        and bool(rest)
        and not new.retracted_words <= new.words
    )


def _judge_denial(new: ParsedStatement, old: ParsedStatement) -> Verdict:
    if has_name_conflict(new, old) or has_swapped_roles(new, old):
        return "different"
    added, gone = new.words - old.words, old.words - new.words
    if not new.words or not old.words or not (added and gone):
        return "supersedes" if new.words & old.words else "different"
    return "supersedes" if len(new.words & old.words) / len(new.words | old.words) >= _DENIAL_SHARE else "different"


def _judge_figures(new: ParsedStatement, old: ParsedStatement) -> Verdict:
    """Other numbers of the same thing correct them, unless both tell what happened on a date."""
    if (new.is_dated_past and old.is_dated_past) or has_name_conflict(new, old):
        return "different"
    if not (new.words - old.words) or not (old.words - new.words) or has_same_slot(new, old):
        return "supersedes" if new.words & old.words else "different"
    return "supersedes" if new.is_correction and _compute_common_share(new, old) >= _CORRECTION_SHARE else "different"


def _judge_part(new: ParsedStatement, old: ParsedStatement) -> Verdict:
    """One says all that the other says, and maybe more."""
    longer, shorter = (new, old) if len(new.words) >= len(old.words) else (old, new)
    if new.words != old.words:
        if "except" in longer.tokens or "除" in longer.tokens:
            return "supersedes"
        least = _MORE_SHARE if longer is new else _LESS_SHARE
        if len(shorter.words) < least * len(longer.words) and len(shorter.words) < 3:
            return "different"
        if _is_compound(longer, shorter) or _is_possessed(longer, shorter):
            return "different"
    return "same"


def _is_possessed(longer: ParsedStatement, shorter: ParsedStatement) -> bool:
    """What the user's team does is not what the user does: the longer one begins with something of the subject's own."""
    english = longer.text.startswith("the user's ") and shorter.text.startswith("the user ")
    chinese = longer.text.startswith("用户的") and re.match("用户[^的]", shorter.text) is not None
    return (english or chinese) and bool(longer.content) and longer.content[0] not in shorter.words


def _is_compound(longer: ParsedStatement, shorter: ParsedStatement) -> bool:
    """Coffee cake is no coffee: the last word of the shorter statement goes on as another word in the longer one."""
    if not shorter.tokens or longer.tokens[: len(shorter.tokens)] != shorter.tokens:
        return False
    after = longer.tokens[len(shorter.tokens) :]
    return bool(after) and after[0] not in tokens.STOP_WORDS and after[0] not in ("every", "each", "last", "next", "，")


def _compute_common_share(new: ParsedStatement, old: ParsedStatement) -> float:
    least = min(len(new.words), len(old.words))
    return len(new.words & old.words) / least if least else 0.0


def has_same_slot(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether both give a value to the same definite thing: the user's bank is …, the router is in …."""
    return (
        _parse_slot(new) is not None
        and _parse_slot(new) == _parse_slot(old)
        and min(_count_gone_names(new, old), _count_gone_names(old, new)) < 2
    )


def _count_gone_names(one: ParsedStatement, other: ParsedStatement) -> int:
    """How many people or places one of them names that the other does not: a value has one."""
    named = [word.strip(".,").removesuffix("'s") for word in one.text.split()]
    groups = [set(some) for known, some in groupby(named, key=one.names.__contains__) if known]
    return sum(not group & other.names for group in groups)


def is_whereabouts(reading: ParsedStatement) -> bool:
    """Whether it tells what a person is in, at or with: that may be several things."""
    slot = _parse_slot(reading)
    if slot is None:
        return False
    if slot[1] == "在":
        return slot[0] <= _PEOPLE or bool(LOCATED_PERSON_ZH.match(reading.text))
    return slot[0] <= _PEOPLE and slot[1].startswith(("is ", "are ", "was "))


def _parse_slot(reading: ParsedStatement) -> tuple[frozenset[str | tuple[str, str]], str] | None:
    """The definite thing and the kind of value that a statement gives it; None when it does not read like that."""
    text = reading.text
    chinese = tokens.has_cjk(text)
    found = (_COPULA_ZH if chinese else _COPULA).match(text)
    if not found:
        return None
    thing, verb = parse_statement(found["left"]), found["verb"]
    if thing.words & _SEVERAL:
        return None
    if chinese:
        if verb == "是" and (_WHEN_ZH.fullmatch(found["left"]) or _TOGETHER_ZH.search(found["left"])):
            return None
        # One of several, and what is done somewhere, has no value of its own.
        if (verb == "叫" and _ONE_ZH.search(found["left"])) or (verb == "在" and _DOING_ZH.search(found["left"])):
            return None
        known = bool(thing.words) or verb == "住在"
        fits = _PLACE_ZH.fullmatch(found["right"]) if verb == "在" else not POSSESSIVE_ZH.match(found["right"])
    else:
        known = found["left"].startswith("the ") and (bool(thing.words) or verb not in _BARE)
        if _NO_VALUE.match(found["right"]):
            return None
        fits = verb not in _BARE or _VALUE.search(found["left"]) or _is_named(found["right"], reading.names)
    return (
        (thing.words | thing.figures | thing.directions, "is" if verb in _NAMING else verb) if known and fits else None
    )


def _is_named(value: str, names: AbstractSet[str]) -> bool:
    """Whether a value is a name, and not what is done to, with or through somebody."""
    before = list(takewhile(lambda word: word not in names, said := value.split()))
    return len(before) < len(said) and not _PREPOSITIONS & set(before)


def _has_cjk(new: ParsedStatement, old: ParsedStatement) -> bool:
    return tokens.has_cjk(new.text) or tokens.has_cjk(old.text)
