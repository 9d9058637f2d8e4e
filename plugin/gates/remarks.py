"""Whether a message is only courtesy: a greeting, thanks, assent, praise, laughter or a goodbye."""

from __future__ import annotations

from muniment.memory.rules.extraction.classify import is_request
from muniment.memory.rules.extraction.gate import find_skip_reason
from muniment.memory.rules.language.lazy_regex import lazy_compile

ACKNOWLEDGEMENT = "acknowledgement"
GREETING = "greeting"
EMPTY = "empty"
SMALL_TALK = "small talk"
REMARKS = frozenset({ACKNOWLEDGEMENT, GREETING, EMPTY, SMALL_TALK})
_LONGEST = 80  # characters of a courtesy; a longer message says something else, too
# The words of courtesies, and those that only go with them.
_SAID = (
    r"(?:o+k(?:ay|ey)?|k+|ye[sp]+|yeah+|yup|nope?|nah|sure|fine|right|alright|great|good|nice|cool|neat|sweet|awesome|perfect"
    r"|lovely|brilliant|excellent|amazing|wow|(?:ha|he)(?:ha|he)+h?|lo+l|lmao|oops|whoops|phew|hm+|mm+|o+h|a+h|aha|thanks"
    r"|thank|thx|ty|tysm|cheers|got|gotcha|noted|understood|agreed?|makes|sense|sounds|fair|enough|lgtm|works?|true|exactly"
    r"|indeed|sorry|worries|mind|done|np|helps?|helped|saved|better|best|clever|know|merry|christmas|birthday|ugh|sigh|luck|bye|goodbye|see|later|hi+|hello+|hey+|yo|morning|afternoon|evening|night|happy|welcome"
    r"|appreciated?|love|like|anyone|bad|job|will|alrighty|yay|congrats|ready"
    r"|are\s+you\s+there"
    r"|好|行|可以|嗯+|哦+|噢|喔|对|是|没错|谢+|多谢|感谢|辛苦|不错|棒|厉害|牛|赞|明白|知道|了解|收到|懂|原来如此|当然|哈+|嘿+"
    r"|呵+|客气|抱歉|对不起|没事|没关系|没问题|就这样|先这样|就这么定|你好|您好|早|早上好|早安|晚安|午安|晚上好|下午好|拜+|再见"
    r"|回头见|明天见|在吗|在么|在不在|有人吗|愉快|快乐|大家好|嗨|哈喽|算|搞定)"
)
_BESIDE = (
    r"(?:you|u|your|you're|are|is|was|it|it's|that|that's|this|there|all|everyone|again|now|then|for|me|my|i|so|very|much|a|lot"
    r"|just|really|too|the|help|looks?|man|mate|buddy|friend|team|folks|everything|no|never|always|not|well|of|course|yesterday|today"
    r"|tomorrow|tonight|around|soon|have|weekend|day|one|another|friday|monday|new|year|to|and|to|both|what|set"
    r"|最近|了|啦|呀|啊|吧|的|你们?|您|我|呢|吗|非常|真|太|很|挺|那|就|先|都|一下|今天|昨天|明天|帮助|帮忙|大家|各位|老师|同学"
    r"|朋友|周末|新年|节日|这样|也|咯|喽|哟|嘛|上)"
)
_COURTESY = lazy_compile(
    rf"(?i)(?=.*?(?<![a-z']){_SAID}(?![a-z']))(?:(?:{_SAID}|{_BESIDE})(?![a-z']|(?<=[a-z])\d)[\W_]*)+", 0
)
# Questions and wishes to the other in person, by their form.
_SOCIAL = lazy_compile(
    r"(?i)\W*(?:how\s+(?:was|is)\s+your\s+\w+|have\s+an?\s+\w+\s+\w+|happy\s+\w+(?:\s+\w+)?|(?:oh\s+)?what\s+an?\s+(?:\w+\s+)?\w+"
    r"|are\s+you\s+(?:an?\s+)?\w+|who\s+(?:made|built|are)\s+you|you(?:'re|\s+are)\s+(?:so\s+|really\s+|very\s+)?\w+"
    r"|吃(?:饭)?了[吗么没]|(?:今天|最近|真|好|太)+.{1,4}[啊呀哦~～!！]+|加油|祝.{2,8})\W*"
)
_GREETS = lazy_compile(r"(?i)\W*(?:hi|hey|hello|yo|good|morning|anyone|你好|您好|早|嗨|在|有人|大家|晚上|下午)")
_LAUGHS = lazy_compile(r"(?i)^\W*(?:lo+l|lmao|rofl|(?:ha|he){2,}h?|哈{2,}|嘿{2,}|呵{2,}|笑死|233+)")
_MOST_WORDS = 12  # of what is said with a laugh


def find_remark(text: str) -> str | None:
    """Return what kind of courtesy a message is, and nothing else; None for any other."""
    bare = text.strip()
    if (reason := find_skip_reason(text, "user")) in REMARKS:
        return reason
    if len(bare) > _LONGEST:
        return None
    if _COURTESY.fullmatch(bare.lstrip("\"'([ ")):
        return GREETING if _GREETS.match(bare) else ACKNOWLEDGEMENT
    if _SOCIAL.fullmatch(bare):
        return SMALL_TALK
    is_laugh = _LAUGHS.match(bare) and not bare.endswith(("?", "？")) and len(bare.split()) <= _MOST_WORDS
    return SMALL_TALK if is_laugh and not is_request(_LAUGHS.sub("", bare)) and reason is None else None
