"""Decides without a model whether a message holds anything worth keeping."""

from __future__ import annotations

import re

from muniment.memory.domain.memory import Role
from muniment.memory.rules.language.lazy_regex import lazy_compile

_SENTENCE = lazy_compile(r"[^.!?。！？…\n]+[.!?。！？…]*")
_WORD = lazy_compile(r"[^\W_]")
_CJK = lazy_compile(r"[\u3400-\u9fff]")
_EDGES = " \t\r.,;:!?。，、；：！？~～…-'\"()（）*"
_LONGEST_REMARK = 80  # characters of a greeting or thanks; a longer one says something else, too

_WHO = r"(?:there|all|everyone|again|assistant|bot|friend|buddy|mate|man|team|folks)"
_NAME = rf"(?:\s+{_WHO})?"
_ADDRESSED = lazy_compile(_WHO, re.IGNORECASE)
_GREETING = lazy_compile(
    r"(?:hi+|hello+|hey+|hiya|yo|howdy|greetings|good\s+(?:morning|afternoon|evening|night|day)|morning|evening"
    r"|what'?s\s+up|sup|bye|goodbye|bye\s+bye|see\s+(?:you|ya)(?:\s+(?:later|soon|tomorrow|around))?|good\s*night"
    r"|take\s+care|welcome\s+back|(?:how\s+are\s+you|how\s+is\s+it\s+going|how'?s\s+it\s+going|how\s+do\s+you\s+do"
    r"|how\s+have\s+you\s+been)(?:\s+(?:doing|today))*|nice\s+to\s+(?:meet|see)\s+you(?:\s+too)?|long\s+time\s+no\s+"
    r"see)"
    + _NAME
    + r"|(?:你好|您好|哈喽|哈啰|嗨|嘿|喂|早|早安|早上好|上午好|中午好|下午好|晚上好|晚安|大家好|在吗|在么|再见|拜拜"
    r"|回头见|明天见|最近怎么样|你好吗)[啊呀哦呢吗]?",
    re.IGNORECASE,
)
_SOFTENER = (
    r"(?:\s+(?:so\s+much|a\s+lot|very\s+much|again|then|you|that|it|for\s+(?:that|this|your\s+help|the\s+help)|now|man"
    r"|please|one|idea|point|job))*"
)
_ACK = lazy_compile(
    r"(?:ok(?:ay)?|k|kk|yes|yeah|yep|yup|no|nope|nah|sure|fine|right|alright|all\s+right|great|good|nice|cool|awesome"
    r"|perfect|wow|haha+|lol|hm+|mm+|uh|um|oh|ah|aha|thanks|thank|thx|ty|cheers|got|gotcha|i\s+(?:see|understand|agree)"
    r"|understood|makes\s+sense|sounds?\s+(?:good|great|fine)|no\s+(?:problem|worries)|never\s+mind|nevermind"
    r"|you'?re\s+welcome|of\s+course|exactly|indeed|true|agreed|interesting|very\s+(?:good|nice|cool)|well\s+done"
    r"|please|go\s+(?:on|ahead)|continue|stop|next|that'?s\s+(?:great|good|nice|fine|all|right|ok|okay|cool|awesome|it)"
    r"|absolutely|definitely|sorry|my\s+bad|done|same|me\s+too|really|forget\s+(?:about\s+)?it)"
    + _SOFTENER
    + r"|(?:好|好的|好吧|行|可以|嗯+|哦+|噢|啊|对|对的|是|是的|不|不是|没有|没事|没关系|没问题|谢谢|多谢|谢了|感谢"
    r"|非常感谢|太好了|很好|不错|真棒|厉害|明白|明白了|知道了|了解|收到|懂了|原来如此|当然|哈+|呵呵|不用了|不客气|算了"
    r"|继续|抱歉|对不起|辛苦了|没错|同意)(?:你|您|啦|了|呀|啊|哦|的|吧)*",
    re.IGNORECASE,
)
_QUESTION_START = lazy_compile(
    r"(?:(?:and|so|but|then|also|well|ok|okay|hey|hi|hello|please|sorry)[\s,]+)*(?:(?:what|who|whom|whose|where|why|how"
    r"|which|when)(?:'s|'re|\s+(?:is|are|was|were|am|do|does|did|can|could|should|would|will|has|have|had|about|many"
    r"|much|long|often|far|old|time|kind|sort|day|else|come|to))\b|(?:is|are|was|were|am|do|does|did|can|could|will"
    r"|would|should|shall|have|has|may|isn't|aren't|don't|doesn't|didn't|can't|won't)\s+(?:you|i|we|he|she|it|they"
    r"|there|this|that|these|those|my|your|the|any|anyone|someone|people)\b)",
    re.IGNORECASE,
)
_QUESTION_ZH = lazy_compile(
    r"(?:请问|为什么|为何|怎么|怎样|如何|什么|谁|哪|能不能|可不可以|是不是|有没有|你能|你可以|你会|你知道|你觉得|多少"
    r"|几点)"
)
_FORGET_ZH = lazy_compile(
    r"(?:请|麻烦|帮我|我(?:想|要|希望)(?:让|请|叫)?你|把|你)*(?:忘[记掉了]|别再?记|不[要用]记|删[掉除]|清除"
    r"|抹掉).*(?<!吗)$",
    re.DOTALL,
)
_QUESTION_END_ZH = lazy_compile(r"(?:吗|么|什么|谁|哪里|哪儿|多少|怎么办|怎么样|为什么)\s*$|^.{0,8}呢\s*$")
_ASKED_ZH = lazy_compile(r"吗|^.{0,8}呢|什么|谁|哪|多少|怎么|怎样|为什么|是不是|是否|几[个点岁次]")
_ABOUT_ASSISTANT = lazy_compile(
    r"\b(?:(?:who|what|how|where|why|how\s+old)\s+are\s+you|are\s+you|were\s+you|do\s+you|did\s+you|have\s+you"
    r"|don't\s+you|what\s+(?:can|could)\s+you|(?:can|could)\s+you\s+(?:remember|feel|think|see|hear|learn|speak"
    r"|understand|dream|read)\b|your\s+(?:name|age|model|creator|purpose|memory|version|job|favou?rite|opinion|training"
    r"|knowledge))|你是(?:谁|什么|人|机器|不是)|你叫什么|你多大|你(?:能|会|可以)(?:做|干)(?:什么|啥)|你(?:会|有)(?:记忆"
    r"|感情|意识)|你还?记得|你的(?:名字|主人|版本|记忆)|谁(?:创造|开发)了?你",
    re.IGNORECASE,
)
_CLAUSE = lazy_compile(
    r"[,;:，；：—()（）]|\s-\s|\b(?:given\s+that|considering\s+that|seeing\s+that|now\s+that|because|since|as)\b",
    re.IGNORECASE,
)
_SAYS_SOMETHING = lazy_compile(
    r"\s*(?:(?:and|but|so|well|hi|hey|hello|also|actually|btw|by\s+the\s+way|if|that|please)\s+)*(?:(?:i|i'm|im|i've|we"
    r"|we're|we've)\s+(?!wonder|was\s+wondering|guess|mean|think|suppose|see\b|believe|should|could|can\b|would|will"
    r"|do\b|have\s+(?:a\s+)?question)|my\s+\S+\s+\S+|(?:i'm|im|i've)\s|(?:call|remember|note|forget|remind)\s"
    r"|don't\s+(?:forget|remember)|(?:can|could|will|would)\s+you\s+(?:please\s+)?(?:remember\s+that|remember\s+my"
    r"|note\s+that|call\s+me|remind\s+me|forget)|我(?!想问|想知道|能|可以|该|应该|怎么|是不是|有没有|要不要)|叫我|记住"
    r"|请记|忘掉|忘了|别记|提醒我)",
    re.IGNORECASE,
)


def find_skip_reason(text: str, role: Role) -> str | None:
    """The reason why nothing in a message is worth keeping, or None. Linear; stops at the first statement."""
    if role in ("tool", "system"):
        return f"{role} turn"
    if not _WORD.search(text):
        return "acknowledgement" if any(ord(c) > 0x2190 and not c.isspace() for c in text) else "empty"
    reasons: set[str] = set()
    for sentence in _SENTENCE.finditer(text):
        reason = _classify_sentence(sentence.group()) if _WORD.search(sentence.group()) else ""
        if reason is None:
            return None
        reasons.add(reason)
    order = ("question about the assistant", "question", "acknowledgement", "greeting")
    return next((reason for reason in order if reason in reasons), "empty")


def is_courtesy(clause: str) -> bool:
    """Whether a clause is a greeting, a thanks or an acknowledgement, and nothing else."""
    bare = clause.strip(_EDGES)
    return len(bare) <= _LONGEST_REMARK and _classify_courtesy(bare) is not None


def _classify_sentence(sentence: str) -> str | None:
    """The kind of remark that a sentence is, or None for a statement."""
    bare = sentence.strip(_EDGES)
    if len(bare) <= _LONGEST_REMARK:
        parts = [part.strip(_EDGES) for part in re.split(r"[,，、]", bare)]
        kinds = {_classify_courtesy(part) for part in parts if _WORD.search(part)}
        if None not in kinds:
            return "acknowledgement" if "acknowledgement" in kinds else "greeting"
    if not _is_question(sentence, bare):
        return None
    if any(_SAYS_SOMETHING.match(clause) and not _ASKED_ZH.search(clause) for clause in _CLAUSE.split(bare)):
        return None
    return "question about the assistant" if _ABOUT_ASSISTANT.search(bare) else "question"


def _classify_courtesy(part: str) -> str | None:
    if _GREETING.fullmatch(part) or _ADDRESSED.fullmatch(part):
        return "greeting"
    return "acknowledgement" if _ACK.fullmatch(part) else None


def _is_question(sentence: str, bare: str) -> bool:
    if sentence.rstrip().endswith(("?", "？")):
        return True
    if _CJK.search(bare):
        if _FORGET_ZH.match(bare):  # `忘掉我住在哪里` has a question word and is a request to forget
            return False
        return bool(_QUESTION_ZH.match(bare) or _QUESTION_END_ZH.search(bare))
    return bool(_QUESTION_START.match(bare))
