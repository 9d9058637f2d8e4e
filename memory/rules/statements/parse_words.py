"""Words and patterns for reading statements: roles, synonyms, denials, ends, plans and corrections."""

from __future__ import annotations

import re

from muniment.memory.rules.language import calendar, chinese_words, english_words
from muniment.memory.rules.language.lazy_regex import join_alternatives, lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon

_RELATIONS = load_lexicon("relations.en")
_RELATIONS_ZH = load_lexicon("relations.zh")
_STATEMENTS = load_lexicon("statements.en")
_STATEMENTS_ZH = load_lexicon("statements.zh")
# A role and the word for everybody who may be the same person. Pets are no roles.
ROLES: dict[str, str] = {
    word: name for word, name in english_words.RELATIONS.items() if name != "pet" and " " not in word
}
ROLES |= _RELATIONS.get_index("roles") | {word: word for word in _RELATIONS.get_words("more_roles")}
_ONE_PERSON = _RELATIONS_ZH.get_words("one_person")
ROLES_ZH: dict[str, str] = {
    word: name if name in _ONE_PERSON else word
    for word, (name, _) in chinese_words.RELATIONS.items()
    if name != "pet" and len(word) > 1 and word != "先生"
}
ROLES_ZH |= _RELATIONS_ZH.get_index("roles") | {word: word for word in _RELATIONS_ZH.get_words("more_roles")}
ROLE_ZH = lazy_compile(join_alternatives(ROLES_ZH))
SYNONYMS = _STATEMENTS.get_index("synonyms")
FILLERS = _STATEMENTS.get_words("fillers")
CJK_FUNCTION_WORDS = _STATEMENTS_ZH.get_words("function_words")

PHRASES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (lazy_compile(pattern), plain)
    for pattern, plain in (
        (r"n't\b", " not"),
        (r"\bcannot\b|\bcan not\b|\bca not\b", "can not"),
        (r"\bmother-in-law\b", "mother-in-law"),
        (r"\b(?:best|close|good|old) friend\b", "friend"),
        (r"\bname is\b|\bis called\b|\bgoes by\b", "is named"),
        (r"\b(cat|dog|son|daughter|brother|sister|friend|child|boy|girl) called\b", r"\1 named"),
        (r"\bg[ai]ven? up\b", "stopped"),
        (r"\bemployed by\b", "employed for"),
        (r"\bo'clock\b", " "),
        (r"\ba dozen\b", "12"),
    )
)
PHRASES_ZH: tuple[tuple[re.Pattern[str], str], ...] = PHRASES + tuple(
    (lazy_compile(pattern), plain)
    for pattern, plain in (
        (r"(?:星期|礼拜)(?=[一二三四五六日天])", "周"),
        (r"周天", "周日"),
        (r"([\d一二两三四五六七八九十]{1,4})点半", r"\1:30"),
        (r"(\d+)点(\d+)分?", r"\1:\2"),
        (r"([\d一二两三四五六七八九十]{1,4})点(?!心|子|击)", r"\1:00"),
        (r"(\d+)号", r"\1日"),
        (r"乘(?=坐|公交|地铁|火车|飞机|船|车|电)", "坐"),
        (r"坐坐", "坐"),
        (r"底下|下面|下边", "下"),
        (r"上面|上边", "上"),
        (r"里面|里边", "里"),
        (r"名字是|名字叫|名叫|叫做|叫作|名为", "叫"),
        (r"每个?月", "每月"),
        (r"需要|必须", "要"),
        (r"阅读|(?<!朗)读(?!音|者|研|博|数|取)", "看"),
        (r"滴酒不沾", "不喝酒"),
        (r"放在|停在|摆在|位于", "在"),
    )
)
ENDINGS = lazy_compile(
    r"\bused to\b|\bno longer\b|\bformerly\b|\bpreviously\b|\banymore\b|\bany more\b|\bstopped\b|\bquit\b"
    r"|\bg[ai]ven? up\b|\bceased\b|\b(?:has|have) finished \w+ing\b|\bin the past\b"
    r"|不再|以前|曾经|过去(?=[^了])|从前|原先|放弃|停止|已经不|戒(?!指|备|心|律)|(?<=[修写做学读看建搬])完(?!全|整"
    r"|美|善)"
)
DENIALS = lazy_compile(
    r"\bnot\b|\bno\b(?!\.)|\bnever\b|\bneither\b|\bnor\b|\bunable\b"
    r"|(?<!差)不(?!错|同|久|但|仅|过|然|锈|[^，。,不是]{1,4}的\w)|没(?!收)|(?<!\w)(?:请|就|先|千万)?别(?!人|墅|的"
    r"|针|名)|未(?!来|婚|必)|无(?!锡|线|人机|论|花果|数|穷)|戒(?!指|备|心|律)|滴酒不沾"
)
OPPOSITES = lazy_compile(
    r"\bhates?\b|\bdislikes?\b|\bdetests?\b|\bcan not stand\b|\bclosed\b|讨厌|厌恶|受不了|关门|坏了(?!.*不能)"
)
PLANS = lazy_compile(
    r"\bplans? to\b|\bplanning to\b|\bwants? to\b|\bwould like to\b|\bwill\b|\bintends? to\b|\bgoing to\b|\bhopes? to\b"
    r"|打算|计划|想(?!象|念)|准备|希望|将要|即将"
)
CHANGE_CUES = lazy_compile(
    r"\bnow\b|\bactually\b|\bin fact\b|\bcorrection\b|\binstead\b|\bno longer\b|\bthese days\b|\bnowadays\b"
    r"|\bmoved (?:\w+ ){0,4}?to\b|\b(?:changed|switched|renamed|postponed|rescheduled) to\b"
    r"|现在|其实|实际上|更正|纠正|改(?!善|进|装|造|变|革)|[换搬移调挪转]到|换成|推迟|提前到|不再|原定"
)
ADVERBS = lazy_compile(
    r"\b(?:now|actually|indeed|currently|correction:?|in fact|still)\b|现在|其实|实际上|更正[：:]?|确实|已经|目前"
    r"|改(?=名?叫)"
)
_BECAME = join_alternatives(_STATEMENTS.get_words("changes"))
RETRACTING = lazy_compile(rf"\b(?:no longer|instead|rather|not|place|replaced|{_BECAME}|prefers?)\b|不|从")
RETRACTIONS = tuple(
    lazy_compile(pattern)
    for pattern in (
        r"^(?P<before>.*?)\bno longer (?P<out>.+?),? but (?P<main>.+)$",
        r"^(?P<before>.+), no longer (?P<out>.+)$",
        r"^(?P<before>.+?),? (?:and )?(?:instead of|rather than|in place of) (?P<out>.+)$",
        r"^(?P<before>.+?) replaced (?P<out>.+?) (?P<main>(?:by|with|as) .+)$",
        r"^(?P<before>.+?)(?:,| and|, and) not (?P<out>.+)$",
        rf"^(?P<before>.*?\b{_BECAME}\b.*?)\bfrom (?P<out>.+?) (?P<main>to .+)$",
        r"^(?P<before>.*?\bprefers? .+?) (?:to|over) (?P<out>.+)$",
        r"^(?P<before>.*?)不再(?P<out>[^，,]+)[，,](?:而是)?(?P<main>改?.+)$",
        r"^(?P<before>.+?)[，,]?而不(?:是|在|用)?(?P<out>.+)$",
        r"^(?P<before>.+?)[，,](?:已经|已)?(?:不是|不在|不用|不叫|不去|不要)(?P<out>.+)$",
        r"^(?P<before>.*?)从(?P<out>.+?)(?P<main>(?:[改移搬换挪调升降涨跌减增]|增加|减少)[到成为至].+|变[成为].+)$",
    )
)
PAST_MARKS = lazy_compile(
    r"(?<!is )(?<!are )(?<!be )\b(?:\w{3,}ed|went|ran|sang|met|bought|saw|took|got|had|came|gave|flew|drove|won"
    r"|lost|sold|made|did|broke|swam|ate)\b|了|过|于|去"
)
DATE_MARKS = lazy_compile(
    r"\b(?:19|20)\d\d\b|(?:19|20)\d\d年|\d\s*(?:january|february|march|april|may|june|july|august|september"
    r"|october|november|december)\b"
)

NUMBERS = {
    words[0]: int(value)
    for value, words in load_lexicon("numbers.en").get_table("values").items()
    if 0 < int(value) < 100
}
_DAYS = [name.casefold() for name in calendar.WEEKDAYS]
MONTHS = [name.casefold() for name in calendar.MONTHS]
FIGURES: dict[str, str] = (
    {name: name for name in (*_DAYS, *MONTHS)}
    | {f"{name}s": name for name in _DAYS}
    | {f"周{day}": name for day, name in zip("一二三四五六日", _DAYS, strict=True)}
)
_MEASURE = "".join(_STATEMENTS_ZH.get_text("measures").split())
_NUMBER_ZH = r"(?:[二两三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九])"
_ONES = join_alternatives(name for name, value in NUMBERS.items() if value < 10)
_TENS = join_alternatives(name for name, value in NUMBERS.items() if value >= 20)
_BELOW_TWENTY = join_alternatives(name for name, value in NUMBERS.items() if 1 < value < 20)
_DAY = "|".join(f"{day}s?" for day in _DAYS)
_NUMBER_WORDS = rf"{_TENS}[ -]{_ONES}|{_TENS}|{_BELOW_TWENTY}|{_DAY}"
_MONTH = "|".join(MONTHS)
_BEFORE_MONTH = (
    "(?:"
    + "|".join(
        rf"(?<={end} )" for end in ("in", "on", "of", "by", "til", "ince", "rom", r"\d", "th", "ast", "ext", "very")
    )
    + ")"
)
FIGURE = lazy_compile(
    rf"\d+(?:[.:,]\d+)*|周[一二三四五六日]|\b(?:{_NUMBER_WORDS})\b|{_BEFORE_MONTH}(?:{_MONTH})\b|\b(?:{_MONTH})(?= \d)"
    rf"|第[一二三四五六七八九十]+|{_NUMBER_ZH}:(?:00|30)|{_NUMBER_ZH}(?=[{_MEASURE}])"
)
OPPOSED_DIRECTIONS = tuple(frozenset(pair.split()) for pair in _STATEMENTS.get_phrases("opposed_directions"))
DIRECTIONS = lazy_compile(
    rf"\b(?P<way>{'|'.join(sorted(frozenset().union(*OPPOSED_DIRECTIONS)))})(?=(?P<what>(?:[^\w.,;:]+[\w':.-]+){{1,3}}))"
)
DIRECTIONS_ZH = lazy_compile(
    r"(?P<way>从|(?<![收看听得拿买找见想感遇受])到|(?<!过)去(?!年)|往)(?=(?P<what>[\u3400-\u9fff]{2}))"
)
EMPTY_WORDS = lazy_compile(
    r"现在|其实|实际上|更正[：:]?|确实|已经|目前|今年|平时|曾经|以前|过去|从前|不再|从不|放弃|改名?|正在|原定|喜欢"
    r"|用户|讨厌|厌恶|早就"
)
CONTRASTS = tuple(frozenset(stems.split()) for stems in _STATEMENTS.get_phrases("contrasts"))
