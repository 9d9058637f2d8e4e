"""Reads what a person answers to a question for consent: words, or the value that resumes an interrupt.

An answer is read as a whole. A text that is more than an answer, that quotes one or that reports one decides nothing:
it may be somebody else's. What is an attempt at an answer and yet not clear is asked again."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, TypeAlias
from uuid import UUID

from muniment.memory.domain.consent import Consent, ProfileField, RequestId
from muniment.memory.rules.language.lazy_regex import join_alternatives, lazy_compile
from muniment.memory.rules.policy.consent import parse_yes_no

# Yes, no, another value in place of the one that was asked about, or None: unclear, to be asked again.
Decisions: TypeAlias = dict[RequestId, bool | str | None]
_Kind = Literal["yes", "no", "use", "all", "none", "only", "and", "ask", "filler", "value", "unknown"]

_MAX_CHARS = 200
_MAX_NESTING = 4  # of lists and objects in a resume value
_EDGES = " \t\r\n.,;:!。，、；：！"
_QUOTED = lazy_compile(r"[\"'“”‘’«»「」『』`>]")
# "yes to the naem" is an attempt at an answer, whatever follows.
_ATTEMPT = lazy_compile(
    r"\s*(?:yes|no|ok|okay|sure|ja|nein|oui|non|sí|si)\s+(?:to|for|about|zu|zum|zur|pour|à|au|a|al)\b[^.!?。！？\n]*"
    r"[.!]?\s*",
    re.IGNORECASE,
)
_MOST_ATTEMPT_WORDS = 6
_OPTION_WORD = lazy_compile(r"[\u3400-\u9fff]|[^\W_]+")
_SPEAKER = lazy_compile(r"\b(?:i|i'm|i've|we|my|our)\b|[我咱]", re.IGNORECASE)
# The words of an answer to several questions, one kind each.
_WORDS: Mapping[_Kind, tuple[str, ...]] = {
    "yes": (
        "yes", "yeah", "yep", "yup", "sure", "ok", "okay", "of course", "fine", "go ahead", "agreed", "you may",
        "you can", "no problem", "ja", "klar", "sí", "si", "claro", "vale", "oui", "d'accord", "d’accord", "sim", "sì",
        "да", "是", "是的", "好", "好的", "可以", "可以的", "行", "对", "没问题", "同意", "要",
    ),
    "no": (
        "no", "nope", "nah", "not", "never", "don't", "don’t", "dont", "do not", "can't", "cannot", "rather not",
        "without", "nein", "nicht", "kein", "keine", "non", "pas", "não", "нет", "不", "不要", "不行", "不可以", "不用",
        "别", "否", "不同意", "不是",
    ),
    "use": ("keep", "use", "store", "save", "remember", "take", "记住", "记", "用", "使用", "保留"),
    "all": (
        "all", "both", "everything", "all of them", "both of them", "either", "either of them", "them", "beides",
        "alles", "todo", "ambos", "tout", "les deux", "都", "全部", "两个都", "两个",
    ),
    "none": ("neither", "none", "neither of them", "none of them", "keins", "ninguno", "aucun", "一个都不要"),
    "only": ("only", "just", "nur", "solo", "sólo", "seulement", "只", "只有", "仅"),
    "and": (
        "and", "but", "und", "aber", "y", "pero", "et", "mais", "e", "mas", "和", "跟", "但", "但是", "不过", "而",
        ",", ";", ".", "!", ":", "\n", "，", "。", "；", "、", "！", "：",
    ),
    "ask": ("?", "？"),
    "filler": (
        "to", "the", "my", "for", "as", "with", "about", "on", "it", "is", "that", "this", "please", "thanks",
        "thank you", "i", "you", "may", "can", "do", "does", "one", "ones",
        "zu", "zum", "zur", "bei", "der", "die", "das", "den", "dem",
        "mein", "meine", "meinen", "bitte", "danke", "a", "al", "la", "el", "mi", "para", "por favor", "gracias", "le",
        "à", "au", "mon", "ma", "pour", "merci", "我的", "您", "你", "我", "请", "谢谢", "把", "的", "吧", "了", "啊",
        "对于", "作为", "-", "–", "—", "=",
    ),
}  # fmt: skip
_FIELD_WORDS: Mapping[ProfileField, tuple[str, ...]] = {
    "preferred_name": (
        "name", "preferred name", "preferred_name", "nickname", "first name", "namen", "nombre", "nom", "prénom",
        "nome", "名字", "称呼", "姓名",
    ),
    "pronouns": ("pronouns", "pronoun", "pronomen", "pronombres", "pronoms", "代词", "人称"),
    "city": (
        "city", "town", "place", "home", "location", "stadt", "wohnort", "ciudad", "ville", "cidade", "城市", "住址",
        "地点",
    ),
    "language": ("language", "sprache", "idioma", "langue", "语言"),
    "tone": ("tone", "style", "风格"),
    "goals": ("goal", "goals", "目标"),
}  # fmt: skip
_KINDS: Mapping[str, _Kind] = {word: kind for kind, words in _WORDS.items() for word in words}
_NAMED_FIELDS: Mapping[str, ProfileField] = {word: name for name, words in _FIELD_WORDS.items() for word in words}
_TYPES: Mapping[str, bool] = {"accept": True, "approve": True, "reject": False}  # of a response of an inbox
_FLAGS: Mapping[str, bool] = {
    "approve": True, "approved": True, "accept": True, "accepted": True, "consent": True, "answer": True, "yes": True,
    "ok": True, "reject": False, "rejected": False, "no": False, "deny": False,
}  # fmt: skip
_TRUTH: Mapping[str, bool] = {"true": True, "false": False, "accept": True, "approve": True, "reject": False}


def parse_reply(text: str, requests: Sequence[Consent]) -> Decisions:
    """The decisions that a person's message makes about these requests; empty for a message that is no answer.

    With "yes to the name" what is not named is unclear, so is everything in "yes?", and in a yes in quotation marks."""
    if (answer := parse_yes_no(text)) is not None:
        return _decide_all(requests, answer)
    if len(text) > _MAX_CHARS:
        return {}
    if parse_yes_no(_QUOTED.sub("", text).strip("?？ \n")) is not None or _parse_json(text) is not None:
        return _decide_all(requests, None)
    reading = _Reading(requests)
    for clause in _split_clauses(_split_tokens(text, requests)):
        reading.read_clause(clause)
    if not reading.is_attempt or (reading.is_foreign and not reading.named):
        is_attempt = _ATTEMPT.fullmatch(text) is not None and len(text.split()) <= _MOST_ATTEMPT_WORDS
        return _decide_all(requests, None) if is_attempt else {}
    if reading.is_foreign or reading.is_question or reading.waiting:
        return _decide_all(requests, None)
    return reading.decide()


def parse_choice(text: str, options: Sequence[str]) -> tuple[bool | None, ...] | None:
    """Which of some statements a person's message means, of a question that is about each of them: yes, no, or None
    where it does not say. None for a message that is no answer.

    A yes to a question about one is enough; of several it has to name some by a word that the others do not have."""
    if len(text) > _MAX_CHARS or _QUOTED.search(text):
        return None
    ids = [RequestId(UUID(int=n)) for n in range(len(options))]
    folded = [option.casefold() for option in options]
    names = {
        word: frozenset(id_ for id_, option in zip(ids, folded, strict=True) if word in _OPTION_WORD.findall(option))
        for option in folded
        for word in _OPTION_WORD.findall(option)
    }
    common = {word for word, owners in names.items() if len(owners) == len(ids)} if len(ids) > 1 else set(names)
    parts = list(_split_tokens(text, (), {word: frozenset() if word in common else names[word] for word in names}))
    kinds = [part.kind for part in parts]
    answer = parse_yes_no(text)
    answers = {answer} if answer is not None else _find_answers(kinds)
    named = frozenset[RequestId]().union(*(part.requests for part in parts if part.kind == "value"))
    if answer is None and ("unknown" in kinds or "ask" in kinds):
        return None
    if not answers and (_SPEAKER.search(text) or not (named or "all" in kinds)):
        return None
    if len(answers) > 1:
        return (None,) * len(ids)
    if False in answers:
        return tuple(False if not named or id_ in named else None for id_ in ids)
    if "all" in kinds or len(ids) == 1:
        return (True,) * len(ids)
    return tuple(id_ in named if named else None for id_ in ids)


def parse_resume(answer: Any, requests: Sequence[Consent], depth: int = 0) -> Decisions:
    """The decisions in the value that resumes an interrupt: true or false, words, `{request id: yes or no}`,
    `{"approve": true}`, or the response of an inbox, `{"type": "accept", "args": …}`, alone or in a list.

    What the value ignores, and what an object with ids does not name, is in no decision. Everything is unclear in an
    object of another shape."""
    if isinstance(answer, bool):
        return _decide_all(requests, answer)
    if isinstance(answer, str):
        return _parse_resume_text(answer, requests, depth)
    if depth >= _MAX_NESTING:
        return _decide_all(requests, None)
    if isinstance(answer, list | tuple):
        if len(answer) == 1:
            return parse_resume(answer[0], requests, depth + 1)
        if len(answer) != len(requests):
            return _decide_all(requests, None)
        parts = (parse_resume(part, [one], depth + 1) for part, one in zip(answer, requests, strict=True))
        return {id_: decision for part in parts for id_, decision in part.items()}
    return _parse_object(answer, requests, depth) if isinstance(answer, Mapping) else {}


def _parse_resume_text(text: str, requests: Sequence[Consent], depth: int) -> Decisions:
    word = text.strip(_EDGES).casefold()
    if word == "ignore":
        return {}
    if word in _TRUTH:
        return _decide_all(requests, _TRUTH[word])
    value = _parse_json(text) if depth < _MAX_NESTING else None
    return parse_reply(text, requests) if value is None else parse_resume(value, requests, depth + 1)


def _parse_object(answer: Mapping[Any, Any], requests: Sequence[Consent], depth: int) -> Decisions:
    kind = str(answer.get("type", "")).casefold()
    if kind in _TYPES:
        return _decide_all(requests, _TYPES[kind])
    if kind == "ignore":
        return {}
    if kind in ("response", "respond"):
        return parse_resume(answer.get("args", answer.get("message")), requests, depth + 1)
    if kind == "edit":
        return _parse_edit(answer, requests)
    if "decisions" in answer:
        return parse_resume(answer["decisions"], requests, depth + 1)
    named: Decisions = {}
    for request in requests:
        key = next((key for key in (str(request.id), request.field) if key in answer), None)
        if key is not None and not isinstance(answer[key], Mapping | list | tuple):
            named |= parse_resume(answer[key], [request], depth + 1)
    if named or any(key in answer for one in requests for key in (str(one.id), one.field)):
        return named
    flags = {
        reading is _FLAGS[key.casefold()]
        for key, value in answer.items()
        if isinstance(key, str) and key.casefold() in _FLAGS and (reading := _parse_flag(value)) is not None
    }
    return _decide_all(requests, flags.pop() if len(flags) == 1 else None)


def _parse_flag(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    if not isinstance(value, str):
        return None
    word = value.strip(_EDGES).casefold()
    return _TRUTH[word] if word in _TRUTH else parse_yes_no(word)


def _parse_edit(answer: Mapping[Any, Any], requests: Sequence[Consent]) -> Decisions:
    """A value that was left as it is has its yes, an emptied one its no; another value takes its place."""
    action = answer.get("args") if isinstance(answer.get("args"), Mapping) else answer.get("edited_action")
    values = action.get("args", action) if isinstance(action, Mapping) else None
    if not isinstance(values, Mapping):
        return _decide_all(requests, None)
    decisions: Decisions = {}
    for request in requests:
        value = values.get(request.field, values.get(str(request.id)))
        text = " ".join(value.split()) if isinstance(value, str) else None
        if text is not None:
            decisions[request.id] = bool(text) if text in ("", request.value) else text
        else:
            decisions[request.id] = value if isinstance(value, bool) else None
    return decisions


def _decide_all(requests: Sequence[Consent], answer: bool | None) -> Decisions:
    return {request.id: answer for request in requests}


def _parse_json(text: str) -> Any:
    """The object or list that a text consists of, or None."""
    bare = text.strip()
    if bare[:1] + bare[-1:] not in ("{}", "[]"):
        return None
    try:
        return json.loads(bare)
    except (ValueError, RecursionError):
        return None


@dataclass(frozen=True, slots=True)
class _Token:
    kind: _Kind
    requests: frozenset[RequestId] = frozenset()  # that a value or the name of a field stands for


def _split_tokens(
    text: str, requests: Sequence[Consent], names: Mapping[str, frozenset[RequestId]] = MappingProxyType({})
) -> Iterator[_Token]:
    """The words of a text by what they do in an answer. A word of letters ends where they do.

    `names` are words that stand for requests; those for none say nothing."""
    values = {request.value.casefold(): request.id for request in requests}
    words = join_alternatives([*_KINDS, *_NAMED_FIELDS, *values, *names])
    value = rf"[\"'“«「](?P<quoted>{join_alternatives(values)})[\"'”»」]|" if values else ""
    pattern = re.compile(rf"{value}(?P<word>{words})|[^\W\d_]+|\S")
    folded, at = text.casefold(), 0
    while match := pattern.search(folded, at):
        word, at = match["quoted"] if value and match["quoted"] else match["word"], match.end()
        if word and word[-1].isascii() and word[-1].isalnum() and folded[at : at + 1].isascii():
            rest = re.compile(r"[^\W_]+").match(folded, at)
            if rest is not None:  # the beginning of a longer word
                word, at = None, rest.end()
        if "\n" in folded[match.start() - 1 : match.start()]:
            yield _Token("and")
        if word in names and word not in _KINDS:
            yield _Token("value", names[word]) if names[word] else _Token("filler")
        elif word in values:
            yield _Token("value", frozenset(one.id for one in requests if one.value.casefold() == word))
        elif word in _NAMED_FIELDS:
            name = _NAMED_FIELDS[word]
            yield _Token("value", frozenset(one.id for one in requests if one.field == name))
        elif word in _WORDS["none"]:
            yield from (_Token("no"), _Token("all", frozenset(one.id for one in requests)))
        elif word in _WORDS["all"]:
            yield _Token("all", frozenset(one.id for one in requests))
        else:
            yield _Token(_KINDS[word] if word else "unknown")


@dataclass(slots=True)
class _Reading:
    """What the clauses of an answer say of each request, and of the rest.

    A name without a yes or no goes with the clause before, if that has its yes in front ("yes to the name and the
    city"), else with the one after ("name and city: yes")."""

    requests: Sequence[Consent]
    named: dict[RequestId, set[bool]] = field(default_factory=dict)
    rest: set[bool] = field(default_factory=set)  # what a yes or no without a name says
    waiting: frozenset[RequestId] = frozenset()  # names whose yes or no comes later
    answer_before: bool | None = None
    is_only: bool = False  # "only the name": the rest is refused
    is_attempt: bool = False
    is_foreign: bool = False  # there are words that belong to no answer
    is_question: bool = False

    def read_clause(self, clause: Sequence[_Token]) -> None:
        kinds = [token.kind for token in clause]
        self.is_question |= "ask" in kinds
        if "unknown" in kinds:
            self.is_foreign = True
            return
        names = frozenset(id_ for token in clause for id_ in token.requests)
        is_named = any(token.kind in ("value", "all") for token in clause)
        answers = _find_answers(kinds)
        self.is_attempt |= is_named or bool(answers)
        if len(answers) > 1:
            self.rest |= answers
        elif not answers and self.answer_before is None:
            self.waiting |= names
        elif not answers:
            self._add(names, self.answer_before is True)
        else:
            self._read_answer(names, answers.pop(), is_named=is_named, is_suffix=_begins_with_name(kinds))
            self.is_only |= "only" in kinds and is_named

    def _read_answer(self, names: frozenset[RequestId], answer: bool, *, is_named: bool, is_suffix: bool) -> None:
        if is_suffix or not is_named:
            names |= self.waiting
        if not names and not is_named:
            self.rest.add(answer)
        self._add(names, answer)
        self.waiting = frozenset()
        self.answer_before = None if is_suffix or not is_named else answer

    def _add(self, names: frozenset[RequestId], answer: bool) -> None:
        for id_ in names:
            self.named.setdefault(id_, set()).add(answer)

    def decide(self) -> Decisions:
        rest = {False} if self.is_only else self.rest
        by_id = {one.id: self.named.get(one.id, rest) for one in self.requests}
        return {id_: next(iter(answers)) if len(answers) == 1 else None for id_, answers in by_id.items()}


def _find_answers(kinds: Sequence[_Kind]) -> set[bool]:
    """Yes and no in a clause: "do not use the city" is one no, "use the name" a yes."""
    answers = {kind == "yes" for kind in kinds if kind in ("yes", "no")}
    if False in answers and "use" in kinds:
        return {False}
    return answers or ({True} if "value" in kinds and ("only" in kinds or "use" in kinds) else set())


def _begins_with_name(kinds: Sequence[_Kind]) -> bool:
    """Whether a clause names a request before it says yes or no."""
    return next((kind for kind in kinds if kind in ("yes", "no", "use", "value", "all")), None) in ("value", "all")


def _split_clauses(tokens: Iterator[_Token]) -> Iterator[list[_Token]]:
    """The tokens between commas and conjunctions; fillers are left out."""
    clause: list[_Token] = []
    for token in tokens:
        if token.kind == "and":
            if clause:
                yield clause
            clause = []
        elif token.kind != "filler":
            clause.append(token)
    if clause:
        yield clause
