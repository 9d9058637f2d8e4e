"""How a note is written: as one statement of some sentences, in the third person where that is certain, else quoted.

Neighbouring sentences share a note, but for one that says what its speaker decided, found out, repaired or keeps to:
it has a note of its own with that as its fact."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from muniment.memory.domain.memory import NOTE, Fact
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.rules.dates import mentions
from muniment.memory.rules.extraction import classify
from muniment.memory.rules.extraction.notes import IMPORTANCE, MAX_CHARS, refers_back
from muniment.memory.rules.extraction.work import file_work, list_names
from muniment.memory.rules.language.chinese_words import PERSON
from muniment.memory.rules.language.english_words import narrate_first_person
from muniment.memory.rules.language.lazy_regex import lazy_compile

_WORK_IMPORTANCE = 2
_NO_WORK: Mapping[str, Fact] = {}
_CONTEXT_CHARS = 300  # of a turn before a note, its end
_LEAD_EN, _LEAD_ZH = 'The user said: "', '用户说："'
_WORD = lazy_compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d+")
_CJK = lazy_compile(r"[\u3400-\u9fff]")
_LATIN_QUOTES = str.maketrans({'"': "'", "“": "'", "”": "'", "\n": " "})
_TOLD_ALREADY = lazy_compile(r"The user(?:'s)?\s(?!.*\b(?:I|me|my|we|our|us)\b)")
_ZH_PERSON = lazy_compile(r"[你您咱俺]|我们|自我|忘我|我国")
_ZH_OWNER = lazy_compile(rf"我(?={PERSON})")
_ZH_SUBJECT = lazy_compile(r"^(?:[^，,。]{0,6})我")


def tell_sentence(said: str, at: datetime) -> str | None:
    """What a note of some words says in the third person; None where it quotes them."""
    told = _narrate(said)
    return mentions.annotate_dates(told, at) if told else None


def name_persons(note: Candidate, persons: Iterable[str]) -> Candidate:
    """The note with those of the persons that it names in its fact."""
    named = tuple(person for person in persons if person in note.text)
    return replace(note, fact=replace(note.fact, persons=named)) if note.fact else note


def make_notes(
    sentences: Sequence[str],
    turn: Turn,
    previous: Sequence[Turn] = (),
    *,
    importance: int = IMPORTANCE,
    work: Mapping[str, Fact] = _NO_WORK,
) -> Iterator[Candidate]:
    """The notes of a turn's sentences, in their order; as few as fit. `work` has what a sentence says of its speaker's
    work: such a sentence has a note of its own, with what refers back to it."""
    group: list[str] = []
    for sentence in _cut_long(sentences):
        is_apart = sentence in work or (group and group[0] in work and not refers_back(sentence))
        if group and (is_apart or len(_write_note([*group, sentence], turn.at)) > MAX_CHARS):
            yield _make_note(group, turn, previous, importance, work.get(group[0]))
            group = []
        group.append(sentence)
    if group:
        yield _make_note(group, turn, previous, importance, work.get(group[0]))


def _make_note(
    sentences: Sequence[str], turn: Turn, previous: Sequence[Turn], importance: int, fact: Fact | None
) -> Candidate:
    said = " ".join(sentences)
    category = classify.choose_category(said)
    if fact:
        category, importance = file_work(fact, said, category), max(importance, _WORK_IMPORTANCE)
    at = None if fact and fact.kind == "rule" else turn.at  # a rule is of no day
    # What helps to find the note: the day it was said, the turns before it, and the rest of the message.
    context = [f"{turn.at.day} {turn.at:%B %Y}"]
    context += [
        " ".join(each.text.split())[-_CONTEXT_CHARS:] for each in previous if each.role in ("user", "assistant")
    ]
    if (rest := " ".join(turn.text.split())) != said:
        context.append(rest[: 2 * _CONTEXT_CHARS])
    return Candidate(
        text=_write_note(sentences, at),
        category=category,
        fact=fact or Fact(kind="note", predicate=NOTE, object=said[:MAX_CHARS]),
        importance=max(importance, classify.IMPORTANCES.get(category, IMPORTANCE)),
        event_time=mentions.resolve_date(said, at) if at else None,
        context="\n".join(context),
        aliases=list_names(fact, said) if fact else (),
        turns=(turn.id,),
        actor=turn.actor,
        role=turn.role,
    )


def _write_note(sentences: Sequence[str], at: datetime | None) -> str:
    """The sentences as one text: about the user where every one can be told so, else as a quotation. With `at` a
    relative date has the day that it means behind it."""
    told = [_narrate(sentence) for sentence in sentences]
    joined = " ".join(sentences)
    text = " ".join(filter(None, told)) if all(told) else joined.translate(_LATIN_QUOTES)
    text = mentions.annotate_dates(text, at) if at else text
    if all(told):
        return text
    lead = _LEAD_ZH if len(_CJK.findall(joined)) > len(_WORD.findall(joined)) else _LEAD_EN
    return f'{lead}{text}"'


def _narrate(sentence: str) -> str | None:
    """The sentence in the third person with its full stop, or None where that is not certain."""
    if sentence.endswith(("?", "？")) or len(sentence) > MAX_CHARS:
        return None
    if not _CJK.search(sentence):
        text = sentence if _TOLD_ALREADY.match(sentence) else narrate_first_person(sentence)
        return text if text is None or text.endswith((".", "!", "…")) else f"{text}."
    is_told = sentence.startswith("用户") and "我" not in sentence
    if _ZH_PERSON.search(sentence) or not (is_told or _ZH_SUBJECT.search(sentence)):
        return None
    text = _ZH_OWNER.sub("用户的", sentence).replace("我", "用户")
    return text if text.endswith(("。", "！", "!")) else f"{text}。"


def _cut_long(sentences: Sequence[str]) -> Iterator[str]:
    """The sentences, a long one in pieces at its commas or blanks that fit a note."""
    room = MAX_CHARS - len(_LEAD_EN) - 40
    for sentence in sentences:
        rest = sentence
        while len(rest) > room:
            cut = max(rest.rfind(mark, 0, room) for mark in ("，", ", ", "；", "; "))
            cut = cut + 1 if cut > room // 3 else (rest.rfind(" ", 0, room) if " " in rest[:room] else room)
            yield rest[:cut].strip()
            rest = rest[cut:].strip()
        if rest:
            yield rest
