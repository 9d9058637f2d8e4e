"""The forms of Chinese clauses that say what somebody keeps to each time."""

from __future__ import annotations

from muniment.memory.rules.extraction.work.chinese.parts import OBJECT, WORDS, make_sign

RULES = (
    make_sign(
        "rule",
        rf"(?:<place>|我们|咱们|我|项目|团队|组里|公司|店里)(?:{WORDS}{{0,4}})的?(?:老|铁|死"
        rf"|硬性)?<norm><is>\s*{OBJECT}",
    ),
    make_sign("rule", rf"(?:<place>|我们|咱们|团队|项目组)(?:{WORDS}{{0,4}}?)(?:规定|约定|要求)<is>?{OBJECT}"),
    make_sign("rule", r"<ban>\S{2,}.*", "work", is_order=True, is_whole=True),
    make_sign(
        "rule",
        rf"(?:<from_now>)?(?P<who><group>|我们|咱们)?(?P<topic>{WORDS}{{0,24}}?)<universal>{WORDS}{{0,30}}?[，"
        rf",]?{WORDS}{{0,12}}?(?:<modal>|<weak_modal>)[^，,。\s].*",
        "work",
        "place",
        "stress",
        "bound+modal",
        is_whole=True,
    ),
    make_sign("rule", rf"(?P<topic>{WORDS}{{0,24}}?)<modal>[^，,。\s].*", "place", "stress", is_whole=True),
    make_sign(
        "rule",
        rf"(?P<topic>{WORDS}{{1,24}}?)(?:必须|一定要|务必|都要|都得|不准|不许|禁止|严禁|不得|绝不能"
        r"|千万不要|不允许)[^，,。\s].*",
        "work",
        is_whole=True,
    ),
    make_sign("rule", rf"(?:<place>){WORDS}{{0,30}}?[，,]?{WORDS}{{0,16}}?(?:<modal>|都得)[^，,。\s].*", is_whole=True),
    make_sign(
        "rule",
        rf"<from_now>(?P<topic>{WORDS}{{0,20}}?)(?:一律|统一|必须|都要|都得|不准|不许|禁止|只能)\S.*",
        "work",
        "place",
        "stress",
        "who",
        is_whole=True,
    ),
    make_sign("rule", r"(?:我们|咱们|<place>)<adverb>*<custom>\S.*", "work", "place", "stress", is_whole=True),
    make_sign(
        "rule",
        rf"(?P<topic>{WORDS}{{2,24}}?)(?:每[个批份台张条件](?!人)|一律|全部)(?:必须|都要|都得|都必须|一律"
        r"|不得|要先)\S.*",
        is_whole=True,
    ),
    make_sign(
        "rule",
        r"每(?:天|周|个?月|晚|次|班)[一二三四五六日天末]?(?P<topic>(?!我)[^，,；;。：:！!我]{1,16}?)(?:要"
        r"|得|必须|都要|都得)[^，,；;。：:！!]{1,12}[一两二三四五六\d]+[遍次回道轮].*",
        is_whole=True,
    ),
    make_sign(
        "rule",
        rf"(?:谁|谁要是|不管谁|要){WORDS}{{2,16}}[，,](?:就|都|也)?(?:得|必须|要|只能)(?:先)?\S.*",
        "bound",
        "place",
        "stress",
        is_whole=True,
    ),
    make_sign(
        "rule",
        rf"(?P<topic>没{WORDS}{{2,16}}?)(?:谁也|谁都|一律|任何人)(?:不准|不许|不能|不得|别想)\S.*",
        is_whole=True,
    ),
)
