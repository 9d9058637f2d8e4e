"""What memories have in common, without a model: how alike two are, whether one restates or explicitly corrects the
other, and which notes a fact takes the place of.

In a conversation the last statement most likely corrects an earlier one. Two memories from different days and sources
are most likely both true, so that every additional word counts here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from muniment.memory.config.schema import CosineBands, EmbedderProfile
from muniment.memory.domain.journal import Band
from muniment.memory.domain.memory import TRUST_RANK, Neighbour, StoredMemory, is_note, is_structured
from muniment.memory.domain.plan import Change
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.dates.mentions import remove_dates
from muniment.memory.rules.extraction.notes import holds_details, is_covered
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon
from muniment.memory.rules.language.tokens import get_lexeme_set, has_cjk
from muniment.memory.rules.language.writing import choose_bands
from muniment.memory.rules.merging.wording import has_same_slot, is_retraction, is_whereabouts
from muniment.memory.rules.statements.parse import (
    ParsedStatement,
    canonicalize_word,
    normalize_sentence,
    parse_statement,
)
from muniment.memory.rules.statements.parse_words import NUMBERS
from muniment.memory.rules.statements.people import USER, has_other_order
from muniment.memory.rules.statements.predicates import resolve_fact

# The share of common words replaces the cosine where the embedder does not know the script; these are its bands.
_WORD_OVERLAP_BANDS = CosineBands(auto=0.9, check=0.5, fallback=0.3, floor=0.0, ceiling=1.0)


def is_covered_by_parts(candidate: Candidate, neighbours: Sequence[Neighbour]) -> bool:
    """Whether several memories of the candidate's turn together say all that the candidate says."""
    if candidate.fact is None:
        return False
    parts = [
        parse_statement(fact.object)
        for fact, turns in ((neighbour.memory.fact, neighbour.memory.turns) for neighbour in neighbours)
        if fact and set(candidate.turns) & set(turns) and resolve_fact(candidate.fact)[:3] == resolve_fact(fact)[:3]
    ]
    if len(parts) < 2:
        return False
    new = parse_statement(candidate.fact.object)
    return new.words | new.figures <= frozenset[str]().union(*(part.words | part.figures for part in parts))


def find_free_key(candidate: Candidate, neighbours: Sequence[Neighbour]) -> str | None:
    """Return the candidate's key, or a longer one if another memory has it: of a second event, or of a denied value
    beside one that holds."""
    if candidate.fact is None or candidate.state == "pending":
        return None
    taken = {item.memory.stable_key for item in neighbours if item.memory.state == "active"}
    key = candidate.fact.key
    if key in taken:
        when = candidate.event_time.date().isoformat() if candidate.event_time else "-"
        key = f"{candidate.fact.attribute}{tokens.fold_text(candidate.fact.object)}|{when}"
    return key if key not in taken else None


def choose_key(candidate: Candidate, memory: StoredMemory, others: Sequence[Neighbour]) -> str | None:
    """Return the key of a changed memory: its own, also a longer one, while it is about the same."""
    if candidate.fact is None or (memory.fact is not None and memory.fact.key == candidate.fact.key):
        return memory.stable_key
    return find_free_key(candidate, others)


def find_band(sim: float, bands: CosineBands) -> Band:
    """Return the band of a similarity."""
    if sim >= bands.auto:
        return "auto"
    if sim >= bands.check:
        return "check"
    return "fallback" if sim >= bands.fallback else "new"


def measure_similarity(
    text: str, key: str | None, neighbour: Neighbour, profile: EmbedderProfile
) -> tuple[float, Band]:
    """Return the similarity of a memory to a text with the stable key of its fact, in [-1, 1], and its band. The same
    key is 1.0 and `auto`."""
    memory = neighbour.memory
    if key is not None and memory.stable_key == key:
        return 1.0, "auto"
    if tokens.is_legible(profile.scripts, text, memory.text):
        bands = choose_bands(profile, text, memory.text) if profile.by_writing else profile
        return neighbour.sim, find_band(neighbour.sim, bands)
    share = parse_statement(text).measure_overlap(parse_statement(memory.text))
    return share, find_band(share, _WORD_OVERLAP_BANDS)


_EN, _ZH = load_lexicon("merging.en"), load_lexicon("merging.zh")
_LIGHT, _TIMES, _LIGHT_VERBS, _DENIALS = (
    _EN.get_words(section) | _ZH.get_words(section) for section in ("light", "times", "light_verbs", "denials")
)
# Turns of phrase that say the same, and the one for all.
_PHRASES = tuple(
    (lazy_compile(pattern, re.IGNORECASE), plain)
    for pattern, plain in (
        (r"\b(?:has|have)\s+an?\s+allergy\s+to\b", "is allergic to"),
        (r"\b(?:has|have|suffers?\s+from)\s+(?:an?\s+)?((?:[\w-]+\s+){1,3})allerg(?:y|ies)\b", r"is allergic to \1"),
        (r"\b(?:has|have)\s+an?\s+((?:[\w-]+\s+){1,2})intolerance\b", r"is \1intolerant"),
        (r"\bis\s+intolerant\s+(?:to|of)\s+([\w-]+)", r"is \1 intolerant"),
        (r"\b(?:works?|is\s+working|is\s+employed)\s+as\s+(?=an?\b)", "is "),
        (r"\buser's\s+(?:job|occupation|profession)\s+is\s+", "user is "),
        (r"\b(?:resides|is\s+based|is\s+living)\s+in\b", "lives in"),
        (r"有([\u3400-\u9fff]{1,6})过敏症?", r"对\1过敏"),
        (r"的(?:职业|工作)是(?:一[名位个])?|是一[名位个]", "是"),
        (r"(?:居住|定居)在|现居", "住在"),
    )
)
_DIRECTION_WORDS = frozenset(("from", "as"))
_DIGITS = lazy_compile(r"\d+")
_LEADS = ('The user said: "', '用户说："', '用户说:"')
_SENTENCES = lazy_compile(r"(?<=[.!?])\s+(?=\S)|(?<=[。！？；])\s*(?=\S)")


def has_same_words(a: ParsedStatement, b: ParsedStatement) -> bool:
    """Whether both have the same content words and numbers, in any order."""
    return (
        a.figures == b.figures
        and Counter(_list_content_words(a)) == Counter(_list_content_words(b))
        and _find_direction_words(a) == _find_direction_words(b)
    )


def has_same_numbers(text: str, other: str) -> bool:
    """Whether two texts have the same digits in the same order, and the same numbers in words."""
    is_same = _DIGITS.findall(text) == _DIGITS.findall(other)
    return is_same and parse_statement(text).figures == parse_statement(other).figures


def is_comparable_row(text: str, memory: StoredMemory) -> bool:
    """Whether a line of a file, which no rule reads as a fact, may be what a memory says: both have the same numbers.
    With a note it may be so only word for word, because the same numbers may count other things."""
    if not has_same_numbers(text, memory.text):
        return False
    has_numbers = _DIGITS.search(text) is not None or bool(parse_statement(text).figures)
    is_same = normalize_sentence(text) == normalize_sentence(memory.text)
    return not has_numbers or is_structured(memory.fact) or is_same


def is_same_claim(text: str, other: str) -> bool:
    """Whether two statements say the same in two turns of phrase: `has a penicillin allergy`, `is allergic to
    penicillin`. It asks for every word, name and number, so that it holds across predicates and categories."""
    plain, other_plain = _rewrite_phrases(text), _rewrite_phrases(other)
    if plain == text and other_plain == other:
        return False
    a, b = parse_statement(plain), parse_statement(other_plain)
    return has_same_words(a, b) and a.names == b.names and a.is_negated == b.is_negated and not has_other_order(a, b)


@tokens.cache_texts(4_096)
def _rewrite_phrases(text: str) -> str:
    """Return the text with one turn of phrase for all. Cached, because stored memories are compared many times."""
    for pattern, plain in _PHRASES:
        text = pattern.sub(plain, text)
    return text


def _find_direction_words(statement: ParsedStatement) -> frozenset[str]:
    """Return the words that turn a relation between two people around: `has a vote from Ana`, `has Ana as coach`."""
    several = len(statement.names | ({statement.first_word} if statement.first_word else frozenset())) > 1
    return _DIRECTION_WORDS & set(statement.tokens) if several else frozenset()


def is_corrected(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether the newer one gives the same thing another value, says that it changed, or denies the older one."""
    if has_same_slot(new, old) and not is_whereabouts(new):
        return True
    if new.contradicts(old) != old.contradicts(new):
        new_words, old_words = set(_list_content_words(new)), set(_list_content_words(old))
        return new.figures == old.figures and new_words - _DENIALS == old_words - _DENIALS
    # The former value is the numbers, or one word if there are none; the rest has to be repeated. In Chinese each
    # character is a word.
    gone = old.words - new.words
    return new.is_correction and len(gone) <= (0 if new.figures or has_cjk(old.text) else 1)


def is_taken_back(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether the newer one names what it replaces, and the older one says that: `Riga, not Oslo`.

    It has to repeat every name and word of the older one but light verbs, with the people in the same order."""
    names = old.names | ({old.first_word} if old.first_word else frozenset())
    rest = old.words - new.retracted_words
    return (
        is_retraction(new, old)
        and not old.is_negated
        and bool(rest)
        and rest - new.words <= _LIGHT_VERBS
        and names - new.retracted_words <= set(new.tokens)
        and not has_other_order(new, old)
    )


def is_unrelated(a: ParsedStatement, b: ParsedStatement) -> bool:
    """Whether the two have only names, numbers, times and light words in common, so that neither updates the other."""
    names = a.names | b.names | frozenset(filter(None, (a.first_word, b.first_word))) | USER | set("用户") | _TIMES
    return set(_list_content_words(a)).isdisjoint(set(_list_content_words(b)) - names)


def _list_content_words(statement: ParsedStatement) -> Iterator[str]:
    """Yield every word but light words and numbers, in one form for all spellings and synonyms."""
    for token in statement.tokens:
        if token not in _LIGHT and token not in NUMBERS and not token.isdecimal() and token not in statement.figures:
            yield canonicalize_word(token)


@tokens.cache_texts(4_096)
def split_statements(text: str) -> tuple[str, ...]:
    """The sentences of a memory, without the lead and the marks of a quotation. A note of several is not ended as a
    whole."""
    return tuple(part for part in _SENTENCES.split(strip_quotation(text)) if part.strip())


def strip_quotation(text: str) -> str:
    """The words of a note without `The user said` and its quotation marks."""
    if not text.startswith(_LEADS):
        return text
    lead = next(lead for lead in _LEADS if text.startswith(lead))
    return text[len(lead) :].rstrip('"”')


def is_known(candidate: Candidate, memory: StoredMemory) -> bool:
    """Whether the memory says all that the candidate says."""
    if candidate.event_time not in (None, memory.event_time) or not set(candidate.aliases) <= set(memory.aliases):
        return False
    new, old = parse_statement(candidate.text), parse_statement(memory.text)
    if (new.figures <= old.figures and new.words <= old.words) or is_same_claim(candidate.text, memory.text):
        return True
    # Of two readings of one turn the one with more content stays, of equal ones the first: neither corrects the other.
    has_more = len(new.words) > len(old.words) or bool((new.names | new.figures) - old.names - old.figures)
    return bool(set(candidate.turns) & set(memory.turns)) and bool(
        (old.names | old.figures) - new.names - new.figures - set(new.tokens) or not has_more
    )


def is_decided(candidate: Candidate, before: StoredMemory, neighbours: Sequence[Neighbour]) -> bool:
    """Whether another memory says the candidate word for word, and nothing has changed the memory `before` since: when
    it was said first, it left that memory as it is, and so it does when it is said again."""
    return any(
        memory.id != before.id
        and memory.text == candidate.text
        and memory.updated_at >= before.updated_at
        and candidate.fact in (None, memory.fact)
        and TRUST_RANK[candidate.trust] <= TRUST_RANK[memory.trust]
        and is_known(candidate, memory)
        for memory in (each.memory for each in neighbours)
    )


_READ_SHARE = 0.5  # of a fact's words that stand in the sentence that it was read from


def is_told(candidate: Candidate, memory: StoredMemory) -> bool:
    """Whether a memory of another turn says already what a note says; neither may deny what the other says."""
    if memory.state != "active" or set(candidate.turns) & set(memory.turns):
        return False
    said = strip_quotation(candidate.text)
    if not is_covered(said, [memory.text], memory.created_at, is_strict=True):
        return False
    new, old = parse_statement(said), parse_statement(strip_quotation(memory.text))
    return new.contradicts(old) == old.contradicts(new)


def retire_read_notes(
    changes: Iterable[Change],
    known: Iterable[StoredMemory],
    at: datetime,
    soft_delete_days: int,
    *,
    is_by_model: bool = False,
) -> Iterator[Change]:
    """Yield the soft deletion of each note that facts of its turns say as a whole.

    So goes a note of one sentence with the value of a fact that was said with it and is superseded now. Of what a model
    has read, a note goes whose sentences were each read as a fact, in whichever words.

    `known` are the memories near those that change. A pinned note stays."""
    changes = list(changes)
    outdated = [
        change.before
        for change in changes
        if change.before is not None and change.before.fact is not None and change.meta.get("why") == "supersedes"
    ]
    after = {change.after.id: change.after for change in changes}
    if not outdated and all(is_note(memory.fact) or memory.state != "active" for memory in after.values()):
        return
    memories = {memory.id: memory for memory in known} | after
    facts = [memory for memory in memories.values() if memory.state == "active" and not is_note(memory.fact)]
    for memory in memories.values():
        if memory.id in after or not is_note(memory.fact) or memory.pinned or memory.state != "active":
            continue
        texts = [fact.text for fact in facts if set(fact.turns) & set(memory.turns)]
        if (
            is_covered(strip_quotation(memory.text), texts, memory.created_at)
            or (is_by_model and _is_read(memory, texts))
            or any(_leans_on(memory, before) for before in outdated)
        ):
            purge_at = at + timedelta(days=soft_delete_days)
            gone = replace(memory, state="soft_deleted", purge_at=purge_at, updated_at=at)
            yield Change(action="DELETE", before=memory, after=gone, meta={"why": "read"})


def _is_read(note: StoredMemory, texts: list[str]) -> bool:
    """Whether facts have every name and number of a note, and each of its sentences was read as one of them."""
    if not holds_details(remove_dates(strip_quotation(note.text), note.created_at), " ".join(texts)):
        return False
    asked = ("?", "？")
    sentences = [get_lexeme_set(each) for each in split_statements(note.text) if not each.endswith(asked)]
    facts = [get_lexeme_set(remove_dates(text, note.created_at)) for text in texts]
    return all(
        any(fact and len(fact & sentence) >= _READ_SHARE * len(fact) for fact in facts) for sentence in sentences
    )


def _leans_on(note: StoredMemory, before: StoredMemory) -> bool:
    """Whether a note of one sentence has the value of a fact that was said with it."""
    if before.fact is None or is_note(before.fact) or not set(note.turns) & set(before.turns):
        return False
    value = get_lexeme_set(before.fact.object)
    return bool(value) and len(split_statements(note.text)) <= 1 and value <= get_lexeme_set(note.text)
