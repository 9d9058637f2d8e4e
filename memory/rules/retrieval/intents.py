"""Aspects of a life that a text tells: of a nurse a job is told, and of a dog a pet.

An aspect is the same in every language: a question in one finds what a statement in another tells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from muniment.memory.rules.language import tokens as words
from muniment.memory.rules.language.english_words import ADVERBS
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.normalize import parse_vocabulary
from muniment.memory.rules.retrieval import chinese_intents, intent_words

Intents = frozenset[str]
IntentTable = Mapping[str, Intents]
NO_INTENTS: Intents = frozenset()
# How what is told of the user begins.
USER_PREFIXES = ("The user", "the user", "User", "user", "用户")
# How a note begins that the user has made of themselves; where anybody else speaks it is of them.
FIRST_PERSON_PREFIXES = (
    "I ",
    "I'",
    "My ",
    "We ",
    "We'",
    "Our ",
    "i ",
    "i'",
    "im ",
    "my ",
    "we ",
    "we'",
    "our ",
    "我",
    "咱",
    "俺",
)
FAMILY = parse_vocabulary(
    "spouse partner ex child son daughter baby grandchild sibling brother sister parent mother father grandparent inlaw"
    " aunt uncle cousin relative friend pet dog cat"
)
# Whoever belongs to somebody: what is said of them is not said of the user.
PEOPLE = FAMILY | parse_vocabulary(
    "boss colleague assistant doctor dentist therapist advisor attorney landlord teacher cofounder neighbour vet"
    " roommate sitter client exercise_partner"
)
_ONLY_ASKED = "?"  # before an entry that tells nothing
_LONGEST = 6  # characters of a Chinese piece
_DATED = lazy_compile(
    r"\d|day\b|days\b|\b(?:morning|evening|night|noon|week|weekend|month|year|january|february|march|april|june|july|august|september"
    r"|october|november|december|tomorrow|daily|spring|summer|autumn|winter)\b|[每周月点早晚年天季前]"
)
# What somebody is said to be is what they do for a living, unless it is one of these.
_IS_A = lazy_compile(r"the user (?:is|works as) an? |用户是一?[名个位]?[^,.。的]{2,10}(?<!人)$")
_AT = lazy_compile(r" (?:at|for) (?:the )?[A-Z]")
_FROM_ZH = lazy_compile(r"是[^，。的]{2,4}(?<![持责始伙工军客商老女男])人(?:$|[,.。])")
_NO_JOB = parse_vocabulary(
    "diet religion marital team personality star politics like hobby illness age origin parent child sibling blood smoking"
)
_JOB = parse_vocabulary("job")
_STOP = words.STOP_WORDS | ADVERBS
_NAME = lazy_compile(r"[A-Z][\w'-]+")
_TITLE = r"(?:(?:Professor|Prof|Dr|Mr|Mrs|Ms|Miss)\.? )?"
_ZH = "[\u4e00-\u9fff]"
_WHOSE = ("the user's ", "my ", "our ")
# What is called after somebody and is something: a dentist appointment, a mother tongue.
_THING = lazy_compile(r"(?:[Tt]he user's|[Mm]y|[Oo]ur) (?P<what>(?:[a-z-]+ ){2,3})(?:is|are|was|were|will|has)\b")
_VISIT_VERBS = "看找见约"  # before somebody whom one goes to, and is not


# What a fact tells, however it is worded.
_FACT_INTENTS = {
    predicate: parse_vocabulary(found)
    for predicate, found in {
        "name": "name", "preferred_name": "name", "pronouns": "pronouns", "age": "age", "birthday": "birthday age",
        "born_in": "birthplace origin", "lives_in": "home", "comes_from": "origin", "nationality": "ethnicity origin",
        "works_as": "job", "works_at": "job workplace", "field_of_work": "job", "marital_status": "marital",
        "studies": "major learning", "native_language": "language", "allergic_to": "allergy avoid illness",
        "intolerant_to": "allergy avoid illness", "diet": "diet avoid", "health_condition": "illness", "cannot": "avoid",
        "budget": "budget", "likes": "like", "prefers": "like", "response_style": "answer_style",
        "answer_language": "answer_style", "wants_to": "goal plan", "learns": "learning", "trains_for": "goal fitness",
        "prepares_for": "goal exam", "saves_for": "savings goal", "speaks": "language", "plays": "hobby instrument sport game",
        "worked_as": "careerpast", "worked_at": "careerpast", "visited": "visited travel", "studied": "school",
        "moved_to": "home move", "to_do": "task", "plans": "plan",
        "pet": "pet", "spouse": "spouse", "partner": "partner", "child": "child", "son": "son child",
        "daughter": "daughter child", "brother": "brother sibling", "sister": "sister sibling", "mother": "mother parent",
        "father": "father parent", "friend": "friend", "best_friend": "friend", "boss": "boss",
        "colleague": "colleague", "roommate": "roommate",
    }.items()
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class IntentTables:
    """What asks for aspects and what tells them, by stems joined with spaces or by Chinese piece."""

    asks: IntentTable
    tells: IntentTable
    phrase_lengths: Mapping[str, int]  # words of the longest phrase that begins with this one
    naming: re.Pattern[str]
    naming_zh: re.Pattern[str]
    possession_zh: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class StatementIntents:
    """What a statement tells."""

    text: str  # folded
    words: frozenset[str]
    intents: Intents
    about_user: (
        bool  # of the user, as memories say it; what was said in a conversation leaves much to what was said before
    )
    about_other: bool  # it begins with somebody who belongs to the user
    named_people: tuple[tuple[str, Intents], ...]  # names, folded, and whose they are
    has_date: bool


@cache
def load_tables() -> IntentTables:
    """Made when the first question is read."""
    asks: dict[str, set[str]] = {}
    tells: dict[str, set[str]] = {}
    people: set[str] = set()
    belonging: set[str] = set()
    for name, asking, telling in _parse_lines(intent_words.LINES + chinese_intents.LINES):
        for entry in asking:
            key = _make_key(entry.removeprefix(_ONLY_ASKED))
            asks.setdefault(key, set()).add(name)
            if not entry.startswith(_ONLY_ASKED):
                tells.setdefault(key, set()).add(name)
        for key in map(_make_key, telling):
            tells.setdefault(key, set()).add(name)
        if name in PEOPLE:
            people.update(entry for entry in (*asking, *(telling if name in FAMILY else ())) if entry.isalpha())
            belonging.update(entry for entry in asking if not entry.isascii())
    longest: dict[str, int] = {}
    for one in (*asks, *tells):
        first, *more = one.split(" ")
        longest[first] = max(longest.get(first, 1), 1 + len(more))
    english = _join_alternatives(entry for entry in people if entry.isascii())
    chinese = _join_alternatives(
        entry for entry in people if words.has_cjk(entry) and (len(entry) > 1 or entry in "猫狗")
    )
    return IntentTables(
        asks={one: frozenset(names) for one, names in asks.items()},
        tells={one: frozenset(names) for one, names in tells.items()},
        phrase_lengths=longest,
        naming=lazy_compile(
            rf"\b(?P<who>{english})(?:'s name)?(?:,| is| are| was)?(?: called| named)? {_TITLE}(?P<names>[A-Z][\w'-]+(?:(?:, and |, | and )[A-Z][\w'-]+)*)"
        ),
        naming_zh=lazy_compile(
            rf"(?P<who>{chinese})(?:的?名字)?(?:名?叫做?|是)(?P<name>{_ZH}{{1,3}}?|[A-Za-z]+)(?=$|[，。,、；（ ]|今年|在|和)"
            rf"|名?叫(?P<name_before>{_ZH}{{1,4}}?|[A-Za-z]+)的(?P<who_after>{chinese})"
        ),
        possession_zh=lazy_compile(
            rf"(?:用户|[我咱俺]们?)(?:的|家的?)?[大小二三老]?(?:{_join_alternatives(belonging)})"
        ),
    )


def _join_alternatives(entries: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, entries), key=lambda one: (-len(one), one)))


def _parse_lines(lines: Iterable[str]) -> Iterator[tuple[str, list[str], list[str]]]:
    for line in lines:
        name, _, rest = line.partition(": ")
        asking, _, telling = rest.partition(" | ")
        yield name, asking.split(), telling.split()


def _make_key(entry: str) -> str:
    return " ".join(stem_words(entry.replace("_", " "))) if entry.isascii() else entry


def stem_words(text: str) -> list[str]:
    """The stems of all words of a text, stop words too; a run of Chinese as it is."""
    return [_stem_word(run) for run in words.split_runs(text)]


@lru_cache(maxsize=8_192)
def _stem_word(run: str) -> str:
    return words.stem_word(run.replace("’", "'").removesuffix("'s"))


def find_phrases(stems: Sequence[str], table: IntentTable) -> Iterator[tuple[int, int, Intents]]:
    """From where to where words in a row stand in a table, the longest first; and each other word, with nothing."""
    at = 0
    while at < len(stems):
        end, found = _match_phrase(stems, at, table)
        yield at, end, found
        at = end


def _match_phrase(stems: Sequence[str], at: int, table: IntentTable) -> tuple[int, Intents]:
    for end in range(min(len(stems), at + load_tables().phrase_lengths.get(stems[at], 1)), at, -1):
        if found := table.get(" ".join(stems[at:end])):
            return end, found
    return at + 1, NO_INTENTS


def _find_told_intents(stems: Sequence[str], table: IntentTable) -> Iterator[Intents]:
    """What the words tell, in a row and each by itself; but a mother-in-law is no mother."""
    within = 0
    for at, word in enumerate(stems):
        end, found = _match_phrase(stems, at, table)
        if end > within:
            yield found
        if found & PEOPLE:
            within = end
        if words.has_cjk(word):
            yield from _find_pieces(word.removeprefix("用户"), table)


def is_user_statement(text: str, *, by_user: bool = False) -> bool:
    """Whether it is told of the user, by whom it may be said."""
    return text.startswith(USER_PREFIXES) or (by_user and text.startswith(FIRST_PERSON_PREFIXES))


@lru_cache(maxsize=4_096)
def read_intents(text: str, predicate: str = "", *, about_user: bool | None = None) -> StatementIntents:
    """What a statement tells, with the predicate of its fact, and whether it is of the user if that is known; kept, because a
    search meets the same memories again and again."""
    stemmed, tells, folded = stem_words(text), load_tables().tells, words.fold_text(text)
    found = set(_FACT_INTENTS.get(predicate, NO_INTENTS)).union(*_find_told_intents(stemmed, tells))
    if _IS_A.match(folded) and found.isdisjoint(_NO_JOB):
        found.add("job")
    thing = _is_about_thing(text)
    if thing:
        found.discard("job")
    if "job" in found and _AT.search(text):
        found.add("workplace")
    if _FROM_ZH.search(folded):
        found.update(("origin", "ethnicity"))
    of_other = not thing and _is_about_other(folded, stemmed)
    return StatementIntents(
        text=folded,
        # A name like O'Neil is one word to a question and two to a search.
        words=words.get_lexeme_set(text).union(one for one in stemmed if "'" in one),
        intents=frozenset(found),
        about_user=is_user_statement(text) if about_user is None else about_user,
        about_other=of_other,
        named_people=tuple(_find_named_people(text)),
        has_date=_DATED.search(folded) is not None,
    )


def find_dimensions(intents: Intents, limit: int) -> frozenset[int]:
    """The dimensions of the single words that tell these aspects; the aspects with the fewest words, where it would be more than
    `most`."""
    found: frozenset[int] = frozenset()
    for some in sorted((_map_dimensions().get(one, frozenset()) for one in intents), key=len):
        if len(found | some) <= limit:
            found |= some
    return found


@cache
def _map_dimensions() -> Mapping[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for said, names in load_tables().tells.items():
        lexemes = words.extract_terms(said) if words.has_cjk(said) else (said,) if " " not in said else ()
        for name in names:
            found.setdefault(name, set()).update(map(words.hash_lexeme, lexemes))
    return {name: frozenset(some) for name, some in found.items()}


def _find_pieces(run: str, table: IntentTable) -> Iterator[Intents]:
    for at in range(len(run)):
        for end in range(at + 1, min(len(run), at + _LONGEST) + 1):
            if found := table.get(run[at:end]):
                yield found - _JOB if at and run[at - 1] in _VISIT_VERBS else found


def _is_about_thing(text: str) -> bool:
    """Whether a statement begins with a thing of the user's that has its name from somebody."""
    begins = _THING.match(text)
    if not begins:
        return False
    called = begins["what"].split()
    return _STOP.isdisjoint(called) and not load_tables().asks.get(_stem_word(called[-1]), NO_INTENTS) & PEOPLE


def _is_about_other(folded: str, stems: Sequence[str]) -> bool:
    """Whether a statement begins with somebody who belongs to the user."""
    if whose := next((one for one in _WHOSE if folded.startswith(one)), ""):
        first = whose.count(" ")
        return any(found & PEOPLE for _, _, found in find_phrases(stems[first : first + 4], load_tables().asks))
    return load_tables().possession_zh.match(folded) is not None


def _find_named_people(text: str) -> Iterator[tuple[str, Intents]]:
    known = load_tables()
    for found in known.naming.finditer(text):
        whose = known.tells[_make_key(found["who"])] & PEOPLE
        yield from ((words.fold_text(name.removesuffix("'s")), whose) for name in _NAME.findall(found["names"]))
    for found in known.naming_zh.finditer(text):
        whose = known.tells[found["who"] or found["who_after"]] & PEOPLE
        yield words.fold_text(found["name"] or found["name_before"]), whose
