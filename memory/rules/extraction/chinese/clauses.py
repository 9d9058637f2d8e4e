"""The Chinese rules in the order in which they are tried, and those for belongings and dates."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.memory.rules.dates import mentions
from muniment.memory.rules.extraction.chinese import life, self
from muniment.memory.rules.extraction.clauses import Draft, make_draft, match_rules
from muniment.memory.rules.language.chinese_words import RELATION, replace_pronouns
from muniment.memory.rules.language.clause import Clause
from muniment.memory.rules.language.lazy_regex import lazy_compile

_THINGS = {
    "车": "car",
    "汽车": "car",
    "手机": "phone",
    "电脑": "computer",
    "笔记本电脑": "laptop",
    "平板": "tablet",
    "相机": "camera",
    "自行车": "bike",
    "摩托车": "motorbike",
    "电动车": "scooter",
    "手表": "watch",
    "吉他": "guitar",
    "钢琴": "piano",
}
_COLOUR = r"(?:深|浅)?(?:白|黑|红|蓝|灰|银|绿|黄|橙|紫|粉|棕|金)色?"
# A colour or a make: a white BYD, but not a heap of scrap.
_MAKE = (
    r"(?:(?:比亚迪|特斯拉|丰田|本田|大众|宝马|奔驰|奥迪|日产|福特|吉利|蔚来|小鹏|别克|雪佛兰|起亚|马自达|沃尔沃|斯柯达"
    r"|保时捷|三菱|标致|华为|小米|苹果|三星|联想|戴尔|华硕|佳能|尼康|索尼|雅马哈|捷安特|卡西欧)(?:\s?[A-Za-z0-9]+"
    r"(?:\s[A-Za-z0-9]+){0,2})?|(?!(?:ok|OK|Ok|no|NO|vip|VIP)$)[A-Za-z][A-Za-z0-9]*(?:[ -][A-Za-z0-9]+){0,3})"
)
_CLOCK = lazy_compile(
    r"(?:早上|上午|中午|下午|晚上)?[\d一二两三四五六七八九十]{1,3}(?:点(?:半|[\d一二三四五六七八九十]{1,3}分?)?"
    r"|:\d{2})$"
)
_MOVED = r"(?:是|在|定在|改到|改成|改在|推迟到|提前到)了?"


def _make(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    what, value = match["what"], match["value"]
    yield make_draft("note", f"own_{_THINGS[what]}", value, f"用户的{what}是{value}", single=True)


def _dated(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    """The date of a thing of the person's; a later statement about the thing moves the date."""
    what, when = replace_pronouns(match["what"]), match["value"]
    if (
        not what
        or not mentions.find_mentions(when, clause.at)
        or _CLOCK.sub("", mentions.remove_dates(when, clause.at)).strip("在 ，,")
    ):
        return
    yearly = what.endswith(("生日", "纪念日"))
    yield make_draft(
        "note",
        f"date_of_{what}",
        mentions.expand_dates(when, clause.at),
        f"用户的{what}是{when}",
        category="event",
        importance=3,
        single=True,
        timeless=yearly,
    )


_THING_RULES = tuple(
    (lazy_compile(pattern), build)
    for pattern, build in (
        (
            r"^我的(?:新)?(?P<what>" + "|".join(sorted(_THINGS, key=len, reverse=True)) + r")(?:现在)?是(?P<value>(?:一"
            r"[辆台部架把块支])?(?:" + _COLOUR + r"的?|二手的?|新的?|国产的?){0,2}" + _MAKE + r")$",
            _make,
        ),
        (
            r"^我的(?P<what>(?!"
            + RELATION
            + r"|工作|职业|名字|最|幸运)[\u4e00-\u9fffA-Za-z]{2,8}?)"
            + _MOVED
            + r"(?P<value>.{2,16}?)了?$",
            _dated,
        ),
    )
)


_RULES = self.RULES + _THING_RULES + life.RULES
_TAKEN_BACK = lazy_compile(r"（不是[^）]+）$")


def draft_facts(clause: Clause) -> list[Draft]:
    """The drafts of the first rule that matches the clause."""
    text = re.sub(r"[。！!.~～\s]+$", "", clause.text)
    forms = dict.fromkeys((text, _TAKEN_BACK.sub("", text)))
    return match_rules(_RULES, forms, clause)


def draft_note(clause: Clause) -> Draft | None:
    """The clause as a note in the third person; None if it cannot be converted or is too short."""
    text = replace_pronouns(clause.text.strip(" 。！!，,"))
    return make_draft("note", "note", text, text, importance=3) if text and len(text) >= 4 else None
