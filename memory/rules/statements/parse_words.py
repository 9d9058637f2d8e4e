"""The words that a statement is read with: who stands for whom, what denies, ends, plans and corrects."""

from __future__ import annotations

import re

from muniment.memory.rules.language import chinese_words, english_words
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.normalize import parse_vocabulary

# Who is the same person under another word. Brothers, cousins and the like are not: the user may have several.
_PETS = {said for said, name in english_words.RELATIONS.items() if name == "pet"}
ROLES: dict[str, str] = {
    said: name for said, name in english_words.RELATIONS.items() if said not in _PETS and " " not in said
} | {
    "mommy": "mother", "mama": "mother", "daddy": "father", "papa": "father", "hubby": "spouse", "kids": "children", "children": "children",
    "granny": "grandmother", "grandad": "grandfather", "granddad": "grandfather", "physician": "doctor", "gp": "doctor",
    "housemate": "roommate", "workmate": "colleague", "teammate": "colleague", "team-mate": "colleague", "lawyer": "lawyer", "attorney": "lawyer",
    "assistant": "assistant", "accountant": "accountant", "sons": "sons", "daughters": "daughters", "sisters": "sisters", "brothers": "brothers",
    "tenant": "tenant", "client": "client", "customer": "client", "nanny": "nanny", "babysitter": "nanny", "grandson": "grandson",
    "granddaughter": "granddaughter", "stepmother": "stepmother", "stepfather": "stepfather", "godmother": "godmother", "student": "student",
}  # fmt: skip
_ONE_PERSON = frozenset({"spouse", "partner", "father", "mother", "boss", "doctor", "child"})
ROLES_ZH: dict[str, str] = {
    said: name if name in _ONE_PERSON else said
    for said, (name, _) in chinese_words.RELATIONS.items()
    if name != "pet" and len(said) > 1 and said != "先生"
} | {
    "大夫": "doctor", "闺女": "女儿", "母女": "母女", "父母": "parents", "爸妈": "parents", "孙子": "孙子", "孙女": "孙女", "侄子": "侄子",
    "侄女": "侄女", "小姨": "小姨", "大姨": "大姨", "舅妈": "舅妈", "姑父": "姑父", "亲戚": "亲戚", "前妻": "前妻", "前夫": "前夫", "女婿": "女婿", "儿媳": "儿媳",
    "外甥": "外甥", "姨妈": "姨妈", "婶婶": "婶婶", "伯伯": "伯伯", "岳父": "岳父", "岳母": "岳母", "公公": "公公", "婆婆": "婆婆",
    "嫂子": "嫂子", "姐夫": "姐夫", "妹夫": "妹夫", "律师": "律师", "牙医": "牙医", "保姆": "保姆", "助理": "助理", "会计": "会计", "秘书": "秘书",
    "客户": "客户", "学生": "学生", "徒弟": "徒弟", "师傅": "师傅",
}  # fmt: skip
ROLE_ZH = lazy_compile("|".join(sorted(ROLES_ZH, key=len, reverse=True)))
SYNONYMS = {
    "apartment": "flat", "automobile": "car", "film": "movie", "bike": "bicycle", "purchase": "buy", "purchased": "buy", "bought": "buy",
    "fix": "repair", "fixed": "repair", "fixes": "repair", "each": "every", "colour": "color", "favourite": "favorite", "autumn": "fall",
    "vacation": "holiday", "loves": "like", "love": "like", "enjoys": "like", "enjoy": "like", "likes": "like", "adviser": "advisor", "flowerpot": "pot",
    "hates": "like", "hate": "like", "dislikes": "like", "dislike": "like", "detests": "like", "closed": "open", "kilometres": "km", "kilometers": "km",
    "kilometre": "km", "kilometer": "km", "kg": "kilogram", "named": "called", "residence": "home", "mobile": "phone", "cellphone": "phone", "afraid": "fear",
    "scared": "fear", "went": "go", "goes": "go", "got": "get", "has": "have", "began": "start", "begin": "start", "begins": "start", "ran": "run",
    "met": "meet", "wrote": "write", "spoke": "speak", "sold": "sell", "lent": "lend", "gave": "give", "made": "make", "broke": "break",
    "taught": "teach", "found": "find", "sent": "send", "repaired": "repair", "mended": "repair", "mend": "repair", "webshop": "shop", "web": "online", "drove": "drive", "won": "win", "lost": "lose", "took": "take",
    "left": "leave", "flew": "fly", "euros": "euro", "dollars": "dollar", "photo": "picture", "photograph": "picture", "physician": "doctor",
    "departs": "leaves", "depart": "leaves", "lies": "is", "employed": "work", "job": "work",
}  # fmt: skip
FILLERS = parse_vocabulary(
    """
    name named also really quite just still already currently get have need must lately located placed thing way kind
    any actually fact indeed correction now instead today nowadays anymore longer used formerly previously not cannot no
    never stopped quit finished there every correct longer going
    """
) | {"'s"}
CJK_FUNCTION_WORDS = frozenset("的了着过地得是在有也还很就都和与跟吧呢啊呀吗嘛被由把位于于为要并从以而曾不没会能着")

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
    r"\bused to\b|\bno longer\b|\bformerly\b|\bpreviously\b|\banymore\b|\bany more\b|\bstopped\b|\bquit\b|\bg[ai]ven? up\b"
    r"|\bceased\b|\b(?:has|have) finished \w+ing\b|\bin the past\b"
    r"|不再|以前|曾经|过去(?=[^了])|从前|原先|放弃|停止|已经不|戒(?!指|备|心|律)|(?<=[修写做学读看建搬])完(?!全|整|美|善)"
)
DENIALS = lazy_compile(
    r"\bnot\b|\bno\b(?!\.)|\bnever\b|\bneither\b|\bnor\b|\bunable\b"
    r"|(?<!差)不(?!错|同|久|但|仅|过|然|锈|[^，。,不是]{1,4}的\w)|没(?!收)|(?<!\w)(?:请|就|先|千万)?别(?!人|墅|的|针|名)|未(?!来|婚|必)"
    r"|无(?!锡|线|人机|论|花果|数|穷)|戒(?!指|备|心|律)|滴酒不沾"
)
OPPOSITES = lazy_compile(
    r"\bhates?\b|\bdislikes?\b|\bdetests?\b|\bcan not stand\b|\bclosed\b|讨厌|厌恶|受不了|关门|坏了(?!.*不能)"
)
PLANS = lazy_compile(
    r"\bplans? to\b|\bplanning to\b|\bwants? to\b|\bwould like to\b|\bwill\b|\bintends? to\b|\bgoing to\b|\bhopes? to\b"
    r"|打算|计划|想(?!象|念)|准备|希望|将要|即将"
)
CHANGE_CUES = lazy_compile(
    r"\bnow\b|\bactually\b|\bin fact\b|\bcorrection\b|\binstead\b|\bno longer\b|\bthese days\b|\bnowadays\b|\bmoved (?:\w+ ){0,4}?to\b|\b(?:changed|switched|renamed|postponed|rescheduled) to\b"
    r"|现在|其实|实际上|更正|纠正|改(?!善|进|装|造|变|革)|[换搬移调挪转]到|换成|推迟|提前到|不再|原定"
)
ADVERBS = lazy_compile(
    r"\b(?:now|actually|indeed|currently|correction:?|in fact|still)\b|现在|其实|实际上|更正[：:]?|确实|已经|目前|改(?=名?叫)"
)
_BECAME = "moved|switched|changed|migrated|converted|upgraded|gone|went|risen|rose|fallen|fell|grown|dropped|shifted|increased|raised|reduced|lowered|cut|renamed|ported|reassigned|transferred|corrected|swapped|postponed|rescheduled|extended|shortened|amended|adjusted|updated|revised"
RETRACTING = lazy_compile(rf"\b(?:no longer|instead|rather|not|place|replaced|{_BECAME}|prefers?)\b|不|从")
RETRACTIONS = tuple(
    lazy_compile(pattern)
    for pattern in (
        r"^(?P<before>.*?)\bno longer (?P<out>.+?),? but (?P<main>.+)$",
        r"^(?P<before>.+), no longer (?P<out>.+)$",
        r"^(?P<before>.+?),? (?:and )?(?:instead of|rather than|in place of) (?P<out>.+)$",
        r"^(?P<before>.+?) replaced (?P<out>.+?) (?P<main>(?:by|with|as) .+)$",
        r"^(?P<before>.+?)(?:,| and|, and) not (?P<out>.+)$",
        rf"^(?P<before>.*?\b(?:{_BECAME})\b.*?)\bfrom (?P<out>.+?) (?P<main>to .+)$",
        r"^(?P<before>.*?\bprefers? .+?) (?:to|over) (?P<out>.+)$",
        r"^(?P<before>.*?)不再(?P<out>[^，,]+)[，,](?:而是)?(?P<main>改?.+)$",
        r"^(?P<before>.+?)[，,]?而不(?:是|在|用)?(?P<out>.+)$",
        r"^(?P<before>.+?)[，,](?:已经|已)?(?:不是|不在|不用|不叫|不去|不要)(?P<out>.+)$",
        r"^(?P<before>.*?)从(?P<out>.+?)(?P<main>(?:[改移搬换挪调升降涨跌减增]|增加|减少)[到成为至].+|变[成为].+)$",
    )
)
PAST_MARKS = lazy_compile(
    r"(?<!is )(?<!are )(?<!be )\b(?:\w{3,}ed|went|ran|sang|met|bought|saw|took|got|had|came|gave|flew|drove|won|lost|sold|made|did|broke|swam|ate)\b"
    r"|了|过|于|去"
)
DATE_MARKS = lazy_compile(
    r"\b(?:19|20)\d\d\b|(?:19|20)\d\d年|\d\s*(?:january|february|march|april|may|june|july|august|september|october|november|december)\b"
)

_ONES = "one two three four five six seven eight nine"
_TEENS = "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBERS = {name: n for n, name in enumerate(f"{_ONES} {_TEENS}".split(), 1)} | {
    name: 10 * n for n, name in enumerate(_TENS.split(), 2)
}
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
FIGURES: dict[str, str] = (
    {name: name for name in (*_DAYS, *MONTHS)}
    | {f"{name}s": name for name in _DAYS}
    | {f"周{day}": name for day, name in zip("一二三四五六日", _DAYS, strict=True)}
)
_MEASURE = "个只条名位艘台本张次件份套间家箱米岁杯公里年月日号天周小时分钟人元块欧美间层楼口辆:块种部门场"
_NUMBER_ZH = r"(?:[二两三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九])"
_ONE, _TEEN, _TEN = (said.replace(" ", "|") for said in (_ONES.removeprefix("one "), _TEENS, _TENS))
_DAY = "|".join(f"{day}s?" for day in _DAYS)
_NUMBER_WORDS = rf"(?:{_TEN})[ -](?:one|{_ONE})|{_TEN}|{_TEEN}|{_ONE}|{_DAY}"
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
# What one comes from one does not go to; what is done for somebody is not done by them.
OPPOSED_DIRECTIONS = tuple(
    frozenset(said.split())
    for said in ("from to", "from for", "for by", "for with", "before after", "on under", "above below", "over under")
)
DIRECTIONS = lazy_compile(
    rf"\b(?P<way>{'|'.join(sorted(frozenset().union(*OPPOSED_DIRECTIONS)))})(?=(?P<what>(?:[^\w.,;:]+[\w':.-]+){{1,3}}))"
)
DIRECTIONS_ZH = lazy_compile(
    r"(?P<way>从|(?<![收看听得拿买找见想感遇受])到|(?<!过)去(?!年)|往)(?=(?P<what>[\u3400-\u9fff]{2}))"
)
EMPTY_WORDS = lazy_compile(
    r"现在|其实|实际上|更正[：:]?|确实|已经|目前|今年|平时|曾经|以前|过去|从前|不再|从不|放弃|改名?|正在|原定|喜欢|用户|讨厌|厌恶|早就"
)
# What is the one is not the other: of two sons, cables or doors.
CONTRASTS = tuple(
    frozenset(said.split())
    for said in (
        "eldest oldest older elder youngest younger middl",
        "left leav right",  # `left` is read as a form of `leave`
        "front back rear",
        "upstair downstair ground upper lower top bottom",
        "morn noon afternoon even night",
        "breakfast lunch dinner supper",
        "spring summer fall winter",
        "north south east west northern southern eastern western",
        "red blue green yellow black white grey gray brown orang purpl pink",
        "small larg big littl short long tall",
        "hot cold warm cool",
        "old new",
        "matern patern",
        "buy sell borrow lend rent",
        "make break repair destroy",
        "win lose find",
        "give receiv",
        "teach learn studi",
        "arriv depart",
        "join leav quit",
        "pass fail",
        "accept refus reject declin",
        "increas decreas reduc",
        "hire fire",
        "push pull",
        "send receiv",
        "invit visit host",
        "best worst",
        "cheap expens",
        "high low",
        "male femal",
        "start end begin finish",
        "open close lock unlock",
        "daili weekli month year hour",
        "first second third fourth fifth last next",
    )
)
