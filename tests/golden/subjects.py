"""What the product says of the inputs of the rules. Of the golden modules this one and `surfaces` alone import the product.

Every function gives plain values under keys of its own, so that a golden file changes with the behaviour and not with a name.
What is empty is left out."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from muniment.memory.config.settings import Settings, load
from muniment.memory.domain.consolidation import Pair
from muniment.memory.domain.ids import MemoryId, TurnId
from muniment.memory.domain.memory import Fact, Memory, Neighbour
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.models.hash_embedder import hash_vector
from muniment.memory.rules.dates import mentions as dates
from muniment.memory.rules.episodes import episode
from muniment.memory.rules.extraction import gate, import_lines as lines, repair, validate
from muniment.memory.rules.extraction.extract import extract
from muniment.memory.rules.language import tokens as words
from muniment.memory.rules.merging import consolidate, judge, merge, wording
from muniment.memory.rules.policy import consent
from muniment.memory.rules.procedures import goals, requests as procedure_words
from muniment.memory.rules.provenance import quoted as suspect
from muniment.memory.rules.redaction import patterns as redact, prefilter as screen
from muniment.memory.rules.retrieval import (
    intents as aspects,
    query_hints as wanted,
    question as asked,
    token_count as tokens,
    traits,
)
from muniment.memory.rules.statements import parse as reading, predicates, third_person

Plain = dict[str, Any]
NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)  # a Monday
EARLIER = datetime(2026, 2, 27, 23, 30, tzinfo=UTC)
SETTINGS: Settings = load({"HOME": "/nonexistent", "MUNIMENT_EMBEDDER": "hash-256"})
PROFILE = SETTINGS.profile("hash-256")
CATEGORIES = frozenset(SETTINGS.categories)
SCOPE = Scope(owner="ana", thread="A", session="A")
SIMILARITIES = (0.97, 0.75, 0.5)
_LONG_TEXT = 400  # characters; what is longer is left out where a text is read as a question or a statement
_QUESTIONS = (
    "What's your name?", "What should I call you?", "Where do you live?", "How old are you?", "怎么称呼您呢？",
    "您叫什么名字？", "您住在哪里？",
)  # fmt: skip


def told(**values: Any) -> Plain:
    """The values that say something; a set in the order of its values."""
    return {key: _plain(value) for key, value in values.items() if value is not None and value not in _EMPTY}


_EMPTY: tuple[Any, ...] = ("", (), [], {}, frozenset())


def _plain(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, datetime):
        return value.isoformat().removesuffix("+00:00")
    if isinstance(value, set | frozenset):
        return sorted(map(_plain, value))
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    return value


def digest(value: Any) -> str:
    """Stands for a value that is too long for a golden file."""
    return hashlib.sha256(json.dumps(_plain(value), ensure_ascii=True).encode()).hexdigest()[:8]


def said(text: str, *, role: Any = "user", at: datetime = NOW, key: str = "1") -> Turn:
    return Turn.make(session="A", key=key, role=role, text=text, at=at, thread="A")


def _unless(value: Any, usual: Any) -> Any:
    return None if value == usual else value


def fact(one: Fact) -> Plain:
    return told(
        k=one.kind, p=one.predicate, o=one.object, s=_unless(one.subject, "user"), who=one.persons, ent=one.entities,
        loc=one.location, top=one.topic, one=one.single or None, no=one.negated or None, key=one.key,
    )  # fmt: skip


def candidate(one: Candidate) -> Plain:
    return told(
        t=one.text, c=one.category, k=_unless(one.kind, "semantic"), f=fact(one.fact) if one.fact else None,
        im=one.importance, cf=one.confidence, tr=_unless(one.trust, "user"), pin=one.pinned or None, tag=one.tags,
        et=one.event_time, cx=one.context, who=one.actor, ro=_unless(one.role, "user"), st=_unless(one.state, "active"),
        field=consent.field_of(one.fact, one.category) if one.fact else None,
    )  # fmt: skip


# Texts: each function has a golden file of its name, with a line for each text of which it says something.


def extraction(text: str) -> Plain:
    """What the rules find in a person's message: statements, what is to be forgotten, what is to be remembered."""
    found = extract(said(text))
    wishes = [
        told(said=one.said, words=one.words, told=one.told, f=[fact(it) for it in one.facts], key=one.keys, word=one.word,
             one=one.alone or None, vain=one.vain or None, all=one.everything or None)
        for one in found.forget
    ]  # fmt: skip
    return told(c=[candidate(one) for one in found.candidates], forget=wishes, keep=found.asked)


def asked_to_remember(text: str) -> Plain:
    """The same where a person asks to remember a text, or answers a question with it."""
    if len(text) > _LONG_TEXT:
        return {}
    kept = extract(said(f"Remember that {text}"))
    question = _QUESTIONS[len(text) % len(_QUESTIONS)]
    answer = extract(said(text), (said(question, role="assistant", key="0"),)) if len(text) <= 40 else kept
    plain = extract(said(text))
    return told(
        c=[candidate(one) for one in kept.candidates] if kept.candidates != plain.candidates else None,
        a=[candidate(one) for one in answer.candidates] if answer not in (kept, plain) else None,
    )


def imported_lines(text: str) -> Plain:
    """What a line of an imported file is taken for."""
    if len(text) > _LONG_TEXT:
        return {}
    line = said(text, at=EARLIER)
    both = [lines.read(line, "Ana", dated=dated) for dated in (True, False)]
    spoken = third_person.as_said(text, "Ana")
    return told(
        c=[(one.text, one.fact.key if one.fact else "", one.context or "") for one in both[0]],
        undated=len(both[1]) if both[0] != both[1] else None, said=_unless(spoken, text),
    )  # fmt: skip


def gates(text: str) -> Plain:
    """Why a message is passed over, and what answer it is to a question."""
    return told(skip=gate.skip(text, "user"), reply=gate.skip(text, "assistant"), yes=consent.yes_or_no(text))


def dates_read(text: str) -> Plain:
    """The dates of a statement and of a question."""
    mentions = [dates.mentions(text, NOW), dates.mentions(text, NOW, asked=text)]
    shown = [
        [
            (one.start, one.end, one.when.start, one.when.grain, one.when.body, one.preposition,
             "".join(flag for flag, on in (("r", one.relative), ("p", one.partial), ("v", one.vague)) if on))
            for one in found
        ]
        for found in mentions
    ]  # fmt: skip
    periods = wanted.periods(text, NOW)
    if not (mentions[0] or mentions[1] or periods):
        return {}
    return told(
        d=shown[0], q=shown[1] if shown[1] != shown[0] else None, at=dates.resolve(text, NOW), w=dates.absolute(text, NOW),
        less=dates.without(text, NOW), per=[f"{a:%Y-%m-%d %H:%M}/{b:%Y-%m-%d %H:%M}" for a, b in periods[:3]], n=len(periods),
    )  # fmt: skip


_OWN_PATTERN = (re.compile("Porto|紫色"),)


def redaction(text: str) -> Plain:
    """A text without its secrets, less and more strictly."""
    least = redact.redact(text, email=False, phone=False, patterns=())
    most = redact.redact(text, email=True, phone=True, patterns=_OWN_PATTERN)
    plain = screen.harmless(text), screen.harmless(text, email=True, phone=True)
    if plain == (True, True) and not most[1]:
        return {}
    return told(n=least[1], t=_unless(least[0], text), m=most[1], u=_unless(most[0], least[0]), plain=plain)


def validation(text: str) -> Plain:
    """Whether a text may be kept as a statement and as a note, and how it is put right."""
    kept = []
    for kind in ("semantic", "insight", "episodic", "procedural"):
        one = Candidate(text=text, category="activity", kind=kind, turns=(TurnId(UUID(int=1)),))
        done, reason = validate.validate(one, categories=CATEGORIES, max_chars=120)
        kept.append(reason if done is None else "=" if done.text == text else f"→{done.text}")
    own = repair.wording(text, subject="user", persons=())
    hers = repair.wording(text, subject="user's sister", persons=("Ana",))
    when = repair.timing(text, EARLIER)
    return told(v=kept if kept[:3] != ["=", "=", "="] else None, own=_unless(own, text),
                hers=_unless(hers, own), when=_unless(when, text), he=repair.pronoun(text) or None)  # fmt: skip


def suspicion(text: str) -> Plain:
    """What of a message is pasted, and what instructs."""
    turn = said(text)
    split = suspect.parts(turn)
    waits = [one.text for one in suspect.waiting(turn)]
    weighed = suspect.cautious(Candidate(text=text, category="activity", trust="tool")).state
    return told(own=_unless(split.own, text), p=split.pasted, wait=waits, i=suspect.instructs(text) or None,
                st=_unless(weighed, "active"))  # fmt: skip


def sizes(text: str) -> Plain:
    """Tokens, and what stands for a text in the index by words and by meaning."""
    sparse = traits.listed(text, None), traits.listed(text, "Porto in May")
    near = [round(float(one), 4) + 0.0 for one in hash_vector(text)[:8]]
    return told(n=tokens.count(text), w=tokens.within(text, 12), ix=digest(sparse), v=digest(near))


def questions(text: str) -> Plain:
    """What a text is read for as a question."""
    if len(text) > _LONG_TEXT // 4:
        return {}
    found = asked.asked(text)
    parts = [(one.word, "".join(f"{it} " for it in sorted(one.aspects)).strip(), one.weight,
              " ".join(sorted(one.near)) if one.near != one.aspects else "=")
             for one in found.parts]  # fmt: skip
    return told(
        t=" ".join(wanted.terms(text)), all=_unless(words.terms(text), wanted.terms(text)), names=wanted.names(text),
        p=parts, w=found.weight, when=found.when or None, own=found.own or None, fam=found.family,
        me=asked.mine(text) or None, who=wanted.for_a_name(text) or None, h=digest(asked.hints(text, 1000)),
        sp=digest(words.spoken(text)),
    )  # fmt: skip


def statements(text: str) -> Plain:
    """What a text is read for as a statement that may answer."""
    if len(text) > _LONG_TEXT // 2:
        return {}
    found, read = aspects.told(text), reading.read(text)
    names = [(name, sorted(whose)) for name, whose in found.called]
    return told(
        a=found.aspects, o="".join(flag for flag, on in (("s", found.stated), ("o", found.of_other), ("d", found.dated)) if on),
        called=names, k=predicates.kind_of(text), s=_unless(predicates.subject(text), text),
        r=digest((read.text, read.order, read.words, read.said, read.names, read.lead, read.figures, read.roles,
                  read.denied, read.ended, read.planned, read.corrects, read.retracted, read.lacking, read.passive,
                  read.ways, read.dated_past)),
    )  # fmt: skip


def procedures(text: str) -> Plain:
    """What a message says of work to be done: a wish to keep how, an order, a goal."""
    wish = procedure_words.wish(text)
    return told(
        wish=None if wish is None else wish.goal or True, rest=_unless(procedure_words.rest(text), text),
        order=procedure_words.request(text), want=procedure_words.wanted(text), goal=procedure_words.impersonal(text),
    )  # fmt: skip


# With how many texts there are to one that is read: what is slow, or says much, reads some of them.
TEXTS: Mapping[Callable[[str], Plain], int] = {
    extraction: 1, asked_to_remember: 6, imported_lines: 6, gates: 1, dates_read: 1, redaction: 1, validation: 1, suspicion: 1,
    sizes: 2, questions: 2, statements: 2, procedures: 2,
}  # fmt: skip


# Neighbours: texts that stand next to each other.


def episodes(texts: Sequence[str]) -> Plain:
    """The episodes of some messages in a row, over two days."""
    turns = [said(text, at=NOW + timedelta(hours=5 * n), key=str(n)) for n, text in enumerate(texts)]
    found = [candidate(one) for one in episode.episodes(turns)]
    both = episode.combined(*(one["t"] for one in found[:2])) if len(found) > 1 else None
    alike = episode.same_topic(*(one["t"] for one in found[:2])) if len(found) > 1 else None
    return told(e=found, both=both, alike=alike or None)


def neighbours(a: str, b: str) -> Plain:
    """Two texts as statements and as goals, where anything ties them."""
    one, other = reading.read(a), reading.read(b)
    verdicts = [wording.compare(one, other), wording.compare(other, one), wording.compare(one, other, vouched=True)]
    ties = [goals.same_goal(a, b), goals.reworded(a, b), goals.part_of(a, b), goals.apart(a, b), goals.exactly(a, b)]
    return told(
        v=verdicts if set(verdicts) != {"different"} else None,
        g="".join(str(int(tie)) for tie in ties) if any(ties) else None,
    )


# Pairs of statements, with their facts.


def statement(raw: Mapping[str, Any], number: int) -> Candidate:
    """A statement of the inputs as what was found in a turn."""
    structured = None
    if raw.get("predicate"):
        structured = Fact(
            kind=raw["kind"], predicate=raw["predicate"], object=raw["object"], subject=raw.get("subject", "user"),
            persons=tuple(raw.get("persons", ())), single=bool(raw.get("single")), negated=bool(raw.get("negated")),
        )  # fmt: skip
    when = raw.get("event_time")
    at = datetime.fromisoformat(when) if when else None
    return Candidate(
        text=raw["statement"], category=raw.get("category", "activity"), kind=raw.get("sort_of_memory", "semantic"),
        fact=structured, event_time=at.replace(tzinfo=UTC) if at and at.tzinfo is None else at, turns=(turn_id(number),),
    )  # fmt: skip


def turn_id(number: int) -> TurnId:
    return TurnId(UUID(int=number + 1))


def memory(one: Candidate, number: int, at: datetime = EARLIER) -> Memory:
    return merge.fresh(one, MemoryId(UUID(int=number + 1)), SCOPE, at)


def merging(a: Mapping[str, Any], b: Mapping[str, Any]) -> Plain:
    """What a later statement is beside an earlier one, on arrival and in the night, at several similarities."""
    first, second = statement(a, 0), statement(b, 1)
    older, newer = memory(first, 0), memory(second, 1, NOW)
    written, nightly = [], []
    for sim in SIMILARITIES:
        near = (Neighbour(memory=older, sim=sim),)
        new = merge.Incoming(candidate=second, vector=hash_vector(second.text), near=near, id=newer.id)
        done = merge.merge([new], scope=SCOPE, at=NOW, profile=PROFILE, writing=SETTINGS.write)
        written.append(_merged(done, (older, newer)))
        verdict, sure = consolidate.verdict(Pair(older=older, newer=newer, sim=sim), PROFILE, frozenset({"profile"}))
        nightly.append(f"{verdict}{'!' if sure else ''}")
    return told(
        j=[judge.judge(second, older), judge.judge(second, older, vouched=True), judge.judge(first, newer)],
        w=_once(written), n=_once(nightly),
    )  # fmt: skip


def _once(values: list[Any]) -> Any:
    """The values, or the one that all of them are."""
    return values if any(one != values[0] for one in values) else values[0]


def _merged(done: merge.Merged, known: Iterable[Memory]) -> list[Any]:
    texts = {one.text: n for n, one in enumerate(known)}
    changes = [
        told(a=one.action, m=one.after.id.int, t=texts.get(one.after.text, one.after.text), b=one.band, sim=one.sim,
             st=_unless(one.after.state, "active"), im=one.after.importance, cf=one.after.confidence,
             o=one.after.fact.object if one.after.fact else None, by=len(one.after.turns), note=sorted(one.meta))
        for one in done.changes
    ]  # fmt: skip
    return [changes, [one.strength for one in done.relations], list(done.refused)]
