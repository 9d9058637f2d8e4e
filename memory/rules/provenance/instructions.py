"""Finds sentences that tell their reader what to do, say or remember, in English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.memory.rules.language.lazy_regex import lazy_compile

CJK = lazy_compile(r"[\u3400-\u9fff]")
_WORD = lazy_compile(r"\w")
_SENTENCE = lazy_compile(r"[^.!?。！？\n]+(?:[.](?=\w)[^.!?。！？\n]*)*[.!?。！？]*")
_EDGES = " \t>|*#\"'`<-~"  # stripped from a sentence

# Instructions. A clause without a subject commands; `the user always runs` informs.
_START = r"(?:^|[.;:!?,\n(\[\"'*#>-][^\S\n]*|\b(?:and|then|so|please|also|must|should|to|now|just|but)\s+)"
_ORDERS = lazy_compile(
    r"\b(?:ignore|disregard|forget|override|bypass|discard|drop)\s+(?:[\w'-]+\s+){0,4}(?:instructions?|prompts?|rules"
    r"|guidelines|directions|directives|restrictions|context|messages?|memory|memories|conversation|training|told)\b"
    r"|\b(?:you|(?:the\s+|any\s+|all\s+|every\s+)?(?:ai|assistants?|(?:language\s+)?models?|chatbots?|bots?|agents?"
    r"|llms?|copilot|chatgpt|claude|gemini))\s+(?:must|should|shall|has\s+to|have\s+to|needs?\s+to|ought\s+to"
    r"|(?:are|is)\s+(?:now|required|instructed|hereby|to|obliged|expected|no\s+longer|authori[sz]ed)|will\s+(?:now"
    r"|always|never|only)|may\s+only)\b|\b(?:from\s+now\s+on|henceforth|from\s+this\s+point|going\s+forward"
    r"|in\s+(?:all\s+|every\s+)?(?:the\s+)?future\s+(?:conversations?|replies|answers|responses|sessions|messages"
    r"|requests))\b|\bwhenever\s+(?:the\s+user|you|asked|someone|anyone)\b"
    rf"|{_START}(?:always|never|do\s+not|don't)\s+(?!again|mind\b|been\b|had\b)[a-z]+|{_START}(?:remember|memori[sz]e"
    rf"|note|keep\s+in\s+mind|bear\s+in\s+mind|don't\s+forget|store|save|record|add|write)(?:\s+(?:down|this"
    rf"|the\s+following|it|into?|to)){{0,3}}"
    r"(?:\s+that\b|\s*:|\s+(?:the\s+|your\s+|my\s+)?(?:user|memory|memories|preference|profile)\b)|\b(?:system\s+prompt"
    r"|new\s+(?:instructions?|rules|task|directive)|hidden\s+instructions?|prompt\s+injection|jailbreak"
    r"|developer\s+mode)\b|\[/?INST\]|<\|?/?(?:system|im_start|im_end|instructions?)\b|^[^\w\n]*(?:system|assistant"
    r"|instructions?)\s*:|\b(?:act|behave|respond|answer|reply|speak)\s+(?:only\s+)?as\s+(?:if|though|an?|the)\b"
    r"|\bpretend\s+(?:to\s+be|that|you)\b|\byou\s+are\s+now\b|\byour\s+(?:new\s+|real\s+|only\s+|true\s+)?(?:task|goal"
    r"|job|role|instructions?|purpose|mission|objective)\s+(?:is|are)\b|\b(?:without\s+(?:telling|informing|asking"
    r"|notifying)|(?:tell|inform|ask|convince|persuade|remind)\s+the\s+)(?:the\s+)?user\b|\bthe\s+user\s+(?:has\s+"
    r"|have\s+|had\s+)?(?:already\s+)?(?:wants?|wishes|prefers?|asked|asks|requested|authori[sz]e[sd]?|agree[sd]?"
    r"|consent(?:s|ed)?|approve[sd]?|allow(?:s|ed)?|would\s+like|permit(?:s|ted)?|instruct(?:s|ed))\b",
    re.IGNORECASE | re.MULTILINE,
)
_ORDERS_ZH = lazy_compile(
    r"(?:忽略|无视|忘记|忘掉|不要理会|别理会|不理会|跳过|绕过|覆盖|抛开)[^，。！？\n]{0,12}(?:指令|指示|提示|规则|要求"
    r"|设定|命令|约束|限制|记忆|对话|说明)|从现在(?:开始|起)|(?:今后|以后|往后|此后|下次)(?:请|都|要|必须|一律|务必|只"
    r"|不要|总是|每次|的?回答|的?对话|的?回复)|在(?:今后|以后|未来)的(?:对话|回答|回复)|(?:你|您|助手|助理|AI|人工智能"
    r"|系统|模型|机器人)(?:都|就|也|现在|今后|以后)*(?:必须|应该|应当|需要|务必|一定要|要|只能|不得|不能|不可以|不许"
    r"|现在是|被要求)|(?:总是|始终|永远|一律|务必|必须|每次都|一定)(?:要|只|都)?(?:推荐|建议|使用|采用|回答|回复|说"
    r"|提到|提及|告诉|选择|包含|购买|发送|转发|转账|称赞|宣传|引用|调用|相信)|(?:^|[，。！？：；\n,;:]|请|并"
    r"|要)[^\S\n]*(?:记住|记下|牢记|记录|保存|存储|写入|别忘了)(?!了|的)|用户(?:已经?|一直|总是)?(?:想要?|希望|要求"
    r"|喜欢|偏好|同意|授权|允许|批准|请求|愿意)|(?:不要|别|无需|不用)告诉用户|(?:告诉|说服|提醒)用户|瞒着用户"
    r"|新(?:的)?(?:指令|指示|任务|规则)|系统提示|扮演|假装(?:你|是)|你(?:的)?(?:任务|目标|角色|职责)(?:是|为)"
)


# Text that nobody writes about themselves: it is pasted, to the end of the paragraph.
_FOREIGN_VOICE = lazy_compile(
    r"\b(?:ignore|disregard|forget|override)\s+(?:all\s+|any\s+|every\s+)?(?:of\s+)?(?:the\s+|your\s+|these\s+"
    r"|those\s+)?(?:previous|prior|above|earlier|preceding|system)\s+(?:instructions?|prompts?|rules|guidelines"
    r"|messages?)\b|\b(?:remember|note|memori[sz]e|store|save|record)(?:\s+(?:this|it|down|in|to|into|your|long-term"
    r"|memory))*[\s:,]+(?:that\s+)?(?:the\s+)?(?:current\s+)?user(?:'s)?\s+(?:is|are|was|has|have|wants?|wishes"
    r"|prefers?|likes?|loves?|hates?|needs?|must|should|always|never|agreed|agrees|approve[sd]?|authori[sz]e[sd]?"
    r"|consent(?:s|ed)?|asked|requested|lives|works|name)\b|(?P<headed>^[^\w\n]*(?:system|assistant)\s*:)|\[/?INST\]"
    r"|<\|(?:system|im_start)|\b(?:assistants?|agents?|(?:language\s+)?models?|bots?|llms?)\s+(?:reading|processing"
    r"|seeing|summari[sz]ing)\s+this\b|(?:忽略|无视|忘记|忘掉|不要理会)(?:你)?(?:之前|以前|上面|以上|先前|前面|所有"
    r"|一切)+的?(?:所有|一切)?(?:的)?(?:指令|指示|提示|规则|设定|命令)|(?:记住|记下|记录|保存)[：:，,]?\s*(?:该|这位"
    r"|当前)?用户(?:想|希望|要求|喜欢|偏好|已|同意|授权|是|必须)",
    re.IGNORECASE | re.MULTILINE,
)


def has_instructions(text: str) -> bool:
    """Whether a sentence of the text tells its reader what to do, say or remember."""
    return any(is_instruction(sentence) for sentence in _split_sentences(text))


def find_instructions(text: str) -> Iterator[str]:
    """The sentences of a text that tell its reader what to do, say or remember."""
    return (sentence for sentence in _split_sentences(text) if is_instruction(sentence))


def starts_with_instruction(text: str) -> bool:
    """Whether the first sentence of the text begins with an instruction. Some patterns match only at a beginning."""
    first = next(_split_sentences(text), "")
    return bool(_ORDERS.match(first) or _ORDERS_ZH.match(first))


def find_last_instruction(text: str) -> int:
    """The position of the last instruction in the text, -1 without one."""
    return max((start for sentence in _SENTENCE.finditer(text) for start in _find_orders(sentence)), default=-1)


def find_foreign_spans(text: str) -> Iterator[tuple[int, int]]:
    """The spans of text that nobody writes about themselves, from its sentence to the end of its paragraph."""
    start = looked = end = 0
    for voice in _FOREIGN_VOICE.finditer(text):
        first = _find_first_line(text, voice.start(), looked) if voice["headed"] else voice.start()
        start = max(start, *(text.rfind(mark, looked, first) + 1 for mark in ".!?。！？:：\n"))
        looked = max(looked, first)
        if end < voice.end():
            line_end = text.find("\n", voice.end())
            end = len(text) if line_end < 0 else line_end
        yield start, end


def _find_first_line(text: str, at: int, after: int) -> int:
    """The start of the lines without words before a header, else the start of the header."""
    first = at
    while at > after and not _WORD.match(text, at - 1):
        at -= 1
        if at == 0 or text[at - 1] == "\n":
            first = at
    return first


def _split_sentences(text: str) -> Iterator[str]:
    for match in _SENTENCE.finditer(text):
        if sentence := match.group().strip(_EDGES):
            yield sentence


def is_instruction(sentence: str) -> bool:
    """Whether the sentence tells its reader what to do, say or remember."""
    return bool(_ORDERS.search(sentence) or (CJK.search(sentence) and _ORDERS_ZH.search(sentence)))


def _find_orders(sentence: re.Match[str]) -> Iterator[int]:
    bare = sentence.group().lstrip(_EDGES)
    start = sentence.end() - len(bare)
    for pattern in (_ORDERS, _ORDERS_ZH):
        yield from (start + order.start() for order in pattern.finditer(bare.rstrip(_EDGES)))
