"""The Chinese rules for people, goals, experience, habits and events."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.memory.domain.memory import FactKind
from muniment.memory.rules.dates import mentions
from muniment.memory.rules.extraction.draft import Draft, make_draft
from muniment.memory.rules.language.chinese_words import (
    ADVERBS,
    ANY_NAME,
    END,
    GIVEN_NAME,
    LANGUAGE,
    ME,
    NAME,
    ONE_AT_A_TIME,
    RELATION,
    RELATIONS,
    TRADE,
    replace_pronouns,
    split_list,
)
from muniment.memory.rules.language.clause import Clause
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.statements import predicates

_IDLE = lazy_compile(
    r"(?:问|知道|说|请|了解|让|听|看看|试试|睡|哭|死|起|到|象|法|念|不|家|一想|确认|咨询|找你|跟你|和你|吃|喝|买|休息"
    r"|回家|聊|查|问问|下|要你|多|太|好好|静|办法|通|开|过|来想去|当然|不出|清楚|明白|必|得)"
)


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
    said, name, rest = found["rel"], found["name"], found["rest"]
    who = _who(said, name)
    if name and re.fullmatch(NAME, name):
        yield from _related(found, clause)
    for pattern, predicate, single in _THEIRS:
        match = re.fullmatch(pattern, rest)
        if match and (value := replace_pronouns(match["value"])):
            if name and not re.fullmatch(NAME, name):
                yield from _related(found, clause)
            yield make_draft(
                "relationship",
                predicate,
                value,
                f"{who}{f'{value}岁' if predicate == 'age' else replace_pronouns(rest)}",
                subject=name or predicates.format_relation(said),
                single=single,
                persons=(name,) if name else (),
                negated=rest.startswith(("不喜欢", "讨厌")),
            )
            return


_NOW = r"(?:现在|目前|其实|一直|已经|都|刚)*"
_THEIRS = (
    (_NOW + r"(?:住在|定居在?)(?P<value>[\u4e00-\u9fff\w]{2,12})", "lives_in", True),
    (_NOW + r"在(?P<value>[\u4e00-\u9fff\w]{2,15})(?:工作|上班)", "works_at", True),
    (_NOW + r"是(?:一[名个位])?(?P<value>" + TRADE + r")", "works_as", True),
    (
        _NOW + r"在(?!家|外面|学校|网上|线上|跟|[这那])[\u4e00-\u9fff\w]{2,12}?(?:攻读|学习|学|读)(?P<value>"
        r"(?![校生书完会了过到期年业习读])[\u4e00-\u9fff]{2,8})",
        "studies",
        True,
    ),
    (r"(?:很|最|特别|不)?(?:喜欢|爱|讨厌)(?P<value>(?!的).{1,20})", "likes", False),
    (r"对(?P<value>.{1,10})过敏", "allergic_to", False),
    (_NOW + r"在学(?P<value>(?![校生]).{1,12})", "learns", False),
    (_NOW + r"搬[到去]了?(?P<value>[\u4e00-\u9fff\w]{2,12}?)了?", "moved_to", False),
    (r"今年(?P<value>[二三四五六七八九]?十[一二三四五六七八九]?|\d{2})了?", "age", True),
    (_NOW + r"(?:今年)?" + _NOW + r"(?P<value>[\d一二三四五六七八九十]{1,3})岁了?", "age", True),
)


def _pet(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    kind, name = match["kind"], match["name"]
    text = f"用户养了宠物{kind}" + (f"，名叫{name}" if name else "")
    yield make_draft(
        "relationship", "pet", name or kind, text, persons=(name,) if name else (), topic=kind, importance=3
    )


def _goal(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said = re.sub(END, "", match["value"])
    value = replace_pronouns(said)
    if re.match(r"(?:失败|泡汤|落空|取消|有变|变了|成功|赶不上|得[很挺])", said):
        return
    if not value or len(value) < 3 or said.startswith("我") or (match["how"].startswith("想") and _IDLE.match(said)):
        return
    against = bool(match["neg"])
    how = {"想": "想", "想要": "想要"}.get(match["how"], match["how"])
    text = f"用户{'不再' if against and said.endswith('了') else '不' if against else ''}{how}{value}"
    yield make_draft(
        "goal",
        "wants_to",
        mentions.remove_dates(value.removesuffix("了"), clause.at),
        text,
        importance=3,
        negated=against,
    )


def _aim(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = replace_pronouns(re.sub(END, "", match["value"]))
    if value:
        yield make_draft(
            "goal", "wants_to", mentions.remove_dates(value, clause.at), f"用户的{match['what']}是{value}", importance=3
        )


def _toward(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = replace_pronouns(re.sub(END, "", match["value"]))
    if value and not value.startswith(("了", "过", "到", "会", "校", "生")):
        predicate = "learns" if match["doing"].startswith("学") else "trains_for"
        yield make_draft(
            "goal", predicate, mentions.remove_dates(value, clause.at), f"用户正在{match['doing']}{value}", importance=3
        )


def _task(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = replace_pronouns(re.sub(END, "", match["value"]))
    if value and len(value) >= 3 and (match["ask"] or mentions.find_mentions(value, clause.at)):
        yield make_draft(
            "note", "to_do", mentions.remove_dates(value, clause.at), f"用户需要{value}", category="tasks", importance=3
        )


def _draft_experience(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    verb, value = match["verb"], replace_pronouns(re.sub(END, "", match["value"]))
    if value and value[0] not in "了的吗没":
        slugs = dict.fromkeys(("做", "当", "担任", "干"), "worked_as")
        slugs |= {"去": "visited", "学": "studied", "住在": "lived_in"}
        yield make_draft("experience", slugs.get(verb, "did"), value, f"用户{verb}过{value}")


_FIRM = lazy_compile(r"(?:公司|集团|院|所|厂|社|局|银行|工作室|团队|部门|机构|医院|报社|事务所|企业)$")


def _been(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    where = replace_pronouns(match["value"])
    if where:
        firm = "worked_at" if _FIRM.search(where) else "lived_in"
        predicate = {"工作": "worked_at", "干": "worked_at", "上班": "worked_at", "实习": "worked_at"}.get(
            match["verb"], firm
        )
        done = "" if match["verb"] == "长大" else "了" if match[0].endswith(f"了{match['long']}") else "过"
        text = f"用户在{where}{match['verb']}{done}{match['long']}"
        yield make_draft(
            "experience", predicate, where, text, entities=(where,), location=where if predicate == "lived_in" else None
        )


def _ended(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    verb, value = match["verb"], replace_pronouns(match["value"])
    if not value or mentions.find_mentions(value, clause.at):
        return
    ended: tuple[FactKind, str, str] = ("constraint", "cannot", verb + value)
    if verb in "学练":
        ended = ("goal", "learns", value)
    elif verb == "喜欢":
        ended = ("preference", "likes", value)
    kind, predicate, thing = ended
    yield make_draft(kind, predicate, thing, f"用户不再{verb}{value}", negated=predicate != "cannot")


def _again(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    """What the person eats again."""
    value = replace_pronouns(match["value"])
    if value and not re.match(r"[了过完饱下到多撑胖坏]", value):
        yield make_draft(
            "constraint", "cannot", match["verb"] + value, f"用户又{match['verb']}{value}了", negated=True, importance=3
        )


def _some_language(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    yield make_draft("skill", "speaks", match["value"], f"用户会{match['how'] or '说'}{match['value']}")


def _habit(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = replace_pronouns(re.sub(END, "", match["value"]))
    if value and not mentions.find_mentions(value, clause.at) and not re.search(r"[了过]$", value):
        yield make_draft("note", "habit", value, f"用户{match['when'] or match['every']}{value}")


def _never(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said = f"{match['when']}{match['neg']}{match['verb']}"
    if not mentions.find_mentions(said, clause.at):
        yield make_draft(
            "constraint",
            "cannot",
            f"{match['when']}{match['verb']}",
            f"用户{said}",
            importance=3,
        )


def _due(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    what, do = replace_pronouns(match["what"].removeprefix("我的").removeprefix("我")), replace_pronouns(match["do"])
    if what and do and mentions.find_mentions(match["due"], clause.at):
        due = mentions.expand_dates(match["due"], clause.at)
        yield make_draft(
            "constraint",
            f"deadline_of_{what}",
            due,
            f"{what}要在{match['due']}之前{do}",
            category="tasks",
            importance=3,
            topic=what,
            single=True,
        )


def _someone(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    """A fact about a person who is called by name alone."""
    name, rest = found["name"], re.sub(r"^(?:其实|一直|已经)+", "", found["rest"])
    for pattern, predicate, single in _THEIRS:
        match = re.fullmatch(pattern, rest)
        if (
            match
            and predicate in ("lives_in", "moved_to", "works_at", "works_as", "age")
            and (value := replace_pronouns(match["value"]))
        ):
            yield make_draft(
                "relationship",
                predicate,
                value,
                f"{name}{f'{value}岁' if predicate == 'age' else replace_pronouns(rest)}",
                subject=name,
                single=single,
                persons=(name,),
            )
            return


def _their_event(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    """A past or future event of a relative on a day."""
    spans = mentions.find_mentions(clause.text, clause.at)
    if len(spans) != 1:
        return
    when, said = clause.text[spans[0].start : spans[0].end], match["rel"]
    remainder = (clause.text[: spans[0].start] + clause.text[spans[0].end :]).strip(" ，,的在于")
    whole = re.fullmatch(
        r"我(?:的|家的?)?"
        + said
        + r"(?P<name>"
        + NAME
        + "|"
        + GIVEN_NAME
        + r")?(?P<rest>(?:[要会将刚终]|打算|计划|准备|从|飞|来|回|去|生|考|结|毕|住|拿|得|搬|做|参|开).{1,40})",
        remainder,
    )
    rest = replace_pronouns(re.sub(END, "", whole["rest"])) if whole else None
    if whole and rest and re.search(r"[了过要会将]|打算|计划|准备|[飞来回到]", rest):
        name = whole["name"]
        future = re.match(r"(?:要|会|将要?|打算|计划|准备)", rest)
        text = f"{_who(said, name)}于{when}{rest.removesuffix('了') if future else rest}"
        yield make_draft(
            "event",
            "plans" if future else "did",
            rest.removesuffix("了"),
            text,
            subject=name or predicates.format_relation(said),
            persons=(name,) if name else (),
        )


def _skill(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    against, verb = bool(match["neg"]), match["verb"]
    predicate = "speaks" if re.match(LANGUAGE, match["value"]) else "plays" if verb == "会弹" else "skilled_in"
    for thing in split_list(re.sub(END, "", match["value"]).strip()):
        space = " " if re.match(r"[A-Za-z]", thing) else ""
        yield make_draft(
            "skill", predicate, thing, f"用户{'不' if against else ''}{verb}{space}{thing}", negated=against
        )


def _about_me(text: str) -> bool:
    return bool(
        re.search(r"^我(?!" + RELATION + r"|的|们)|[年月日天周期号末晚上]我(?!" + RELATION + r"|的|们)", text[:24])
    )


def _event(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    spans = mentions.find_mentions(clause.text, clause.at)
    if not spans or not _about_me(clause.text):
        return
    when = clause.text[spans[0].start : spans[0].end]
    rest = (clause.text[: spans[0].start] + clause.text[spans[0].end :]).strip(" ，,的在于")
    rest = re.sub(r"^(?:我|在|于|就|才|刚|的时候|终于|又|也)+", "", rest.removeprefix("我"))
    if re.match(r"[之以]?[前后]|.*(?:纪念日|生日|[是为])$", rest):
        return  # not on that day, or the day itself
    if clause.text.endswith("的"):  # 我是去年结婚的
        rest = rest.removeprefix("是")
    rest = re.sub(r"^(?:搬[到去])了", lambda moved: moved.group()[:2], rest)
    value = replace_pronouns(re.sub(END, "", rest))
    if not value or not 2 <= len(value) <= 60 or mentions.find_mentions(value, clause.at):
        return
    future = re.match(r"(?:我)?(?:要|会|将|打算|计划|准备|想)(?!是|想)", value)
    if not future and not re.search(r"[了过]|搬[到去]|毕业|结婚|出生|入职|离职", value):
        return
    ahead = future or spans[0].when.start > clause.at
    moved = None if ahead else re.match(r"搬[到去](?P<place>[\u4e00-\u9fff\w]{2,12})$", value.removesuffix("了"))
    where = moved["place"] if moved else None
    text = f"用户计划于{when}{value[future.end() :]}" if future else f"用户于{when}{value}"
    predicate, what = ("plans", value) if ahead else _turn(value.removesuffix("了"))
    yield make_draft(
        "event", "moved_to" if where else predicate, where or what, text, location=where, importance=3 if where else 2
    )


_WED = {"结婚": "got_married", "订婚": "got_engaged", "离婚": "got_divorced"}
_GONE = lazy_compile(r"离开了?(?!了)(?P<left>.{1,20})|从(?P<quit>.{2,20}?)(?:离职|辞职)")


def _turn(did: str) -> tuple[str, str]:
    """The predicate and the object of an event; events that end something have English predicates."""
    gone = _GONE.fullmatch(did)
    return ("left", gone["left"] or gone["quit"]) if gone else (_WED.get(did, "did"), did)


def _moved(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    where = replace_pronouns(match["place"].removesuffix("了"))
    if where:
        yield make_draft("event", "moved_to", where, f"用户搬到{where}", location=where, importance=3)


_BREED = (
    r"柯基|金毛|哈士奇|泰迪|柴犬|秋田|萨摩耶|拉布拉多|边牧|贵宾|比熊|博美|法斗|雪纳瑞|阿拉斯加|吉娃娃|德牧|布偶|英短"
    r"|美短|橘猫|狸花|暹罗|缅因|加菲"
)
_SPAN = r"[\d一二两三四五六七八九十半几]+多?个?(?:年|月|星期|礼拜|周|天)"
_WEEKDAY = r"每?个?(?:周|星期|礼拜)[一二三四五六日天](?:早上|上午|中午|下午|晚上)?"
RULES = tuple((lazy_compile(pattern), build) for pattern, build in (
    (r"^(?P<name>" + NAME + r")是我(?:的|家的?)?(?P<rel>" + RELATION + r")$", _related),
    (r"^我(?:的|家的?)?(?P<rel>" + RELATION + r")(?:的?(?:名字|小名|大名|全名|英文名)(?:叫|是)|名叫|叫)(?P<name>(?!我"
     r"|你|他|她|[醒住不了])" + ANY_NAME + r")(?:（不是(?P<no>.+)）)?$", _related),
    (r"^我(?:的|家的?)?(?P<rel>" + RELATION + r")是(?P<name>" + NAME + r")(?:（不是(?P<no>.+)）)?$", _related),
    (r"^我(?:的|家的?)?(?P<rel>" + RELATION + r")(?P<name>" + NAME.replace("{1,2}", "{1,2}?") + "|" + GIVEN_NAME
     + r")??(?P<rest>(?:现在|目前|其实|一直|已经|都|刚)*(?:住在|定居|在|是|很|最|特别|不|喜欢|爱|讨厌|对|今年|搬"
     r"|[\d一二三四五六七八九十]{1,3}(?=岁)).+)$", _of_them),
    (r"^我(?:们)?(?:家)?里?(?:还|也)*(?:养了?|有)(?:一)?[只条匹个](?P<kind>[\u4e00-\u9fff]{0,4}(?:" + _BREED
     + r"|猫|狗|兔子|鹦鹉|仓鼠|猫咪|狗狗|金鱼|乌龟))(?:[，,]?\s*(?:它?的?名字叫|名叫|叫)(?P<name>" + ANY_NAME
     + r"))?$", _pet),
    (ME + r"(?P<ask>)(?:需要|必须|得)(?P<value>[^，,]{3,40})$", _task),
    (r"^(?:请|麻烦|帮我|记得)*(?P<ask>提醒我|别忘了|记得)(?:要)?(?P<value>[^，,]{3,40})$", _task),
    (ME + r"(?P<neg>不再|不)?(?P<how>想要|想|打算|计划|准备|希望能?够?|决定)(?P<value>.{3,50})$", _goal),
    (r"^我?的?(?:[\u4e00-\u9fff\d]{0,6}的?)?(?P<what>目标|梦想|愿望|理想)(?:就)?是(?P<value>.{2,40})$", _aim),
    ((r"^我(?:现在|目前|最近)*(?:正在|在|正)?(?:开始)?(?P<doing>备战|备考|为了?准备|(?<=在)准备|学习|学)(?P<value>.{2,2"
     r"5})$"), _toward),
    ((r"^我(?:以前|之前|曾经|曾|也|还|在大学)*(?P<verb>做|当|干|去|学|担任|经营|参加|写|带|练|教|管理|创办|开"
     r"|跑)过(?P<value>[^，,]{1,30})$"), _draft_experience),
    ((r"^我(?:以前|之前|曾经|曾|也)*在(?P<value>[\u4e00-\u9fff\w ]{2,15}?)(?P<verb>工作|上班|实习|待|呆|生活|留学|读书"
     r"|住)过(?P<long>[^，,]{0,8})$"), _been),
    (r"^(?:[^，我]{1,8}(?:之前|以前|前|时|那会儿))?我(?:以前|之前|曾经|曾|也)*在(?P<value>[\u4e00-\u9fff\w ]{2,15}?)"
     r"(?P<verb>工作|上班|实习|待|呆|干|生活|留学|读书|住)了(?P<long>" + _SPAN + r")$", _been),
    (r"^我(?:现在|已经|早就|最近)*(?:不再?|没再)(?P<verb>[学练])(?P<value>[^，了]{1,15})了$", _ended),
    (r"^我(?:现在|如今|最近|已经|终于)+(?:又|重新)(?:可以|能|敢|开始)?(?P<verb>[吃喝抽])(?P<value>[^，了]{1,12})了$",
     _again),
    (r"^(?P<value>[^，我你他她]{1,12})我(?:现在|已经|早就|也|都)*(?:不再?|没再)(?P<verb>[学练吃喝抽]|喜欢)了$", _ended),
    (r"^我?(?P<when>" + _WEEKDAY + r"|周末)我?(?:从来|一般|都|基本|一律)*(?P<neg>不|没法|没空|不能)(?P<verb>开会|上班"
     r"|加班|工作|接电话|上课|应酬|出门)$", _never),
    ((r"^(?P<what>(?!我们|咱|[你他她它这那])[^，]{2,20}?)(?:必须|得|要|需要|应该)(?:在|于)?(?P<due>[^，]{2,12}?)(?:之前"
     r"|以前|前)(?P<do>(?:交|提交|完成|上线|发|寄|付|做完|写完|还|报名|办)[^，]{0,14})$"), _due),
    (ME + r"(?P<neg>不)?(?P<verb>擅长|精通|熟悉|会说|会讲|会弹|会开|会用|会写|会做|能说)(?P<value>[^，,]{1,25})$",
     _skill),
    (r"^我(?:从小)?在(?P<value>[\u4e00-\u9fff\w]{2,12}?)(?P<verb>长大)(?P<long>)的?$", _been),
    (ME + r"会(?P<how>一点儿?|一些|几句|点儿?)?(?P<value>" + LANGUAGE + r")$", _some_language),
    (r"^(?:我(?P<when>平时|一般|通常)|(?P<every>每(?:天|周[一二三四五六日天]?|个?周末|个?月|年|晚|早)(?:早上|上午|中午"
     r"|下午|晚上)?)我)(?:一般|都|会|也)*(?P<value>(?![不没很也说想觉认忙是在们的家]|" + RELATION + r")[^，]{2,20})$",
     _habit),
    (r"^.{0,12}我(?:的|家的?)?(?P<rel>" + RELATION + r").{3,50}$", _their_event),
    (r"^(?P<name>" + GIVEN_NAME + r")(?P<rest>(?:现在|目前|其实|一直|已经|今年)+(?:在|住在|[\d一二三四五六七八九十]).{1"
     r",20})$", _someone),
    (r"^(?=" + GIVEN_NAME + r")(?P<name>" + NAME + r")(?P<rest>" + _NOW + r"搬[到去].{2,14})$", _someone),
    (r"^(?P<all>.{4,80})$", _event),
    (r"^我" + ADVERBS + r"搬[到去]了?(?P<place>[\u4e00-\u9fff\w]{2,12})$", _moved),
))  # fmt: skip
