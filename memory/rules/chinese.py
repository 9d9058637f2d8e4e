"""What a Chinese clause states: the rules by theme, in the order in which they are tried."""

from __future__ import annotations

import re

from muniment.memory.rules import chinese_life, chinese_self
from muniment.memory.rules.chinese_words import RELATION, owned
from muniment.memory.rules.draft import Clause, Draft, draft

_RULES = chinese_self.RULES + chinese_life.RULES
_VERB_START = re.compile(
    r"^(?:是|喜欢|不喜欢|更喜欢|最喜欢|讨厌|热爱|爱(?!人)|住在|不住|来自|会(?:说|弹|开|用|做|写)|擅长|精通|今年[\d一二三四五六七八九十]|对.{1,10}过敏|不吃|不喝|不能(?:吃|喝|碰)|想|打算|计划|做过|当过|去过|学过|养了|在.{1,15}(?:工作|上班)|也|还|现在|目前|平时"
    r"|曾经?|以前|叫(?!我)|目标是|有)"
)


def with_subject(text: str, *, carried: bool) -> tuple[str, bool]:
    """The clause with the `我` that an earlier clause of the sentence lends it, and whether it lends it on."""
    if text.startswith("我") or re.match(r"^(?:叫我|请叫我)", text):
        return text, text.startswith("我") and not re.match(r"我的?" + RELATION, text)
    if carried and _VERB_START.match(text):
        return f"我{text}", True
    dated = re.search(r"[年月日天周期号末]我", text[:20])
    return text, bool(dated)


def facts(clause: Clause) -> list[Draft]:
    """What the clause states, by the first rule that finds something."""
    text = re.sub(r"[。！!.~～\s]+$", "", clause.text)
    for pattern, build in _RULES:
        match = pattern.match(text)
        if match and (found := list(build(match, clause))):
            return found
    return []


def note(clause: Clause) -> Draft | None:
    """The clause as a note, word for word but for the pronouns."""
    said = owned(clause.text.strip(" 。！!，,"))
    return draft("note", "note", said, said, importance=3) if said and len(said) >= 4 else None
