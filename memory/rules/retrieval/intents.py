"""Intents: the aspects of a life that a text is about. A nurse tells of a job, and a dog of a pet.

Traits: what makes a text a likely answer, such as a date in it.

An intent is the same in every language: a question in one matches a statement in another. Traits are stored with the
words of a memory, in dimensions of their own, so that a search reads both in one pass."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache

from muniment.memory.rules.dates import mentions
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.english_words import ADVERBS
from muniment.memory.rules.language.lazy_regex import join_alternatives, lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon

Intents = frozenset[str]
IntentTable = Mapping[str, Intents]
NO_INTENTS: Intents = frozenset()
# A statement about the user begins with one of these.
USER_PREFIXES = ("The user", "the user", "User", "user", "用户")
# A note by the user about themselves begins with one of these. Said by another speaker it is about that speaker.
FIRST_PERSON_PREFIXES = (
    *("I ", "I'", "My ", "We ", "We'", "Our ", "i ", "i'", "im ", "my ", "we ", "we'", "our "),
    *("我", "咱", "俺"),
)
_WORDS = load_lexicon("questions.en")
FAMILY = _WORDS.get_words("family")
PEOPLE = FAMILY | _WORDS.get_words("people")
_NO_JOB = _WORDS.get_words("no_job")
_FACT_INTENTS = {predicate: frozenset(intents) for predicate, intents in _WORDS.get_table("facts").items()}
_JOB = frozenset(("job",))
_ONLY_ASKED = "?"  # before an entry that asks and does not tell
_LONGEST_PIECE = 6  # characters of a Chinese piece
_DATED = lazy_compile(
    r"\d|day\b|days\b|\b(?:morning|evening|night|noon|week|weekend|month|year|january|february|march|april|june|july"
    r"|august|september|october|november|december|tomorrow|daily|spring|summer|autumn|winter)\b|[每周月点早晚年天季前]"
)
# What somebody is said to be is a job, unless it tells one of `_NO_JOB`.
_IS_A = lazy_compile(r"the user (?:is|works as) an? |用户是一?[名个位]?[^,.。的]{2,10}(?<!人)$")
_AT = lazy_compile(r" (?:at|for) (?:the )?[A-Z]")
_FROM_ZH = lazy_compile(r"是[^，。的]{2,4}(?<![持责始伙工军客商老女男])人(?:$|[,.。])")
_STOP_WORDS = tokens.STOP_WORDS | ADVERBS
_NAME = lazy_compile(r"[A-Z][\w'-]+")
_TITLE = r"(?:(?:Professor|Prof|Dr|Mr|Mrs|Ms|Miss)\.? )?"
_ZH = "[\u4e00-\u9fff]"
_POSSESSIVES = ("the user's ", "my ", "our ")
# A thing that is named after somebody: a dentist appointment, a mother tongue.
_THING = lazy_compile(r"(?:[Tt]he user's|[Mm]y|[Oo]ur) (?P<what>(?:[a-z-]+ ){2,3})(?:is|are|was|were|will|has)\b")
_VISIT_VERBS = "看找见约"  # before somebody whom one visits: that is no job

# The first dimensions; words have a billion dimensions, so that none is expected here.
DATED, ASKING, NAMING = 1, 2, 3
LAST_TRAIT = NAMING

# Every date in `rules.dates` has digits like these, or a time word. This test is fast, and most texts have neither.
_FIGURE = lazy_compile(r"\d(?:[/.-]\d|(?i:st|nd|rd|th)\b|(?<=[3-9])0['’]?[sS]\b|(?<=1)9\d\d|(?<=2)0\d\d)")
_QUESTION = lazy_compile(r"[^.!?。！？\n]*[?？]")
_CAPITALISED = lazy_compile(r"[A-Z](?<=[a-z,;] [A-Z])[a-z]{2,}")  # the rare letter first, then the text before it
# Whether there is a date does not depend on the day it was said, only which date it is.
_ANY_TIME = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class IntentTables:
    """The intents that a word asks for or tells, by stems joined with spaces or by Chinese piece."""

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
    about_user: bool  # by its first words; the subject of a turn of a conversation is often in an earlier turn
    about_other: bool  # it begins with somebody who belongs to the user
    named_people: tuple[tuple[str, Intents], ...]  # folded names, and the intents of the person
    has_date: bool


@cache
def load_tables() -> IntentTables:
    """Return the tables, which the first question builds from the lexicons."""
    asks: dict[str, set[str]] = {}
    tells: dict[str, set[str]] = {}
    people: set[str] = set()
    possessions: set[str] = set()
    for name, asking, telling in list_entries():
        for entry in asking:
            key = _make_key(entry.removeprefix(_ONLY_ASKED))
            asks.setdefault(key, set()).add(name)
            if not entry.startswith(_ONLY_ASKED):
                tells.setdefault(key, set()).add(name)
        for key in map(_make_key, telling):
            tells.setdefault(key, set()).add(name)
        if name in PEOPLE:
            people.update(entry for entry in (*asking, *(telling if name in FAMILY else ())) if entry.isalpha())
            possessions.update(entry for entry in asking if not entry.isascii())
    lengths: dict[str, int] = {}
    for phrase in (*asks, *tells):
        first, *rest = phrase.split(" ")
        lengths[first] = max(lengths.get(first, 1), 1 + len(rest))
    english = join_alternatives(entry for entry in people if entry.isascii())
    chinese = join_alternatives(
        entry for entry in people if tokens.has_cjk(entry) and (len(entry) > 1 or entry in "猫狗")
    )
    return IntentTables(
        asks={key: frozenset(names) for key, names in asks.items()},
        tells={key: frozenset(names) for key, names in tells.items()},
        phrase_lengths=lengths,
        naming=lazy_compile(
            rf"\b(?P<who>{english})(?:'s name)?(?:,| is| are| was)?(?: called| named)? {_TITLE}"
            r"(?P<names>[A-Z][\w'-]+(?:(?:, and |, | and )[A-Z][\w'-]+)*)"
        ),
        naming_zh=lazy_compile(
            rf"(?P<who>{chinese})(?:的?名字)?(?:名?叫做?|是)(?P<name>{_ZH}{{1,3}}?|[A-Za-z]+)"
            rf"(?=$|[，。,、；（ ]|今年|在|和)|名?叫(?P<name_before>{_ZH}{{1,4}}?|[A-Za-z]+)的(?P<who_after>{chinese})"
        ),
        possession_zh=lazy_compile(rf"(?:用户|[我咱俺]们?)(?:的|家的?)?[大小二三老]?{join_alternatives(possessions)}"),
    )


def list_entries() -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Yield each intent of each language with the entries that ask for it and those that only tell it."""
    for lexicon in (load_lexicon("intents.en"), load_lexicon("intents.zh")):
        for theme in ("self", "work", "study", "health", "food", "free_time", "things", "people", "places"):
            for name, entries in lexicon.get_table(theme).items():
                bar = entries.index("|")
                yield name, entries[:bar], entries[bar + 1 :]


def _make_key(entry: str) -> str:
    return " ".join(stem_words(entry.replace("_", " "))) if entry.isascii() else entry


def stem_words(text: str) -> list[str]:
    """Return the stems of all words of a text, with stop words; a run of Chinese is unchanged."""
    return [_stem_word(run) for run in tokens.split_runs(text)]


@lru_cache(maxsize=8_192)
def _stem_word(run: str) -> str:
    return tokens.stem_word(run.replace("’", "'").removesuffix("'s"))


def find_phrases(stems: Sequence[str], table: IntentTable) -> Iterator[tuple[int, int, Intents]]:
    """Yield start, end and intents of the longest phrases of a table, and of each other word without intents."""
    at = 0
    while at < len(stems):
        end, intents = _match_phrase(stems, at, table)
        yield at, end, intents
        at = end


def _match_phrase(stems: Sequence[str], at: int, table: IntentTable) -> tuple[int, Intents]:
    for end in range(min(len(stems), at + load_tables().phrase_lengths.get(stems[at], 1)), at, -1):
        if intents := table.get(" ".join(stems[at:end])):
            return end, intents
    return at + 1, NO_INTENTS


def _find_told_intents(stems: Sequence[str], table: IntentTable) -> Iterator[Intents]:
    """Yield what the phrases and the single words tell. Within a phrase for a person no word counts alone: a
    mother-in-law is no mother."""
    person_end = 0
    for at, word in enumerate(stems):
        end, intents = _match_phrase(stems, at, table)
        if end > person_end:
            yield intents
        if intents & PEOPLE:
            person_end = end
        if tokens.has_cjk(word):
            yield from _find_pieces(word.removeprefix("用户"), table)


def is_user_statement(text: str, *, by_user: bool = False) -> bool:
    """Whether a statement, which the user may have said, is about the user by its first words."""
    return text.startswith(USER_PREFIXES) or (by_user and text.startswith(FIRST_PERSON_PREFIXES))


@lru_cache(maxsize=4_096)
def read_intents(text: str, predicate: str = "", *, about_user: bool | None = None) -> StatementIntents:
    """Return what a statement tells, with the predicate of its fact, and whether it is about the user if that is known.

    Cached, because searches return the same memories again and again."""
    stems, tells, folded = stem_words(text), load_tables().tells, tokens.fold_text(text)
    intents = set(_FACT_INTENTS.get(predicate, NO_INTENTS)).union(*_find_told_intents(stems, tells))
    if _IS_A.match(folded) and intents.isdisjoint(_NO_JOB):
        intents.add("job")
    is_thing = _is_about_thing(text)
    if is_thing:
        intents.discard("job")
    if "job" in intents and _AT.search(text):
        intents.add("workplace")
    if _FROM_ZH.search(folded):
        intents.update(("origin", "ethnicity"))
    return StatementIntents(
        text=folded,
        # A name like O'Neil is one word of a question and two of a search.
        words=tokens.get_lexeme_set(text).union(stem for stem in stems if "'" in stem),
        intents=frozenset(intents),
        about_user=is_user_statement(text) if about_user is None else about_user,
        about_other=not is_thing and _is_about_other(folded, stems),
        named_people=tuple(_find_named_people(text)),
        has_date=_DATED.search(folded) is not None,
    )


def find_dimensions(intents: Intents, limit: int) -> frozenset[int]:
    """Return the dimensions of the single words that tell these intents.

    If there are more than `limit`, the intents with the fewest words come first."""
    by_intent = _map_dimensions()
    dimensions: frozenset[int] = frozenset()
    # Sorted by name, too: the order of a set differs between processes.
    for words in sorted((by_intent.get(intent, frozenset()) for intent in sorted(intents)), key=len):
        if len(dimensions | words) <= limit:
            dimensions |= words
    return dimensions


@cache
def _map_dimensions() -> Mapping[str, frozenset[int]]:
    dimensions: dict[str, set[int]] = {}
    for phrase, names in load_tables().tells.items():
        lexemes = tokens.extract_terms(phrase) if tokens.has_cjk(phrase) else (phrase,) if " " not in phrase else ()
        for name in names:
            dimensions.setdefault(name, set()).update(map(tokens.hash_lexeme, lexemes))
    return {name: frozenset(hashes) for name, hashes in dimensions.items()}


def _find_pieces(run: str, table: IntentTable) -> Iterator[Intents]:
    for at in range(len(run)):
        for end in range(at + 1, min(len(run), at + _LONGEST_PIECE) + 1):
            if intents := table.get(run[at:end]):
                yield intents - _JOB if at and run[at - 1] in _VISIT_VERBS else intents


def _is_about_thing(text: str) -> bool:
    """Whether a statement begins with a thing of the user's that is named after somebody."""
    match = _THING.match(text)
    if not match:
        return False
    words = match["what"].split()
    return _STOP_WORDS.isdisjoint(words) and not load_tables().asks.get(_stem_word(words[-1]), NO_INTENTS) & PEOPLE


def _is_about_other(folded: str, stems: Sequence[str]) -> bool:
    """Whether a statement begins with somebody who belongs to the user."""
    if possessive := next((prefix for prefix in _POSSESSIVES if folded.startswith(prefix)), ""):
        first = possessive.count(" ")
        phrases = find_phrases(stems[first : first + 4], load_tables().asks)
        return any(intents & PEOPLE for _, _, intents in phrases)
    return load_tables().possession_zh.match(folded) is not None


def _find_named_people(text: str) -> Iterator[tuple[str, Intents]]:
    tables = load_tables()
    for match in tables.naming.finditer(text):
        person = tables.tells[_make_key(match["who"])] & PEOPLE
        yield from ((tokens.fold_text(name.removesuffix("'s")), person) for name in _NAME.findall(match["names"]))
    for match in tables.naming_zh.finditer(text):
        person = tables.tells[match["who"] or match["who_after"]] & PEOPLE
        yield tokens.fold_text(match["name"] or match["name_before"]), person


def index_text(text: str, context: str | None = None, aliases: Sequence[str] = ()) -> dict[int, float]:
    """Return the traits of a text and the weights of its words by dimension, in the order of the dimensions."""
    return dict(zip(*list_dimensions(text, context, aliases), strict=True))


def list_dimensions(
    text: str, context: str | None = None, aliases: Sequence[str] = ()
) -> tuple[list[int], list[float]]:
    """Return the dimensions of `index_text` in order, and the value of each.

    The traits come first, with values in (0, 1] and without those that are 0: DATED is 1 for a date that is more than a
    time of the year, ASKING the share of characters in questions, NAMING 1 for a capitalised word inside a sentence."""
    dimensions, values, may_have_date = tokens.weigh_dimensions(text, context, *aliases)
    traits: dict[int, float] = {}
    if may_have_date or _FIGURE.search(text):
        dates = mentions.find_mentions(text, _ANY_TIME)
        if not all(date.is_vague for date in dates):
            traits[DATED] = 1.0
    if "?" in text or "？" in text:
        traits[ASKING] = round(sum(map(len, _QUESTION.findall(text))) / len(text), 4)
    if _CAPITALISED.search(text):
        traits[NAMING] = 1.0
    return ([*traits, *dimensions], [*traits.values(), *values]) if traits else (dimensions, values)
