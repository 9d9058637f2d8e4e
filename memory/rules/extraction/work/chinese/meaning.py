"""Whether a Chinese clause says the kind whose form it has: of its speaker's own, as a fact, and not of a moment."""

from __future__ import annotations

import re

from muniment.memory.rules.extraction.work.chinese.parts import fill_classes
from muniment.memory.rules.extraction.work.signs import Sign
from muniment.memory.rules.language.lazy_regex import lazy_compile

_OTHERS, _HARMLESS = lazy_compile("<others>", fill=fill_classes), lazy_compile("<harmless>", fill=fill_classes)
_NO_OBJECT, _PERSONAL = lazy_compile("<no_objects>", fill=fill_classes), lazy_compile("<personal>", fill=fill_classes)
_NO_TASK, _HABIT, _MOMENT = (lazy_compile(f"<{name}>", fill=fill_classes) for name in ("no_tasks", "habits", "moments"))

_NOUN = lazy_compile(
    r"[把将的这那个]$|从\S{1,8}里|[想要该能得]{1,2}[^，]{0,2}$|准备|打算|一直"
)  # before `决定`: a noun, or not yet
_UNDECIDED = lazy_compile(r"做(?:决定|选择)|(?:再)?商量|考虑")


def is_said(sign: Sign, match: re.Match[str]) -> bool:
    """Whether a clause in the form of a sign says its kind: of the speaker's own, as a fact, and not of a moment."""
    text, found = match.string, match.groupdict()
    value = (found.get("object") or "").strip()
    until = match.start("object") if found.get("object") else match.start()
    head = _HARMLESS.sub("", f"{text[:until]} {found.get('topic') or ''} {found.get('lead') or ''}")
    if _OTHERS.search(head) or (value and _NO_OBJECT.match(value)):
        return False
    if "finding" in found and _PERSONAL.match(value):
        return False
    if sign.kind == "decision" and _NOUN.search(found.get("lead") or ""):
        return False
    if sign.kind == "rule":
        return not _MOMENT.search(text)
    is_open = _NO_TASK.match(value) or _UNDECIDED.search(value) or _HABIT.search(text)
    return sign.kind != "todo" or not is_open
