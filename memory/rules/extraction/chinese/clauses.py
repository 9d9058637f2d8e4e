"""The Chinese rules in the order in which they are tried, and those for belongings and dates."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.memory.rules.dates import mentions
from muniment.memory.rules.extraction.chinese import life, self
from muniment.memory.rules.extraction.draft import Draft, make_draft, match_rule
from muniment.memory.rules.language.chinese_words import GIVEN_NAME, KIN, NAME, RELATION, TRADE, replace_pronouns
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
_VERB_START = lazy_compile(
    r"^(?:是|喜欢|不喜欢|更喜欢|最喜欢|讨厌|热爱|爱(?!人)|住在|不住|来自|会(?:说|弹|开|用|做|写)|擅长|精通"
    r"|今年[\d一二三四五六七八九十]|对.{1,10}过敏|不吃|不喝|不能(?:吃|喝|碰)|想|打算|计划|做过|当过|去过|学过|养了"
    r"|在.{1,15}(?:工作|上班)|也|还|现在|目前|平时|曾经?|以前|叫(?!我)|目标是|有)"
)
_THEIR_START = lazy_compile(
    r"^(?:今年|已经|现在|目前|刚|都)*(?:[\d一二三四五六七八九十]{1,3}岁|在.{1,15}(?:工作|上班)|是(?:一[名个位])?"
    + TRADE
    + r"$|住在|对.{1,10}过敏)"
)
_OF_MINE = lazy_compile(
    r"^(?:我(?:的|家的?)?(?="
    + RELATION
    + r"))?(?P<who>(?<=[我的家])"
    + RELATION
    + "|^"
    + KIN
    + r")(?P<name>"
    + GIVEN_NAME
    + r"(?=在|住|今年|其实|现在|目前|对|[\d一二三四五六七八九十]{1,3}岁))?"
)
_NAMED = lazy_compile(
    r"^(?:我(?:的|家的?)?)?"
    + RELATION
    + r"(?:的?(?:名字|小名|大名|全名)?(?:叫|是)|名叫)(?P<name>"
    + NAME
    + "|"
    + GIVEN_NAME
    + ")(?:（不是.+）)?$"
)
_BY_NAME = lazy_compile(r"^(?=[小阿])(?P<name>" + GIVEN_NAME + r")(?=上周|昨|今|前|明|刚|已|其实|现在|去年|才)")
# A Chinese sentence that starts with a time and an action is about the speaker.
_OWN_NOW = lazy_compile(
    r"^(?:最近|现在|目前|这阵子|这段时间|今年|平时|从小)(?:都|一直|又|还|刚|也)*(?:和.{1,12}|跟.{1,12})?(?:住在|在学"
    r"|正在学|学(?![生校界者费期年霸习班])|在学习|开始学|在备考|在备战|在准备|在减肥|迷上|爱上|喜欢上|养了|不吃|不喝"
    r"|搬到|搬去|对.{1,8}过敏)"
)
_OWN_THEN = lazy_compile(
    r"^(?P<when>(?:今天|昨天|前天|上周[一二三四五六日末]?|上个?月|上个?周末|这周末|周[一二三四五六日])(?:早上|上午|中午"
    r"|下午|晚上)?|昨晚|今早|昨夜)(?P<rest>(?:又|刚|终于|还|也|才|和.{1,8}|跟.{1,8}){0,4}(?:去|跑|买|看|做|参加|拿到"
    r"|收到|搬|体检|学|游|爬|骑|练|写完|考|报名|办)了.+)$"
)
_TO = r"(?:加到|改成|改到|提高到|涨到|降到|调到|减到)(?=[\d一二两三四五六七八九十百千万])"
_RAISED = lazy_compile(r"^(?:就|再|干脆|直接|先)*" + _TO)
_REBUDGETED = lazy_compile(r"预算(?:要|就|得|已经)*" + _TO)


_TAKEN_BACK = lazy_compile(r"（不是[^）]+）$")


def add_subject(text: str, *, previous_subject: str) -> tuple[str, str]:
    """The clause with the subject of an earlier clause if it has none, and the subject for the next clause."""
    if "预算" in text[:10]:
        return _REBUDGETED.sub("预算是", text), "预算"
    if previous_subject == "预算" and _RAISED.match(text):
        return _RAISED.sub("预算是", text), previous_subject
    if mine := _OF_MINE.match(text):
        whose = f"我{mine['who']}"
        named = _NAMED.match(text)
        name = named["name"] if named else mine["name"] or ""
        return text if text.startswith("我") else f"我{text}", whose + name
    if text.startswith("我") or re.match(r"^(?:叫我|请叫我)", text):
        return text, "我" if text.startswith("我") else ""
    return _lend_subject(text, previous_subject) if previous_subject else _infer_subject(text)


def _lend_subject(text: str, previous_subject: str) -> tuple[str, str]:
    if previous_subject == "我":
        return (f"我{text}", previous_subject) if _VERB_START.match(text) else (text, _find_dated_subject(text))
    if re.match(r"[他她](?!们|的)", text):
        return previous_subject + text[1:], previous_subject
    return (previous_subject + text, previous_subject) if _THEIR_START.match(text) else (text, previous_subject)


def _infer_subject(text: str) -> tuple[str, str]:
    if _OWN_NOW.match(text):
        return f"我{text}", "我"
    if then := _OWN_THEN.match(text):
        return f"{then['when']}我{then['rest']}", "我"
    name = _BY_NAME.match(text)
    return text, name["name"] if name else _find_dated_subject(text)


def _find_dated_subject(text: str) -> str:
    return "我" if re.search(r"[年月日天周期号末]我", text[:20]) else ""


def draft_facts(clause: Clause) -> list[Draft]:
    """The drafts of the first rule that matches the clause."""
    text = re.sub(r"[。！!.~～\s]+$", "", clause.text)
    forms = dict.fromkeys((text, _TAKEN_BACK.sub("", text)))
    return next(filter(None, (match_rule(rule, form, clause) for rule in _RULES for form in forms)), [])


def draft_note(clause: Clause) -> Draft | None:
    """The clause as a note in the third person; None if it cannot be converted or is too short."""
    text = replace_pronouns(clause.text.strip(" 。！!，,"))
    return make_draft("note", "note", text, text, importance=3) if text and len(text) >= 4 else None
