"""Finds what joins the name of a secret with its value: a sign, a copula, a question, a blank, another line or cell."""

from __future__ import annotations

from dataclasses import dataclass

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon
from muniment.memory.rules.redaction.vocabulary import Name, compile_joint, load_row, load_words

_TO = lazy_compile(r"[ \t](?:to|into|as|auf|en|a|à|naar|на)[ \t]?:?[ \t]")
_ABOUT = load_lexicon("secrets.en").get_words("about")
_WORD = lazy_compile(r"[^\W\d_]{2,14}")
BEHIND = 100  # characters before a name that are looked at
_LABEL, _LAST_WORDS = 40, 5


@dataclass(frozen=True)
class Joint:
    """What stands between a name and a value: a sign, a copula, nothing but a blank, or another line or cell."""

    kind: str
    end: int
    has_purpose: bool = False  # something stands between the name and the copula
    is_plain: bool = True  # nothing, or what the secret is for

    def __bool__(self) -> bool:
        return bool(self.kind)


def find_joint(text: str, name: Name) -> Joint:
    """The joint after a name, false without one."""
    match = compile_joint(name.languages).match(text, name.end, name.reach)
    if match is None:
        return Joint("", 0)
    kind = match.lastgroup or ""
    if kind == "copula":
        purpose = (match.groupdict().get("of") or "").lower().split()
        kind = "sign" if match["colon"] and not purpose else kind
        if purpose and purpose[0] in _ABOUT:
            return Joint("", 0)
        is_plain = not purpose or any(purpose[0] in load_row("purposes", each) for each in name.languages)
        return Joint(kind, match.end(), has_purpose=bool(purpose), is_plain=is_plain)
    if kind == "blank" and (to := _TO.match(text, name.end)) and _is_changed(text, name):
        return Joint("copula", to.end())
    if kind == "label" and not _ABOUT.isdisjoint(_WORD.findall(match[0].lower())):
        return Joint("", 0)
    if kind == "line" and not _is_label_line(text, name):
        return Joint("", 0)
    return Joint(kind, match.end(), is_plain=kind != "label")


def _is_label_line(text: str, name: Name) -> bool:
    """Whether the line of a name has no more than a label, not cells of a table or a sentence."""
    before = text[text.rfind("\n", find_begin(name), name.start) + 1 : name.start]
    return len(before) < _LABEL and not any(mark in before for mark in "|\t,;")


def _is_changed(text: str, name: Name) -> bool:
    """Whether one of the words before a name says that it gets another value."""
    before = text[find_begin(name) : name.start].lower().split()[-_LAST_WORDS:]
    return not load_words("changes").isdisjoint(before)


def find_begin(name: Name) -> int:
    """Where the text before a name begins that is looked at."""
    return max(name.start - BEHIND, 0)
