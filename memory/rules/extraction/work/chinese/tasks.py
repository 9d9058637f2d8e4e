"""The forms of Chinese clauses that say what somebody has to do."""

from __future__ import annotations

from muniment.memory.rules.extraction.work.chinese.parts import BEFORE, OBJECT, WHO, WORDS, make_sign

TASKS = (
    make_sign(
        "todo",
        rf"(?P<lead>{WORDS}{{0,16}}?)(?:还有|手上有|手头有)(?P<object>[一两二三四五六几\d]+{WORDS}{{1,14}}?"
        rf"(?:要|没|得|等着){WORDS}*).*",
        "deadline",
        "term",
    ),
    make_sign("todo", rf"<list>[：:，,]\s*{OBJECT}"),
    make_sign("todo", rf"(?:{WORDS}{{0,8}}?)<remember>{OBJECT}"),
    make_sign(
        "todo",
        rf"{BEFORE}<strong_must>(?![^，,；;。]{{0,6}}[一二两三半几\d]+(?:年|个月|天|周)|{WORDS}*[块元钱万])"
        rf"(?:在|把|给)?{OBJECT}",
    ),
    make_sign("todo", rf"{WHO}<adverb>*(?:必须|得(?![了到过])|需要)(?P<object>\S.*)", "dated", "work"),
    make_sign("todo", rf"{WHO}<adverb>*(?:要|得|必须|需要)在{WORDS}{{2,16}}?之?前{OBJECT}", "dated"),
    make_sign(
        "todo",
        rf"(?P<lead>{WORDS}{{0,16}}?)(?:之前|以前|前)[，,]?(?P<who>我们|我|咱们)?(?:还)?(?:必须|一定要|务必"
        rf"|得|要|该|需要)(?:再|重新)?{OBJECT}",
        "dated",
    ),
    make_sign(
        "todo",
        rf"(?P<lead>{WORDS}{{0,16}}?)(?P<who>我们|我|咱们)?(?:还)?(?:得|必须|一定要|务必)(?:再|重新)?"
        rf"(?P<object>(?:[把给在向跟去到]{WORDS}{{0,14}}?)?<errand>\S.*)",
        "dated",
        "deadline",
        "term",
    ),
    make_sign(
        "todo",
        rf"(?P<lead>{WORDS}{{0,16}}?)(?P<who>我们|我|咱们)?要(?:再|去)?(?:{WORDS}{{0,8}}?)"
        r"(?P<object><errand>\S.*)",
        "deadline",
        "dated+aside",
    ),
    make_sign("todo", rf"(?P<lead>{WORDS}{{0,16}}?)<recall>{OBJECT}", "dated", "aside"),
    make_sign(
        "todo",
        rf"(?P<who>我们|我|咱们)?<adverb>*答应了?{WORDS}{{1,10}}?(?P<object>(?:要|今晚|明天|周|下周|这周"
        r"|月底|把|给)\S.*)",
        "dated",
    ),
    make_sign("todo", rf"(?P<topic>{WORDS}{{2,20}}?)(?:轮到我(?!们)|由我|我来)(?P<object>\S{{2,}}.*)", "dated"),
    make_sign(
        "todo",
        rf"(?P<topic>{WORDS}{{2,24}}?)(?:周\S|\d+[号日]|月底|下周|明天|今天|后天){WORDS}{{0,4}}?(?:截止"
        r"|要交)(?P<object>.*)",
        "dated+who",
    ),
)
