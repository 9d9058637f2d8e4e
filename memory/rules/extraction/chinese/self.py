"""The Chinese rules for the person: name, birthday, home, work, languages, diet, health, and how to answer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.memory.rules.dates import mentions
from muniment.memory.rules.dates.chinese import parse_number
from muniment.memory.rules.extraction.clauses import Draft, make_draft
from muniment.memory.rules.language.chinese_words import (
    ADVERBS,
    ANY_NAME,
    CONDITION,
    END,
    LANGUAGE,
    ME,
    NAME,
    RELATION,
    TRADE,
    replace_pronouns,
    split_list,
)
from muniment.memory.rules.language.clause import Clause
from muniment.memory.rules.language.lazy_regex import lazy_compile

# `叫我` may also mean to make somebody act: `叫我起床`.
_TO_DO = lazy_compile(
    r"[去来干做帮买拿交写等滚走别不快好先吃喝看听说想学用在把给进过]|[起出回上下开][床门家去来班会学车楼课机心始]"
    r"|(?:加班|休息|睡觉|赶紧|马上|明天|今天|早点|注意|小心|放心|努力)"
)
_NO_NAME = lazy_compile(
    r"[人者生员师座党迷控族手型派粉货癌狂症病压的了血质级期性]$|^[大小老阿](?:[板总头外乡弟妹辈区镇哥姐爷子孩学雅说心猫"
    r"狗鬼白黑丑众二三四五六七八九幺]|实人)$"
)


def _called(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    name = match["name"]
    if not re.match(r"[你他她它您一什怎]", name) and not _TO_DO.match(name):
        yield make_draft(
            "identity", "preferred_name", name, f"用户的称呼（偏好的名字）是{name}", single=True, persons=(name,)
        )


def _name(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    name = match["name"]
    if re.match(r"[你他她它您一什怎外车了不]", name):
        return
    # `我是程序员` has the shape of `我是王小明`; the word after `我是` is a trade more often than a name.
    if not match[0].startswith("我是") or not (
        _NO_NAME.search(name) or re.fullmatch(f"{TRADE}|{RELATION}|{CONDITION}", name)
    ):
        yield make_draft("identity", "name", name, f"用户的名字是{name}", single=True, persons=(name,))


def _age(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said = match["value"]
    age = parse_number(said)
    if 3 <= age <= 120:
        yield make_draft("identity", "age", str(age), f"用户{said}岁", single=True)


def _birthday(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said = match["value"]
    if mentions.find_mentions(said, clause.at) and not mentions.has_relative_date(said, clause.at):
        yield make_draft("identity", "birthday", said, f"用户的生日是{said}", single=True, importance=3, timeless=True)


def _lives(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    where, ended = match["place"].removesuffix("了"), bool(match["neg"])
    if (
        not re.match(r"一|这|那|哪|酒店|宿舍|家里|外面|楼", where)
        and not re.search(r"的人|(?<![成首])都|很", where)
        and replace_pronouns(where)
        and not mentions.find_mentions(where, clause.at)
    ):
        text = f"用户{'不再' if ended else ''}住在{where}"
        yield make_draft("identity", "lives_in", where, text, single=True, negated=ended, importance=3, location=where)


_NO_PLACE = lazy_compile(
    r"一|个|好|坏|男|女|主|负责|病|名|普通|老|本|当|外地|内向|外向|有|什么|这|那|做|的|.*(?:的|负责|主持|候选)$"
)


def _origin(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    where = replace_pronouns(match["place"])
    if where and not _NO_PLACE.match(where):
        yield make_draft("identity", "comes_from", where, f"用户来自{where}", single=True, location=where)


_NO_TRADE = lazy_compile(r"不|没|最|很|想|怕|恨|被|喜欢|讨厌|爱上")  # `我是不喜欢老师` says what one dislikes


def _trade(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    trade, ended = match["value"], bool(match["neg"])
    if replace_pronouns(trade) == trade and "的" not in trade and not _NO_TRADE.match(trade):
        yield make_draft(
            "identity",
            "works_as",
            trade,
            f"用户{'不再' if ended else '的职业'}是{trade}",
            single=True,
            negated=ended,
            importance=3,
        )


def _employer(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    firm, role, ended = match["value"], match["role"] or "", bool(match["neg"])
    if (
        replace_pronouns(firm) != firm
        or re.fullmatch(r"一[家个所].{0,1}(?:公司|单位|地方|学校)", firm)
        or firm in ("家", "家里", "外面", "国外", "外地", "这里", "这儿", "那里", "那儿")
        or mentions.find_mentions(firm, clause.at)
        or (match["ended"] and not ended)
    ):
        return
    text = f"用户{'不再' if ended else ''}在{firm}工作"
    yield make_draft("identity", "works_at", firm, text, single=True, negated=ended, importance=3, entities=(firm,))
    if role and not ended:
        yield make_draft("identity", "works_as", role, f"用户的职业是{role}", single=True, importance=3)


def _status(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = {"结婚": "已婚", "离婚": "离异"}.get(match["value"], match["value"])
    yield make_draft("identity", "marital_status", value, f"用户{value}", single=True)


def _favourite(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    what, value = match["what"], replace_pronouns(match["value"])
    if value and replace_pronouns(what):
        yield make_draft(
            "preference",
            f"favourite_{what}",
            value,
            f"用户最喜欢的{what}是{value}",
            single=True,
            timeless=True,
        )


def _allergy(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    against = bool(match["neg"])
    for thing in split_list(match["value"]):
        how = match["neg"] or ""
        yield make_draft("constraint", "allergic_to", thing, f"用户对{thing}{how}过敏", negated=against, importance=4)


def _intolerant(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    word = {"乳糖": "lactose", "麸质": "gluten", "果糖": "fructose"}[match["value"]]
    yield make_draft("constraint", "intolerant_to", word, f"用户{match['value']}不耐受", importance=4)


def _diet(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    against = bool(match["neg"])
    value = (
        "vegan"
        if match["value"].startswith(("纯素", "严格素"))
        else "halal"
        if "清真" in match["value"]
        else "vegetarian"
    )
    said = re.sub(r"^(?:是|在)?(?:一个|一名)?", "", match["value"])
    verb = "" if said.startswith("吃") else "是"
    yield make_draft(
        "constraint",
        "diet",
        value,
        f"用户{'不再' if against else ''}{verb}{said.removesuffix('的')}",
        single=True,
        negated=against,
        importance=4,
    )


def _cannot(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    verb, value = match["verb"], replace_pronouns(match["value"].removesuffix("了"))
    if value and not re.match(r"[了过完饱下到]|起$", value):
        yield make_draft(
            "constraint",
            "cannot",
            f"{verb}{value}",
            f"用户{match['neg']}{verb}{value}",
            importance=4,
        )


def _condition(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    yield make_draft("constraint", "health_condition", match["value"], f"用户患有{match['value']}", importance=4)


def _budget(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    said = replace_pronouns(re.sub(END, "", match["value"]))
    if said and re.search(r"[\d一二三四五六七八九十百千万]", said):
        yield make_draft(
            "constraint",
            "budget",
            said,
            f"用户的预算{match['be']}{said}",
            category="constraints",
            single=True,
            importance=3,
        )


def _style(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    language = match["language"]
    predicate, value = ("answer_language", language) if language else ("response_style", match["how"])
    text = f"用户希望用{language}回答" if language else f"用户希望回答{match['how']}"
    yield make_draft("preference", predicate, value, text, category="style", single=True, importance=3)


_PLACE = r"[\u4e00-\u9fff\w]{1,12}?)"
_CHANGE = lazy_compile(
    rf"我{ADVERBS}(?:(?:从.{{2,10}})?(?P<move>搬[到去])了?(?=..)(?P<place>{_PLACE}了?|离开(?:了(?!了))?(?!了)(?P<left>{_PLACE}"
    rf"|从(?P<quit>{_PLACE}(?:离职|辞职)了?){END}"
)


def _change_place(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    """A change of home or the end of a job, which may be of a day."""
    spans = mentions.find_mentions(clause.text, clause.at)
    start, end = (spans[0].start, spans[0].end) if spans else (0, 0)
    went = _CHANGE.match((clause.text[:start] + clause.text[end:]).strip(" ，,的在于")) if len(spans) <= 1 else None
    where = replace_pronouns(went["place"] or went["left"] or went["quit"]) if went else None
    if went and where:
        ahead = any(span.when.start > clause.at for span in spans)
        when = f"{'计划' if ahead else ''}{f'于{clause.text[start:end]}' if spans else ''}"
        text = f"用户{when}搬到{where}" if went["move"] else f"用户{when}离开了{where}"
        predicate = "plans" if ahead else "moved_to" if went["move"] else "left"
        location = where if went["move"] else None
        yield make_draft("event", predicate, where, text, location=location, importance=3)


def _speaks(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    against = bool(match["neg"])
    for language in split_list(match["value"]):
        if re.fullmatch(LANGUAGE, language):
            text = f"用户{'不' if against else ''}会{match['how'] or '说'}{language}"
            yield make_draft("skill", "speaks", language, text, negated=against)


def _task(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    value = replace_pronouns(re.sub(END, "", match["value"]))
    if value:
        what = mentions.remove_dates(value, clause.at)
        yield make_draft("todo", "to_do", what, f"用户需要{value}", importance=3)


def _again(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    """What the person eats or drinks again."""
    what = match["verb"] + match["value"]
    yield make_draft("constraint", "cannot", what, f"用户又{what}了", negated=True, importance=3)


_LEARNT = ("学", "练")


def _pursues(match: re.Match[str], clause: Clause) -> Iterator[Draft]:
    """What the person likes or learns, or does not, or no longer does."""
    verb, neg, said = match["verb"], match["neg"] or "", re.sub(END, "", match["value"])
    how = "不再" if neg and (neg == "不再" or clause.text.endswith("了")) else neg
    if neg and verb == "讨厌":
        return
    against = bool(neg) or verb == "讨厌"
    for value in split_list(said.removesuffix("了")):
        text = f"用户{how}{verb}{value}"
        if verb in _LEARNT:
            yield make_draft("goal", "learns", value, text, negated=against, importance=3)
        else:
            yield make_draft("preference", "likes", value, text, negated=against, timeless=True)


_PURSUIT = r"喜欢上?|爱(?:上|(?![人情]))|迷上|讨厌|学|练"
_NUMERAL = r"[\d一二三四五六七八九十]{1,3}"
_MANNER = "简短|简洁|简单|详细|正式|随意|直接|口语化"
RULES = tuple((lazy_compile(pattern), build) for pattern, build in (
    (r"^(?:我|你们?|您|大家|请|都|可以|平时|以后|朋友们?|家人|就|直接|喜欢别人)*叫我(?P<name>" + ANY_NAME.replace(
     "{2,6}", "{2,6}?") + r")(?:就(?:好|行|可以|成)了?|好了|吧)?$", _called),
    (r"^(?:我叫|我的(?:中文|英文|真实)?名字(?:叫|是)|我名叫|我姓名是)(?P<name>" + ANY_NAME + r")$", _name),
    (r"^我是(?P<name>" + NAME + r")$", _name),
    (ME + r"(?P<value>" + _NUMERAL + r")岁了?$", _age),
    (r"^我(?:今天|昨天|这个月|上个月|今年|刚|已经)*(?:满|过完)(?P<value>" + _NUMERAL + r")岁了?$", _age),
    (r"^我的?生日(?:是|在)(?P<value>.{2,20})$", _birthday),
    (ME + r"(?P<neg>不再|不|没)?(?:(?:和|跟|与|同(?![事学伴桌乡窗伙门]))[^，]{1,14}?)?(?:一起|一块儿?)?(?:住在|定居在?"
     r"|生活在|居住在)(?P<place>[\u4e00-\u9fff\w]{2,15})" + END, _lives),
    (ME + r"是(?P<place>[\u4e00-\u9fff]{2,6})人$", _origin),
    (r"^我(?:来自|的?老家(?:就|其实)?[在是]|出生[在于])(?P<place>[\u4e00-\u9fff\w]{2,12}?)的?$", _origin),
    (ME + r"(?P<neg>不再)?(?:是|当|做|担任)(?!过)(?:一[名个位])?(?P<value>" + TRADE + r")(?:了)?$", _trade),
    (r"^我的(?:职业|工作)(?P<neg>)是(?:一[名个位])?(?P<value>" + TRADE + r")$", _trade),
    (ME + r"(?P<neg>不再|不|没)?在(?P<value>[\u4e00-\u9fff\w]{2,15}?)(?:工作|上班|任职|就职|(?:当|做|担任)(?P<role>"
     + TRADE
     + r"))(?P<ended>了?)$", _employer),
    (ME + r"(?P<value>结婚|离婚|已婚|单身|未婚)了?$", _status),
    ((r"^我最(?:喜欢|爱)的(?P<what>[\u4e00-\u9fff]{1,6}?)(?:其实|现在|目前|一直|永远|还|也|当然|应该|就|已经"
     r"|仍然)*是(?P<value>.{1,25})$"), _favourite),
    (ME + r"对(?P<value>.{1,20}?)(?:严重|有点|很|特别)?(?P<neg>不再|不)?过敏了?$", _allergy),
    (ME + r"有?(?P<value>乳糖|麸质|果糖)不耐(?:受|症)?$", _intolerant),
    (ME + r"(?P<neg>不再|不)?(?P<value>(?:是|在)?(?:一个|一名)?(?:素食主义者|素食者|纯素食?者|纯素主义者|严格素食者"
     r"|吃纯素|吃素的?|吃清真))了?$", _diet),
    (ME + r"(?P<neg>不能|不可以|从不|从来不|不)(?P<verb>吃|喝|碰|抽)(?P<value>[^，,。了]{1,15}了?)$",
     _cannot),
    (ME + r"(?:又|重新)(?:可以|能|敢|开始)?(?P<verb>[吃喝])(?P<value>[^，我你他她了过完]{1,12})了$", _again),
    (ME + r"(?:有|患有|得了|患上了)(?P<value>" + CONDITION + r")$", _condition),
    (r"^(?:我们?家?)?的?预算(?P<be>是|为|只有|大概是?|不超过|在)(?P<value>.{2,30})$", _budget),
    (r"^(?:请|以后|麻烦|你|都|一律)*用(?P<language>" + LANGUAGE + r")(?:来)?(?:回答|回复|跟我说|和我说|交流|写)(?P<how>"
     r")我?" + END, _style),
    (rf"^(?:请|以后|麻烦|你|都|你的)*(?:回答|回复|说话)(?P<language>)(?:我)?(?:请|要|得|尽量)?(?P<how>{_MANNER})"
     r"(?:一点|一些|点|些)?" + END, _style),
    (rf"^(?:以后|今后)?我(?:更|比较)?(?:喜欢|想要|希望|偏好)(?P<language>)(?P<how>{_MANNER})(?:一点|一些|点|些)?的"
     r"(?:回答|回复|答复)" + END, _style),
    (r"^.{0,16}我.{0,16}(?:搬[到去]|离开|离职|辞职)", _change_place),
    ((ME + r"在?(?P<neg>不再|不)?" + ADVERBS + r"(?P<verb>" + _PURSUIT + r")了?"
     r"(?P<value>(?![的校生会到过习班]).{1,20})$"), _pursues),
    (r"^(?P<value>[^，我你他她]{1,12})我" + ADVERBS + r"(?P<neg>不再?|没再)(?P<verb>" + _PURSUIT + r")了$", _pursues),
    (ME + r"(?P<neg>不)?会(?P<how>说|讲|一点儿?|一些|几句|点儿?)?(?P<value>" + LANGUAGE + r"(?:[和、跟]" + LANGUAGE
     + r"){0,4})" + END, _speaks),
    (r"^(?:请|麻烦|帮我|记得)*(?:提醒我|别忘了|记得)(?:要)?(?P<value>[^，,]{3,40})$", _task),
))  # fmt: skip
