"""The signs and cues of Chinese, and whether a clause in the form of a sign says its kind."""

from __future__ import annotations

import re
from functools import cache

from muniment.memory.domain.memory import FactKind
from muniment.memory.rules.extraction.work.chinese.decisions import DECISIONS
from muniment.memory.rules.extraction.work.chinese.discoveries import DISCOVERIES
from muniment.memory.rules.extraction.work.chinese.fixes import FIXES
from muniment.memory.rules.extraction.work.chinese.parts import LEXICON, fill_classes, list_starts
from muniment.memory.rules.extraction.work.chinese.rules import RULES
from muniment.memory.rules.extraction.work.chinese.tasks import TASKS
from muniment.memory.rules.extraction.work.signs import Language, Sign
from muniment.memory.rules.language.lazy_regex import lazy_compile

_HINTS: dict[FactKind, str] = {
    "fix": r"恢复|又能|再没|<remedy>|<repaired>|<well_again>|就不|再也|没再|就没",
    "decision": r"最终|结果|决议|<closure>|<decided>|<settled>|<chose>|<adopted>|决定|结论|方案",
    "discovery": r"不是|结果|报告|数据|日志|监控|记录|全是|都是|只|一直在|<found_out>|<now_known>|<turned_out>"
    r"|<cause>|<inspected>|<counter>|比",
    "rule": r"每|一律|一概|<norm>|<modal>|<universal>|<custom>|规定|约定|要求|说好|谁也",
    "todo": r"<list>|<remember>|<strong_must>|<must>|<recall>|答应|还有|归我|由我|轮到我|我来|截止|到期",
}
_CUES = {
    "closure": r"<closure>",
    "change": r"不[^，,；;。]{1,8}了|就(?:用|定|选|这么)|留着?|换|改|先不",
    "who": r"我们|咱们|我",
    "place": r"<place>",
    "bound": r"<bound>",
    "stress": r"<stress>",
    "modal": r"<modal>",
    "exact": r"<exact>|\d",
    "counter": r"<counter>",
    "faulty": r"<faulty>",
    "number": r"\d|[两三四五六七八九十百千]|倍|一半",
    "evidence": r"<inspected>|<found_out>|试了|次都",
    "weighed": r"商量|讨论|开会|投票|表决|拍板|一致|点头|没意见|考虑了|谈下来|谈妥|谈好|都同意|权衡|最后|最终"
    r"|算过账|思前想后|想来想去|说服",
    "ended": r"了(?=[，,；;。！!]|$)|结果|最终",
    "term": r"[这本下]周|周末|月底|明天|后天|今晚|今天|[这本下]个?月|之前",
    "deadline": r"之前|以前|前(?:我|得|要|必须|把|交)|截止|月底",
    "aside": r"差点忘了|顺便|别忘|记得|一早|头一件",
}

# What makes a clause in the form of a sign say something else.
_OTHERS, _HARMLESS = lazy_compile("<others>", fill=fill_classes), lazy_compile("<harmless>", fill=fill_classes)
_NO_OBJECT, _PERSONAL = lazy_compile("<no_objects>", fill=fill_classes), lazy_compile("<personal>", fill=fill_classes)
_NO_TASK, _HABIT, _MOMENT = (lazy_compile(f"<{name}>", fill=fill_classes) for name in ("no_tasks", "habits", "moments"))

_NOUN = lazy_compile(
    r"[把将的这那个]$|从\S{1,8}里|[想要该能得]{1,2}[^，]{0,2}$|准备|打算|一直"
)  # before `决定`: a noun, or not yet
_UNDECIDED = lazy_compile(r"做(?:决定|选择)|(?:再)?商量|考虑")


def list_kinds(text: str) -> list[FactKind]:
    """The kinds of which a sign has its words in a text, in the order in which they are looked for."""
    return [kind for kind, hint in _find_hints() if hint.search(text)]


@cache
def _find_hints() -> tuple[tuple[FactKind, re.Pattern[str]], ...]:
    return tuple((kind, lazy_compile(pattern, fill=fill_classes)) for kind, pattern in _HINTS.items())


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


@cache
def load_language() -> Language:
    """The signs and cues of Chinese."""
    return Language(
        name="zh",
        signs={"fix": FIXES, "decision": DECISIONS, "discovery": DISCOVERIES, "rule": RULES, "todo": TASKS},
        list_kinds=list_kinds,
        cues={name: lazy_compile(pattern, fill=fill_classes) for name, pattern in _CUES.items()},
        not_said=lazy_compile(
            r"<not_said>|吗[，,。!！~]*$|^[^问]*<asks>|^[^问]*?([\u3400-\u9fff])不\1|^\s*(?:请|帮|麻烦|写"
            r"|翻译|总结|你|您)",
            fill=fill_classes,
        ),
        starts=list_starts,
        is_said=is_said,
        work=lazy_compile("<work>", fill=fill_classes),
        means=lazy_compile("<means>", fill=fill_classes),
        named=lazy_compile(r"(?:^|在|给|[，,])(?P<name>[\u4e00-\u9fffA-Za-z]{1,6}?<named>)", fill=fill_classes),
        names=LEXICON.get_table("names", ","),
    )
