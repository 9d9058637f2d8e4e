"""What people say of their work: what they decided, what rules they keep, what they found out, how they repaired
something, and what they have to do.

The order of words that says each is a frame, and both the frames and the words are data (`lexicons/work.en.yaml`,
`work.zh.yaml`). A frame begins the sentence, or stands behind a few words of time or place. What is asked, supposed,
reported or said of somebody else's work has none of these kinds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Literal

from muniment.memory.domain.memory import Fact, FactKind
from muniment.memory.rules.dates import mentions
from muniment.memory.rules.language.english_words import trim_phrase
from muniment.memory.rules.language.lazy_regex import join_alternatives, lazy_compile
from muniment.memory.rules.language.lexicon import Lexicon, load_lexicon
from muniment.memory.rules.statements.predicates import CATEGORIES, USER, parse_kind

PREDICATES: dict[FactKind, str] = {
    "decision": "decided",
    "rule": "keeps_rule",
    "discovery": "found_out",
    "fix": "fixed_by",
    "todo": "must_do",
}
_MAX_CHARS = 280  # of a sentence that is read
_CJK = lazy_compile(r"[\u3400-\u9fff]")
_SLOT = lazy_compile(r"<(\w+)>(\??)|\{(\w+)\}([?*]?)|([^\s?]+)(\??)")
# Parts of a sentence: what somebody does, several things, or any words.
_ANY = r"[\w\"“「《(](?:.*?\S)??"
_SLOTS = {
    "doing": r"\w+ing\b(?:.*?\S)??",
    "several": r"(?!(?:the|an?|this|that|my|your|his|her|i|we|it|there)\b)(?:[\w'-]+\s+){0,4}?[\w'-]+s",
}
_END = r"[\s.!。！~～]*$"
_ASKS = lazy_compile(r"[?？]\s*$")
_LATIN = lazy_compile(r"[a-z0-9]+(?:['-][a-z]+)*")
_PURPOSE = lazy_compile(r"\bfor\s+(?:(?:the|our|my|all)\s+)?(?P<topic>[\w' -]{3,60})$", re.IGNORECASE)
_DONE = lazy_compile(r"\w+(?:ed|ing)\b", re.IGNORECASE)
_TEAM = {"en": "user's team", "zh": "用户的团队"}
_AGAINST = lazy_compile(r"\b(?:not|against)\b", re.IGNORECASE)
_EDGES = " ,，.。!！~～"
_SECTIONS: tuple[Literal["frames", "work_frames", "dated_frames"], ...] = ("frames", "work_frames", "dated_frames")
_WHO = frozenset({"who", "members", "nobody", "team"})  # sections: who it is said of
_HAS_SUBJECT = lazy_compile(r"<(?:topic|several)>|\{(?:who|members|nobody|team|ours?)\}")
_ALONE = frozenset({"i", "we", "我", "我们", "咱们"})


@dataclass(frozen=True, slots=True)
class Frame:
    """An order of words that says one kind. `needs`: what a sentence has beside it: nothing, a word of work, or a date.
    `is_order`: it has no subject, so that it may be told to somebody. `is_whole`: its object is all that it says."""

    kind: FactKind
    pattern: re.Pattern[str]
    needs: Literal["frames", "work_frames", "dated_frames"]
    is_order: bool
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The frames and words of one language."""

    language: str
    frames: tuple[Frame, ...]
    work: re.Pattern[str]
    others: re.Pattern[str]
    speaker: re.Pattern[str]
    habits: re.Pattern[str]
    moments: re.Pattern[str]
    no_orders: re.Pattern[str]
    no_tasks: re.Pattern[str]
    no_objects: re.Pattern[str]
    harmless: re.Pattern[str]
    means: re.Pattern[str]
    names: Mapping[str, tuple[str, ...]]
    named: re.Pattern[str]


def read_work(sentence: str, at: datetime, *, is_beside_request: bool = False) -> Fact | None:
    """What a sentence says of its speaker's work, or None. `is_beside_request`: its message asks for something, so that
    an order in it, and what is needed without a date, is a part of that."""
    if len(sentence) > _MAX_CHARS or _ASKS.search(sentence):
        return None
    text = sentence.replace("’", "'")
    words = load_vocabulary("zh" if _CJK.search(text) else "en")
    given: set[str] = {"frames"}
    if words.work.search(text):
        given.add("work_frames")
    if mentions.find_mentions(text, at):
        given.add("dated_frames")
    for frame in words.frames:
        is_due = frame.kind == "todo" and "dated_frames" in given
        if not is_due and (
            frame.needs not in given or (is_beside_request and (frame.is_order or frame.kind == "todo"))
        ):
            continue
        match = frame.pattern.match(text)
        if match and _is_meant(frame, match, words):
            return _make_fact(frame, match, words)
    return None


def file_work(fact: Fact, said: str, category: str) -> str:
    """The category of a statement that its words file under `category`: of what is to do that of its kind, and so of
    what is said of work. What somebody decides or finds out otherwise stays where its words file it."""
    words = load_vocabulary("zh" if _CJK.search(said) else "en")
    is_of_work = words.work.search(said) or (fact.kind == "decision" and words.means.match(fact.object))
    return CATEGORIES[fact.kind] if is_of_work or fact.kind == "todo" else category


def list_names(fact: Fact, said: str) -> tuple[str, ...]:
    """What people call such a statement when they ask for it: `our rules`, `what did we decide`."""
    return load_vocabulary("zh" if _CJK.search(said) else "en").names[fact.kind]


def _is_meant(frame: Frame, match: re.Match[str], words: Vocabulary) -> bool:
    """Whether a sentence that has the form of a frame says it: of the speaker's own work, and as a fact."""
    found = match.groupdict()
    value = (found.get("object") or found.get("doing") or "").strip()
    slots = sorted((match.start(name), name) for name, said in found.items() if said and name not in ("lead", "who"))
    lead = found["lead"] or ""
    told = words.harmless.sub("", " ".join([lead, *(found[name] for _, name in slots[:-1])]))
    if words.others.search(told) or words.no_objects.match(value):
        return False
    if (things := found.get("several")) and not words.work.search(things):
        return False
    if frame.kind == "rule" and (words.moments.search(match.string) or _is_told(frame, words, told, value, found)):
        return False
    return frame.kind != "todo" or not (words.no_tasks.match(value) or words.habits.search(match.string))


def _is_told(frame: Frame, words: Vocabulary, before: str, value: str, found: Mapping[str, str | None]) -> bool:
    """Whether a sentence without a subject of the team is no rule: an order to the assistant, or what somebody does."""
    if found.get("who"):
        return False
    is_no_order = words.no_orders.match(value) or _DONE.match(value)
    return words.speaker.search(before) is not None or (frame.is_order and is_no_order is not None)


def _make_fact(frame: Frame, match: re.Match[str], words: Vocabulary) -> Fact:
    found, text = match.groupdict(), match.string
    value = found.get("object") or found.get("doing") or ""
    if found.get("rest"):
        value = text[match.start("object") : match.end("rest")]
    if frame.is_whole:
        value = text[match.end("lead") if found["lead"] else 0 :]
    topic = found.get("topic") or found.get("several")
    if topic is None and frame.kind == "decision" and (purpose := _PURPOSE.search(value)):
        topic = trim_phrase(purpose["topic"])
    named, who = words.named.search(text), (found.get("who") or "").casefold()
    is_own = not who or who.replace("'", " ").split()[0] in _ALONE
    head = text[match.end("who") : match.start("object")] if who and found.get("object") else ""
    return Fact(
        kind=frame.kind,
        predicate=PREDICATES[frame.kind],
        object=value.strip(_EDGES),
        subject=named["name"] if named else USER if is_own else _TEAM[words.language],
        topic=topic.strip(_EDGES) if topic else None,
        negated=frame.kind == "decision" and _AGAINST.search(head) is not None,
    )


@cache
def load_vocabulary(language: str) -> Vocabulary:
    """The frames and words of `en` or `zh`."""
    lexicon = load_lexicon(f"work.{language}")
    is_spaced = language == "en"

    def match_words(section: str) -> re.Pattern[str]:
        if section not in lexicon.file.tree:
            return lazy_compile(r"(?!)")
        phrases = lexicon.get_words(section) if is_spaced else lexicon.get_phrases(section)
        if not is_spaced:
            return lazy_compile(join_alternatives(phrases))
        body = join_alternatives(phrases).replace(r"\-", r"[\s-]")
        return lazy_compile(rf"\b{body}\b(?!')", re.IGNORECASE)

    return Vocabulary(
        language=language,
        frames=tuple(_list_frames(lexicon, is_spaced=is_spaced)),
        work=match_words("work"),
        others=match_words("others"),
        speaker=match_words("speaker"),
        habits=match_words("habits"),
        moments=match_words("moments"),
        no_orders=match_words("no_orders"),
        no_tasks=match_words("no_tasks"),
        no_objects=match_words("no_objects"),
        harmless=match_words("harmless"),
        means=match_words("means"),
        names=lexicon.get_table("names", ","),
        named=_match_named(lexicon, is_spaced=is_spaced),
    )


def _list_frames(lexicon: Lexicon, *, is_spaced: bool) -> Iterator[Frame]:
    """The frames of a language in order, those that need no word of work first."""
    lead = r"(?P<lead>[^，,；;：:。]{1,24}[，,]\s*)?"
    if is_spaced:
        first = join_alternatives(lexicon.get_words("leads"))
        lead = rf"\W*(?P<lead>{first}\b.{{0,60}}?[\s,;:]+|[^,;:]{{1,80}}[,;:]\s+)?"
    for section in _SECTIONS:
        for line in lexicon.get_phrases(section) if section in lexicon.file.tree else ():
            name, _, frame = line.partition(":")
            parts = "".join(_compile_slots(frame, lexicon, is_spaced=is_spaced))
            kind = parse_kind(name)
            yield Frame(
                kind=kind,
                pattern=lazy_compile(lead + parts + _END, re.IGNORECASE),
                needs=section,
                is_order=kind == "rule" and not _HAS_SUBJECT.search(frame),
                is_whole=kind == "rule" and "{rule}" not in frame,
            )


def _compile_slots(frame: str, lexicon: Lexicon, *, is_spaced: bool) -> Iterator[str]:
    """The pattern of each part of a frame, with what stands between it and the next one."""
    joint = r"(?:[,:]?\s+|(?=[.!]*$))" if is_spaced else r"\s*"
    for slot, may_lack, section, many, literal, optional in _SLOT.findall(frame):
        if slot:
            yield rf"(?:(?P<{slot}>{_SLOTS.get(slot, _ANY)}){joint}){'??' if may_lack else ''}"
        elif section:
            words = join_alternatives(lexicon.get_phrases(section)).replace(r"\ ", r"\s+")
            yield f"(?:{f'(?P<who>{words})' if section in _WHO else words}{joint}){many}"
        else:
            yield f"(?:{join_alternatives(literal.split('|'))}{joint}){optional}"


def _match_named(lexicon: Lexicon, *, is_spaced: bool) -> re.Pattern[str]:
    """The project or team that a sentence names."""
    things = join_alternatives(lexicon.get_words("named"))
    if is_spaced:
        return lazy_compile(
            rf"\b(?:in|for|of|on)\s+(?:the|our|this|my)\s+(?P<name>(?:(?!the\b|our\b)[\w-]+\s+){{1,2}}{things})\b",
            re.IGNORECASE,
        )
    return lazy_compile(rf"(?:^|在|给|[，,])(?P<name>[\u4e00-\u9fffA-Za-z]{{1,6}}?{things})")
