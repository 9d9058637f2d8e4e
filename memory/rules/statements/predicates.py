"""Canonical names of predicates, subjects and kinds, and the categories of facts, for every extractor."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence, Set as AbstractSet
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from muniment.memory.domain.memory import FACT_KINDS, Fact, FactKind
from muniment.memory.rules.language import chinese_words, english_words, tokens
from muniment.memory.rules.language.english_words import make_slug
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon
from muniment.memory.rules.statements.parse_words import ROLES, SYNONYMS

USER = "user"
KINDS = frozenset(FACT_KINDS)
_PREDICATES = load_lexicon("predicates.en")
_PREDICATES_ZH = load_lexicon("predicates.zh")
_RELATIONS_EN = load_lexicon("relations.en")
_RELATIONS_ZH = load_lexicon("relations.zh")
_KIND = {predicate: kind for kind in KINDS for predicate in _PREDICATES.get_table("kinds").get(kind, ())}
_SINGLE = frozenset(_PREDICATES.get_table("kinds")["identity"]) | _PREDICATES.get_words("single")
_MANY = frozenset(_KIND) - _SINGLE
# What is said of other people is part of the user's relationships, but for what happened to them.
_PERSONAL_KINDS = _PREDICATES.get_words("personal_kinds")
_CANONICAL = _PREDICATES.get_index("synonyms") | _PREDICATES_ZH.get_index("synonyms")
_RELATIONS = {make_slug(word): name for word, name in english_words.RELATIONS.items()} | {
    word: name for word, (name, _) in chinese_words.RELATIONS.items()
}
_RELATED = frozenset(_RELATIONS.values())
ONE_AT_A_TIME = english_words.ONE_AT_A_TIME
_DISLIKES = _PREDICATES.get_words("dislikes") | _PREDICATES_ZH.get_words("dislikes")
_ONE_COUPLE = {"partner": "spouse"}
_COUNTED = lazy_compile(
    r"has_(?:kids?|child(?:ren)?|sons?|daughters?|sisters?|brothers?|siblings|cats?|dogs?|pupp(?:y|ies)|kittens?"
    r"|rabbits?|horses?|parrots?|twins|grandchildren)"
)
_NAMES = frozenset({"name", "preferred_name"})  # predicates
_EMPTY = lazy_compile(r"^(?:is|are|has|have)_(?=\w)|_(?:is|of|named|called)$|(?:_s)?_name$")
_WHOSE = lazy_compile(
    r"^(?:(?:the\s+)?user(?:'s)?|the\s+speaker(?:'s)?|my|speaker|i|me|self|用户的?|我的?)(?:\s+|$"
    r"|(?=[\u4e00-\u9fff]))",
    re.IGNORECASE,
)
_NAMED = lazy_compile(english_words.RELATION + r"\s+(?P<name>[A-Z][\w'-]*(?:\s+[A-Z][\w'-]*){0,2})")
# Of siblings and children there may be several, and a word says which is meant.
_AGE_WORDS = _RELATIONS_EN.get_index("ages")
_SIBLINGS = _PREDICATES.get_words("siblings")
_DISTINCT_RELATIONS = {word: word for word, name in english_words.RELATIONS.items() if name == "pet" and word != "pet"}
_DISTINCT_RELATIONS |= _RELATIONS_EN.get_index("animals") | _RELATIONS_ZH.get_index("distinct")
_DISTINCT_RELATIONS |= {word: word for word in _RELATIONS_ZH.get_words("more_distinct")}
_RELATION_PATTERNS = [(rf"\b{re.escape(word)}", related) for word, related in english_words.RELATIONS.items()] + [
    (word, related) for word, (related, _) in chinese_words.RELATIONS.items()
]
_KINDS: dict[str, FactKind] = {kind: kind for kind in KINDS}
_KINDS |= {synonym: kind for kind in KINDS for synonym in _PREDICATES.get_table("kind_synonyms").get(kind, ())}
CATEGORIES: dict[FactKind, str] = {
    "identity": "profile",
    "skill": "knowledge",
    "experience": "history",
    "preference": "preferences",
    "relationship": "relationships",
    "goal": "goals",
    "constraint": "constraints",
    "event": "event",
    "note": "activity",
    "decision": "projects",
    "rule": "projects",
    "discovery": "knowledge",
    "fix": "knowledge",
    "todo": "tasks",
}
_SEVERAL = frozenset({"event", "note", "goal", "experience", "decision", "rule", "discovery", "fix", "todo"})

# What is something else than its kind says: an instrument or a game is a pastime, and a deadline passes.
_BY_PREDICATE = {"plays": "interests"}
_BY_PREFIX = {"deadline_of_": "tasks"}
# The kinds that may be filed under a category that is always in context. A constraint may, but for a deadline.
_KINDS_IN_CONTEXT: dict[str, frozenset[FactKind]] = {
    "profile": frozenset({"identity", "relationship", "note"}),
    "constraints": frozenset({"preference", "relationship", "note"}),
}


@dataclass(frozen=True, slots=True)
class PredicateName:
    """The canonical kind and predicate of a fact, and what follows from the predicate alone."""

    kind: FactKind
    predicate: str
    single: bool | None = None  # None: the predicate does not say
    negated: bool = False


@tokens.clear_on_erasure
@lru_cache(maxsize=4_096)
def normalize_predicate(kind: str, predicate: str, subject: str = USER) -> PredicateName:
    """The canonical name for a kind and predicate in any spelling. An unknown kind is `note`.

    Cached, because a fact is compared with all others of its kind, which have few names."""
    slug = make_slug(predicate)
    canonical = _canonicalize_predicate(slug)
    is_counted = _COUNTED.fullmatch(canonical) is not None
    if canonical in _RELATED or is_counted:
        fact_kind: FactKind = "relationship"
    elif canonical.startswith("favourite_"):
        fact_kind = "preference"
    elif canonical.startswith("deadline_of_"):
        fact_kind = "constraint"
    else:
        fact_kind = _KIND.get(canonical) or parse_kind(kind)
    if subject != USER and fact_kind in _PERSONAL_KINDS:
        fact_kind = "relationship"
    single: bool | None = None
    if (
        canonical in _SINGLE
        or canonical in ONE_AT_A_TIME
        or canonical.startswith(("favourite_", "deadline_of_", "date_of_", "own_"))
        or is_counted
    ):
        single = True
    elif canonical in _MANY or canonical in _RELATED or fact_kind in _SEVERAL:
        single = False
    return PredicateName(fact_kind, canonical, single, slug in _DISLIKES)


def parse_kind(word: str) -> FactKind:
    """The kind that a word means, or `note`."""
    return _KINDS.get(word.strip().casefold(), "note")


@tokens.clear_on_erasure
@lru_cache(maxsize=4_096)
def normalize_subject(phrase: str, speaker: str | None = None) -> str:
    """The canonical subject: `user`, a name, or `user's spouse` for a relation without a name."""
    plain = " ".join(phrase.split()).strip(" .")
    if not plain or (speaker and plain.casefold() == speaker.casefold()):
        return USER
    rest = _WHOSE.sub("", plain).strip()
    if not rest:
        return USER
    if named := _NAMED.fullmatch(rest):
        return named["name"]
    return format_relation(rest) if _find_relation(make_slug(rest)) or make_slug(rest) in _DISTINCT_RELATIONS else rest


def format_relation(phrase: str) -> str:
    """The subject for a relation without a name. An older brother is not a younger one, and a cat is not a dog."""
    plain = make_slug(phrase)
    if plain in _DISTINCT_RELATIONS:
        return f"user's {_DISTINCT_RELATIONS[plain]}"
    age_word, _, rest = plain.rpartition("_")
    kind = _DISTINCT_RELATIONS.get(rest) or _find_relation(plain)
    age = _AGE_WORDS.get(age_word)
    return f"user's {age} {kind}" if age and kind in _SIBLINGS else f"user's {kind}"


def find_person_name(subject: str, persons: Sequence[str], text: str) -> str:
    """The name for a subject such as `user's sister`, where one of the persons follows the relation in the text."""
    for word, related in _RELATION_PATTERNS:
        if subject in (f"user's {related}", format_relation(word.removeprefix("\\b"))):
            for person in persons:
                if re.search(rf"{word}[,，]?\s*{re.escape(person)}", text, re.IGNORECASE):
                    return person
    return subject


def _canonicalize_predicate(predicate: str) -> str:
    plain = _EMPTY.sub("", predicate)
    for name in (predicate, plain):
        if name in _KIND or _COUNTED.fullmatch(name):
            return name
        if canonical := _CANONICAL.get(name) or _find_relation(name):
            return canonical
    favourite = re.match(r"(?:my_)?favou?rite_(\w+)|最喜欢的(\w+)", predicate)
    if favourite:
        return f"favourite_{favourite[1] or favourite[2]}"
    deadline = re.match(r"deadline_(?:of|for)_(\w+)|(\w+?)_?(?:deadline|截止日期|截止时间)$", predicate)
    return f"deadline_of_{deadline[1] or deadline[2]}" if deadline else predicate


def _find_relation(predicate: str) -> str | None:
    """The relation in a predicate: `sister` of `older_sister`."""
    for start in (predicate, predicate.removeprefix("has_"), predicate.partition("_")[2], predicate.rpartition("_")[2]):
        if start in _RELATIONS:
            return _RELATIONS[start]
        if start in _RELATED:
            return start
    return None


def find_user_names(facts: Iterable[Fact | None]) -> frozenset[str]:
    """The full and first names of the user that these facts give."""
    names = [
        fact.object
        for fact in facts
        if fact and fact.subject == "user" and fact.predicate in _NAMES and not fact.negated
    ]
    return frozenset(part for name in names for part in (name, *name.split()[:1]) if part)


def replace_user_names(text: str, names: AbstractSet[str]) -> str:
    """The text with `the user` for a name of the user that owns something: `Ana's car` becomes `the user's car`."""
    user, pattern = (
        ("用户", r"(?<!\w){}(?=的)")
        if tokens.has_cjk(text)
        else ("the user", r"(?<![\w'-])(?:the user )?{}(?=['’]s\b)")
    )
    alternatives = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.sub(pattern.format(f"(?:{alternatives})"), user, text, flags=re.IGNORECASE)


class ResolvedFact(NamedTuple):
    """What a fact is about, with normalized subject and predicate."""

    subject: str
    attribute: str
    is_denied: bool  # to dislike is to like, denied
    is_single: bool  # the predicate has one value at a time


@tokens.clear_on_erasure
@lru_cache(maxsize=4_096)
def resolve_fact(fact: Fact) -> ResolvedFact:
    """Resolve what a fact is about. Cached, because a memory is compared with many statements."""
    subject = normalize_subject(fact.subject).casefold()
    name = normalize_predicate(fact.kind, fact.predicate, subject)
    word = "_".join(SYNONYMS.get(part, part) for part in fact.predicate.split("_"))
    attribute = normalize_predicate(fact.kind, ROLES.get(word, word), subject).predicate
    return ResolvedFact(
        subject, _ONE_COUPLE.get(attribute, attribute), fact.negated != name.negated, name.single is True
    )


def choose_fact_category(kind: FactKind, predicate: str) -> str:
    """The category of facts of a kind and predicate."""
    for prefix, category in _BY_PREFIX.items():
        if predicate.startswith(prefix):
            return category
    return _BY_PREDICATE.get(predicate, CATEGORIES[kind])


def correct_category(kind: FactKind, predicate: str, category: str) -> str:
    """The category of a fact that was filed under `category`.

    A hard constraint is one wherever it was filed, so that no agent misses it. What is filed under a category that is
    always in context, but is of a kind that would only fill the context, is filed by what it is."""
    own = choose_fact_category(kind, predicate)
    is_misplaced = category in _KINDS_IN_CONTEXT and kind not in _KINDS_IN_CONTEXT[category]
    return own if own == "constraints" or is_misplaced else category
