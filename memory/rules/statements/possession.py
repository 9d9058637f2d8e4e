"""Owners of things: the user's phone number and Ben's phone number are two facts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.english_words import TRADES
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon
from muniment.memory.rules.statements.parse import ParsedStatement, canonicalize_word
from muniment.memory.rules.statements.parse_words import FIGURES, ROLE_ZH, ROLES, ROLES_ZH
from muniment.memory.rules.statements.people import NOBODY

_USER = frozenset({"user"})
_LONGEST = 4  # words of a thing, at most
_WORD = lazy_compile(r"[^\W\d_][\w-]*(?:'(?!s\b)\w+)*(?P<own>'s|(?<=s)')?(?![\w'])|\S")
_OF = lazy_compile(
    r"the (?P<what>[\w-]+(?: [\w-]+){0,2}) of (?P<who>the user(?:'s [\w-]+)?|my [\w-]+|[\w-]+)(?= (?:is|are|was"
    r"|were|has)\b)"
)
_NOT_WHOSE = NOBODY | FIGURES.keys() | load_lexicon("people.en").get_words("times_with_owner")
_PEOPLE = TRADES | ROLES.keys()
_OWN_ZH = lazy_compile(r"(?P<who>[^\W\d_叫为]{1,8}?)的(?P<rest>.*)")
_THING_ZH = lazy_compile(r"[^\W\d_]+?(?=[为叫在有要会能改换变已不没了就也都很\d]|[a-z]|$)")
# Words before 的 that own nothing: qualities, times, places, pronouns and actions.
_NOT_WHOSE_ZH = lazy_compile(
    r".*[色型式新旧大小老好坏贵款版号级用名前后上下里外内中边旁天年月日周时期次种样]|.*[这那他她它其谁您你咱].*"
    r"|自己|所有|一切|全部|大家|最爱|每.*|.*(?:喜欢|住|买|吃|喝|看|开|做|在|去|要|想|主|公|现任|当前|常用)"
)
# Pronouns at the start of a statement, where no name stands before them.
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
    """The words of a thing, of its owner, and of the person that the owner is related to: the user's sister's phone."""

    owner: frozenset[str]
    thing: frozenset[str]
    related_to: frozenset[str] = frozenset()


def has_other_owner(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether things of one kind have different owners in two statements, one of whom may have no name.

    An owner that is taken back does not count: `the user's, not Ben's`."""
    if _has_unnamed_owner(new, old):
        return True
    retracted_words = new.retracted_words | old.retracted_words
    alike = _is_alike_zh if tokens.has_cjk(new.text) or tokens.has_cjk(old.text) else _is_alike
    old_possessions = _find_possessions(old)
    pairs = [(a, b) for a in _find_possessions(new) for b in old_possessions if alike(a.thing, b.thing)]
    return bool(pairs) and not any(
        (alike(a.owner, b.owner) and (not (a.related_to and b.related_to) or alike(a.related_to, b.related_to)))
        or a.owner & b.thing
        or b.owner & a.thing
        or _is_within(a.owner, retracted_words)
        or _is_within(b.owner, retracted_words)
        for a, b in pairs
    )


def _has_unnamed_owner(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether one begins with a pronoun, as in `his number`, and the other does not or has another one."""
    a, b = (_SOMEBODY.match(statement.text) for statement in (new, old))
    if a and b:
        return _WHO[a.group()] != _WHO[b.group()]
    return bool(a or b)


def _is_within(owner: frozenset[str], retracted_words: AbstractSet[str]) -> bool:
    """Whether all words of an owner are among others, which are single characters in Chinese."""
    return all(word in retracted_words or set(word) <= retracted_words for word in owner)


def _find_possessions(statement: ParsedStatement) -> tuple[_Possession, ...]:
    parse = _parse_possessions if len(statement.text) <= tokens.CACHED_CHARS else _parse_possessions.__wrapped__
    return parse(statement.text, statement.names | ({statement.first_word} if statement.first_word else frozenset()))


@tokens.clear_on_erasure
@lru_cache(maxsize=4_096)
def _parse_possessions(text: str, names: frozenset[str]) -> tuple[_Possession, ...]:
    """Cached, because stored memories are compared many times."""
    return tuple(_parse_chinese(text) if tokens.has_cjk(text) else _parse_english(text, names))


def _is_alike(a: frozenset[str], b: frozenset[str]) -> bool:
    return bool(a & b)


def _is_alike_zh(a: frozenset[str], b: frozenset[str]) -> bool:
    """Whether a Chinese word of one is part of a word of the other: 电话 and 电话号码."""
    return any(x in y or y in x for x in a for y in b)


def _parse_english(text: str, names: frozenset[str]) -> Iterator[_Possession]:
    """The things that follow an owner in one piece.

    An owner is the user, a relative of the user, or a person with a name, a role or a trade, and not `the garden's`."""
    nobody: frozenset[str] = frozenset()
    owner = related_to = nobody
    phrase: list[str] = []
    for match in _WORD.finditer(_OF.sub(r"\g<who>'s \g<what>", text)):
        suffix = match["own"]
        word = match.group().removesuffix(suffix) if suffix else match.group()
        if not suffix and word[0].isalpha() and (word == "user" or word not in tokens.STOP_WORDS):
            phrase.append(word)
            continue
        owner_phrase = [*phrase, word]
        if owner and (what := (owner_phrase if suffix else phrase)[:_LONGEST]):
            yield _Possession(owner, _stem_words(what), related_to)
        former = owner
        owner = (
            _USER if word == "my" else _find_owner(owner_phrase, names, is_chained=bool(owner)) if suffix else nobody
        )
        related_to = former if suffix else nobody
        phrase = []
    if owner and phrase:
        yield _Possession(owner, _stem_words(phrase[:_LONGEST]), related_to)


def _find_owner(phrase: list[str], names: frozenset[str], *, is_chained: bool) -> frozenset[str]:
    """The owner that the words before `'s` name. Empty where they name no person."""
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
    return frozenset(ROLES.get(word) or canonicalize_word(word) for word in phrase)


def _parse_chinese(text: str) -> Iterator[_Possession]:
    for part in re.split(r"[，。；、,;：:是]", text):
        rest, owners = part, [""]
        while match := _OWN_ZH.match(rest):
            rest = match["rest"]
            owners += _find_owners_zh(match["who"])
        thing = _THING_ZH.match(rest)
        if owners[-1] and thing:
            yield _Possession(
                *(
                    frozenset(filter(None, [word]))
                    for word in (owners[-1], _replace_roles_zh(thing.group()), owners[-2])
                )
            )


def _find_owners_zh(who: str) -> Iterator[str]:
    """The owners that the words before 的 name: 用户 and 姐姐 of 用户姐姐. None where they describe the thing."""
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
    return ROLE_ZH.sub(lambda match: ROLES_ZH[match.group()], phrase)
