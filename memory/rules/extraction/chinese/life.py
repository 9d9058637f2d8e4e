"""The Chinese rules for relatives, friends and pets of the speaker: names, age, home and work."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.memory.rules.extraction.clauses import Draft, make_draft
from muniment.memory.rules.language.chinese_words import (
    ANY_NAME,
    GIVEN_NAME,
    NAME,
    ONE_AT_A_TIME,
    RELATION,
    RELATIONS,
    TRADE,
    replace_pronouns,
)
from muniment.memory.rules.language.clause import Clause
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.statements import predicates


def _who(said: str, name: str | None) -> str:
    standard = RELATIONS[said][1]
    return f"用户的{standard}{name or ''}" + (f"（{said}）" if said != standard else "")


def _related(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said, name = match["rel"], match["name"]
    if re.match(r"[这那谁他她它你您]", name) or re.fullmatch(f"{TRADE}|.+人", name):
        return
    predicate, standard = RELATIONS[said]
    text = f"用户的{standard}是{name}" + (f"（{said}）" if said != standard else "")
    if no := match.groupdict().get("no"):
        text += f"，不是{no}"
    yield make_draft(
        "relationship", predicate, name, text, persons=(name,), single=predicate in ONE_AT_A_TIME, importance=3
    )


def _of_them(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    """What is said of a relative, and the name if there is one."""
    said, name = found["rel"], found["name"]
    facts = list(_say(_who(said, name), name or predicates.format_relation(said), name, found["rest"]))
    if name and (facts or re.fullmatch(NAME, name)):
        yield from _related(found, clause)
    yield from facts


def _someone(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    """What is said of a person who is called by name alone."""
    name, rest = found["name"], re.sub(r"^(?:其实|一直|已经)+", "", found["rest"])
    yield from (fact for fact in _say(name, name, name, rest) if fact.fact.predicate != "allergic_to")


def _say(who: str, subject: str, name: str | None, rest: str) -> Iterator[Draft]:
    for predicate, pattern in _THEIRS:
        match = re.fullmatch(pattern, rest)
        if match and (value := replace_pronouns(match["value"])):
            yield make_draft(
                "relationship",
                predicate,
                value,
                f"{who}{f'{value}岁' if predicate == 'age' else replace_pronouns(rest)}",
                subject=subject,
                single=predicate not in ("allergic_to", "moved_to"),
                persons=(name,) if name else (),
            )
            return


_NOW = r"(?:现在|目前|其实|一直|已经|都|刚)*"
_THEIRS = (
    ("lives_in", _NOW + r"(?:住在|定居在?)(?P<value>[\u4e00-\u9fff\w]{2,12})"),
    ("works_at", _NOW + r"在(?P<value>[\u4e00-\u9fff\w]{2,15})(?:工作|上班)"),
    ("works_as", _NOW + r"是(?:一[名个位])?(?P<value>" + TRADE + r")"),
    ("allergic_to", r"对(?P<value>.{1,10})过敏"),
    ("moved_to", _NOW + r"搬[到去]了?(?P<value>[\u4e00-\u9fff\w]{2,12}?)了?"),
    ("age", r"今年(?P<value>[二三四五六七八九]?十[一二三四五六七八九]?|\d{2})了?"),
    ("age", _NOW + r"(?:今年)?" + _NOW + r"(?P<value>[\d一二三四五六七八九十]{1,3})岁了?"),
)


def _pet(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    kind, name = match["kind"], match["name"]
    text = f"用户养了宠物{kind}" + (f"，名叫{name}" if name else "")
    yield make_draft(
        "relationship", "pet", name or kind, text, persons=(name,) if name else (), topic=kind, importance=3
    )


_BREED = (
    r"柯基|金毛|哈士奇|泰迪|柴犬|秋田|萨摩耶|拉布拉多|边牧|贵宾|比熊|博美|法斗|雪纳瑞|阿拉斯加|吉娃娃|德牧|布偶|英短"
    r"|美短|橘猫|狸花|暹罗|缅因|加菲"
)
RULES = tuple((lazy_compile(pattern), build) for pattern, build in (
    (r"^(?P<name>" + NAME + r")是我(?:的|家的?)?(?P<rel>" + RELATION + r")$", _related),
    (r"^我(?:的|家的?)?(?P<rel>" + RELATION + r")(?:的?(?:名字|小名|大名|全名|英文名)(?:叫|是)|名叫|叫)(?P<name>(?!我"
     r"|你|他|她|[醒住不了])" + ANY_NAME + r")(?:（不是(?P<no>.+)）)?$", _related),
    (r"^我(?:的|家的?)?(?P<rel>" + RELATION + r")是(?P<name>" + NAME + r")(?:（不是(?P<no>.+)）)?$", _related),
    (r"^我(?:的|家的?)?(?P<rel>" + RELATION + r")(?P<name>" + NAME.replace("{1,2}", "{1,2}?") + "|" + GIVEN_NAME
     + r")??(?P<rest>(?:现在|目前|其实|一直|已经|都|刚)*(?:住在|定居|在|是|很|最|特别|对|今年|搬"
     r"|[\d一二三四五六七八九十]{1,3}(?=岁)).+)$", _of_them),
    (r"^我(?:们)?(?:家)?里?(?:还|也)*(?:养了?|有)(?:一)?[只条匹个](?P<kind>[\u4e00-\u9fff]{0,4}(?:" + _BREED
     + r"|猫|狗|兔子|鹦鹉|仓鼠|猫咪|狗狗|金鱼|乌龟))(?:[，,]?\s*(?:它?的?名字叫|名叫|叫)(?P<name>" + ANY_NAME
     + r"))?$", _pet),
    (r"^(?P<name>" + GIVEN_NAME + r")(?P<rest>(?:现在|目前|其实|一直|已经|今年)+(?:在|住在|[\d一二三四五六七八九十]).{1"
     r",20})$", _someone),
    (r"^(?=" + GIVEN_NAME + r")(?P<name>" + NAME + r")(?P<rest>" + _NOW + r"搬[到去].{2,14})$", _someone),
))  # fmt: skip
