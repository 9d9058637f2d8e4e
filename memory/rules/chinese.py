"""What a Chinese clause states of the person who says it: a table of patterns and what each comes to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from muniment.memory.rules import dates
from muniment.memory.rules.chinese_dates import number
from muniment.memory.rules.chinese_words import (
    ANY_NAME,
    CONDITION,
    LANGUAGE,
    NAME,
    ONE_AT_A_TIME,
    RELATION,
    RELATIONS,
    TRADE,
    owned,
)
from muniment.memory.rules.draft import Clause, Draft, draft

Rule = tuple[re.Pattern[str], Callable[[re.Match[str], Clause], Iterator[Draft]]]

_ADV = r"(?:现在|目前|平时|一直|一向|其实|真的|也|还|特别|很|非常|最|比较|已经|从小|就|都|又|正在|正|刚刚?|终于|超级?|蛮|挺|更|以后|之后|今年)*"
_ME = r"^我" + _ADV
_END = r"(?:啦|的说|哦|呀|啊|哈|呢|吧)*$"
_LIST = re.compile(r"、|和|以及|跟|与")
_IDLE = re.compile(
    r"(?:问|知道|说|请|了解|让|听|看看|试试|睡|哭|死|起|到|象|法|念|不|家|一想|确认|咨询|找你|跟你|和你|吃|喝|买|休息|回家|聊|查|问问|下|要你|多|太|好好|静|办法|通|开|过|来想去|当然|不出|清楚|明白|必|得)"
)
_VERB_START = re.compile(
    r"^(?:是|喜欢|不喜欢|更喜欢|最喜欢|讨厌|热爱|爱(?!人)|住在|不住|来自|会(?:说|弹|开|用|做|写)|擅长|精通|今年\d|对.{1,10}过敏|不吃|不喝|不能(?:吃|喝|碰)|想|打算|计划|做过|当过|去过|学过|养了|在.{1,15}(?:工作|上班)|也|还|现在|目前|平时"
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


def _called(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    name = found["name"]
    if not re.match(r"[你他她它您一什怎]", name):
        yield draft(
            "identity", "preferred_name", name, f"用户的称呼（偏好的名字）是{name}", single=True, persons=(name,)
        )


def _name(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    name = found["name"]
    if not re.match(r"[你他她它您一什怎外车了不]", name):
        yield draft("identity", "name", name, f"用户的名字是{name}", single=True, persons=(name,))


def _age(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said = found["value"]
    age = number(said)
    if 3 <= age <= 120:
        yield draft("identity", "age", str(age), f"用户{said}岁", single=True)


def _birthday(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said = found["value"]
    if dates.mentions(said, clause.at) and not dates.relative(said, clause.at):
        yield draft("identity", "birthday", said, f"用户的生日是{said}", single=True, importance=3, timeless=True)


def _lives(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    where, ended = found["place"].removesuffix("了"), bool(found["neg"])
    if (
        not re.match(r"一|这|那|哪|酒店|宿舍|家里|外面|楼", where)
        and owned(where)
        and not dates.mentions(where, clause.at)
    ):
        text = f"用户{'不再' if ended else ''}住在{where}"
        yield draft("identity", "lives_in", where, text, single=True, negated=ended, importance=3, location=where)


def _from(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    where = found["place"]
    if not re.match(
        r"一|个|好|坏|男|女|主|负责|病|名|普通|老|本|当|外地|内向|外向|有|什么|这|那|做|的", where
    ) and not where.endswith(("的", "负责", "主持", "候选")):
        nation = where in (
            "中国",
            "美国",
            "英国",
            "法国",
            "德国",
            "日本",
            "韩国",
            "加拿大",
            "澳大利亚",
            "新加坡",
            "俄罗斯",
            "意大利",
            "西班牙",
            "印度",
        )
        text = f"用户是{where}人"
        yield draft("identity", "nationality" if nation else "comes_from", where, text, single=True, location=where)


def _origin(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    where = owned(found["place"])
    if where:
        yield draft("identity", "comes_from", where, f"用户来自{where}", single=True, location=where)


def _trade(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    trade, ended = found["value"], bool(found["neg"])
    if owned(trade) == trade and "的" not in trade:
        yield draft(
            "identity",
            "works_as",
            trade,
            f"用户{'不再' if ended else '的职业'}是{trade}",
            single=True,
            negated=ended,
            importance=3,
        )


def _employer(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    firm, role = found["value"], found["role"] or ""
    if (
        owned(firm) == firm
        and firm not in ("家", "家里", "外面", "国外", "外地")
        and not dates.mentions(firm, clause.at)
    ):
        yield draft("identity", "works_at", firm, f"用户在{firm}工作", single=True, importance=3, entities=(firm,))
        if re.fullmatch(TRADE, role):
            yield draft("identity", "works_as", role, f"用户的职业是{role}", single=True, importance=3)


def _status(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = {"结婚": "已婚", "离婚": "离异"}.get(found["value"], found["value"])
    yield draft("identity", "marital_status", value, f"用户{value}", single=True)


def _things(words: str) -> list[str]:
    parts = _LIST.split(words)
    some = parts if len(parts) > 1 and all(1 < len(part) <= 6 for part in parts) else [words]
    return [told for part in some if (told := owned(part.strip())) and len(told) <= 30]


def _likes(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    verb, value = found["verb"], re.sub(_END, "", found["value"])
    ended = (value.endswith("了") and bool(found["neg"])) or found["neg"] == "不再"
    bad = verb in ("讨厌", "厌恶", "受不了", "反感")
    if bad and found["neg"]:
        return
    for one in _things(value.removesuffix("了")):
        how = "不再" if ended else "不" if found["neg"] else ""
        yield draft(
            "preference", "likes", one, f"用户{how}{verb.removeprefix('最')}{one}", negated=bad or bool(found["neg"])
        )


def _prefers(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value, other = owned(found["value"]), owned(found["other"] or "")
    if value:
        text = f"用户更喜欢{value}" + (f"而不是{other}" if other else "")
        yield draft("preference", "prefers", value, text, topic=other)


_WHAT = {"颜色": "colour", "食物": "food", "电影": "film", "歌手": "singer", "书": "book", "运动": "sport", "城市": "city", "水果": "fruit", "季节": "season",
         "歌": "song", "动物": "animal", "菜": "dish", "饮料": "drink", "作家": "author", "游戏": "game", "乐队": "band", "编程语言": "programming_language"}  # fmt: skip


def _favourite(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    what, value = found["what"], owned(found["value"])
    if value and owned(what):
        yield draft(
            "preference", f"favourite_{_WHAT.get(what, what)}", value, f"用户最喜欢的{what}是{value}", single=True
        )


def _allergy(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    against = bool(found["neg"])
    for one in _things(found["value"]):
        how = found["neg"] or ""
        yield draft("constraint", "allergic_to", one, f"用户对{one}{how}过敏", negated=against, importance=4)


def _intolerant(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    word = {"乳糖": "lactose", "麸质": "gluten", "果糖": "fructose"}[found["value"]]
    yield draft("constraint", "intolerant_to", word, f"用户{found['value']}不耐受", importance=4)


def _diet(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    against = bool(found["neg"])
    value = (
        "vegan"
        if found["value"].startswith(("纯素", "严格素"))
        else "halal"
        if "清真" in found["value"]
        else "vegetarian"
    )
    said = re.sub(r"^(?:是|在)?(?:一个|一名)?", "", found["value"])
    verb = "" if said.startswith("吃") else "是"
    yield draft(
        "constraint",
        "diet",
        value,
        f"用户{'不再' if against else ''}{verb}{said.removesuffix('的')}",
        single=True,
        negated=against,
        importance=4,
    )


def _cannot(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    verb, value = found["verb"], owned(found["value"].removesuffix("了"))
    if value and not re.match(r"[了过完饱下到]|起$", value):
        yield draft("constraint", "cannot", f"{verb}{value}", f"用户{found['neg']}{verb}{value}", importance=4 if verb in "吃喝碰" else 3,
                    category=None if verb in "吃喝碰" else "preferences")  # fmt: skip


def _condition(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    yield draft("constraint", "health_condition", found["value"], f"用户患有{found['value']}", importance=4)


def _budget(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said = owned(found["value"])
    if said and re.search(r"[\d一二三四五六七八九十百千万]", said):
        yield draft(
            "constraint",
            "budget",
            said,
            f"用户的预算{found['be']}{said}",
            category="constraints",
            single=True,
            importance=3,
        )


def _deadline(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    what = owned((found["what"] or "").removesuffix("的")) or "工作"
    if dates.mentions(found["value"], clause.at):
        yield draft(
            "constraint",
            "deadline",
            what,
            f"用户的{what}截止日期是{found['value']}",
            category="constraints",
            importance=3,
        )


def _style(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    language = found["language"]
    predicate, value = ("answer_language", language) if language else ("response_style", found["how"])
    text = f"用户希望用{language}回答" if language else f"用户希望回答{found['how']}"
    yield draft("preference", predicate, value, text, category="style", single=True, importance=3)


def _related(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said, name = found["rel"], found["name"]
    if re.match(r"[这那谁他她它你您]", name) or re.fullmatch(TRADE, name):
        return
    predicate, standard = RELATIONS[said]
    text = f"用户的{standard}是{name}" + (f"（{said}）" if said != standard else "")
    yield draft("relationship", predicate, name, text, persons=(name,), single=predicate in ONE_AT_A_TIME, importance=3)


def _of_them(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said, name, rest = found["rel"], found["name"], found["rest"]
    standard = RELATIONS[said][1]
    who = f"用户的{standard}{name or ''}" + (f"（{said}）" if said != standard else "")
    if name:
        yield from _related(found, clause)
    for pattern, predicate, single in _THEIRS:
        match = re.fullmatch(pattern, rest)
        if match and (value := owned(match["value"])):
            yield draft("relationship", predicate, value, f"{who}{owned(rest)}", subject=name or f"user's {RELATIONS[said][0]}", single=single,
                        persons=(name,) if name else (), negated=rest.startswith(("不喜欢", "讨厌")))  # fmt: skip
            return


_THEIRS = (
    (r"(?:现在|目前)?(?:住在|定居在?)(?P<value>[\u4e00-\u9fff\w]{2,12})", "lives_in", True),
    (r"(?:现在|目前)?在(?P<value>[\u4e00-\u9fff\w]{2,15})(?:工作|上班)", "works_at", True),
    (r"(?:现在|目前)?是(?:一[名个位])?(?P<value>" + TRADE + r")", "works_as", True),
    (r"(?:很|最|特别|不)?(?:喜欢|爱|讨厌)(?P<value>.{1,20})", "likes", False),
    (r"对(?P<value>.{1,10})过敏", "allergic_to", False),
    (r"今年(?P<value>[\d一二三四五六七八九十]{1,3})岁了?", "age", True),
)


def _pet(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    kind, name = found["kind"], found["name"]
    text = f"用户养了宠物{kind}" + (f"，名叫{name}" if name else "")
    yield draft("relationship", "pet", name or kind, text, persons=(name,) if name else (), topic=kind, importance=3)


def _goal(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said = re.sub(_END, "", found["value"])
    value = owned(said)
    if not value or len(value) < 3 or (found["how"].startswith("想") and _IDLE.match(said)):
        return
    against = bool(found["neg"])
    how = {"想": "想", "想要": "想要"}.get(found["how"], found["how"])
    text = f"用户{'不再' if against and said.endswith('了') else '不' if against else ''}{how}{value}"
    yield draft(
        "goal", "wants_to", dates.without(value.removesuffix("了"), clause.at), text, importance=3, negated=against
    )


def _aim(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = owned(re.sub(_END, "", found["value"]))
    if value:
        yield draft(
            "goal", "wants_to", dates.without(value, clause.at), f"用户的{found['what']}是{value}", importance=3
        )


def _toward(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = owned(re.sub(_END, "", found["value"]))
    if value and not value.startswith(("了", "过", "到", "会", "校", "生")):
        predicate = "learns" if found["doing"].startswith("学") else "trains_for"
        yield draft(
            "goal", predicate, dates.without(value, clause.at), f"用户正在{found['doing']}{value}", importance=3
        )


def _task(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = owned(re.sub(_END, "", found["value"]))
    if value and len(value) >= 3 and (found["ask"] or dates.mentions(value, clause.at)):
        yield draft(
            "note", "to_do", dates.without(value, clause.at), f"用户需要{value}", category="tasks", importance=3
        )


def _done(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    verb, value = found["verb"], owned(re.sub(_END, "", found["value"]))
    if value and value[0] not in "了的吗没":
        slugs = {
            "做": "worked_as",
            "当": "worked_as",
            "担任": "worked_as",
            "干": "worked_as",
            "去": "visited",
            "学": "studied",
            "住在": "lived_in",
        }
        yield draft("experience", slugs.get(verb, "did"), value, f"用户{verb}过{value}")


def _been(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    where = owned(found["value"])
    if where:
        predicate = {"工作": "worked_at", "上班": "worked_at", "实习": "worked_at"}.get(found["verb"], "lived_in")
        text = f"用户在{where}{found['verb']}过{found['long'] or ''}"
        yield draft(
            "experience", predicate, where, text, entities=(where,), location=where if predicate == "lived_in" else None
        )


def _skill(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    against, verb = bool(found["neg"]), found["verb"]
    predicate = "speaks" if re.match(LANGUAGE, found["value"]) else "plays" if verb == "会弹" else "skilled_in"
    for one in _things(re.sub(_END, "", found["value"]).strip()):
        space = " " if re.match(r"[A-Za-z]", one) else ""
        yield draft("skill", predicate, one, f"用户{'不' if against else ''}{verb}{space}{one}", negated=against)


def _event(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    spans = dates.mentions(clause.text, clause.at)
    if not spans:
        return
    when = clause.text[spans[0].start : spans[0].end]
    rest = (clause.text[: spans[0].start] + clause.text[spans[0].end :]).strip(" ，,的在于")
    rest = re.sub(r"^(?:我|在|于|就|才|刚|的时候|终于|又|也)+", "", rest.removeprefix("我"))
    rest = re.sub(r"^(?:搬[到去])了", lambda moved: moved.group()[:2], rest)
    value = owned(re.sub(_END, "", rest))
    if not value or not 2 <= len(value) <= 60 or dates.mentions(value, clause.at):
        return
    future = re.match(r"(?:我)?(?:要|会|将|打算|计划|准备|想)(?!是|想)", value)
    if not future and not re.search(r"[了过]|搬[到去]|毕业|结婚|出生|入职|离职", value):
        return
    moved = re.match(r"搬[到去](?P<place>[\u4e00-\u9fff\w]{2,12})$", value.removesuffix("了"))
    where = moved["place"] if moved else None
    text = f"用户计划于{when}{value[future.end() :]}" if future else f"用户于{when}{value}"
    yield draft(
        "event",
        "moved_to" if where else "plans" if future else "did",
        where or value,
        text,
        location=where,
        importance=3 if where else 2,
    )


def _moved(found: re.Match[str], clause: Clause) -> Iterator[Draft]:
    where = owned(found["place"].removesuffix("了"))
    if where:
        yield draft("event", "moved_to", where, f"用户搬到{where}", location=where, importance=3)


_NUMERAL = r"[\d一二三四五六七八九十]{1,3}"
_RULES: tuple[Rule, ...] = tuple((re.compile(pattern), build) for pattern, build in (
    (r"^(?:我|你们?|您|大家|请|都|可以|平时|以后|朋友们?|家人|就|直接|喜欢别人)*叫我(?P<name>" + ANY_NAME + r"?)(?:就好了?|就行了?|就可以了?|好了|吧)?$", _called),
    (r"^(?:我叫|我的(?:中文|英文|真实)?名字(?:叫|是)|我名叫|我姓名是)(?P<name>" + ANY_NAME + r")$", _name),
    (r"^我是(?P<name>" + NAME + r")$", _name),
    (_ME + r"(?P<value>" + _NUMERAL + r")岁了?$", _age),
    (r"^我的?生日(?:是|在)(?P<value>.{2,20})$", _birthday),
    (_ME + r"(?P<neg>不再|不|没)?(?:住在|定居在?|生活在|居住在)(?P<place>[\u4e00-\u9fff\w]{2,15})" + _END, _lives),
    (_ME + r"是(?P<place>[\u4e00-\u9fff]{2,6})人$", _from),
    (r"^我(?:来自|的?老家[在是]|出生[在于])(?P<place>[\u4e00-\u9fff\w]{2,12})$", _origin),
    (_ME + r"(?P<neg>不再)?(?:是|当|做|担任)(?!过)(?:一[名个位])?(?P<value>" + TRADE + r")(?:了)?$", _trade),
    (r"^我的(?:职业|工作)(?P<neg>)是(?:一[名个位])?(?P<value>" + TRADE + r")$", _trade),
    (_ME + r"在(?P<value>[\u4e00-\u9fff\w]{2,15}?)(?:工作|上班|任职|就职|(?:当|做|担任)(?P<role>" + TRADE + r"))$", _employer),
    (_ME + r"(?P<value>结婚|离婚|已婚|单身|未婚)了?$", _status),
    (r"^比起(?P<other>.{1,15}?)我?(?:更|比较)喜欢(?P<value>.{1,15})$", _prefers),
    (r"^我(?:更喜欢|宁愿|偏好|更偏爱|更爱)(?P<value>.{1,20}?)(?:而不是|胜过|多过)?(?P<other>(?<=是).{1,15}|(?<=过).{1,15})?$", _prefers),
    (r"^我最(?:喜欢|爱)的(?P<what>[\u4e00-\u9fff]{1,6})(?:就)?是(?P<value>.{1,25})$", _favourite),
    (_ME + r"(?P<neg>不再|不太|不怎么|不|没那么)?" + _ADV + r"(?P<verb>最喜欢|喜欢|最爱|爱(?![人情上])|热爱|讨厌|厌恶|受不了|反感|酷爱)(?P<value>(?!的|上).{1,30})$", _likes),
    (_ME + r"对(?P<value>.{1,20}?)(?:严重|有点|很|特别)?(?P<neg>不再|不)?过敏了?$", _allergy),
    (_ME + r"有?(?P<value>乳糖|麸质|果糖)不耐(?:受|症)?$", _intolerant),
    (_ME + r"(?P<neg>不再|不)?(?P<value>(?:是|在)?(?:一个|一名)?(?:素食主义者|素食者|纯素食?者|纯素主义者|严格素食者|吃纯素|吃素的?|吃清真))了?$", _diet),
    (_ME + r"(?P<neg>不能|不可以|从不|从来不|不)(?P<verb>吃|喝|碰|抽|开车去|坐)(?P<value>[^，,。了]{1,15}了?)$", _cannot),
    (_ME + r"(?:有|患有|得了|患上了)(?P<value>" + CONDITION + r")$", _condition),
    (r"^我?的?预算(?P<be>是|为|只有|大概是?|不超过|在)(?P<value>.{2,30})$", _budget),
    (r"^(?P<what>[^，。]{0,15}?)的?(?:截止日期|截止时间)是?在?(?P<value>.{2,20})$", _deadline),
    (r"^(?:请|以后|麻烦|你|都|一律)*用(?P<language>" + LANGUAGE + r")(?:来)?(?:回答|回复|跟我说|和我说|交流|写)(?P<how>)我?" + _END, _style),
    (r"^(?:请|以后|麻烦|你|都|你的)*(?:回答|回复|说话)(?P<language>)(?:我)?(?:请|要|得|尽量)?(?P<how>简短|简洁|简单|详细|正式|随意|直接|口语化)(?:一点|一些|点|些)?" + _END, _style),
    (r"^(?P<name>" + NAME + r")是我(?:的|家的?)?(?P<rel>" + RELATION + r")$", _related),
    (r"^我(?:的|家的?)?(?P<rel>" + RELATION + r")(?:的名字(?:叫|是)|名叫|叫)(?P<name>(?!我|你|他|她)" + ANY_NAME + r")$", _related),
    (r"^我(?:的|家的?)?(?P<rel>" + RELATION + r")是(?P<name>" + NAME + r")$", _related),
    (r"^我(?:的|家的?)?(?P<rel>" + RELATION + r")(?P<name>" + NAME + r")??(?P<rest>(?:现在|目前)?(?:住在|定居|在|是|很|最|特别|不|喜欢|爱|讨厌|对|今年).+)$", _of_them),
    (r"^我(?:家)?(?:还|也)?(?:养了?|有)(?:一)?[只条匹个](?P<kind>[\u4e00-\u9fff]{0,4}(?:猫|狗|兔子|鹦鹉|仓鼠|猫咪|狗狗|金鱼|乌龟))(?:[，,]?\s*(?:它?的?名字叫|名叫|叫)(?P<name>" + ANY_NAME + r"))?$", _pet),
    (_ME + r"(?P<ask>)(?:需要|必须|得)(?P<value>[^，,]{3,40})$", _task),
    (r"^(?:请|麻烦|帮我|记得)*(?P<ask>提醒我|别忘了|记得)(?:要)?(?P<value>[^，,]{3,40})$", _task),
    (_ME + r"(?P<neg>不再|不)?(?P<how>想要|想|打算|计划|准备|希望能?够?|决定)(?P<value>.{3,50})$", _goal),
    (r"^我?的?(?:[\u4e00-\u9fff\d]{0,6}的?)?(?P<what>目标|梦想|愿望|理想)(?:就)?是(?P<value>.{2,40})$", _aim),
    (r"^我(?:现在|目前)?(?:正在|在|正)?(?P<doing>备战|备考|为了?准备|学习|学)(?P<value>.{2,25})$", _toward),
    (r"^我(?:以前|之前|曾经|曾|也|还|在大学)*(?P<verb>做|当|干|去|学|担任|经营|参加|写|带|练|教|管理|创办|开|跑)过(?P<value>[^，,]{1,30})$", _done),
    (r"^我(?:以前|之前|曾经|曾|也)*在(?P<value>[\u4e00-\u9fff\w ]{2,15}?)(?P<verb>工作|上班|实习|待|呆|生活|留学|读书|住)过(?P<long>[^，,]{0,8})$", _been),
    (_ME + r"(?P<neg>不)?(?P<verb>擅长|精通|熟悉|会说|会讲|会弹|会开|会用|会写|会做|能说)(?P<value>[^，,]{1,25})$", _skill),
    (r"^(?P<all>.{4,80})$", _event),
    (r"^我" + _ADV + r"搬[到去]了?(?P<place>[\u4e00-\u9fff\w]{2,12})$", _moved),
))  # fmt: skip


def facts(clause: Clause) -> list[Draft]:
    """What the clause states, by the first rule that finds something."""
    text = re.sub(r"[。！!.~～\s]+$", "", clause.text)
    event = _about_me(text) and dates.mentions(text, clause.at)
    for pattern, build in _RULES:
        if build is _event and not event:
            continue
        match = pattern.match(text)
        if match and (found := list(build(match, clause))):
            return found
    return []


def _about_me(text: str) -> bool:
    return bool(
        re.search(r"^我(?!" + RELATION + r"|的|们)|[年月日天周期号末晚上]我(?!" + RELATION + r"|的|们)", text[:24])
    )


def note(clause: Clause) -> Draft | None:
    """The clause as a note, word for word but for the pronouns."""
    said = owned(clause.text.strip(" 。！!，,"))
    return draft("note", "note", said, said, importance=3) if said and len(said) >= 4 else None
