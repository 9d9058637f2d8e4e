"""What is let in: the messages that may hold anything worth keeping, and the candidates that are whole statements.

Such a statement is in the third person, self-contained, and of a bounded length. No model is asked."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

from muniment.memory.domain.memory import Role, is_note
from muniment.memory.domain.plan import SECRET_REASON
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.dates import mentions
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.tokens import normalize_text
from muniment.memory.rules.procedures import procedure

_SENTENCE = lazy_compile(r"[^.!?。！？…\n]+[.!?。！？…]*")
_WORD = lazy_compile(r"[^\W_]")
_CJK = lazy_compile(r"[\u3400-\u9fff]")
_EDGES = " \t\r.,;:!?。，、；：！？~～…-'\"()（）*"
_MOST_SENTENCES = 1_000
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
# What only says that something was wrong.
CUE = lazy_compile(
    r"\W*(?:(?:oh|oops|ah|no|wait|sorry|actually|scratch that|correction|my (?:bad|mistake)|i was wrong)\b\W*)+"
    r"|\W*[啊哎哦呃诶噢呀]*\W*(?:我|刚才|前面|之前)*(?:(?:说|记|搞|弄|打|写)错了?|不对|抱歉|对不起|不好意思"
    r"|(?:更正|纠正)(?:一?下)?)+[了啊哈]*\W*",
    re.IGNORECASE,
)
# Words of a correction, or of what a fact follows from; most messages have none.
MAY_EXPLAIN = lazy_compile(
    r"(?=[owsacbmnt错不抱正生原出清查问看])(?:"
    r"\b(?:oops|wait|sorry|actually|scratch|correction|bad|mistake|wrong|birthday|not|turn(?:s|ed) out)\b"
    r"|错|不|抱歉|正|生日|原来|出来|清楚|[查问看]了)",
    re.IGNORECASE,
)
# The end of a talk, and what its speaker is about to do then.
FAREWELL = lazy_compile(
    r"(?:^|[,.;!–—-]\s*|\band\s+)(?:bye|goodbye|see (?:you|ya)|talk (?:to you )?(?:later|soon)|good ?night|ttyl)\b"
    r"[\w\s]{0,20}\W*$|(?:拜+|再见|回头见|明天见|晚安|回聊|先这样)[了吧啦啊哈]*\W*$",
    re.IGNORECASE,
)
_ABOUT_TO = lazy_compile(
    r"\b(?:i|we)(?:'m|’m|'ll|’ll| am| will| have to| need to| must|'ve got to)\b|\bgot(?:ta| to)\b|\boff to\b"
    r"|(?:去|走|出发|出门|要|得|该).{0,8}了",
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
    """The reason why nothing in a message is worth keeping, or None. It stops at the first statement, and lets in what
    is longer than any talk: of more than 1,000 sentences."""
    if role in ("tool", "system"):
        return f"{role} turn"
    if not _WORD.search(text):
        return "acknowledgement" if any(ord(c) > 0x2190 and not c.isspace() for c in text) else "empty"
    reasons: set[str] = set()
    for n, sentence in enumerate(_SENTENCE.finditer(text)):
        if n >= _MOST_SENTENCES:
            return None
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


def takes_leave(sentence: str) -> bool:
    """Whether a sentence says goodbye, and what its speaker is about to do."""
    return bool(FAREWELL.search(sentence) and _ABOUT_TO.search(sentence))


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


# Candidates

# S-80: the form of a semantic memory, as the prompts state it.
SUMMARY_RULES = (
    "Write a complete, self-contained, third-person summary with no pronouns; neutral tone; 1–2 sentences; ≤{most} "
    "chars."
)
_ANY_DAY = datetime(2024, 5, 15, tzinfo=UTC)
_PRONOUNS = lazy_compile(
    r"(?<![\w'/-])(?:I|I'm|I've|I'll|I'd|im|i|i'm|i've|i'll|i'd|me|my|mine|myself|we|we're|we've|we'll|us|our|ours"
    r"|ourselves|you|you're|you've|you'll|you'd|your|yours|yourself|yourselves|My|Me|Mine|Myself|We|We're|We've|Our"
    r"|Ours|You|You're|Your|Yours|Yourself)(?![\w/-])|[我你您咱俺]"
)
_NOT_A_PRONOUN = lazy_compile(
    r"自我|忘我|我国|\bI/O\b|\b(?:Type|Part|Phase|Class|Elizabeth|Charles|William|World\s+War)\s+I\b|\bUS\b"
)
_QUOTED = lazy_compile(r'"[^"\n]{1,300}"|“[^”\n]{1,300}”')
_REDACTED = "[redacted:"  # a statement about a secret says nothing without it
_REDACTIONS = lazy_compile(r"\[redacted:\w+\]")
_UNIT = lazy_compile(r"[\u3400-\u9fff]|[^\W_\u3400-\u9fff]+")
_BORDERS = (
    lazy_compile(r"(?<=[.!?。！？])\s*(?=\S)"),
    lazy_compile(r"[;；]\s*|,\s+(?:which|who|and|but|while|because|although)\s+|，|,\s+"),
)


def validate_candidate(
    candidate: Candidate, *, categories: frozenset[str], max_chars: int = 280
) -> tuple[Candidate | None, str | None]:
    """The repaired candidate and None, or None and the reason of refusal.

    Only semantic texts must be statements. A procedure is never repaired."""
    if candidate.kind == "procedural":
        return _validate_procedure(candidate, categories, max_chars)
    text = normalize_text(candidate.text).strip()
    text = text if candidate.kind == "episodic" else " ".join(text.split())
    reason = _find_refusal(text, candidate, categories)
    if reason is None and candidate.kind != "episodic" and len(text) > max_chars:
        text = _trim_statement(text, max_chars)
        reason = None if text else f"longer than {max_chars} characters"
    if reason is None and candidate.kind == "semantic":
        if _REDACTED in text:
            reason = SECRET_REASON
        elif _PRONOUNS.search(_NOT_A_PRONOUN.sub(" ", _QUOTED.sub(" ", text))):
            reason = "first or second person"
        # A note keeps a relative date in the person's words, with what it means behind it.
        elif not is_note(candidate.fact) and mentions.has_relative_date(text, _ANY_DAY):
            reason = "relative date"
    return (None, reason) if reason else (replace(candidate, text=text), None)


def _validate_procedure(
    candidate: Candidate, categories: frozenset[str], max_chars: int
) -> tuple[Candidate | None, str | None]:
    """Validates the layout and the category of a procedure, which is no statement."""
    text = normalize_text(candidate.text).strip()
    reason = _find_refusal(text, candidate, categories)
    if reason is None and candidate.category != procedure.CATEGORY:
        reason = f"a procedure in the category {candidate.category!r}"
    if reason is None and procedure.parse_procedure(text) is None:
        reason = "not in the form of a procedure"
    if reason is None and len(text) > max_chars:
        reason = f"longer than {max_chars} characters"
    return (None, reason) if reason else (replace(candidate, text=text), None)


def _find_refusal(text: str, candidate: Candidate, categories: frozenset[str]) -> str | None:
    if not _WORD.search(_REDACTIONS.sub("", text)):
        return SECRET_REASON if _REDACTED in text else "empty"
    if not candidate.turns:
        return "no supporting turn"
    return None if candidate.category in categories else f"unknown category {candidate.category!r}"


def _trim_statement(text: str, max_chars: int) -> str:
    """The longest start of the text that is a whole statement; empty if there is none."""
    for border in _BORDERS:
        cuts = [match.start() for match in border.finditer(text) if match.start() <= max_chars]
        if cuts and len(_UNIT.findall(text[: cuts[-1]])) >= 3:
            return text[: cuts[-1]].rstrip(" ,;，；")
    return ""
