"""Finds what an announcement introduces: "here is the mail I got:", "translate to French:", "my daughter wrote:".

An announcement names a document, reports another's speech, or asks for work on a text. A lead is the clause before a
colon, a dash, a line break or a quotation mark."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate

from muniment.memory.rules.language.english_words import LANGUAGES
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.provenance.requests import POLITE, POLITE_ZH, find_last_instruction, starts_with_instruction

# One of these, in lower case and with single blanks, a line break, a colon, a question mark or a quotation mark stands
# in each text in which a span is found.
SIGNS = (
    "translate", "proofread", "rephrase", "paraphrase", "summari", "这段", "下面", "以下", "语，", "语,", "文，",
    "文,", "话，", "话,", " -", " –", " —", "——", " '", " ‘",
)  # fmt: skip
_SPACE = lazy_compile(r"\s*")
_REMARK = 280  # characters of a remark that are looked at
_EDGES = " \t\n\"'”“’」』"  # stripped from a lead
_LEAD = 140  # characters of a lead
_BOUNDARY = lazy_compile(
    r"(?P<colon>:(?=[\s\u3400-\u9fff]|$)|：|——)|(?P<dash>\s[-–—]{1,2}(?=\s)|(?<=[语文话])[，,](?=\S))|(?P<line>\n)|(?P<asked>[?？])"
    r"|(?P<quote>(?=[\"“「『])|(?<=\s)(?=['‘]\w))|(?P<end>[.!。！;；](?=[ \t]|$|[\u3400-\u9fff]))"
)
_CLOSING = lazy_compile(r"(?<=\S)['’](?!\w)")

_NOUN = (
    r"(?:(?:e-?)?mails?|messages?|(?:web\s?)?pages?|articles?|documents?|docs?|texts?|letters?|posts?|files?|readme"
    r"|transcripts?|logs?|outputs?|results?|web\s?sites?|sites?|reviews?|comments?|snippets?|excerpts?|newsletters?"
    r"|tickets?|invoices?|attachments?|pdfs?|threads?|lyrics|essays?|poems?|paragraphs?|sentences?|screenshots?)"
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
        r"(?i)\b(?:here(?:'?s|\s+is|\s+are)|this|following|below|copied|pasted|forwarded)\s+(?:[\w'-]+\s+){0,4}(?:chat"
        r"|conversation|dialog(?:ue)?|song|verse|story|speech|quote|passage|draft|report)\b[^\n:.!?]{0,60}:(?=\s)"
    ),
    lazy_compile(
        r"(?i)\b(?:this|following|below)\s+(?:[\w'-]+\s+){0,2}(?:poem|story|song|lyrics|essay|"
        + _NOUN
        + r")\b[^\n:.!?]{0,30}\n"
    ),
    lazy_compile(
        r"(?i)(?<!\bI )(?<!\bto )\b(?:translate|proofread|rephrase|paraphrase|summari[sz]e)\b[^\n:：.!?]{0,40}"
        r"[:：](?=\s)"
    ),
    lazy_compile(
        r"(?:发来|写道|来信|转来|发给我|留言)[^\n：:。，]{0,6}[：:]|请?(?:翻译|总结|概括|润色|改写)(?:一?下)?[：:]"
    ),
    lazy_compile(r"(?i)^[^\w\n]*(?:fwd?|forwarded|pasted|copied|quote)\b[^\n:]{0,40}:(?=\s)", re.MULTILINE),
    lazy_compile(
        r"(?:以下|下面|如下|这|那|转发|粘贴|收到)[^\n：:。]{0,20}(?:邮件|网页|文章|文档|内容|消息|短信|页面|原文|资料"
        r"|信|帖子|评论|公告|通知|文本|日志|结果|网站|聊天|对话|歌词|作文|日记|句子)[^\n：:。]{0,12}[：:]"
    ),
    lazy_compile(
        r"(?:邮件|网页|文章|文档|页面|原文|公告|通知|网站|短信|帖子)(?:里面?|中|上面?|内容)?(?:写着?|写道|说|提到|如下"
        r"|是)[^\n：:。]{0,6}[：:]"
    ),
)
# Announcements without a colon or a line break.
_LOOSE = (
    lazy_compile(
        r"(?i)(?<!\bI )\b(?:translate|proofread|rephrase|paraphrase|summari[sz]e)\s+(?:this|it|the\s+following)\b"
        r"[^\n:.!?]{0,30}[.?!](?=\s)"
    ),
    lazy_compile(r"(?:这段|下面这?段?|以下)(?:话|文字|文本)[ \t\n，,：:]"),
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


def find_announced_spans(text: str, delimited: list[tuple[int, int]], open_from: int) -> Iterator[tuple[int, int]]:
    """The spans after announcements, up to the end of a delimited text or of the whole text.

    From `open_from` on all is quoted anyway: what would begin after it is not looked for."""
    ends = _DelimitedEnds(text, sorted(delimited))
    remarks = _RemarkChecker(text)
    has_break = any(mark in text for mark in ":：\n")
    for pattern in (*_LOOSE, *_ANNOUNCED, _HANDED_OVER) if has_break else _LOOSE:
        for announcement in pattern.finditer(text):
            start = _skip_space(text, announcement.end())
            if start > open_from or (
                _OUTCOME.search(announcement.group()) and remarks.has_remark(announcement.end(), start)
            ):
                continue
            end = ends.find_end(start, is_speech=is_reported(announcement.group().rstrip(" :：")))
            if end <= start:
                end, open_from = len(text), start
            yield start, end
    yield from _find_led_spans(text, ends, open_from)


def _find_led_spans(text: str, ends: _DelimitedEnds, open_from: int) -> Iterator[tuple[int, int]]:
    """The spans after leads, up to the end of a delimited text or of the whole text; none begins after `open_from`."""
    done = covered = 0
    for boundary in _BOUNDARY.finditer(text):
        if boundary.start() > open_from:
            return
        lead = text[max(done, boundary.start() - _LEAD) : boundary.start()].strip(_EDGES)
        done = boundary.end()
        kind = boundary.lastgroup or ""
        if not lead or kind == "end" or boundary.start() < covered:
            continue
        is_speech = kind in ("colon", "quote") and is_reported(lead)
        if not is_speech and not _hands_over(lead, kind, is_paragraph=text.startswith("\n", done)):
            continue
        start = _skip_space(text, done)
        if start == len(text):
            return
        end = ends.find_end(start, is_speech=is_speech)
        if end <= start:
            end = _find_closing(text, start) if is_speech and text[start] in "'‘" else len(text)
        yield start, end
        covered = end


def _hands_over(lead: str, kind: str, *, is_paragraph: bool) -> bool:
    """Whether the lead asks for work on the text that follows it, or names it."""
    if kind == "colon":
        return is_work_on_text(lead) or names_text(lead)
    if kind in ("line", "asked"):
        return is_work_on_text(lead, needs_pointer=True) or (is_paragraph and points_at_text(lead))
    return is_work_on_text(lead)


def _find_closing(text: str, start: int) -> int:
    """The end of the last single quotation mark of the paragraph, else of the text."""
    line_end = text.find("\n", start)
    line_end = len(text) if line_end < 0 else line_end
    return max((mark.end() for mark in _CLOSING.finditer(text, start + 1, line_end)), default=len(text))


class _DelimitedEnds:
    """Finds where the delimited text at a position ends.

    Speech ends with its mark. Of a text that was handed over, marks of its own end nothing: the last of a kind does."""

    def __init__(self, text: str, delimited: list[tuple[int, int]]) -> None:
        self._text = text
        self._starts = [start for start, _ in delimited]
        self._ends = list(accumulate((end for _, end in delimited), max))
        self._last: dict[str, int] = {}
        for start, end in delimited:
            self._last[text[start]] = max(end, self._last.get(text[start], 0))

    def find_end(self, start: int, *, is_speech: bool) -> int:
        """The end of the delimited text that begins at `start` or encloses it; at most `start` without one."""
        place = bisect_right(self._starts, start)
        end = self._ends[place - 1] if place else 0
        if end > start and not is_speech and self._starts[place - 1] == start:
            return max(end, self._last[self._text[start]])
        return end


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
        return not starts_with_instruction(self._text[at : at + _REMARK])

    @cached_property
    def _last_order(self) -> int:
        """The position of the last instruction in the text, -1 without one."""
        return find_last_instruction(self._text)


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


# Leads that ask for work on a text, or name one.

_POINTER = r"(?:this|these|the\s+following|following|below)"
_TEXT = (
    r"(?:grammar|spelling|wording|typos?|english|phrasing|punctuation|translation|homework|composition|letters?|resume|cv"
    r"|abstract|code|json|csv|e?-?mails?|messages?|paragraphs?|sentences?|texts?|essays?|poems?|lyrics|chats?|threads?"
    r"|conversations?|transcripts?|articles?|posts?|drafts?|speech|notes?|documents?|reports?|passages?|sentiment|tone|tense)"
)
_STRONG = (
    r"(?:translate|proof-?read|re-?phrase|paraphrase|re-?word|re-?write|summari[sz]e|polish|spell-?check|transcribe)\b"
)
_WEAK = (
    r"(?:correct|fix|edit|improve|shorten|simplify|check(?!\s+\w+\s+out\b)|review|critique|grade|format|convert|analy[sz]e"
    r"|make(?=.{0,40}(?:\bsound|\bmore|\bless|er\b|polite|formal))|debug|parse|read|look\s+at|turn|explain|mark|rate"
    r"|finish|continue|complete|put|clean|tidy|reply|respond|answer|classify|extract|identify|tag|tl;?dr)\b"
)
_QUALITY = (
    r"(?:correct|right|ok|okay|good|fine|grammatical(?:ly)?|sounds?|natural|polite|formal|typos?|errors?|mistakes?)"
)
_WORK = lazy_compile(
    rf"(?i)(?:^|[,;]\s*){POLITE}(?:{_STRONG}|{_WEAK}(?=.{{0,60}}\b(?:{_POINTER}|{_TEXT})\b)"
    rf"|(?:grammar|spelling|spell|typo)(?:[\s-]?(?:check|correction|ok))?\b"
    rf"|(?:is|are|does|do|would)\s+{_POINTER}\b(?=.{{0,60}}\b{_QUALITY}\b)|what\s+(?:does|do|is|are)\s+{_POINTER}\b"
    r"|(?:what|which|who)\b.{0,40}\bthis$"
    rf"|(?:what\s+do\s+you\s+think|thoughts|feedback|opinion|how\s+is)\b(?=.{{0,60}}\b{_TEXT}\b))"
)
_POINTS = lazy_compile(rf"(?i)\b{_POINTER}\b|\bmy\s+(?:\w+\s+)?{_TEXT}\b")
_THIS_TEXT = lazy_compile(rf"(?i)\b{_POINTER}\s+(?:\w+\s+){{0,2}}{_TEXT}\b|[这那](?:封|条|篇|段|首|份|个)")
_NAMES_TEXT = lazy_compile(rf"(?i)\b{_TEXT}\b|\b{_STRONG}")
_WORK_ZH = lazy_compile(
    rf"^{POLITE_ZH}.{{0,24}}?(?:翻译|译成|译为|总结|概括|润色|改写|校对|纠正|病句|语病|改错|缩写|扩写|语法|错别字"
    r"|(?:修改|改|检查|看看|看一下|分析|解释|整理|读|评价|打分).{0,12}(?:[这那下上]|以下|话|句|文|段|信|稿|作文|诗|记录)"
    r"|[这下](?:面|个|句|段|样|篇|首|封|么)?.{0,12}(?:改|译|对|通顺?|行|可以|正确|自然|礼貌|怎么样|什么意思)"
    r"|做成)"
)
_OWN_WORK_ZH = lazy_compile(r"^(?:我(?!想让|要你|想请|需要你|想把|要把|的)|[他她]|.{0,6}(?:喜欢|从事|负责|擅长|工作))")
_POINTS_ZH = lazy_compile(r"[这那]|下面|以下|聊天|记录|对话|作文|文章")
# A lead of nothing but the name of a text: "Lyrics", "example sentence", "email to my boss", 例句.
_BARE = lazy_compile(
    r"(?i)^(?!(?:my|our|an?|i)\b)(?:[\w-]+\s+){0,2}(?:(?:lyrics|sentence|paragraph|quote|dialogue|transcript|excerpt|poem"
    r"|essay|headline|chapter|character\s+sheet)(?:\s+(?:to|of|for|from)\b.{0,60})?"
    r"|(?:e-?mail|letter|message|text|post|reply)\s+(?:to|from|for)\b.{1,60})$"
)
_BARE_ZH = lazy_compile(
    r"^(?:转发|引用|例句?|造句|仿写|续写|原文|译文|正文|.{0,6}(?:开头|结尾|片段|选段|节选)|(?:判断|提取|识别|标注).{1,6})$"
)
# A text of somebody's: "my essay", "my son's message", 我女儿的作文.
_OWNED = lazy_compile(
    r"(?i)\b(?:my|our|his|her|their)\s+(?:[\w-]+\s+){0,2}(?:(?:essay|(?:cover\s+)?letter|draft|poem|speech|paragraph|abstract"
    rf"|composition|homework)|[\w-]+['’]s\s+(?:[\w-]+\s+)?{_TEXT})\b.{{0,30}}$|\b(?:in|from|of|for)\s+(?:my|the|a|our|this)"
    r"\s+(?:\w+\s+){0,2}(?:novel|story|script|screenplay|comic|play|scene|campaign)\b.{0,60}$|\bback-?story\b.{0,20}$"
)
_OWNED_ZH = lazy_compile(
    r"(?:的|篇|首|封|段|份)(?:作文|日记|论文|稿子?|文章|诗|检讨书?|演讲稿|简历|信|邮件|短信|留言|歌词|台词|聊天记录|对话)"
    r".{0,10}$|(?:歌词|台词|原文|原话)(?:是|如下)?$|(?:小说|故事|剧本|漫画)[里中].{0,16}$|(?:主角|角色).{0,16}$"
)


_INTO = lazy_compile(r"(?i)^\W*(?:now\s+|and\s+)?(?:in|to|into)\s+(?P<language>\w+)(?:[\s,]+please)?$")


def is_work_on_text(lead: str, *, needs_pointer: bool = False) -> bool:
    """Whether the lead asks the assistant to translate, correct, sum up or judge a text."""
    if (into := _INTO.search(lead)) and into["language"].lower() in LANGUAGES:
        return not needs_pointer
    if _WORK.search(lead):
        return not needs_pointer or bool(_POINTS.search(lead) and _NAMES_TEXT.search(lead))
    if _OWN_WORK_ZH.search(lead) or not _WORK_ZH.search(lead):
        return False
    return not needs_pointer or bool(_POINTS_ZH.search(lead))


def names_text(lead: str) -> bool:
    """Whether the lead says that somebody's text, or a story's, follows."""
    return any(pattern.search(lead) for pattern in (_OWNED, _OWNED_ZH, _BARE, _BARE_ZH))


def points_at_text(lead: str) -> bool:
    """Whether the lead speaks of a text that is at hand: "I got this mail, is it real?"."""
    return bool(_THIS_TEXT.search(lead))


# Leads that report speech: the person's own, or another's.

VERBS = (
    r"(?:said|says|told|tells|wrote|writes|written|texted|texts|messaged|e-?mailed|mailed|replied|replies|answered"
    r"|answers|asked|asks|sent|sends|posted|posts|commented|shouted|yelled|whispered|states?|stated|reads|goes|quoted)"
)
_CLAUSE = lazy_compile(r"[^.!?;\n。！？；，,]*[,，:：\s]*$")
_OWN = lazy_compile(
    r"(?i)\b(?:I|we)(?:'(?:ve|d|m|ll))?(?:\s+[\w'-]+){0,2}?\s+"
    r"(?:say|tell|write|answer|reply|call|mean|ask|text|add|" + VERBS[3:] + r"\b"
)
_OWN_ZH = lazy_compile(
    r"我们?(?:刚才?|昨天|今天|已经|就|也|想|要|得|再|先|只|来|都|会|常|总|曾|跟着)*(?:[跟和对给向][^我，。！？\n]{1,6})?"
    r"(?:说|告诉|写|回|答|问|讲|补充|强调)[^我，。！？\n]{0,4}$"
)


def is_own_speech(before: str) -> bool:
    """Whether the clause that leads to a quotation says that the person spoke: `I told her "`, 我对他说「."""
    clause = _CLAUSE.search(before)
    words = clause.group().rstrip(" \t,，:：") if clause else ""
    return bool(_OWN.search(words) or _OWN_ZH.search(words))


_REPORT = lazy_compile(
    r"(?i)(?:(?<!\byour )(?<!\bmy )(?<!\bthe )(?<!\bour )(?<!\bse )(?<!\bof )\b"
    rf"{VERBS}(?:\s+(?:to\s+|at\s+)?(?:me|us|him|her|them|back|out|again|just\s+now|this(?:\s+\w+){{0,4}})){{0,2}}"
    r"|\b(?:used|likes?|loves?)\s+to\s+say|\bkeeps?\s+saying)\s*,?$"
)
_OTHER = lazy_compile(rf"(?i)\b(?:he|she|they|it|who|that|which)\s+(?:\w+\s+){{0,2}}{VERBS}\b[^,]*$")
_PERSON = lazy_compile(r"(?i)^(?:(?:as|like|and|so|but|or|well|ok|what|have)\s+)*(?:i|we|let|to|that)(?:'\w+)?\b")
_REPORT_ZH = lazy_compile(
    r"(?P<who>[^，,。！？\n]{1,16}?)(?:说|写|问|(?<!回)答|讲|喊|念|表示|提到|发来|来信)(?:道|过|了|的是|我)?[，,]?$"
)
_NOBODY_ZH = lazy_compile(
    r"^(?:我们?|咱们?)(?:[想要得再先就也只来都还刚才会常总]|补充|一直|经常)*(?:[跟和对给向].{1,6})?$"
    r"|(?:来|就是|比如|例如|比方|话|听|据|跟你|和你|对你|跟您|简单|总的|这么|那么|怎么|先|再|补充|直|实话|老实|顺便|应该|可以"
    r"|要|想|不得不|[听书])$"
)


def is_reported(lead: str) -> bool:
    """Whether the lead says that somebody else speaks or writes what follows: "my boss said", 老板说."""
    if _REPORT.search(lead):
        clause = lead.rpartition(",")[2].strip() or lead
        return bool(_OTHER.search(clause)) or not _PERSON.search(clause)
    report = _REPORT_ZH.search(lead)
    return report is not None and not _NOBODY_ZH.search(report["who"])
