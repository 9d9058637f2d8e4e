"""Separates a person's own words from quoted text, and finds quoted sentences that instruct, in English and Chinese.

Pasted text is a document with an author of its own. What a document tells the assistant to do or to remember is pending
until a person approves it."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

from muniment.memory.domain.memory import TRUST_RANK, Trust
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile

_CJK = lazy_compile(r"[\u3400-\u9fff]")
_SPACE = lazy_compile(r"\s*")
_WORD = lazy_compile(r"\w")
_SENTENCE = lazy_compile(r"[^.!?。！？\n]+(?:[.](?=\w)[^.!?。！？\n]*)*[.!?。！？]*")
_EDGES = " \t>|*#\"'`<-~"  # stripped from a sentence
_LONG_QUOTE = 80  # characters; a Chinese one counts three times
_MOST = 3  # instructions of a turn that a person is asked about
_LONGEST = 280
_SHARED = 0.5  # of a statement's words; then it says the same as the sentence
_SOME = 0.2  # less in common is chance
_NEARLY = 0.8  # of the largest share
_FOREIGN: tuple[Trust, ...] = ("tool", "document")

# Pasted text: the inside of marks, and what follows an announcement or a header, to the end.
_MARKED = (
    lazy_compile(r"(?P<mark>```|~~~).*?(?:(?P=mark)|\Z)", re.DOTALL),
    lazy_compile(r'"""(?:(?!""").)*(?:"""|\Z)', re.DOTALL),
    lazy_compile(r"<<<(?:(?!>>>).)*(?:>>>|\Z)", re.DOTALL),
    lazy_compile(
        r"<(?P<tag>e?mail|document|doc|page|web_?page|article|file|transcript|quote|content|context|text|message|data"
        r"|tool_result|output|search_results?|result)\b[^>\n]{0,200}>.*?(?:</(?P=tag)>|\Z)",
        re.DOTALL | re.IGNORECASE,
    ),
    lazy_compile(r"^[ \t]*>.*$", re.MULTILINE),
    lazy_compile(r"^.*\[(?:INFO|DEBUG|WARN(?:ING)?|ERROR|TRACE)\].*$", re.MULTILINE),
)
_QUOTED = lazy_compile(r'"[^"]{2,4000}"|「[^」]{2,4000}」|『[^』]{2,4000}』|«[^»]{2,4000}»')
_NOUN = (
    r"(?:(?:e-?)?mails?|messages?|(?:web\s?)?pages?|articles?|documents?|docs?|texts?|letters?|posts?|files?|readme"
    r"|transcripts?|logs?|outputs?|results?|web\s?sites?|sites?|reviews?|comments?|snippets?|excerpts?|newsletters?"
    r"|tickets?|invoices?|attachments?|pdfs?)"
)
_ANNOUNCED = (
    lazy_compile(
        r"(?i)\b(?:the|this|that|an?|following|below|his|her|their|from|in|copied|pasted|forwarded)\s+(?:[\w'-]+\s+"
        r"){0,3}" + _NOUN + r"\b[^\n:.!?]{0,60}:(?=\s)"
    ),
    lazy_compile(
        r"(?i)(?<!\bI )(?<!\bI just )\b(?:wrote|writes|texted|messaged|e-?mailed|mailed|replied|sent)\b(?:\s+(?:me|us"
        r"|to\s+me|back|this|just\s+now)){0,2}\s*:(?=\s)"
    ),
    lazy_compile(
        r"(?i)\b(?:this|following|below)\s+(?:[\w'-]+\s+){0,2}(?:poem|story|song|lyrics|essay|"
        + _NOUN
        + r")\b[^\n:.!?]{0,30}\n"
    ),
    lazy_compile(
        r"(?i)(?<!\bI )\b(?:translate|proofread|rephrase|paraphrase|summari[sz]e)\b[^\n:：.!?]{0,40}[:：](?=\s)"
    ),
    lazy_compile(
        r"(?i)(?<!\bI )\b(?:translate|proofread|rephrase|paraphrase|summari[sz]e)\s+(?:this|it|the\s+following)\b"
        r"[^\n:.!?]{0,30}[.?!](?=\s)"
    ),
    lazy_compile(
        r"(?:发来|写道|来信|转来|发给我|留言)[^\n：:。，]{0,6}[：:]|请?(?:翻译|总结|概括|润色|改写)(?:一?下)?[：:]"
    ),
    lazy_compile(r"(?:这段|下面这?段?|以下)(?:话|文字|文本)[ \t\n，,：:]"),
    lazy_compile(r"(?i)^[^\w\n]*(?:fwd?|forwarded|pasted|copied|quote)\b[^\n:]{0,40}:(?=\s)", re.MULTILINE),
    lazy_compile(
        r"(?:以下|下面|如下|这|那|转发|粘贴|收到)[^\n：:。]{0,20}(?:邮件|网页|文章|文档|内容|消息|短信|页面|原文|资料"
        r"|信|帖子|评论|公告|通知|文本|日志|结果|网站)[^\n：:。]{0,12}[：:]"
    ),
    lazy_compile(
        r"(?:邮件|网页|文章|文档|页面|原文|公告|通知|网站|短信|帖子)(?:里面?|中|上面?|内容)?(?:写着?|写道|说|提到|如下"
        r"|是)[^\n：:。]{0,6}[：:]"
    ),
)
# "Summarise this supplier sheet:" and a line break announce a document.
_HANDED_OVER = lazy_compile(
    r"(?i)(?:\b(?:summari[sz]e|translate|review|check|explain|proofread|rewrite|look\s+at|what\s+do\s+you\s+(?:make"
    r"|think)\s+of|draft|reply\s+to|answer)\b|总结|概括|翻译|看看|看一下|分析|解释|检查|润色|改写|改一下"
    r"|回复)[^\n:：]{0,60}[:：][ \t]*\n"
)
# "I got the results back: all is well" announces the person's own words if one line follows.
_OUTCOME = lazy_compile(
    r"(?i)\b(?:results?|outputs?|invoices?|files?|tickets?|logs?)\b[^\n:]{0,60}:|结果[^\n：:]{0,12}[：:]"
)
_HEADED = lazy_compile(
    r"^(?:(?:subject|主题)\s*[:：][^\n]{1,200}\n|-{2,}\s*(?:original|forwarded)\s+message|begin\s+forwarded\s+message:"
    r"|on\s[^\n]{5,120}\swrote:\s*$|(?:from|发件人)\s*[:：][^\n]{1,200}\n(?:[^\n]{0,200}\n){0,3}?(?:to|subject|date"
    r"|sent|cc|主题|收件人|日期)\s*[:：])",
    re.IGNORECASE | re.MULTILINE,
)

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


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnParts:
    """A turn's own text, and the texts that it quotes."""

    own_text: str
    quotes: tuple[str, ...] = ()


def split_quoted(turn: Turn) -> TurnParts:
    """The own words of a turn and its quotes. A turn of a tool or a document is one quote."""
    if turn.role != "user" or turn.source != "user":
        return TurnParts(own_text="", quotes=(turn.text,) if turn.text.strip() else ())
    own: list[str] = []
    pasted: list[str] = []
    done = 0
    for start, end in _find_quoted_spans(turn.text):
        if end > done:
            own.append(turn.text[done:start])
            pasted.append(turn.text[max(done, start) : end])
            done = end
    own.append(turn.text[done:])
    return TurnParts(own_text="\n".join(own) if pasted else turn.text, quotes=tuple(filter(str.strip, pasted)))


def strip_quoted(turn: Turn) -> Turn:
    """A user's turn with the person's own words only; other turns unchanged."""
    return replace(turn, text=split_quoted(turn).own_text) if turn.role == "user" else turn


def has_instructions(text: str) -> bool:
    """Whether a sentence of the text tells its reader what to do, say or remember."""
    return any(_is_instruction(sentence) for sentence in _split_sentences(text))


def find_instructions(text: str) -> Iterator[str]:
    """The sentences of a text that tell its reader what to do, say or remember."""
    return (sentence for sentence in _split_sentences(text) if _is_instruction(sentence))


def find_quoted_instructions(turn: Turn) -> tuple[Candidate, ...]:
    """Pending candidates of the instructions that a user pasted, word for word; at most 3."""
    quotes = split_quoted(turn).quotes if turn.role == "user" else ()
    sentences = dict.fromkeys(sentence for text in quotes for sentence in find_instructions(text))
    return tuple(
        Candidate(
            text=sentence[:_LONGEST],
            category="activity",
            kind="episodic",
            importance=1,
            confidence=0.5,
            trust="document",
            turns=(turn.id,),
            actor=turn.actor,
            role=turn.role,
            state="pending",
        )
        for sentence in list(sentences)[:_MOST]
    )


def hold_instruction(candidate: Candidate) -> Candidate:
    """The candidate, pending if a tool or a document states it and it instructs.

    A statement of theirs about what the user wants is an instruction, too."""
    is_ordered = candidate.trust in _FOREIGN and _is_instruction(candidate.text)
    return replace(candidate, state="pending") if is_ordered else candidate


def weigh_trust(candidate: Candidate, turns: Sequence[Turn]) -> Candidate:
    """The candidate with the trust of the words that state it, pending if those instruct.

    `turns` are its supporting turns and those that were read with them. Of the parts with most of its words, or nearly,
    the most trusted one counts. A candidate that shares no words, such as a translation, has the least trust of its
    supporting turns."""
    lexemes = tokens.get_lexeme_set(candidate.text)
    sources = [source for turn in turns for source in _find_sources(turn, candidate, lexemes)]
    best = max((source.overlap for source in sources), default=0.0)
    if best >= _SOME:
        trust = max(
            (source.trust for source in sources if source.overlap >= best * _NEARLY), key=TRUST_RANK.__getitem__
        )
    else:
        trust = min(
            (source.trust for source in sources if source.is_cited), key=TRUST_RANK.__getitem__, default=candidate.trust
        )
    is_ordered = trust in _FOREIGN and any(
        best < _SOME or _measure_overlap(lexemes, order) >= _SHARED  # no overlap: perhaps another language
        for source in sources
        if source.trust in _FOREIGN
        for order in find_instructions(source.text)
    )
    return hold_instruction(replace(candidate, trust=trust, state="pending" if is_ordered else candidate.state))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A part of a turn, with the share in [0, 1] of a statement's words that it has."""

    text: str
    trust: Trust
    is_cited: bool
    overlap: float


def _find_sources(turn: Turn, candidate: Candidate, lexemes: frozenset[str]) -> Iterator[_Source]:
    parts = split_quoted(turn)
    pasted: Trust = "document" if turn.source == "user" else turn.source
    own: list[tuple[Trust, str]] = [("user", parts.own_text)] if parts.own_text.strip() else []
    for trust, text in [*own, *((pasted, quote) for quote in parts.quotes)]:
        yield _Source(
            text=text, trust=trust, is_cited=turn.id in candidate.turns, overlap=_measure_overlap(lexemes, text)
        )


def _measure_overlap(lexemes: frozenset[str], text: str) -> float:
    return len(lexemes & tokens.get_lexeme_set(text)) / len(lexemes) if lexemes else 0.0


def _split_sentences(text: str) -> Iterator[str]:
    for match in _SENTENCE.finditer(text):
        if sentence := match.group().strip(_EDGES):
            yield sentence


def _is_instruction(sentence: str) -> bool:
    return bool(_ORDERS.search(sentence) or (_CJK.search(sentence) and _ORDERS_ZH.search(sentence)))


def _find_quoted_spans(text: str) -> list[tuple[int, int]]:
    """The spans of pasted text, sorted."""
    spans = [match.span() for pattern in _MARKED for match in pattern.finditer(text)]
    quotes = [match.span() for match in _QUOTED.finditer(text)]
    spans += [
        (a, b)
        for a, b in quotes
        if b - a + 2 * len(_CJK.findall(text[a:b])) >= _LONG_QUOTE or has_instructions(text[a + 1 : b - 1])
    ]
    spans += _find_announced_spans(text, [*spans, *quotes])
    spans += _find_foreign_spans(text)
    if header := _HEADED.search(text):
        spans.append((header.start(), len(text)))
    return sorted(spans)


def _find_announced_spans(text: str, delimited: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The spans after announcements, up to the end of a delimited text or of the whole text."""
    delimited = sorted(delimited)
    starts = [start for start, _ in delimited]
    ends = list(accumulate((end for _, end in delimited), max))
    remarks = _RemarkChecker(text)
    open_from = len(text) + 1  # a later announcement adds nothing
    for pattern in (*_ANNOUNCED, _HANDED_OVER):
        for announcement in pattern.finditer(text):
            start = _skip_space(text, announcement.end())
            if start >= open_from or (
                _OUTCOME.search(announcement.group()) and remarks.has_remark(announcement.end(), start)
            ):
                continue
            place = bisect_right(starts, start)
            end = ends[place - 1] if place else 0
            if end <= start:
                end, open_from = len(text), start
            yield start, end


class _RemarkChecker:
    """Tells whether a person's own remark follows an announcement: one line without an instruction.

    Each part of the text is searched once, however many announcements there are."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._last_line = text.rstrip().rfind("\n")

    def has_remark(self, at: int, start: int) -> bool:
        """Whether a remark follows an announcement that ends at `at`; `start` is its first non-space character."""
        if self._last_line >= start or self._last_order >= at:
            return False
        # Some patterns match only at the beginning of the remark.
        first = next(_split_sentences(self._text[at : at + _LONGEST]), "")
        return not (_ORDERS.match(first) or _ORDERS_ZH.match(first))

    @cached_property
    def _last_order(self) -> int:
        """The position of the last instruction in the text, -1 without one."""
        return max(
            (start for sentence in _SENTENCE.finditer(self._text) for start in _find_orders(sentence)), default=-1
        )


def _find_orders(sentence: re.Match[str]) -> Iterator[int]:
    bare = sentence.group().lstrip(_EDGES)
    start = sentence.end() - len(bare)
    for pattern in (_ORDERS, _ORDERS_ZH):
        yield from (start + order.start() for order in pattern.finditer(bare.rstrip(_EDGES)))


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _find_foreign_spans(text: str) -> Iterator[tuple[int, int]]:
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
