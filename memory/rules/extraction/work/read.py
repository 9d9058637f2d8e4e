"""What people say of their work: what they decided, what rules they keep, what they found out, how they repaired
something, and what they have to do.

A sign is a form of clause: who it is said of, a class of verbs or of modals, and what comes of it (`english`,
`chinese`; the classes are data in `lexicons/work.*.yaml`). Where the form alone also tells of other things, a cue
has to stand in the sentence, such as what was weighed, where a norm holds, or a date. What is asked, supposed,
reported, wished or said of somebody else has none of these kinds."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime

from muniment.memory.domain.memory import Fact, FactKind
from muniment.memory.rules.dates import mentions
from muniment.memory.rules.extraction.work.chinese import language as chinese
from muniment.memory.rules.extraction.work.english import language as english
from muniment.memory.rules.extraction.work.signs import Language, Sign
from muniment.memory.rules.language.english_words import trim_phrase
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.statements.predicates import CATEGORIES, USER

PREDICATES: dict[FactKind, str] = {
    "decision": "decided",
    "rule": "keeps_rule",
    "discovery": "found_out",
    "fix": "fixed_by",
    "todo": "must_do",
}
_MAX_CHARS = 280  # of a sentence that is read
_CJK = lazy_compile(r"[\u3400-\u9fff]")
_MACHINE = lazy_compile(r"[{}]")  # JSON, code, templates
_ASKS = lazy_compile(r"[?？]\s*$")
_PURPOSE = lazy_compile(r"\bfor\s+(?:(?:the|our|my|all)\s+)?(?P<topic>[\w' -]{3,60})$", re.IGNORECASE)
_TEAM = {"en": "user's team", "zh": "用户的团队"}
_AGAINST = lazy_compile(r"\b(?:not|against)\b", re.IGNORECASE)
_EDGES = " ,，.。!！~～:：;；"
_ALONE = frozenset({"i", "we", "我", "我们", "咱们", "咱", "me"})


@dataclass(slots=True)
class _Cues:
    """The cues of a sentence, each looked for at most once."""

    text: str
    at: datetime
    language: Language
    known: dict[str, bool] = field(default_factory=dict)

    def allow(self, sign: Sign) -> bool:
        """Whether what the sign needs stands in the sentence."""
        return not sign.needs or any(all(map(self.has, need.split("+"))) for need in sign.needs)

    def has(self, name: str) -> bool:
        """Whether there is a cue of that name."""
        if name not in self.known:
            self.known[name] = self._find(name)
        return self.known[name]

    def _find(self, name: str) -> bool:
        if name == "dated":
            return bool(mentions.find_mentions(self.text, self.at))
        pattern = self.language.work if name == "work" else self.language.cues[name]
        return pattern.search(self.text) is not None


def read_work(sentence: str, at: datetime, *, is_beside_request: bool = False) -> Fact | None:
    """What a sentence says of its speaker's work, or None. `is_beside_request`: its message asks for something, so that
    an order in it, and what is needed without a date, is a part of that."""
    if len(sentence) > _MAX_CHARS or _MACHINE.search(sentence) or _ASKS.search(sentence):
        return None
    text = sentence.replace("’", "'")
    language = choose_language(text)
    kinds = language.list_kinds(text)
    if not kinds or language.not_said.search(text):
        return None
    starts = list(language.starts(text))
    cues = _Cues(text, at, language)
    for kind in kinds:
        for sign in language.signs[kind]:
            is_asked = is_beside_request and (sign.is_order or (kind == "todo" and not cues.has("dated")))
            if is_asked:
                continue
            for start in starts:
                match = sign.pattern.match(text, start)
                if match and cues.allow(sign) and language.is_said(sign, match):
                    return _make_fact(sign, match, language)
    return None


def choose_language(text: str) -> Language:
    """The language whose signs a text is read by."""
    return chinese.load_language() if _CJK.search(text) else english.load_language()


def file_work(fact: Fact, said: str, category: str) -> str:
    """The category of a statement that its words file under `category`: of what is to do that of its kind, and so of
    what is said of work. What somebody decides or finds out otherwise stays where its words file it."""
    language = choose_language(said)
    is_of_work = language.work.search(said) or (fact.kind == "decision" and language.means.match(fact.object))
    return CATEGORIES[fact.kind] if is_of_work or fact.kind == "todo" else category


def list_names(fact: Fact, said: str) -> tuple[str, ...]:
    """What people call such a statement when they ask for it: `our rules`, `what did we decide`."""
    return choose_language(said).names[fact.kind]


def _make_fact(sign: Sign, match: re.Match[str], language: Language) -> Fact:
    found, text = match.groupdict(), match.string
    value = (text[match.start() :] if sign.is_whole else found.get("object") or text[match.start() :]).strip(_EDGES)
    topic = found.get("topic")
    if topic is None and sign.kind == "decision" and (purpose := _PURPOSE.search(value)):
        topic = trim_phrase(purpose["topic"])
    named, who = language.named.search(text), (found.get("who") or "").casefold()
    is_own = not who or who.replace("'", " ").split()[0] in _ALONE
    return Fact(
        kind=sign.kind,
        predicate=PREDICATES[sign.kind],
        object=value,
        subject=named["name"] if named else USER if is_own else _TEAM[language.name],
        topic=topic.strip(_EDGES) if topic else None,
        negated=_AGAINST.search(found.get("act") or "") is not None,
    )
