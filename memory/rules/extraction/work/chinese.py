"""The forms of Chinese clauses that say what became of work.

A clause may lack its subject, so that it is its speaker's unless somebody else stands before the verb. What was
reached is told by verbs of achievement and resultative complements, what binds by modals and the place of a norm."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from muniment.memory.domain.memory import FactKind
from muniment.memory.rules.extraction.work.signs import Language, Sign, make_filler
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon

_LEXICON = load_lexicon("work.zh")
_fill = make_filler(_LEXICON, is_spaced=False)

# Parts of a clause.
_WORDS = r"[^，,；;。：:！!]"  # of the same clause
_END = r"(?=[，,；;。！!\s]|$)"
_WHO = r"(?P<who><group>|<self>)?(?:[跟和与]<partner>)?"
_BEFORE = rf"{_WHO}(?P<lead>{_WORDS}{{0,16}}?)"
_OBJECT = r"(?P<object>\S.*)"
_BORDER = lazy_compile(r"[，,；;：:。！!—]+\s*|\s+(?=[\u3400-\u9fff])|(?<=[\u3400-\u9fff])\s+")
_OPENING = lazy_compile(
    r"(?:跟大家说一下|通知一下|说一下|对了|好家伙|嗯|哦|噢|啊|哎呀?|诶|那|所以|于是|不过|但是|而且|另外|总之|结果|好消息|太好了|终于|总算"
    r"|记一下|补充一下|更新一下|顺便)+[，,：:！!\s]*"
)
_MOST_STARTS = 14


def list_starts(text: str) -> Iterator[int]:
    """The places at which a clause begins, with and without what opens it."""
    given: set[int] = set()
    for border in [0, *(match.end() for match in _BORDER.finditer(text))][:_MOST_STARTS]:
        opening = _OPENING.match(text, border)
        for place in (border, opening.end() if opening else border):
            if place not in given and place < len(text):
                given.add(place)
                yield place


def _make(kind: FactKind, pattern: str, *needs: str, is_order: bool = False, is_whole: bool = False) -> Sign:
    return Sign(
        kind=kind, pattern=lazy_compile(_fill(pattern)), needs=needs, is_order=is_order, is_whole=is_whole
    )


_DECISIONS = (
    _make("decision", rf"{_BEFORE}<decided>[，,：:\s]*{_OBJECT}"),
    _make("decision", rf"(?P<topic>(?!我$){_WORDS}{{2,20}}?)<adverb>*(?<![搞肯稳坐吃认镇])<settled>(?!没)[用成]?[，,：:]?(?P<object>.*)"),
    _make("decision", rf"(?:(?P<who><group>|<self>)<adverb>*|(?P<lead>{_WORDS}{{0,12}}?)(?:就|还是|决定|改|统一))<chose>(?!不|着急){_OBJECT}", "closure"),
    _make("decision", rf"(?P<who><group>|<self>)<adverb>*<adopted>{_OBJECT}", "work"),
    _make("decision", rf"(?P<lead>{_WORDS}{{0,10}}?)(?P<who><group>|<self>)<adverb>*把(?P<topic>{_WORDS}{{1,20}}?)<adopted>{_OBJECT}", "work"),
    _make("decision", rf"(?P<topic>{_WORDS}{{2,20}}?)(?:最后|最终|已经|后来|终于)<adopted>{_OBJECT}", "work", "closure"),
    _make("decision", rf"<from_now>[，,]?(?P<topic>(?!请|你){_WORDS}{{0,12}}?)<adopt>{_OBJECT}", "work"),
    _make("decision", rf"(?:我们的|最后的|最终的?|我的)?(?:决定|结论|方案)(?:就)?(?:是|：|:)(?!不是){_OBJECT}", "closure", "who"),
    _make("decision", rf"{_WHO}(?:[跟和与]<partner>)(?:商量|讨论|谈|合计|沟通|碰)(?:过|好|完|定|妥)?了?[，,：:\s]*{_OBJECT}", "change"),
    _make("decision", rf"(?P<topic>{_WORDS}{{1,14}}?)(?P<object>(?:先|就|还是|改|选|换|不再?|再续|延)(?!是|过|知道|会|想|好|错|用说|如){_WORDS}{{1,16}}?(?:了|那\S|年|这\S)?){_END}.*", "weighed+ended"),
    _make("decision", rf"(?:{_WORDS}{{0,8}}?)(?:最终版?|最后的?方案|最终方案|最后结论|结论|决议|商量结果|讨论结果|投票结果)(?:是|：|:|出来了[，,：:])\s*{_OBJECT}"),
    _make("decision", rf"(?P<topic>{_WORDS}{{2,20}}?)(?P<object>(?:换成|改成|改为|改到|推迟到|提前到|挪到)\S.*)", "closure"),
)  # fmt: skip
_RULES = (
    _make("rule", rf"(?:<place>|我们|咱们|我|项目|团队|组里|公司|店里)(?:{_WORDS}{{0,4}})的?(?:老|铁|死|硬性)?<norm><is>\s*{_OBJECT}"),
    _make("rule", rf"(?:<place>|我们|咱们|团队|项目组)(?:{_WORDS}{{0,4}}?)(?:规定|约定|要求)<is>?{_OBJECT}"),
    _make("rule", rf"<ban>\S{{2,}}.*", "work", is_order=True, is_whole=True),
    _make("rule", rf"(?:<from_now>)?(?P<who><group>|我们|咱们)?(?P<topic>{_WORDS}{{0,24}}?)<universal>{_WORDS}{{0,30}}?[，,]?{_WORDS}{{0,12}}?(?:<modal>|<weak_modal>)[^，,。\s].*", "work", "place", "stress", "bound+modal", is_whole=True),
    _make("rule", rf"(?P<topic>{_WORDS}{{0,24}}?)<modal>[^，,。\s].*", "place", "stress", is_whole=True),
    _make("rule", rf"(?P<topic>{_WORDS}{{1,24}}?)(?:必须|一定要|务必|都要|都得|不准|不许|禁止|严禁|不得|一律|绝不能|千万不要|不允许)[^，,。\s].*", "work", is_whole=True),
    _make("rule", rf"(?:<place>){_WORDS}{{0,30}}?[，,]?{_WORDS}{{0,16}}?(?:<modal>|都得)[^，,。\s].*", is_whole=True),
    _make("rule", rf"<from_now>(?P<topic>{_WORDS}{{0,20}}?)(?:一律|统一|必须|都要|都得|不准|不许|禁止|只能)\S.*", "work", "place", "stress", "who", is_whole=True),
    _make("rule", rf"(?:我们|咱们|<place>)<adverb>*<custom>\S.*", "work", "place", "stress", is_whole=True),
    _make("rule", rf"(?P<topic>{_WORDS}{{2,24}}?)(?:每[个批份台张条件](?!人)|一律|全部)(?:必须|都要|都得|都必须|一律|不得|要先)\S.*", is_whole=True),
    _make("rule", rf"每(?:天|周|个?月|晚|次|班)[一二三四五六日天末]?(?P<topic>(?!我)[^，,；;。：:！!我]{{1,16}}?)(?:要|得|必须|都要|都得)[^，,；;。：:！!]{{1,12}}[一两二三四五六\d]+[遍次回道轮].*", is_whole=True),
    _make("rule", rf"(?P<topic>{_WORDS}{{2,24}}?)(?:必须|不能|不准|不许|要|得)[^，,。\s].*", "absolute", is_whole=True),
    _make("rule", rf"(?P<topic>没{_WORDS}{{2,16}}?)(?:谁也|谁都|一律|任何人)(?:不准|不许|不能|不得|别想)\S.*", is_whole=True),
)  # fmt: skip
_THING = r"(?P<finding>)(?P<object>\S{3,}.*)"
_DISCOVERIES = (
    _make("discovery", rf"{_WHO}(?P<lead>{_WORDS}{{0,20}}?)<now_known>[，,：:\s]*(?:是|原来)?{_THING}"),
    _make("discovery", rf"{_WHO}(?P<lead>{_WORDS}{{0,20}}?)<found_out>(?!了?(?:新|一家|一个好|宝))[，,：:\s]*(?:是|说)?{_THING}", "work", "exact", "counter"),
    _make("discovery", rf"(?:原来是|原来|敢情|没想到|结果是|怪不得|难怪)(?!居然|竟然|是?你|是?我)(?=\S{{5}}){_THING}", "work", "exact", "counter"),
    _make("discovery", rf"(?:[^，,；;。：:！!]{{0,10}}?的)?(?:根本原因|根因|罪魁祸首|症结|祸根|原因|瓶颈)(?:找到了[，,：:])?(?:就)?(?:是|在于|：|:){_OBJECT}"),
    _make("discovery", rf"(?:问题|毛病)(?:就|其实)?(?:出在|在于){_OBJECT}"),
    _make("discovery", rf"(?:其实|原来|结果)?(?:并)?不是(?!我|你|他|她|说|不){_WORDS}{{1,14}}(?:的)?(?:问题|毛病|原因|错|事儿?)[，,]?而?是(?!我|你|他|她|因为我){_OBJECT}"),
    _make("discovery", rf"(?P<topic>{_WORDS}{{0,10}}?)(?:结果|报告|数据|日志|监控|记录)(?:出来了?|显示|说明|表明|证实|里)[，,：:]?\s*(?P<finding>)(?P<object>\S{{6,}}.*)", "exact", "counter"),
    _make("discovery", rf"(?:看了?|查了?|翻了?|分析了?)(?:一下|一遍|看)?(?:日志|报告|数据|记录|监控|账|账本|合同|病历|图纸|代码)[，,：:]\s*{_THING}"),
    _make("discovery", rf"(?P<object>(?!我){_WORDS}{{2,24}}(?:全是|都是|只有|只在|从来没|一直在){_WORDS}{{2,30}}).*", "evidence"),
    _make("discovery", rf"问题(?:就)?是{_OBJECT}", "work"),
    _make("discovery", rf"{_WHO}(?P<lead>{_WORDS}{{0,10}}?)<inspected>{_WORDS}{{0,20}}[，,：:；;]+\s*{_THING}", "exact", "counter"),
    _make("discovery", rf"(?P<topic>{_WORDS}{{2,20}}?)(?P<object>(?:压根|根本|居然|竟然|悄悄)(?:还|就)?(?:没|不|是|会|只|把|有|用)\S.*)", "number", "evidence", "work"),
    _make("discovery", rf"(?P<object>{_WORDS}{{3,40}}(?:是|跟|和|由){_WORDS}{{1,30}}(?:造成的?|导致的?|引起的?|有关系?)){_END}.*", "evidence"),
    _make("discovery", rf"(?P<object>{_WORDS}{{2,30}}比{_WORDS}{{1,20}}(?:快|慢|高|低|多|少|长|短|大|小|重|轻|贵|热|冷)(?:了)?{_WORDS}{{1,20}}).*", "evidence"),
)  # fmt: skip
_FIXES = (
    _make("fix", rf"(?P<topic>{_WORDS}{{2,30}}?)的?<remedy>(?:就)?(?:是|：|:){_OBJECT}"),
    _make("fix", rf"<repair>(?P<topic>{_WORDS}{{2,30}}?)的<remedy>(?:就)?(?:是|：|:){_OBJECT}"),
    _make("fix", rf"{_WHO}<adverb>*(?:通过|靠|用)(?P<object>{_WORDS}{{2,40}}?)<repaired>(?P<topic>{_WORDS}+).*"),
    _make("fix", rf"(?P<topic>{_WORDS}{{2,30}}?)<adverb>*是?(?:通过|靠|用)(?P<object>{_WORDS}{{2,40}}?)<repaired>的?了?{_END}.*"),
    _make("fix", rf"(?P<topic>{_WORDS}{{2,30}}?)(?<![不没])(?:<well_again>|<repaired>)[，,：:；;。！!\s]+(?P<object>{_WORDS}{{0,12}}?<act>\S.*)"),
    _make("fix", rf"(?P<lead>{_WORDS}{{0,14}}?)(?P<object><act>.{{2,60}}?)(?:[，,]|就|以后|之后|后|才|再|然后|结果){_WORDS}{{0,16}}?(?<![不没])(?:<well_again>|<repaired>){_END}.*"),
    _make("fix", rf"(?P<lead>{_WORDS}{{0,14}}?)(?P<object><act>.{{2,60}}?)(?:就|就再也|再也|后来就)(?:没再|没有再|不再|不)(?!<function>)\S{{1,6}}了?{_END}.*"),
    _make("fix", rf"(?!我|他|她|你|雨|雪)(?P<object>{_WORDS}{{0,10}}?[^了，,；;。]{{1,3}}了(?!我|他|她){_WORDS}{{1,20}}?(?:之后|以后|后)?)[，,]?\s*(?P<topic>{_WORDS}{{0,12}}?)就(?:没再|没有再|不再|不)(?!<function>|<bodily>)\S{{1,6}}了{_END}.*"),
    _make("fix", rf"(?!他|她|你|雨|雪)(?P<object>{_WORDS}{{0,10}}?(?:[^了，,；;。]{{1,3}}了{_WORDS}{{1,20}}?|{_WORDS}{{2,24}}?(?:之后|以后|后))(?:之后|以后|后)?)[，,]?\s*(?P<topic>{_WORDS}{{1,14}}?)(?:又能\S{{1,4}}了|恢复正常|正常了|再没{_WORDS}{{1,6}}过|再也没{_WORDS}{{1,6}}过?|一下子?就好了){_END}.*"),
    _make("fix", rf"(?P<topic>{_WORDS}{{2,30}}?)(?:搞定了|解决了|修好了|好了|治好了)[，,：:；;]+\s*(?P<object>\S.{{3,60}}?(?:就行|就可以了|就好了|就好|即可|就没事了|所致|搞的鬼)){_END}.*"),
    _make("fix", rf"(?P<object>{_WORDS}{{2,40}}?)(?:之后|以后|完|后)[，,]?(?P<topic>{_WORDS}{{0,20}}?)就<well_again>{_END}.*"),
    _make("fix", rf"(?P<topic>{_WORDS}{{2,30}}?)只?要(?P<object>{_WORDS}{{2,40}}?)就<well_again>{_END}.*"),
)  # fmt: skip
_TASKS = (
    _make("todo", rf"(?P<lead>{_WORDS}{{0,16}}?)(?:还有|手上有|手头有)(?P<object>[一两二三四五六几\d]+{_WORDS}{{1,14}}?(?:要|没|得|等着){_WORDS}*).*", "deadline", "term"),
    _make("todo", rf"<list>[：:，,]\s*{_OBJECT}"),
    _make("todo", rf"<remember>{_OBJECT}"),
    _make("todo", rf"{_BEFORE}<strong_must>(?![^，,；;。]{{0,6}}[一二两三半几\d]+(?:年|个月|天|周)|{_WORDS}*[块元钱万])(?:在|把|给)?{_OBJECT}"),
    _make("todo", rf"{_WHO}<adverb>*(?:必须|得|需要)(?!到了?)(?P<object>\S.*)", "work"),
    _make("todo", rf"(?P<lead>{_WORDS}{{0,16}}?)(?:之前|以前|前)[，,]?(?P<who>我们|我|咱们)?(?:还)?(?:必须|一定要|务必|得|要|该|需要)(?:再|重新)?{_OBJECT}", "dated"),
    _make("todo", rf"(?P<lead>{_WORDS}{{0,16}}?)(?P<who>我们|我|咱们)?(?:还)?(?:得|必须|一定要|务必)(?:再|去|重新)?(?P<object>(?:[把给在向跟]{_WORDS}{{1,14}}?)?<errand>\S.*)", "dated", "deadline", "term"),
    _make("todo", rf"(?P<lead>{_WORDS}{{0,16}}?)(?P<who>我们|我|咱们)?要(?:再|去)?(?:{_WORDS}{{0,8}}?)(?P<object><errand>\S.*)", "deadline", "dated+aside"),
    _make("todo", rf"(?P<lead>{_WORDS}{{0,16}}?)<recall>{_OBJECT}", "dated", "aside"),
    _make("todo", rf"(?P<who>我们|我|咱们)?<adverb>*答应了?{_WORDS}{{1,10}}?(?P<object>(?:要|今晚|明天|周|下周|这周|月底|把|给)\S.*)", "dated"),
    _make("todo", rf"(?P<topic>{_WORDS}{{2,20}}?)(?:轮到我(?!们)|由我|我来)(?P<object>\S{{2,}}.*)", "dated"),
    _make("todo", rf"(?P<topic>{_WORDS}{{2,24}}?)(?:周\S|\d+[号日]|月底|下周|明天|今天|后天){_WORDS}{{0,4}}?(?:截止|要交)(?P<object>.*)", "dated+who"),
)  # fmt: skip
_HINTS: dict[FactKind, str] = {
    "fix": r"恢复|又能|再没|<remedy>|<repaired>|<well_again>|就不|再也|没再|就没",
    "decision": r"最终|结果|决议|<closure>|<decided>|<settled>|<chose>|<adopted>|决定|结论|方案",
    "discovery": r"不是|结果|报告|数据|日志|监控|记录|全是|都是|只|一直在|<found_out>|<now_known>|<turned_out>|<cause>|<inspected>|<counter>|比",
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
    "number": r"\d|[两三四五六七八九十百千]|倍|一半",
    "evidence": r"<inspected>|<found_out>|试了|次都",
    "weighed": r"商量|讨论|开会|投票|表决|拍板|一致|点头|没意见|考虑了|谈下来|谈妥|谈好|都同意|权衡|最后|最终|算过账|思前想后|想来想去|说服",
    "ended": r"了(?=[，,；;。！!]|$)|结果|最终",
    "absolute": r"一律|一概|没有例外|绝对不",
    "term": r"[这本下]周|周末|月底|明天|后天|今晚|今天|[这本下]个?月|之前",
    "deadline": r"之前|以前|前(?:我|得|要|必须|把|交)|截止|月底",
    "aside": r"差点忘了|顺便|别忘|记得|一早|头一件",
}


@cache
def load_language() -> Language:
    """The signs and cues of Chinese."""
    return Language(
        name="zh",
        signs={"fix": _FIXES, "decision": _DECISIONS, "discovery": _DISCOVERIES, "rule": _RULES, "todo": _TASKS},
        hints={kind: lazy_compile(_fill(pattern)) for kind, pattern in _HINTS.items()},
        cues={name: lazy_compile(_fill(pattern)) for name, pattern in _CUES.items()},
        not_said=lazy_compile(_fill(r"<not_said>|吗[，,。!！~]*$|^[^问]*<asks>|^[^问]*?([\u3400-\u9fff])不\1|^\s*(?:请|帮|麻烦|写|翻译|总结|你|您)")),
        starts=list_starts,
        is_said=is_said,
        work=lazy_compile(_fill("<work>")),
        means=lazy_compile(_fill("<means>")),
        named=lazy_compile(_fill(r"(?:^|在|给|[，,])(?P<name>[\u4e00-\u9fffA-Za-z]{1,6}?<named>)")),
        names=_LEXICON.get_table("names", ","),
    )


_OTHERS, _HARMLESS = lazy_compile(_fill("<others>")), lazy_compile(_fill("<harmless>"))
_NO_OBJECT, _PERSONAL = lazy_compile(_fill("<no_objects>")), lazy_compile(_fill("<personal>"))
_NO_TASK, _HABIT, _MOMENT = (lazy_compile(_fill(f"<{name}>")) for name in ("no_tasks", "habits", "moments"))

_NOUN = lazy_compile(r"[把将的这那个]$|从\S{1,8}里")  # before `决定`: a noun
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
