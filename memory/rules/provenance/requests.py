"""Finds requests: what a text tells its reader to do, what a person has the assistant write, say or play, and what they
only suppose or imagine. In English and Chinese."""

from __future__ import annotations

import re
from collections.abc import Iterator

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.signs import SignedPattern, fold_text, has_sign

# One of these, in lower case and with single blanks, or a colon, `[` or `<` stands in each text in which a span is
# found.
SIGNS = (
    "ignore", "disregard", "forget", "override", "user", "reading this", "processing this", "seeing this",
    "summarising this", "summarizing this", "role", "act as", "act like", "act to be", "behave", "pretend", "speak",
    "answer", "imagine", "playing", "dream", "character", "story", "novel", "campaign", "screenplay", "script",
    "comic", "you're", "you are", "you be", "write", "draft", "compose", "prepare", "create", "make", "send",
    "generate", "post", "tell", "invent", "continue", "mail", "text", "message", "inform", "remind", "how ", "忽略",
    "无视", "忘记", "忘掉", "不要理会", "用户", "演", "假装", "梦", "小说", "故事", "剧本", "游戏", "漫画", "你当",
    "你来当", "你是", "写", "起草", "拟", "回", "发", "编", "怎么",
)  # fmt: skip

# How a request to an assistant begins.
POLITE = (
    r"(?:(?:ok(?:ay)?|so|hi|hey|hello|now|and|also|then|please|pls|plz|just|kindly|quick(?:ly)?|sorry|could|can|would|will"
    r"|you|u|help(?:\s+me)?(?:\s+to)?|me|maybe|let's|lets)[\s,]+){0,8}(?:i(?:'d|\s+would)?\s+(?:want|need|like)\s+(?:you|help)\s+(?:to\s+)?)?"
)
POLITE_ZH = (
    r"(?:请|麻烦|能不能|可不可以|可以|能|你|您|帮忙?|替|给|为|我想让|我要|我想|需要|再|来|先|把|将|一下|我|[，,])*"
)
_SHOWN = 240  # characters of a sentence that are looked at

# What tells its reader what to do, say or remember.

CJK = lazy_compile(r"[\u3400-\u9fff]")
_WORD = lazy_compile(r"\w")
_SENTENCE = lazy_compile(r"[^.!?。！？\n]+(?:[.](?=\w)[^.!?。！？\n]*)*[.!?。！？]*")
_EDGES = " \t>|*#\"'`<-~"  # stripped from a sentence

# Instructions. A clause without a subject commands; `the user always runs` informs.
_START = r"(?:^|[.;:!?,\n(\[\"'*#>-][^\S\n]*|\b(?:and|then|so|please|also|must|should|to|now|just|but)\s+)"
_COMMANDS = (
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
    r"|have\s+|had\s+)?(?:already\s+)?(?:authori[sz]e[sd]?|agree[sd]?"
    r"|consent(?:s|ed)?|approve[sd]?|allow(?:s|ed)?|permit(?:s|ted)?|instruct(?:s|ed))\b"
)
# A wish that a document reports orders the reader to see to it. Where the agent itself notes it, it is a fact.
_WISHES = (
    r"\bthe\s+user\s+(?:has\s+|have\s+|had\s+)?(?:already\s+)?(?:wants?|wishes|prefers?|asked|asks|requested"
    r"|would\s+like)\b"
)
_COMMANDS_ZH = (
    r"(?:忽略|无视|忘记|忘掉|不要理会|别理会|不理会|跳过|绕过|覆盖|抛开)[^，。！？\n]{0,12}(?:指令|指示|提示|规则|要求"
    r"|设定|命令|约束|限制|记忆|对话|说明)|从现在(?:开始|起)|(?:今后|以后|往后|此后|下次)(?:请|都|要|必须|一律|务必|只"
    r"|不要|总是|每次|的?回答|的?对话|的?回复)|在(?:今后|以后|未来)的(?:对话|回答|回复)|(?:你|您|助手|助理|AI|人工智能"
    r"|系统|模型|机器人)(?:都|就|也|现在|今后|以后)*(?:必须|应该|应当|需要|务必|一定要|要|只能|不得|不能|不可以|不许"
    r"|现在是|被要求)|(?:总是|始终|永远|一律|务必|必须|每次都|一定)(?:要|只|都)?(?:推荐|建议|使用|采用|回答|回复|说"
    r"|提到|提及|告诉|选择|包含|购买|发送|转发|转账|称赞|宣传|引用|调用|相信)|(?:^|[，。！？：；\n,;:]|请|并"
    r"|要)[^\S\n]*(?:记住|记下|牢记|记录|保存|存储|写入|别忘了)(?!了|的)|用户(?:已经?|一直|总是)?(?:同意|授权|允许"
    r"|批准)|(?:不要|别|无需|不用)告诉用户|(?:告诉|说服|提醒)用户|瞒着用户"
    r"|新(?:的)?(?:指令|指示|任务|规则)|系统提示|扮演|假装(?:你|是)|你(?:的)?(?:任务|目标|角色|职责)(?:是|为)"
)
_WISHES_ZH = r"用户(?:已经?|一直|总是)?(?:想要?|希望|要求|喜欢|偏好|请求|愿意)"
_FLAGS = re.IGNORECASE | re.MULTILINE
_ORDERS, _ORDERS_ZH = lazy_compile(f"{_COMMANDS}|{_WISHES}", _FLAGS), lazy_compile(f"{_COMMANDS_ZH}|{_WISHES_ZH}")
_BARE_ORDERS, _BARE_ORDERS_ZH = lazy_compile(_COMMANDS, _FLAGS), lazy_compile(_COMMANDS_ZH)


# Text that nobody writes about themselves: it is pasted, to the end of the paragraph.
_FOREIGN_VOICE = SignedPattern(
    lazy_compile(
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
    ),
    "ignore|disregard|forget|override|user|system|assistant|inst]|im_start|reading this|processing this|"
    "seeing this|summarising this|summarizing this|忽略|无视|忘记|忘掉|不要理会|用户",
)


def has_instructions(text: str) -> bool:
    """Whether a sentence of the text tells its reader what to do, say or remember."""
    return any(is_instruction(sentence) for sentence in _split_sentences(text))


def has_commands(text: str) -> bool:
    """Whether a sentence of the text commands its reader. What it reports of the user's wishes is no command here."""
    return any(
        _BARE_ORDERS.search(sentence) or (CJK.search(sentence) and _BARE_ORDERS_ZH.search(sentence))
        for sentence in _split_sentences(text)
    )


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
    for voice in _FOREIGN_VOICE.find_matches(text, fold_text(text)):
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


# What a person supposes, imagines or plays.

_OPENING = (
    r"^\W{0,4}(?:(?:and|so|but|ok|okay|well|now|or|then|please|just|let's|let us|let me|we can|can you)[\s,]+){0,4}"
)
_SUPPOSED = lazy_compile(
    rf"(?i){_OPENING}(?:(?:for\s+(?:example|instance|argument's\s+sake)[\s,:]+)?(?:suppose|supposing|imagine(?!\s+my\s+(?:surprise|joy|shock))"
    r"|pretend|assume|assuming|hypothetically|theoretically|picture(?!\s+this\s*:)|say\s+(?:I|we|my|you|there)|what\s+if)\b"
    r"|for\s+(?:example|instance)[\s,:]+(?:if\s+)?(?:I|we)\b(?=.*\?)"
    r"|if\s+(?:I|we|my\s+\w+)\s+(?!need\b|feed\b)(?:were|was|had|could|would|\w{2,}ed|won|got|went|became|made)\b)"
)
_SUPPOSED_ZH = lazy_compile(
    r"(?:^|[，,。\s])(?:那么?|但|就)?(?:假如|假设|假使|设想|想象一下|倘若|倘使|试想|就当)"
    r"|(?:^|[，,。\s])(?:如果|要是|万一)(?:[我咱]们?)(?![没不])|(?:^|[，,。\s])比(?:如|方)说?，?我.*(?:怎么|吗|呢|[?？])"
)
_PLAYED = lazy_compile(
    rf"(?i){_OPENING}(?:i(?:'m|\s+am)\s+(?:role-?playing|playing)\s+(?:as\s+)?an?\s+(?!lot\b|bit\b|little\b|new\b|part\b"
    r"|(?:[\w-]+\s+)?(?:game|match|gig|show|concert|set|song|piece|round|tournament|recital|solo|sonata|role)\b)"
    r"|i\s+(?:had\s+a\s+dream|dream(?:t|ed))\b|my\s+(?:(?!favou?rite\b)\w+\s+)?character(?:'s\s+\w+)?\s+(?:is|was|has|comes|lives|wants|hates|loves)\b"
    r"|in\s+(?:my|the|our|this)\s+(?:\w+\s+)?(?:story|novel|campaign|screenplay|script|comic|role-?play|dream)\b"
    r"|you(?:'re|\s+are|\s+be)\s+(?:an?|my|the)\s+(?!great|good|best|favou?rite|real)[^.,;!?]{1,40}(?:[,;]\s*(?:and\s+)?|\s+and\s+)"
    r"I(?:'m|\s+am)\s+(?:an?|the|your)\b)"
)
_PLAYED_ZH = lazy_compile(
    r"角色扮演|梦[见到]|(?:小说|故事|剧本|游戏|漫画|梦)[里中]|我(?:来)?(?:扮演|演一个|假装)"
    r"|你(?:来)?(?:扮演|演|假装|当)[^，。]{1,12}[，,]我(?:来)?(?:是|当|演|扮演)|^你是[^，。]{1,12}[，,]我是"
)
_OPENED = lazy_compile(
    rf"(?i){_OPENING}(?:(?:i\s+want\s+to\s+|wanna\s+)?(?:do\s+|start\s+|try\s+)?(?:a\s+|some\s+)?role-?\s?play(?:ing)?\b"
    r"|(?:act|behave|pretend|speak|answer)\s+(?:as|like|to\s+be)\s+[^.,;:!?\n]{1,80}"
    r"|pretend(?=\s*[.!,:])|(?:pretend|imagine)\s+(?:that\s+)?you(?:'re|\s+are)\b[^.,;:!?\n]{1,80})"
)
_OPENED_ZH = lazy_compile(
    r"^(?:我们|咱们|来|玩|一起|请|你|现在|个)*(?:角色扮演|(?:扮演|假装你?是)[^，。！？：:\n]{1,16})"
)

# One of these stands in each sentence that supposes, imagines or plays something; few messages have any.
MAY_BE_FICTION = lazy_compile(
    r"(?i)suppos|imagin|pretend|assum|hypothetically|theoretically|picture|say\s|what\s+if|for\s+(?:example|instance)"
    r"|if\s+(?:i|we|my)\b|playing|dream|character|story|novel|campaign|screenplay|script|comic|role-?play|you(?:'re|\s+are|\s+be)\s"
    r"|[假倘演梦]|设想|想象|试想|就当|如果|要是|万一|比[如方]|小说|故事|剧本|游戏|漫画|你来?当|你是"
)


def is_fictional(sentence: str) -> bool:
    """Whether a sentence supposes, imagines or plays what it says: "suppose I earn 50k", "my character is an elf",
    假如我住在海边."""
    head = sentence[:_SHOWN]
    return any(pattern.search(head) for pattern in (_SUPPOSED, _PLAYED, _SUPPOSED_ZH, _PLAYED_ZH))


def opens_role_play(sentence: str) -> int | None:
    """Where in a sentence a role play begins, None where none does. An order to play is the person's own."""
    if opened := _OPENED.search(sentence) or _OPENED_ZH.search(sentence):
        return opened.end()
    played = _PLAYED.search(sentence) or _PLAYED_ZH.search(sentence)
    return 0 if played else None


# What a person has the assistant write for somebody, say in another language, or play.

_ORDER_SENTENCE = lazy_compile(r"(?:[^.!?。！？\n]|(?<=\b[DM]r)\.|(?<=\bM[rs]s)\.|\.(?=\w))+[.!?。！？]*")
_KINDS = (
    r"(?:e-?mails?|letters?|messages?|texts?|posts?|tweets?|notes?|repl(?:y|ies)|responses?|speech|toast|reviews?|complaint"
    r"|bio|ad|stor(?:y|ies)|poems?|songs?|tales?|scenes?|novel|dialog(?:ue)?|essay|jokes?|script|invitation|card|caption"
    r"|status|resignation|application|apology|excuse|monologue)"
)
_WRITE = lazy_compile(
    rf"(?i)^\W{{0,4}}{POLITE}(?:(?:write|draft|compose|prepare|create|make|send|generate|post|tell|invent|continue)\b"
    rf"(?:\s+[\w'’.-]+){{0,8}}?\s+{_KINDS}\b|(?:e-?mail|text|message|tell|inform|remind)\s+(?:my|our|the|him|her|them)\b)"
)
_CONTENT = lazy_compile(
    r"(?i)\b(?:saying|says?|that|stating|telling|tell|explaining|who|whose|where|because)\b|(?P<colon>:(?=\s)|：)"
)
_TOLD_BY_I = lazy_compile(r"(?i)(?:where|who|whose)\s+(?:i|i'm|my)\b")  # what follows is told by the same person
_WRITE_ZH = lazy_compile(
    r"^(?:我(?:想让|要|想请|需要|想麻烦)你)?(?:[^，,。！？写拟编发回：:\n我他她]|(?<=[帮替给])我)*(?:写|起草|拟|回|发|编)"
    r"[^，。！？：:\n]{0,16}?(?:信|邮件|短信|消息|微信|朋友圈|帖子|微博|回复|通知|请假条|条子|文案|评论|检讨|稿|故事|小说|诗|歌"
    r"|剧本|笑话|祝福|留言)[^，。！？：:\n]{0,16}"
)
_CONTENT_ZH = lazy_compile(r"[，,]?(?:就|内容|大意|里面|主角|主人公|他|她)*(?:说|告诉|写|是|表示|讲)|(?P<colon>[：:])")
_SAY = lazy_compile(
    r"(?i)\bhow\s+(?:(?:do|would|can|could|should|to)\s+)(?:(?:you|i|we|one)\s+)?(?:say|write|spell|pronounce|translate"
    r"|phrase)\b"
)
_SAY_ZH = lazy_compile(r"[语文话](?:里|中)?(?:该|应该)?怎么(?:说|写|讲|念|翻|表达)")


def find_ordered_spans(text: str) -> Iterator[tuple[int, int]]:
    """The spans of text that the assistant is to say or to write, and of a role play from its beginning on."""
    if not has_sign(fold_text(text), SIGNS):
        return
    for sentence in _ORDER_SENTENCE.finditer(text):
        head = sentence.group()[:_SHOWN]
        bare = head.lstrip()
        if (at := opens_role_play(bare)) is not None:
            yield sentence.start() + len(head) - len(bare) + at, len(text)
            return
        if content := _find_content(head):
            goes_on = content["colon"] or _TOLD_BY_I.match(head, content.start())
            yield sentence.start() + content.end(), len(text) if goes_on else sentence.end()
        if asked := _SAY.search(head):
            yield sentence.start() + asked.end(), sentence.end()
        if asked := _SAY_ZH.search(head):
            yield sentence.start(), sentence.start() + asked.start()


def _find_content(sentence: str) -> re.Match[str] | None:
    """The word after which an order says what to write."""
    if written := _WRITE.search(sentence):
        return _CONTENT.search(sentence, written.end())
    written = _WRITE_ZH.search(sentence.lstrip(" ，,"))
    if written is None:
        return None
    return _CONTENT_ZH.search(sentence, written.end() + len(sentence) - len(sentence.lstrip(" ，,")))
