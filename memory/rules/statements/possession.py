"""Whose a thing is that a statement tells of: of the user's phone number and Ben's neither says anything of the other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from muniment.memory.domain.memory import Fact
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.english_words import TRADES
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon
from muniment.memory.rules.statements.parse import ParsedStatement, canonicalize_word
from muniment.memory.rules.statements.parse_words import FIGURES, ROLE_ZH, ROLES, ROLES_ZH
from muniment.memory.rules.statements.people import NOBODY

_USER = frozenset({"user"})
_NAMED = frozenset({"name", "preferred_name"})
_LONGEST = 4  # words for a thing, at most
_WORD = lazy_compile(r"[^\W\d_][\w-]*(?:'(?!s\b)\w+)*(?P<own>'s|(?<=s)')?(?![\w'])|\S")
_OF = lazy_compile(
    r"the (?P<what>[\w-]+(?: [\w-]+){0,2}) of (?P<who>the user(?:'s [\w-]+)?|my [\w-]+|[\w-]+)(?= (?:is|are|was"
    r"|were|has)\b)"
)
_NOT_WHOSE = NOBODY | FIGURES.keys() | load_lexicon("people.en").get_words("times_with_owner")
_PEOPLE = TRADES | ROLES.keys()
_OWN_ZH = lazy_compile(r"(?P<who>[^\W\d_叫为]{1,8}?)的(?P<rest>.*)")
_THING_ZH = lazy_compile(r"[^\W\d_]+?(?=[为叫在有要会能改换变已不没了就也都很\d]|[a-z]|$)")
# What stands there with 的 and owns nothing: qualities, times, places, pronouns and what is done.
_NOT_WHOSE_ZH = lazy_compile(
    r".*[色型式新旧大小老好坏贵款版号级用名前后上下里外内中边旁天年月日周时期次种样]|.*[这那他她它其谁您你咱].*"
    r"|自己|所有|一切|全部|大家|最爱|每.*|.*(?:喜欢|住|买|吃|喝|看|开|做|在|去|要|想|主|公|现任|当前|常用)"
)
# At the start of a statement nobody stands before them whom they could mean.
_SOMEBODY = lazy_compile(r"(?:his|hers?|their|he|she|they)\b|[他她]们?")
_WHO = {
    "his": "he",
    "he": "he",
    "her": "she",
    "hers": "she",
    "she": "she",
    "their": "they",
    "they": "they",
    "他": "he",
    "她": "she",
    "他们": "they",
    "她们": "they",
}


@dataclass(frozen=True, slots=True)
class _Possession:
    """The words for a thing and for whoever has it, and for whose somebody that is: the phone of the user's sister."""

    owner: frozenset[str]
    thing: frozenset[str]
    related_to: frozenset[str] = frozenset()


def has_other_owner(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether a thing of one kind belongs to the user in one and to somebody else in the other, or to two others, one of whom
    may have no name.

    What is taken back is no owner: `the user's, not Ben's`."""
    if _has_unnamed_owner(new, old):
        return True
    retracted_words = new.retracted_words | old.retracted_words
    alike = _is_alike_zh if tokens.has_cjk(new.text) or tokens.has_cjk(old.text) else _is_alike
    known = _find_possessions(old)
    pairs = [(one, other) for one in _find_possessions(new) for other in known if alike(one.thing, other.thing)]
    return bool(pairs) and not any(
        (
            alike(one.owner, other.owner)
            and (not (one.related_to and other.related_to) or alike(one.related_to, other.related_to))
        )
        or one.owner & other.thing
        or other.owner & one.thing
        or _is_within(one.owner, retracted_words)
        or _is_within(other.owner, retracted_words)
        for one, other in pairs
    )


def _has_unnamed_owner(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether one is about somebody whom it does not name, as in `his number`, and the other about the user or whomever."""
    mine, its = (_SOMEBODY.match(one.text) for one in (new, old))
    if mine and its:
        return _WHO[mine.group()] != _WHO[its.group()]
    return bool(mine or its)


def _is_within(owner: frozenset[str], retracted_words: AbstractSet[str]) -> bool:
    """Whether all of an owner is among some words, where Chinese comes character by character."""
    return all(one in retracted_words or set(one) <= retracted_words for one in owner)


def find_user_names(facts: Iterable[Fact | None]) -> frozenset[str]:
    """What the user is called, in full and by the first name, as far as these facts tell."""
    names = [
        one.object for one in facts if one and one.subject == "user" and one.predicate in _NAMED and not one.negated
    ]
    return frozenset(part for name in names for part in (name, *name.split()[:1]) if part)


def replace_user_names(text: str, names: AbstractSet[str]) -> str:
    """The text with the user in the place of the user's name where that owns something: `Ana's car`, of Ana."""
    whom, one = (
        ("用户", r"(?<!\w){}(?=的)")
        if tokens.has_cjk(text)
        else ("the user", r"(?<![\w'-])(?:the user )?{}(?=['’]s\b)")
    )
    some = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.sub(one.format(f"(?:{some})"), whom, text, flags=re.IGNORECASE)


def _find_possessions(statement: ParsedStatement) -> tuple[_Possession, ...]:
    return _parse_possessions(
        statement.text, statement.names | ({statement.first_word} if statement.first_word else frozenset())
    )


@lru_cache(maxsize=4_096)
def _parse_possessions(text: str, names: frozenset[str]) -> tuple[_Possession, ...]:
    """Kept, because a known memory is met again and again."""
    return tuple(_parse_chinese(text) if tokens.has_cjk(text) else _parse_english(text, names))


def _is_alike(a: frozenset[str], b: frozenset[str]) -> bool:
    return bool(a & b)


def _is_alike_zh(a: frozenset[str], b: frozenset[str]) -> bool:
    """Chinese words are longer and shorter ones: 电话 is 电话号码."""
    return any(x in y or y in x for x in a for y in b)


def _parse_english(text: str, names: frozenset[str]) -> Iterator[_Possession]:
    """What stands behind each owner, as far as it is named in one piece. An owner is the user, whoever is the user's, or
    somebody with a name, a role or a trade; `the garden's` tells of no person."""
    nobody: frozenset[str] = frozenset()
    owner = whose = nobody
    said: list[str] = []
    for found in _WORD.finditer(_OF.sub(r"\g<who>'s \g<what>", text)):
        own = found["own"]
        word = found.group().removesuffix(own) if own else found.group()
        if not own and word[0].isalpha() and (word == "user" or word not in tokens.STOP_WORDS):
            said.append(word)
            continue
        holder = [*said, word]
        if owner and (what := (holder if own else said)[:_LONGEST]):
            yield _Possession(owner, _stem_words(what), whose)
        former = owner
        owner = _USER if word == "my" else _find_owner(holder, names, is_chained=bool(owner)) if own else nobody
        whose = former if own else nobody
        said = []
    if owner and said:
        yield _Possession(owner, _stem_words(said[:_LONGEST]), whose)


def _find_owner(phrase: list[str], names: frozenset[str], *, is_chained: bool) -> frozenset[str]:
    """Who has what comes next by the words before `'s`; nobody where no person is told."""
    named = list(takewhile(lambda word: not names.isdisjoint(word.split("'")), reversed(phrase)))
    if phrase[-1] in _NOT_WHOSE:
        return frozenset()
    if phrase[-1 - len(named) :][:1] == ["user"]:
        return _USER.union(named)
    return (
        _stem_words(phrase if is_chained else named or phrase)
        if is_chained or named or phrase[-1] in _PEOPLE
        else frozenset()
    )


def _stem_words(phrase: list[str]) -> frozenset[str]:
    return frozenset(ROLES.get(one) or canonicalize_word(one) for one in phrase)


def _parse_chinese(text: str) -> Iterator[_Possession]:
    for part in re.split(r"[，。；、,;：:是]", text):
        rest, owners = part, [""]
        while found := _OWN_ZH.match(rest):
            rest = found["rest"]
            owners += _find_owners_zh(found["who"])
        thing = _THING_ZH.match(rest)
        if owners[-1] and thing:
            yield _Possession(
                *(frozenset(filter(None, [one])) for one in (owners[-1], _replace_roles_zh(thing.group()), owners[-2]))
            )


def _find_owners_zh(who: str) -> Iterator[str]:
    """Who has what comes next, and before them whose somebody they are: 用户 and 姐姐 of 用户姐姐. None where it only tells
    which one is meant."""
    user = re.match(r"用户|我们?", who)
    role = ROLE_ZH.search(who, user.end() if user else 0)
    if user:
        yield "用户"
        if role and role.start() == user.end():
            yield _replace_roles_zh(who[role.start() :])
    elif role and role.start() and role.end() == len(who):
        yield who[: role.start()]
        yield _replace_roles_zh(role.group())
    elif not _NOT_WHOSE_ZH.fullmatch(who):
        yield _replace_roles_zh(who)


def _replace_roles_zh(phrase: str) -> str:
    return ROLE_ZH.sub(lambda found: ROLES_ZH[found.group()], phrase)
