"""The forms of Chinese clauses that say what somebody decided."""

from __future__ import annotations

from muniment.memory.rules.extraction.work.chinese.parts import BEFORE, END, OBJECT, WHO, WORDS, make_sign

DECISIONS = (
    make_sign("decision", rf"{BEFORE}<decided>(?![得性权])[，,：:\s]*{OBJECT}"),
    make_sign(
        "decision",
        rf"(?P<topic>(?!我$|[这那]事){WORDS}{{2,20}}?)<adverb>*(?<![搞肯稳坐吃认镇])<settled>(?!没)[用成]?[，,：:]?"
        r"(?P<object>.*)",
    ),
    make_sign(
        "decision",
        rf"(?:(?P<who><group>|<self>)<adverb>*|(?P<lead>{WORDS}{{0,12}}?)(?:就|还是|决定|改|统一))<chose>"
        rf"(?!不|着急){OBJECT}",
        "closure",
    ),
    make_sign("decision", rf"(?P<who><group>|<self>)<adverb>*<adopted>{OBJECT}", "work"),
    make_sign(
        "decision",
        rf"(?P<lead>{WORDS}{{0,10}}?)(?P<who><group>|<self>)<adverb>*把(?P<topic>{WORDS}{{1,20}}?)(?<!转)<adopted>{OBJECT}",
        "work",
    ),
    make_sign(
        "decision", rf"(?P<topic>{WORDS}{{2,20}}?)(?:最后|最终|已经|后来|终于)<adopted>{OBJECT}", "work", "closure"
    ),
    make_sign("decision", rf"<from_now>[，,]?(?P<topic>(?!请|你){WORDS}{{0,12}}?)<adopt>{OBJECT}", "work"),
    make_sign(
        "decision",
        rf"(?:我们的|最后的|最终的?|我的)?(?:决定|结论|方案)(?:就)?(?:是|：|:)(?!不是){OBJECT}",
        "closure",
        "who",
    ),
    make_sign(
        "decision",
        rf"{WHO}(?:[跟和与]<partner>)(?:商量|讨论|谈|合计|沟通|碰)(?:过|好|完|定|妥)?了?[，,：:\s]*{OBJECT}",
        "change",
    ),
    make_sign(
        "decision",
        rf"(?P<topic>{WORDS}{{1,14}}?)(?P<object>(?:先|就|还是|改|选|换|不再?|再续|延)(?!是|过|知道|会|想|好"
        rf"|错|用说|如){WORDS}{{1,16}}?(?:了|那\S|年|这\S)?){END}.*",
        "weighed+ended",
    ),
    make_sign(
        "decision",
        rf"(?:{WORDS}{{0,8}}?)(?:最终版?|最后的?方案|最终方案|最后结论|结论|决议|商量结果|讨论结果|投票结果)"
        rf"(?:是|：|:|出来了[，,：:])\s*{OBJECT}",
    ),
    make_sign(
        "decision",
        rf"(?P<topic>{WORDS}{{2,20}}?)(?P<object>(?:换成|改成|改为|改到|推迟到|提前到|挪到)\S.*)",
        "closure",
    ),
)
