"""Two statements by their words alone: the same, superseded or different, and the guards that keep them apart."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Set as AbstractSet
from itertools import groupby, takewhile
from typing import Literal

from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon
from muniment.memory.rules.statements.numbered import has_other_number
from muniment.memory.rules.statements.parse import ParsedStatement, canonicalize_word, parse_statement
from muniment.memory.rules.statements.parse_words import CONTRASTS, OPPOSED_DIRECTIONS, ROLES, ROLES_ZH
from muniment.memory.rules.statements.people import LOCATED_PERSON_ZH, POSSESSIVE_ZH
from muniment.memory.rules.statements.possession import has_other_owner

Verdict = Literal["same", "supersedes", "different"]
_ALIKE_SHARE = 0.8  # share of common words from which two statements are about one thing
_VOUCHED_SHARE = 0.5  # the same where by the embedder they are one statement
_DENIAL_SHARE = 0.7  # the same for a denial, which has additional words
_LEAST_SHARE = 0.5  # share of the shorter statement's words below which no rule finds that two are about one thing
_CORRECTION_SHARE = 0.5  # share of the shorter statement that an explicit correction has in common with the older one
_LESS_SHARE, _MORE_SHARE = 0.5, 0.34  # least share of a longer statement's words in a shorter one that says the same
_LOCATIVE = r"(?:in|on|at|under|behind|beside|with|from|until|near)\b"
_COPULA = lazy_compile(
    rf"^(?:correction:\s*)?(?P<left>.+?)\s+(?P<verb>is named|(?:is|are|was)(?:\s+{_LOCATIVE})?"
    r"|lives in|lives at|works at|works for|works as|leaves(?:\s+(?:from|at))?|starts at|goes to|ends at)"
    r"\s+(?P<right>.+)$"
)
_DONE_BY = lazy_compile(
    r"\b(?:is|are|was|were|be|been|being|got) (?P<verb>\w+)\b.*?\bby (?:(?:the|an?|my) )?(?P<by>\w+)"
)
# What changes stands before it, and what it is then behind it.
_MOVED_TO = lazy_compile(
    r"\b(?:moved (?:\w+ ){0,4}?|(?:relocated|changed|switched|renamed|postponed|rescheduled) )to\b"
    r"|[换搬移调挪转]到|换成|提前到"
)
_COPULA_ZH = lazy_compile(r"^(?P<left>.+?)(?P<verb>叫|是|住在|(?<!正)在)(?P<right>.+)$")
# A time is no thing with a value.
_WHEN_ZH = lazy_compile(
    r"每.*|.*[都也就还只总才又]|(?:(?:周|星期)[一二三四五六日末天]|[今明昨]天|\d+月\d+日|[上下中]午|[早晚]上)+"
)
_TOGETHER_ZH = lazy_compile(
    r"[和跟与]|[^最选一](?:恋|想|爱|怕|恨|信|帮|教|送|请|借)的$"
)  # two people may be several things, and one may do something to several
_ONE_ZH = lazy_compile(r"有(?:[一几两]?[个位名只条]|一)")
_DOING_ZH = lazy_compile(
    r"(?:差一?点儿?|险些|几乎|[常总曾正刚都也还又再就才只]|经常|有时|偶尔|一直|已经|打算|计划|准备|想|要|会|能|喜欢|不)$"
)
_BOND = lazy_compile(
    r"(?P<a>.+?) (?:is|was) (?:(?P<b>.+?)['’]s (?P<r>[\w-]+)|(?:(?:an?|the) )?(?P<of>[\w-]+) of (?P<c>.+?))\.?"
)
_PREPOSITIONS = load_lexicon("merging.en").get_words("prepositions")
_BARE = frozenset({"is", "are", "was"})
_NAMING = _BARE | {"is named", "叫", "是"}
# An activity or an attitude is no value: `is reading Dune`, `is in favour of …`.
_NO_VALUE = lazy_compile(
    r"(?:\w{3,}|su|do|go|ly|us|ow)ing\b|(?:\w+er|more \w+|less \w+) than\b"
    r"|(?:often|always|usually|sometimes|rarely|regularly)\b|(?:to be )?\w+ by\b|[\w .-]+['’]s [\w-]+$"
    r"|(?:what|where|who|how|why)\b|(?:favou?r|charge|love|touch|need|search|possession|support) (?:of|with)\b"
)
_PLACE_ZH = lazy_compile(r".{1,4}|.*(?:[里上下旁边街路楼室市区处层旁]|那里|附近)")
_PEOPLE = frozenset((*ROLES.values(), *ROLES_ZH.values()))
_VALUE = lazy_compile(r"\b(?:favou?rite|preferred|next|current|number|size|address|password|code|deadline|birthday)\b")
_SEVERAL = load_lexicon("merging.en").get_words("several") | load_lexicon("merging.zh").get_words("several")


def compare_texts(new: ParsedStatement, old: ParsedStatement, *, is_vouched: bool = False) -> Verdict:
    """Judge two statements by their words alone. `is_vouched`: by the embedder they are one statement."""
    if new.tokens == old.tokens:
        return "same"
    if not _may_be_one(new, old) or is_about_another(new, old):
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


def _may_be_one(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether the two have enough in common to say the same, or for one to supersede the other: half of the shorter
    one's words, a value for the same thing, or a word that is taken back. Most neighbours have less."""
    shorter = min(len(new.words), len(old.words))
    return len(new.words & old.words) >= _LEAST_SHARE * shorter or bool(new.retracted_words) or has_same_slot(new, old)


def _compare_differing(new: ParsedStatement, old: ParsedStatement, *, is_vouched: bool) -> Verdict:
    """Judge two statements that each have words of their own: another value, other wording, or another thing."""
    if has_same_slot(new, old) or _is_corrected(new, old):
        return "supersedes"
    if has_name_conflict(new, old):
        return "different"
    if is_vouched and not is_guarded(new, old):
        return "same"
    share = len(new.words & old.words) / len(new.words | old.words)
    if share < _ALIKE_SHARE or new.figures != old.figures or _has_cjk(new, old) or has_contrast(new, old):
        return "different"
    return "same"


def is_guarded(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether two similar statements differ in owner, names, numbers, negation, roles or place, or have too few common
    words."""
    return (
        is_incompatible(new, old)
        or _has_other_place(new, old)
        or (_has_cjk(new, old) and bool(new.words - old.words) and bool(old.words - new.words))
        or len(new.words & old.words) < _VOUCHED_SHARE * len(new.words | old.words)
    )


def _has_other_place(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether only one word behind the same preposition differs: bread from the bakery, bread from the market."""
    added, gone = new.words - old.words, old.words - new.words
    if len(added) != 1 or len(gone) != 1:
        return False
    preposition = _find_preposition(new, *added)
    return preposition is not None and preposition == _find_preposition(old, *gone)


def _find_preposition(statement: ParsedStatement, word: str) -> str | None:
    """Return the preposition before a word, with or without an article between them."""
    at = next((n for n, token in enumerate(statement.tokens) if canonicalize_word(token) == word), 0)
    articles = ("the", "a", "an", "his", "her", "their", "my")
    before = [token for token in statement.tokens[max(0, at - 2) : at] if token not in articles]
    return before[-1] if before and before[-1] in _PREPOSITIONS else None


def is_incompatible(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether two statements differ in owner, numbers, negation, plan, names, contrast or roles."""
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
    """Whether the two are about different persons, belongings of different persons, or things of different numbers."""
    return _has_other_owner(new, old) or _has_other_lead(new, old) or has_other_number(new, old)


def has_name_conflict(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether each has a name that the other does not have."""
    return bool(_list_own_names(new, old)) and bool(_list_own_names(old, new))


def has_contrast(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether each is about another one of several: the left and the right door, the elder and the younger son."""
    added, gone = new.words - old.words, old.words - new.words
    return any(added & kinds and gone & kinds for kinds in CONTRASTS)


def _has_other_lead(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether each begins with a name that the other does not have."""
    return (
        bool(new.first_word and old.first_word)
        and new.first_word not in old.tokens
        and old.first_word not in new.tokens
    )


def _list_own_names(statement: ParsedStatement, other: ParsedStatement) -> frozenset[str]:
    names = statement.names | ({statement.first_word} if statement.first_word else frozenset())
    return names - set(other.tokens) - other.names


def _has_other_owner(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether the two are about different relatives, or belongings of different people. `The user's brother Tom` is
    also Tom."""
    for role, name in new.roles:
        if any(role == other and name and person and name != person for other, person in old.roles):
            return True
    new_roles, old_roles = {role for role, _ in new.roles}, {role for role, _ in old.roles}
    by_name = {role for role, name in new.roles if name and _has_name(old, name)}
    by_name |= {role for role, name in old.roles if name and _has_name(new, name)}
    return new_roles - by_name != old_roles - by_name or has_other_owner(new, old)


def _has_name(statement: ParsedStatement, name: str) -> bool:
    return name in statement.tokens or (tokens.has_cjk(name) and name in "".join(statement.tokens))


def has_swapped_roles(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether something has another role in each: two words are exchanged, or a direction is reversed."""
    return _is_exchanged(new, old) or _has_opposed_ways(new, old)


def _is_exchanged(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether two of the same words are exchanged: `Tom lent Ben`, `Ben lent Tom`."""
    bond, other = _parse_bond(new), _parse_bond(old)
    if bond and other and bond[1] == other[1] and bond[0] == other[2] != bond[2] == other[0]:
        return True
    if new.words == old.words and (_is_redirected(new, old) or _is_redirected(old, new)):
        return True
    if new.is_passive != old.is_passive:
        return _is_active_inverse(*((new, old) if new.is_passive else (old, new)))
    if new.words != old.words or len(new.content) != len(old.content):
        return False
    differences = [n for n, (a, b) in enumerate(zip(new.content, old.content, strict=True)) if a != b]
    if not differences:
        return False
    a, b = (statement.content[differences[0] : differences[-1] + 1] for statement in (new, old))
    return any(
        a[:first] == b[-first:] and a[-last:] == b[:last] and a[first:-last] == b[last:-first] and bool(a[first:-last])
        for first in range(1, len(a) // 2 + 1)
        for last in range(1, len(a) - first)
    )


def _is_redirected(statement: ParsedStatement, other: ParsedStatement) -> bool:
    """Whether a word behind a preposition stands elsewhere in the other: `Ana reports to Ben`, `Ben reports to Ana`."""
    return any(
        preposition in other.tokens and word in other.words and (preposition, word) not in other.directions
        for preposition, word in statement.directions
    )


def _parse_bond(statement: ParsedStatement) -> tuple[str, str, str] | None:
    """Return person, relation and other person: of `Ana is Ben's boss` or `Ana is the boss of Ben`."""
    match = _BOND.fullmatch(statement.text)
    return (match["a"], match["r"] or match["of"], match["b"] or match["c"]) if match else None


def _is_active_inverse(passive: ParsedStatement, active: ParsedStatement) -> bool:
    """Whether agent and patient are exchanged: `Tom was hired by Ben`, `Tom hired Ben`."""
    match, words = _DONE_BY.search(passive.text), [canonicalize_word(token) for token in active.tokens]
    if match is None:
        return False
    verb, agent = canonicalize_word(match["verb"]), canonicalize_word(match["by"])
    return {verb, agent} <= set(words) and words.index(verb) < words.index(agent)


def _has_opposed_ways(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether a word has opposite directions: the train to Riga and from Riga, the cake for Tom and by Tom."""
    a, b = _map_single_ways(new), _map_single_ways(old)
    return any({a[word], b[word]} in OPPOSED_DIRECTIONS for word in a.keys() & b.keys())


def _map_single_ways(statement: ParsedStatement) -> dict[str, str]:
    """Return the preposition of each word that has only one; `from Riga to Riga` is no direction."""
    times = Counter(word for _, word in statement.directions)
    return {word: preposition for preposition, word in statement.directions if times[word] == 1}


def is_retraction(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether the new statement takes back a word of the old one: `Braga, not Porto`."""
    rest = new.words & old.words - new.retracted_words
    return (
        bool(new.retracted_words)
        and new.retracted_words <= old.words | old.figures
        and bool(rest)
        and not new.retracted_words <= new.words
    )


def _judge_denial(new: ParsedStatement, old: ParsedStatement) -> Verdict:
    """Judge two statements of which one denies what the other says."""
    if has_name_conflict(new, old) or has_swapped_roles(new, old):
        return "different"
    added, gone = new.words - old.words, old.words - new.words
    if not new.words or not old.words or not (added and gone):
        return "supersedes" if new.words & old.words else "different"
    return "supersedes" if len(new.words & old.words) / len(new.words | old.words) >= _DENIAL_SHARE else "different"


def _judge_figures(new: ParsedStatement, old: ParsedStatement) -> Verdict:
    """Judge two statements with different numbers: the new ones correct the old ones, unless both are dated events."""
    if (new.is_dated_past and old.is_dated_past) or has_name_conflict(new, old):
        return "different"
    if not (new.words - old.words) or not (old.words - new.words) or has_same_slot(new, old):
        return "supersedes" if new.words & old.words else "different"
    return "supersedes" if _is_corrected(new, old) else "different"


def _judge_part(new: ParsedStatement, old: ParsedStatement) -> Verdict:
    """Judge two statements of which one has all words of the other, and maybe more."""
    longer, shorter = (new, old) if len(new.words) >= len(old.words) else (old, new)
    if new.words != old.words:
        if "except" in longer.tokens or "除" in longer.tokens:
            return "supersedes"
        share = _MORE_SHARE if longer is new else _LESS_SHARE
        if len(shorter.words) < share * len(longer.words) and len(shorter.words) < 3:
            return "different"
        if _is_compound(longer, shorter) or _is_possessed(longer, shorter):
            return "different"
    return "same"


def _is_possessed(longer: ParsedStatement, shorter: ParsedStatement) -> bool:
    """Whether the longer one is about a belonging of the user, the shorter one about the user: `the user's team …`."""
    english = longer.text.startswith("the user's ") and shorter.text.startswith("the user ")
    chinese = longer.text.startswith("用户的") and re.match("用户[^的]", shorter.text) is not None
    return (english or chinese) and bool(longer.content) and longer.content[0] not in shorter.words


def _is_compound(longer: ParsedStatement, shorter: ParsedStatement) -> bool:
    """Whether the last word of the shorter statement is part of a compound in the longer one: coffee, coffee cake."""
    if not shorter.tokens or longer.tokens[: len(shorter.tokens)] != shorter.tokens:
        return False
    after = longer.tokens[len(shorter.tokens) :]
    return bool(after) and after[0] not in tokens.STOP_WORDS and after[0] not in ("every", "each", "last", "next", "，")


def _is_corrected(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether a correction changes what the older statement is about: they have enough in common, and not only the
    value behind `moved to`. Who moves to Lyon corrects nothing that is in Lyon."""
    if not new.is_correction or _compute_common_share(new, old) < _CORRECTION_SHARE:
        return False
    change = _MOVED_TO.search(new.plain)
    if change is None or not change.start():
        return True
    return bool(parse_statement(new.plain[: change.end()]).words & old.words)


def _compute_common_share(new: ParsedStatement, old: ParsedStatement) -> float:
    shorter = min(len(new.words), len(old.words))
    return len(new.words & old.words) / shorter if shorter else 0.0


def has_same_slot(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether both give a value to the same definite thing: the user's bank is …, the router is in …."""
    slot = _parse_slot(new)
    return (
        slot is not None
        and slot == _parse_slot(old)
        and min(_count_gone_names(new, old), _count_gone_names(old, new)) < 2
    )


def _count_gone_names(statement: ParsedStatement, other: ParsedStatement) -> int:
    """Return how many people or places only the first statement names: a value has one."""
    words = [word.strip(".,").removesuffix("'s") for word in statement.text.split()]
    names = [set(group) for is_name, group in groupby(words, key=statement.names.__contains__) if is_name]
    return sum(not name & other.names for name in names)


def is_whereabouts(statement: ParsedStatement) -> bool:
    """Whether it says what a person is in, at or with, of which there may be several."""
    slot = _parse_slot(statement)
    if slot is None:
        return False
    if slot[1] == "在":
        return slot[0] <= _PEOPLE or bool(LOCATED_PERSON_ZH.match(statement.text))
    return slot[0] <= _PEOPLE and slot[1].startswith(("is ", "are ", "was "))


def _parse_slot(statement: ParsedStatement) -> tuple[frozenset[str | tuple[str, str]], str] | None:
    """Return the definite thing and the kind of value that a statement gives it; None for other statements."""
    chinese = tokens.has_cjk(statement.text)
    match = (_COPULA_ZH if chinese else _COPULA).match(statement.text)
    if not match:
        return None
    left, verb, right = match["left"], match["verb"], match["right"]
    thing = parse_statement(left)
    if thing.words & _SEVERAL:
        return None
    if chinese:
        if verb == "是" and (_WHEN_ZH.fullmatch(left) or _TOGETHER_ZH.search(left)):
            return None
        # One of several things, and an activity somewhere, have no value.
        if (verb == "叫" and _ONE_ZH.search(left)) or (verb == "在" and _DOING_ZH.search(left)):
            return None
        definite = bool(thing.words) or verb == "住在"
        fits = _PLACE_ZH.fullmatch(right) if verb == "在" else not POSSESSIVE_ZH.match(right)
    else:
        definite = left.startswith("the ") and (bool(thing.words) or verb not in _BARE)
        if _NO_VALUE.match(right):
            return None
        fits = verb not in _BARE or _VALUE.search(left) or _is_named(right, statement.names)
    if not (definite and fits):
        return None
    return thing.words | thing.figures | thing.directions, "is" if verb in _NAMING else verb


def _is_named(value: str, names: AbstractSet[str]) -> bool:
    """Whether a value is a name without a preposition before it."""
    before = list(takewhile(lambda word: word not in names, words := value.split()))
    return len(before) < len(words) and not _PREPOSITIONS & set(before)


def _has_cjk(new: ParsedStatement, old: ParsedStatement) -> bool:
    return tokens.has_cjk(new.text) or tokens.has_cjk(old.text)
