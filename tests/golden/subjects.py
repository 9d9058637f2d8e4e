"""What the product says of the inputs of the rules. Of the golden modules this one, `pairs` and `surfaces` alone
import the product.

Every function gives plain values under keys of its own, so that a golden file changes with the behaviour and not with a
name. What is empty is left out."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from muniment.memory.config.settings import Settings, load_settings
from muniment.memory.domain.ids import TurnId
from muniment.memory.domain.memory import Fact
from muniment.memory.domain.scope import Scope
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.models.hash_embedder import hash_vector
from muniment.memory.rules.dates import mentions as dates
from muniment.memory.rules.episodes import episode
from muniment.memory.rules.extraction import gate, import_lines, repair
from muniment.memory.rules.extraction.extract import extract_statements
from muniment.memory.rules.language import tokens as words
from muniment.memory.rules.merging import wording
from muniment.memory.rules.policy import consent
from muniment.memory.rules.procedures import goals, requests
from muniment.memory.rules.provenance import quoted
from muniment.memory.rules.redaction import redact
from muniment.memory.rules.retrieval import (
    intents,
    question as asked,
    render,
)
from muniment.memory.rules.statements import parse, predicates, third_person

Plain = dict[str, Any]
NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)  # a Monday
EARLIER = datetime(2026, 2, 27, 23, 30, tzinfo=UTC)
SETTINGS: Settings = load_settings({"HOME": "/nonexistent", "MUNIMENT_EMBEDDER": "hash-256"})
PROFILE = SETTINGS.find_profile("hash-256")
CATEGORIES = frozenset(SETTINGS.categories)
SCOPE = Scope(owner="ana", thread="A", session="A")
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


def unless(value: Any, usual: Any) -> Any:
    return None if value == usual else value


def fact(one: Fact) -> Plain:
    return told(
        k=one.kind,
        p=one.predicate,
        o=one.object,
        s=unless(one.subject, "user"),
        who=one.persons,
        ent=one.entities,
        loc=one.location,
        top=one.topic,
        one=one.single or None,
        no=one.negated or None,
        key=one.key,
    )


def candidate(one: Candidate) -> Plain:
    return told(
        t=one.text,
        c=one.category,
        k=unless(one.kind, "semantic"),
        f=fact(one.fact) if one.fact else None,
        im=one.importance,
        cf=one.confidence,
        tr=unless(one.trust, "user"),
        pin=one.pinned or None,
        tag=one.tags,
        et=one.event_time,
        cx=one.context,
        who=one.actor,
        ro=unless(one.role, "user"),
        st=unless(one.state, "active"),
        field=consent.find_profile_field(one.fact, one.category) if one.fact else None,
    )


# Texts: each function has a golden file of its name, with a line for each text of which it says something.


def extraction(text: str) -> Plain:
    """What the rules find in a person's message: statements, what is to be forgotten, what is to be remembered."""
    found = extract_statements(said(text))
    wishes = [
        told(
            said=one.quote,
            words=one.words,
            told=one.third_person,
            f=[fact(it) for it in one.facts],
            key=one.key_prefixes,
            word=one.qualifier,
            one=one.is_single or None,
            vain=one.is_void or None,
            all=one.everything or None,
        )
        for one in found.forget_requests
    ]
    return told(c=[candidate(one) for one in found.candidates], forget=wishes, keep=found.requested_texts)


def asked_to_remember(text: str) -> Plain:
    """The same where a person asks to remember a text, or answers a question with it."""
    if len(text) > _LONG_TEXT:
        return {}
    kept = extract_statements(said(f"Remember that {text}"))
    question = _QUESTIONS[len(text) % len(_QUESTIONS)]
    answer = extract_statements(said(text), (said(question, role="assistant", key="0"),)) if len(text) <= 40 else kept
    plain = extract_statements(said(text))
    return told(
        c=[candidate(one) for one in kept.candidates] if kept.candidates != plain.candidates else None,
        a=[candidate(one) for one in answer.candidates] if answer not in (kept, plain) else None,
    )


def imported_lines(text: str) -> Plain:
    """What a line of an imported file is taken for."""
    if len(text) > _LONG_TEXT:
        return {}
    line = said(text, at=EARLIER)
    both = [import_lines.extract_line(line, "Ana", has_date=dated) for dated in (True, False)]
    spoken = third_person.rewrite_first_person(text, "Ana")
    return told(
        c=[(one.text, one.fact.key if one.fact else "", one.context or "") for one in both[0]],
        undated=len(both[1]) if both[0] != both[1] else None,
        said=unless(spoken, text),
    )


def gates(text: str) -> Plain:
    """Why a message is passed over, and what answer it is to a question."""
    return told(
        skip=gate.find_skip_reason(text, "user"),
        reply=gate.find_skip_reason(text, "assistant"),
        yes=consent.parse_yes_no(text),
    )


def dates_read(text: str) -> Plain:
    """The dates of a statement and of a question."""
    mentions = [dates.find_mentions(text, NOW), dates.find_mentions(text, NOW, question=text)]
    shown = [
        [
            (
                one.start,
                one.end,
                one.when.start,
                one.when.grain,
                one.when.text,
                one.preposition,
                "".join(flag for flag, on in (("r", one.relative), ("p", one.partial), ("v", one.is_vague)) if on),
            )
            for one in found
        ]
        for found in mentions
    ]
    periods = asked.find_periods(text, NOW)
    if not (mentions[0] or mentions[1] or periods):
        return {}
    return told(
        d=shown[0],
        q=shown[1] if shown[1] != shown[0] else None,
        at=dates.resolve_date(text, NOW),
        w=dates.expand_dates(text, NOW),
        less=dates.remove_dates(text, NOW),
        per=[f"{a:%Y-%m-%d %H:%M}/{b:%Y-%m-%d %H:%M}" for a, b in periods[:3]],
        n=len(periods),
    )


_OWN_PATTERN = (re.compile("Porto|紫色"),)


def redaction(text: str) -> Plain:
    """A text without its secrets, less and more strictly."""
    least = redact.redact_secrets(text, email=False, phone=False, patterns=())
    most = redact.redact_secrets(text, email=True, phone=True, patterns=_OWN_PATTERN)
    plain = redact.needs_no_redaction(text), redact.needs_no_redaction(text, email=True, phone=True)
    if plain == (True, True) and not most[1]:
        return {}
    return told(n=least[1], t=unless(least[0], text), m=most[1], u=unless(most[0], least[0]), plain=plain)


def validation(text: str) -> Plain:
    """Whether a text may be kept as a statement and as a note, and how it is put right."""
    kept = []
    for kind in ("semantic", "insight", "episodic", "procedural"):
        one = Candidate(text=text, category="activity", kind=kind, turns=(TurnId(UUID(int=1)),))
        done, reason = gate.validate_candidate(one, categories=CATEGORIES, max_chars=120)
        kept.append(reason if done is None else "=" if done.text == text else f"→{done.text}")
    own = repair.repair_wording(text, subject="user", persons=())
    hers = repair.repair_wording(text, subject="user's sister", persons=("Ana",))
    when = repair.repair_dates(text, EARLIER)
    return told(
        v=kept if kept[:3] != ["=", "=", "="] else None,
        own=unless(own, text),
        hers=unless(hers, own),
        when=unless(when, text),
        he=repair.has_open_pronoun(text) or None,
    )


def suspicion(text: str) -> Plain:
    """What of a message is pasted, and what instructs."""
    turn = said(text)
    split = quoted.split_quoted(turn)
    waits = [one.text for one in quoted.find_quoted_instructions(turn)]
    weighed = quoted.hold_instruction(Candidate(text=text, category="activity", trust="tool")).state
    return told(
        own=unless(split.own_text, text),
        p=split.quotes,
        wait=waits,
        i=quoted.has_instructions(text) or None,
        st=unless(weighed, "active"),
    )


def sizes(text: str) -> Plain:
    """Tokens, and what stands for a text in the index by words and by meaning."""
    sparse = intents.list_dimensions(text, None), intents.list_dimensions(text, "Porto in May")
    near = [round(float(one), 4) + 0.0 for one in hash_vector(text)[:8]]
    return told(n=(n := render.count_tokens(text)), w=n if n <= 12 else None, ix=digest(sparse), v=digest(near))


def questions(text: str) -> Plain:
    """What a text is read for as a question."""
    if len(text) > _LONG_TEXT // 4:
        return {}
    found = asked.parse_question(text)
    parts = [(one.word, "".join(f"{it} " for it in sorted(one.intents)).strip(), one.weight,
              " ".join(sorted(one.synonyms)) if one.synonyms != one.intents else "=")
             for one in found.parts]  # fmt: skip
    return told(
        t=" ".join(found.terms),
        all=unless(words.extract_terms(text), found.terms),
        names=asked.find_proper_nouns(text),
        p=parts,
        w=found.weight,
        when=found.asks_when or None,
        own=found.about_user or None,
        fam=found.family,
        me=found.concerns_user or None,
        who=found.asks_name or None,
        h=digest(intents.find_dimensions(found.intents, 1000)),
        sp=digest(words.extract_speaker_terms(text)),
    )


def statements(text: str) -> Plain:
    """What a text is read for as a statement that may answer."""
    if len(text) > _LONG_TEXT // 2:
        return {}
    found, read = intents.read_intents(text), parse.parse_statement(text)
    names = [(name, sorted(whose)) for name, whose in found.named_people]
    return told(
        a=found.intents, o="".join(flag for flag,
            on in (("s", found.about_user), ("o", found.about_other), ("d", found.has_date)) if on),
        called=names, k=predicates.parse_kind(text), s=unless(predicates.normalize_subject(text), text),
        r=digest((read.text, read.content, read.words, read.tokens, read.names, read.first_word, read.figures,
            read.roles,
                  read.is_negated, read.is_ended, read.is_planned, read.is_correction, read.retracted_words,
                  read.missing_words, read.is_passive,
                  read.directions, read.is_dated_past)),
    )  # fmt: skip


def procedures(text: str) -> Plain:
    """What a message says of work to be done: a wish to keep how, an order, a goal."""
    wish = requests.parse_keep_request(text)
    return told(
        wish=None if wish is None else wish.goal or True,
        rest=unless(requests.strip_keep_request(text), text),
        order=requests.parse_work_request(text),
        want=requests.parse_indirect_request(text),
        goal=requests.make_impersonal(text),
    )


# With how many texts there are to one that is read: what is slow, or says much, reads some of them.
TEXTS: Mapping[Callable[[str], Plain], int] = {
    extraction: 1, asked_to_remember: 6, imported_lines: 6, gates: 1, dates_read: 1, redaction: 1, validation: 1,
    suspicion: 1,
    sizes: 2, questions: 2, statements: 2, procedures: 2,
}  # fmt: skip


# Neighbours: texts that stand next to each other.


def episodes(texts: Sequence[str]) -> Plain:
    """The episodes of some messages in a row, over two days."""
    turns = [said(text, at=NOW + timedelta(hours=5 * n), key=str(n)) for n, text in enumerate(texts)]
    found = [candidate(one) for one in episode.build_episodes(turns)]
    both = episode.combine_episodes(*(one["t"] for one in found[:2])) if len(found) > 1 else None
    alike = episode.is_same_topic(*(one["t"] for one in found[:2])) if len(found) > 1 else None
    return told(e=found, both=both, alike=alike or None)


def neighbours(a: str, b: str) -> Plain:
    """Two texts as statements and as goals, where anything ties them."""
    one, other = parse.parse_statement(a), parse.parse_statement(b)
    verdicts = [
        wording.compare_texts(one, other),
        wording.compare_texts(other, one),
        wording.compare_texts(one, other, is_vouched=True),
    ]
    ties = [
        goals.is_same_goal(a, b),
        goals.is_rewording(a, b),
        goals.is_part_of(a, b),
        goals.is_distinct(a, b),
        goals.has_same_wording(a, b),
    ]
    return told(
        v=verdicts if set(verdicts) != {"different"} else None,
        g="".join(str(int(tie)) for tie in ties) if any(ties) else None,
    )
