"""Extracts statements from a person's message by rule, in English and Chinese, with precision before recall."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice, pairwise, tee

from muniment.memory.domain.memory import Fact
from muniment.memory.domain.turn import Candidate, Extraction, ForgetRequest, Turn
from muniment.memory.rules.dates import mentions
from muniment.memory.rules.extraction import classify, correction_words, gate, notes
from muniment.memory.rules.extraction.chinese import clauses, subjects
from muniment.memory.rules.extraction.clauses import (
    Draft,
    MentionedPerson,
    complete_answer,
    find_person,
    replace_pronoun,
    rewrite_asides,
    split_clauses,
    split_sentences,
    strip_ornaments,
)
from muniment.memory.rules.extraction.english import clauses as english
from muniment.memory.rules.extraction.forget_requests import FORGET_WORD, POLITE, parse_forget_request
from muniment.memory.rules.extraction.work import read as work
from muniment.memory.rules.language.clause import Clause
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.statements.parse import is_correcting

_CJK = lazy_compile(r"[\u3400-\u9fff]")
# Predicates of people whose name is no fact by itself, as that of a relative is.
_ACQUAINTED = frozenset(
    ("friend", "roommate", "neighbour", "colleague", "teacher", "coach", "mentor", "doctor", "dentist", "therapist")
)
MAX_STATEMENTS = 24
_MAX_CORRECTIONS = 2  # sentences of a turn that are compared with what is known, though they say nothing themselves
_MAX_CLAUSES = 1000  # of a turn: a pasted book is not read to its end on the hot path
_MAX_SENTENCE = 2_000  # characters; what is longer is no sentence, and is noted as far as a note reaches
_REQUESTED_IMPORTANCE = 3  # the least importance of what the person wants remembered
_UNREAD_CHARS = 200  # of what is not read; they fit one note

_REMEMBER = lazy_compile(
    POLITE + r"(?:(?:remember|note|keep\s+in\s+mind|bear\s+in\s+mind|don't\s+forget|do\s+not\s+forget|never\s+forget"
    r"|make\s+a\s+note|take\s+note|memori[sz]e|write\s+down|save|store)(?:\s+(?:this|the\s+following|it"
    r"|for\s+(?:later|me|next\s+time|the\s+future)))*\s*(?:[:,]\s*|\s+)(?:that\s+|of\s+)?)(?P<inner>\S.*)$",
    re.IGNORECASE | re.DOTALL,
)
_NOT_TO_KEEP = lazy_compile(
    r"(?:to\s|when\b|how\b|what\b|why\b|where\b|who\b|the\s+(?:time|day|days|good|last\s+time|moment)\b|me\b|us\b|it\b"
    r"|your\b|you\b|back\b|those\b|these\b|and\b|or\b|money\b|time\b|space\b|about\b)",
    re.IGNORECASE,
)
_OWN = lazy_compile(r"(?:i|i'm|i've|my|our|call\s+me)\b", re.IGNORECASE)
_REMEMBER_ZH = lazy_compile(
    r"^[\s，,]*(?:请|麻烦|帮我|你要|你|一定要|务必|好好)*(?:记住|记一下|记下来?|记着|牢记|(?:记得|别忘了|不要忘记"
    r"|不要忘了)(?=我))(?:一下|这个|这件事|这一点|，|,|：|:|\s)*(?P<inner>\S.*)$",
    re.DOTALL,
)
_GOES_ON = lazy_compile(
    r"(?!(?:i|i'm|i've|we|my|our|in|to|at|on|for|with|of|if|so|as|by|from|it|that|this|you|what|why|how)\b)[a-z]+\s+\w",
    re.IGNORECASE,
)
_VALUES_ALONE = frozenset(
    {"name", "preferred_name", "nickname", "pronouns", "birthday"}
)  # nothing goes on behind these
_END = "。！!.~～ "
_START = 12  # characters that tell whether a remainder begins the sentence
_OWN_CLAUSE = lazy_compile(r"\b(?:i|i'm|im|i've|we|my)\b|我", re.IGNORECASE)
# What ends a request, also where no comma stands behind it.
_COURTESY = lazy_compile(r"\b(?:please|thanks|thank\s+you)(?=\s+(?:i|i'm|i've|my|we)\b)", re.IGNORECASE)
_PRONOUN = lazy_compile(r"\b(?:he|she)\b", re.IGNORECASE)


@dataclass(slots=True)
class _Reading:
    """A sentence with what was read of it, and whether its words, or those of it that are left, are to be kept."""

    sentence: str
    said: str  # what of it may be noted
    noted: str  # what of it is noted, where it is
    candidates: list[Candidate]
    is_noted: bool
    is_requested: bool
    leans_back: bool = False  # only the sentence before it tells whose it is
    persons: tuple[str, ...] = ()  # who only the note names
    is_wish: bool = False  # about answers
    work: Fact | None = None  # what it says of its speaker's work


def extract_statements(
    turn: Turn,
    previous: tuple[Turn, ...] = (),
    *,
    most: int = MAX_STATEMENTS,
    is_late: Callable[[], bool] | None = None,
) -> Extraction:
    """The statements of a user's turn, the last one for each fact, and the requests to forget.

    What the rules do not read, or read in part, becomes a note in the person's own words. Beyond `most` statements the
    less important facts are noted, too, for a note joins several sentences; what is asked to be remembered does not
    count. Only the first 1,000 clauses are read, and none of a turn of another role. A bare answer is read with the
    question in `previous`, oldest first. With `is_late` nothing is read from the sentence on before which it is true or
    which has more than 2,000 characters: a note has its beginning, which is `unread`."""
    if turn.role != "user":
        return Extraction()
    text = _COURTESY.sub(r"\g<0>,", complete_answer(turn.text, previous))
    is_lowercase = turn.text == turn.text.lower()
    readings: list[_Reading] = []
    found = 0
    requests: dict[str, ForgetRequest] = {}
    budget = iter(range(_MAX_CLAUSES))
    person = next(filter(None, (find_person(each.text) for each in reversed(previous) if each.role == "user")), None)
    subject: subjects.Subject | None = None
    sentences, ahead = tee(split_sentences(text))
    asks = any(map(classify.is_request, islice(ahead, _MAX_CLAUSES)))
    unread: list[str] = []
    for said in sentences if is_late is None else _read_until(sentences, is_late, unread):
        sentence = subjects.replace_pronoun(said, subject) if subject else said
        if FORGET_WORD.search(sentence) and (request := parse_forget_request(sentence)):
            described = (
                ()
                if request.key_prefixes or not request.words
                else _draft_statements(request.quote, turn, budget, person, lower=is_lowercase)
            )
            requests[request.quote] = replace(request, facts=tuple(draft.fact for draft in described))
            continue
        inner = _parse_remember_request(sentence)
        drafts = tuple(_draft_statements(sentence, turn, budget, person, lower=is_lowercase))
        meant = inner or replace_pronoun(sentence, person)
        readings.append(_read_sentence(meant, drafts, turn, is_requested=bool(inner), asks=asks))
        readings[-1].leans_back = subject is not None and subjects.leans_back(sentence, subject)
        subject = subjects.find_last_subject(sentence) if _CJK.search(sentence) else None
        person = find_person(rewrite_asides(sentence)) or (person if _PRONOUN.search(sentence) else None)
        if (found := found + len(readings[-1].candidates)) >= MAX_STATEMENTS:
            break
    if readings and gate.MAY_EXPLAIN.search(text):
        _drop_explanations(readings, turn.at)
    _add_neighbours(readings)
    wanted = [each for each in readings if each.is_requested]
    requested = _list_candidates(wanted, turn, previous, _REQUESTED_IMPORTANCE)
    others = [each for each in readings if not each.is_requested]
    told = _share_room(others, turn, previous, most)
    rest = notes.make_notes(unread, turn) if unread else ()
    return Extraction(
        candidates=(*requested, *told, *_list_corrections(others, turn), *rest),
        forget_requests=tuple(requests.values()),
        unread="".join(unread),
        requested_texts=frozenset(candidate.text for candidate in requested),
    )


def _read_until(sentences: Iterator[str], is_late: Callable[[], bool], unread: list[str]) -> Iterator[str]:
    """The sentences up to one for which it is too late, or that is none by its length; `unread` gets its beginning."""
    for sentence in sentences:
        if len(sentence) > _MAX_SENTENCE or is_late():
            unread.append(" ".join([sentence, *islice(sentences, _UNREAD_CHARS)])[:_UNREAD_CHARS])
            return
        yield sentence


def _list_corrections(readings: Sequence[_Reading], turn: Turn) -> list[Candidate]:
    """What says nothing by itself but may correct what was said before: `sorry, it's Rowan`."""
    silent = [each.sentence for each in readings if not each.is_noted and not each.candidates]
    correcting = [each for each in silent if is_correcting(each) and not each.endswith(("?", "？"))]
    return [
        replace(note, is_correction=True)
        for sentence in correcting[:_MAX_CORRECTIONS]
        for note in notes.make_notes([sentence], turn)
    ]


def _read_sentence(sentence: str, drafts: Sequence[Draft], turn: Turn, *, is_requested: bool, asks: bool) -> _Reading:
    found = [_make_candidate(draft, turn) for draft in drafts]
    texts = [candidate.text for candidate in found]
    texts += {draft.source for draft in drafts if notes.is_read_whole(draft.source, draft.captured, texts, turn.at)}
    safe = notes.drop_redacted(sentence) if notes.REDACTED in sentence else sentence
    if found and not is_requested and gate.MAY_EXPLAIN.search(safe):
        safe = correction_words.drop_empty_clauses(safe, {draft.fact.predicate for draft in drafts})
    is_wish = any(draft.category == "style" for draft in drafts)
    if is_requested:
        said = safe if found or notes.states_something(safe) else ""
    elif is_wish:  # an order by its form
        said = safe
    else:
        said = notes.select_statement(safe, is_read=bool(found) or _tells_of_day(safe, turn.at), is_beside_request=asks)
        if not (found or said or notes.REDACTED in sentence) and work.read_work(safe, turn.at, is_beside_request=asks):
            said = safe
    left = notes.strip_covered(said, texts, turn.at) if said else ""
    if left != said and not is_requested and (extended := _extend_fact(found, drafts, left, sentence, turn)):
        return _Reading(sentence, said, said, extended, is_noted=False, is_requested=False)
    rest = _find_remainder(said, left, is_requested=is_requested, is_wish=is_wish)
    persons: tuple[str, ...] = ()
    if any(draft.fact.predicate in _ACQUAINTED for draft in drafts):
        found, persons = _drop_named(found, rest, turn.at)
    reading = _Reading(
        sentence, said or sentence, rest or sentence, found, bool(rest), is_requested, persons=persons, is_wish=is_wish
    )
    if not found or (is_requested and all(draft.fact.predicate == "note" for draft in drafts)):
        reading.work = work.read_work(rest or safe, turn.at, is_beside_request=asks and not is_requested)
    if found and reading.work:
        fact = reading.work
        reading.candidates = [
            replace(one, fact=fact, category=work.file_work(fact, one.text, one.category)) for one in found
        ]
    return reading


def _drop_named(found: Sequence[Candidate], rest: str, at: datetime) -> tuple[list[Candidate], tuple[str, ...]]:
    """The facts without those that only say who a friend or a colleague is, where the note or another fact says that,
    too: `My colleague Ana grows orchids`; and whom the note names for them."""
    named = [
        one for one in found if one.fact and one.fact.predicate in _ACQUAINTED and one.fact.object in one.fact.persons
    ]
    note = notes.tell_sentence(rest, at) if rest else None
    noted = [one for one in named if note and notes.holds_statement(note, one.text, at)]
    others = [one.text for one in found if one not in named]
    told = [one for one in named if any(notes.holds_statement(text, one.text, at) for text in others)]
    persons = tuple(one.fact.object for one in noted if one.fact)
    return [one for one in found if one not in noted and one not in told], persons


def _tells_of_day(sentence: str, at: datetime) -> bool:
    """Whether a clause asserts something of its speaker with a date: `昨天我终于拿到驾照了`."""
    if not mentions.find_mentions(sentence, at):  # most have none, and need not be split
        return False
    return any(_OWN_CLAUSE.search(clause) and mentions.find_mentions(clause, at) for clause in split_clauses(sentence))


def _extend_fact(
    found: list[Candidate], drafts: Sequence[Draft], rest: str, sentence: str, turn: Turn
) -> list[Candidate]:
    """The statements with the rest of their sentence behind the one that it goes on with; empty where it does not."""
    if classify.is_request(rest) or not notes.is_own_statement(f"I {rest}", is_read=True):
        return []
    for n, draft in reversed(list(enumerate(drafts))):
        # An English clause would be told of the user: also `and don't use emojis`.
        is_told_so = draft.fact.kind != "identity" and draft.category != "style"
        if draft.fact.predicate in _VALUES_ALONE or not (is_told_so or _CJK.search(rest)):
            continue
        if text := notes.extend_statement(found[n].text, draft.source, rest, sentence, turn.at):
            extended = replace(found[n], text=text)
            return [extended if one.fact == extended.fact else one for one in found]
    return []


def _find_remainder(said: str, rest: str, *, is_requested: bool, is_wish: bool = False) -> str:
    """What is noted beside the facts of a sentence. `rest` is what of its words none of them holds."""
    if rest != said and not is_requested:
        # `in case you wonder why` says nothing without what was read; `and carry a card` has its subject before it.
        is_start = said.startswith(rest[:_START])
        goes_on = not is_start and _GOES_ON.match(rest) and notes.is_own_statement(f"I {rest}", is_read=True)
        rest = said if goes_on else notes.keep_remainder(rest, said, is_wish=is_wish)
    return notes.restore_subjects(rest, said) if rest != said and _CJK.search(rest) else rest


def _drop_explanations(readings: Sequence[_Reading], at: datetime) -> None:
    """Note nothing of what only explains a correction that was read, in its sentence or in the one behind it."""
    for before, reading in pairwise([None, *readings]):
        corrected = next((each for each in (reading, before) if each and each.candidates), None)
        if reading and reading.is_noted and not reading.is_requested and corrected:
            is_explained = correction_words.is_corrected_by(corrected.sentence)
            reading.is_noted = not (is_explained and correction_words.explains_correction(reading.noted, at))


def _add_neighbours(readings: Sequence[_Reading]) -> None:
    """Note also the sentences beside a noted one that belong to it, for a note has room for both.

    These are what its speaker states too, and what it refers to: a question before `It's my favourite tree`."""
    noted = [n for n, reading in enumerate(readings) if reading.is_noted and not reading.is_requested]
    for at in noted:
        for n in (at - 1, at + 1):
            reading = readings[n] if 0 <= n < len(readings) else None
            if reading is None or reading.candidates or reading.is_requested or reading.is_noted:
                continue
            meant = notes.quote_clause(reading.sentence) if n < at and notes.refers_back(readings[at].sentence) else ""
            reading.is_noted = bool(meant) or notes.is_own_statement(reading.sentence, is_read=True)
            reading.noted = meant or reading.noted
    for before, reading in pairwise(readings):
        if reading.is_noted and reading.leans_back and not reading.is_requested and not before.is_requested:
            before.is_noted = True


def _list_candidates(
    readings: Sequence[_Reading],
    turn: Turn,
    previous: Sequence[Turn],
    importance: int = notes.IMPORTANCE,
    *,
    is_apart: bool = True,
) -> list[Candidate]:
    """The statements of sentences, the last one for each fact, and the notes of what is left. `is_apart`: what is said
    of work has notes of its own."""
    facts = {
        candidate.fact.key if candidate.fact else candidate.text: candidate
        for reading in readings
        for candidate in reading.candidates
    }
    noting = [reading for reading in readings if reading.is_noted]
    noted = [reading.noted for reading in noting]
    of_work = {reading.noted: reading.work for reading in noting if reading.work and is_apart}
    made = list(notes.make_notes(noted, turn, previous, importance=importance, work=of_work)) if noted else []
    if persons := dict.fromkeys(person for reading in noting for person in reading.persons):
        made = [notes.name_persons(note, persons) for note in made]
    if made and all(reading.is_wish for reading in noting):
        made = [classify.file_wish(note) for note in made]
    return [*list(facts.values())[:MAX_STATEMENTS], *made]


def _share_room(readings: Sequence[_Reading], turn: Turn, previous: Sequence[Turn], most: int) -> list[Candidate]:
    """The facts and the notes. Of too many, the words of the least important facts are noted: one by one, but those of
    a sentence that has more than there is room for at once, which would take time by the square of their number."""
    is_apart = True
    while True:
        candidates = _list_candidates(readings, turn, previous, is_apart=is_apart)
        if is_apart and len(candidates) > most and any(reading.work for reading in readings):
            is_apart = False
            continue
        foldable = [(reading, fact) for reading in readings for fact in reading.candidates]
        if len(candidates) <= most or not foldable:
            return candidates
        ranked = sorted(foldable, key=lambda pair: pair[1].importance)
        reading = next((each for each in readings if len(each.candidates) > MAX_STATEMENTS), ranked[0][0])
        count = max(1, len(reading.candidates) - MAX_STATEMENTS)
        least = {id(fact) for fact in [fact for each, fact in ranked if each is reading][:count]}
        reading.candidates = [fact for fact in reading.candidates if id(fact) not in least]
        texts = [fact.text for fact in reading.candidates]
        rest = notes.strip_covered(reading.said, texts, turn.at)
        reading.noted = _find_remainder(reading.said, rest, is_requested=False) or reading.said
        reading.is_noted = True


def _draft_statements(
    sentence: str, turn: Turn, budget: Iterator[int], person: MentionedPerson | None, *, lower: bool
) -> Iterator[Draft]:
    inner = _parse_remember_request(sentence)
    subject: subjects.Subject | None = None
    following: subjects.Subject | None = None
    for text, _ in zip(split_clauses(inner or sentence), budget, strict=False):
        language = clauses if _CJK.search(text) else english
        tried: str | None = None
        for form in (strip_ornaments(text), text):  # `I love 🍣` has no object without it
            statement = form
            if language is clauses:
                statement, following = subjects.add_subject(form, previous=subject)
            else:
                statement = replace_pronoun(form, person)
                person = find_person(statement) or person
            if statement == tried:  # it is the same without ornaments
                break
            tried = statement
            clause = Clause(text=statement, at=turn.at, is_lowercase=lower, is_directive=bool(inner))
            if drafts := language.draft_facts(clause):
                break
        is_unsure = language is clauses and subjects.is_unsure(text, subject)
        subject = following
        note = language.draft_note(clause) if inner and not drafts and not is_unsure else None
        for draft in [*drafts, *([note] if note else [])]:
            importance = max(draft.importance, _REQUESTED_IMPORTANCE) if inner else draft.importance
            # The sentence has no subject there, or a pronoun.
            is_rewritten = draft.source not in form
            source = form if is_rewritten and draft.source.rstrip(_END) == statement.rstrip(_END) else draft.source
            yield replace(draft, importance=importance, source=source if source in form else "")


def _parse_remember_request(sentence: str) -> str | None:
    """The sentence after `remember that`; None in any other sentence."""
    match = _REMEMBER.match(sentence)
    if match:
        advice = "," in sentence[: match.start("inner")][-2:] and not _OWN.match(match["inner"])
        return None if advice or _NOT_TO_KEEP.match(match["inner"]) else match["inner"].rstrip(" ?")
    match = _REMEMBER_ZH.match(sentence)
    return match["inner"] if match and not sentence.rstrip().endswith(("吗", "吗？", "吗?")) else None


def _make_candidate(draft: Draft, turn: Turn) -> Candidate:
    text = draft.text if draft.timeless else mentions.expand_dates(draft.text, turn.at)
    # The tense of the statement may differ from that of the clause: "used to" and "plans to" date it by its own text.
    when = None if draft.timeless or draft.fact.kind == "identity" else mentions.resolve_date(draft.text, turn.at)
    return Candidate(
        text=text.strip(" .。"),
        category=draft.category,
        fact=draft.fact,
        importance=draft.importance,
        confidence=draft.confidence,
        event_time=when,
        turns=(turn.id,),
        actor=turn.actor,
        role=turn.role,
    )
