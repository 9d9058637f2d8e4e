"""The forms of Chinese clauses that say what somebody found out."""

from __future__ import annotations

from muniment.memory.rules.extraction.work.chinese.parts import END, OBJECT, WHO, WORDS, make_sign

_THING = r"(?P<finding>)(?P<object>\S{3,}.*)"
DISCOVERIES = (
    make_sign("discovery", rf"{WHO}(?P<lead>{WORDS}{{0,20}}?)<now_known>[，,：:\s]*(?:是|原来)?{_THING}"),
    make_sign(
        "discovery",
        rf"{WHO}(?P<lead>{WORDS}{{0,20}}?)<found_out>(?!了?(?:新|一家|一个好|宝))[，,：:\s]*(?:是|说)?{_THING}",
        "work",
        "exact",
        "counter",
    ),
    make_sign(
        "discovery",
        rf"(?:原来是|原来|敢情|没想到|结果是|怪不得|难怪)(?!居然|竟然|是?你|是?我)(?=\S{{5}}){_THING}",
        "work",
        "exact",
        "counter",
        "faulty",
    ),
    make_sign(
        "discovery",
        r"(?:[^，,；;。：:！!]{0,10}?的)?(?:根本原因|根因|罪魁祸首|症结|祸根|原因|瓶颈)"
        rf"(?:找到了[，,：:])?(?:就)?(?:是|在于|：|:){OBJECT}",
    ),
    make_sign("discovery", rf"(?:问题|毛病)(?:就|其实)?(?:出在|在于){OBJECT}"),
    make_sign(
        "discovery",
        rf"(?:其实|原来|结果)?(?:并)?不是(?!我|你|他|她|说|不){WORDS}{{1,14}}(?:的)?(?:问题|毛病|原因|错"
        rf"|事儿?)[，,]?而?是(?!我|你|他|她|因为我){OBJECT}",
    ),
    make_sign(
        "discovery",
        rf"(?P<topic>{WORDS}{{0,10}}?)(?:结果|报告|数据|日志|监控|记录)(?:出来了?|显示|说明|表明|证实"
        r"|里)[，,：:]?\s*(?P<finding>)(?P<object>\S{6,}.*)",
        "exact",
        "counter",
    ),
    make_sign(
        "discovery",
        r"(?:看了?|查了?|翻了?|分析了?)(?:一下|一遍|看)?(?:日志|报告|数据|记录|监控|账|账本|合同|病历|图纸"
        rf"|代码)[，,：:]\s*{_THING}",
    ),
    make_sign(
        "discovery",
        rf"(?P<object>(?!我){WORDS}{{2,24}}(?:全是|都是|只有|只在|从来没|一直在){WORDS}{{2,30}}).*",
        "evidence",
    ),
    make_sign("discovery", rf"问题(?:就)?是{OBJECT}", "work"),
    make_sign(
        "discovery",
        rf"{WHO}(?P<lead>{WORDS}{{0,10}}?)<inspected>{WORDS}{{0,20}}[，,：:；;]+\s*{_THING}",
        "exact",
        "counter",
    ),
    make_sign(
        "discovery",
        rf"(?P<topic>{WORDS}{{2,20}}?)(?P<object>(?:压根|根本|居然|竟然|悄悄)(?:还|就)?(?:没|不|是|会|只|把"
        r"|有|用)\S.*)",
        "number",
        "evidence",
        "work",
    ),
    make_sign(
        "discovery",
        rf"(?P<object>{WORDS}{{3,40}}(?:是|跟|和|由){WORDS}{{1,30}}(?:造成的?|导致的?|引起的?"
        rf"|有关系?)){END}.*",
        "evidence",
    ),
    make_sign(
        "discovery",
        rf"(?P<object>{WORDS}{{2,30}}比{WORDS}{{1,20}}(?:快|慢|高|低|多|少|长|短|大|小|重|轻|贵|热|冷)"
        rf"(?:了)?{WORDS}{{1,20}}).*",
        "evidence",
    ),
)
