"""Finds what an announcement introduces: "here is the mail I got:", "translate to French:", "my daughter wrote:".

An announcement names a document, reports another's speech, or asks for work on a text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.signs import SignedPattern, fold_text
from muniment.memory.rules.provenance import leads
from muniment.memory.rules.provenance.requests import find_last_instruction, starts_with_instruction

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
_WORK_SIGNS = "translate|proofread|rephrase|paraphrase|summari"
_NOUN_SIGNS = (
    "mail|message|page|article|doc|text|letter|post|file|readme|transcript|log|output|result|site|"
    "review|comment|snippet|excerpt|ticket|invoice|attachment|pdf|thread|lyrics|essay|poem|"
    "paragraph|sentence|screenshot"
)
_ANNOUNCED = (
    SignedPattern(
        lazy_compile(
            r"(?i)\b(?:the|this|that|an?|following|below|his|her|their|from|in|copied|pasted|forwarded)\s+(?:[\w'-]+\s+"
            r"){0,3}" + _NOUN + r"\b[^\n:.!?]{0,60}:(?=\s)"
        ),
        _NOUN_SIGNS,
    ),
    SignedPattern(
        lazy_compile(
            r"(?i)(?<!\bI )(?<!\bI just )\b(?:wrote|writes|texted|messaged|e-?mailed|mailed|replied|sent)\b(?:\s+(?:me"
            r"|us|to\s+me|back|this|just\s+now)){0,2}\s*:(?=\s)"
        ),
        "wrote|writes|texted|messaged|mailed|replied|sent",
    ),
    SignedPattern(
        lazy_compile(
            r"(?i)\b(?:here(?:'?s|\s+is|\s+are)|this|following|below|copied|pasted|forwarded)\s+(?:[\w'-]+\s+){0,4}(?:chat"
            r"|conversation|dialog(?:ue)?|song|verse|story|speech|quote|passage|draft|report)\b[^\n:.!?]{0,60}:(?=\s)"
        ),
        "chat|conversation|dialog|song|verse|story|speech|quote|passage|draft|report",
    ),
    SignedPattern(
        lazy_compile(
            r"(?i)\b(?:this|following|below)\s+(?:[\w'-]+\s+){0,2}(?:poem|story|song|lyrics|essay|"
            + _NOUN
            + r")\b[^\n:.!?]{0,30}\n"
        ),
        "this |following |below ",
    ),
    SignedPattern(
        lazy_compile(
            r"(?i)(?<!\bI )(?<!\bto )\b(?:translate|proofread|rephrase|paraphrase|summari[sz]e)\b[^\n:：.!?]{0,40}"
            r"[:：](?=\s)"
        ),
        _WORK_SIGNS,
    ),
    SignedPattern(
        lazy_compile(
            r"(?:发来|写道|来信|转来|发给我|留言)[^\n：:。，]{0,6}[：:]|请?(?:翻译|总结|概括|润色|改写)(?:一?下)?[：:]"
        ),
        "发来|写道|来信|转来|发给我|留言|翻译|总结|概括|润色|改写",
    ),
    SignedPattern(
        lazy_compile(r"(?i)^[^\w\n]*(?:fwd?|forwarded|pasted|copied|quote)\b[^\n:]{0,40}:(?=\s)", re.MULTILINE),
        "fw|forwarded|pasted|copied|quote",
    ),
    SignedPattern(
        lazy_compile(
            r"(?:以下|下面|如下|这|那|转发|粘贴|收到)[^\n：:。]{0,20}(?:邮件|网页|文章|文档|内容|消息|短信|页面|原文|资料"
            r"|信|帖子|评论|公告|通知|文本|日志|结果|网站|聊天|对话|歌词|作文|日记|句子)[^\n：:。]{0,12}[：:]"
        ),
        "以下|下面|如下|这|那|转发|粘贴|收到",
    ),
    SignedPattern(
        lazy_compile(
            r"(?:邮件|网页|文章|文档|页面|原文|公告|通知|网站|短信|帖子)(?:里面?|中|上面?|内容)?(?:写着?|写道|说|提到|如下"
            r"|是)[^\n：:。]{0,6}[：:]"
        ),
        "邮件|网页|文章|文档|页面|原文|公告|通知|网站|短信|帖子",
    ),
)
# Announcements without a colon or a line break.
_LOOSE = (
    SignedPattern(
        lazy_compile(
            r"(?i)(?<!\bI )\b(?:translate|proofread|rephrase|paraphrase|summari[sz]e)\s+(?:this|it|the\s+following)\b"
            r"[^\n:.!?]{0,30}[.?!](?=\s)"
        ),
        _WORK_SIGNS,
    ),
    SignedPattern(
        lazy_compile(r"(?:这段|下面这?段?|以下)(?:话|文字|文本)[ \t\n，,：:]"),
        "这段|下面|以下",
    ),
)
# "Summarise this supplier sheet:" and a line break announce a document.
_HANDED_OVER = SignedPattern(
    lazy_compile(
        r"(?i)(?:\b(?:summari[sz]e|translate|review|check|explain|proofread|rewrite|look\s+at|what\s+do\s+you\s+(?:make"
        r"|think)\s+of|draft|reply\s+to|answer)\b|总结|概括|翻译|看看|看一下|分析|解释|检查|润色|改写|改一下"
        r"|回复)[^\n:：]{0,60}[:：][ \t]*\n"
    ),
    "summari|translate|review|check|explain|proofread|rewrite|look at|what do you|draft|reply to|"
    "answer|总结|概括|翻译|看看|看一下|分析|解释|检查|润色|改写|改一下|回复",
)
# "I got the results back: all is well" announces the person's own words if one line follows.
_OUTCOME = lazy_compile(
    r"(?i)\b(?:results?|outputs?|invoices?|files?|tickets?|logs?)\b[^\n:]{0,60}:|结果[^\n：:]{0,12}[：:]"
)


def find_announced_spans(text: str, delimited: list[tuple[int, int]], open_from: int) -> Iterator[tuple[int, int]]:
    """The spans after announcements, up to the end of a delimited text or of the whole text.

    From `open_from` on all is quoted anyway: what would begin after it is not looked for."""
    ends = _DelimitedEnds(text, sorted(delimited))
    folded = fold_text(text)
    remarks = _RemarkChecker(text)
    has_break = any(mark in text for mark in ":：\n")
    for pattern in (*_LOOSE, *_ANNOUNCED, _HANDED_OVER) if has_break else _LOOSE:
        for announcement in pattern.find_matches(text, folded):
            start = _skip_space(text, announcement.end())
            if start > open_from or (
                _OUTCOME.search(announcement.group()) and remarks.has_remark(announcement.end(), start)
            ):
                continue
            end = ends.find_end(start, is_speech=leads.is_reported(announcement.group().rstrip(" :：")))
            if end <= start:
                end, open_from = len(text), start
            yield start, end
    if leads.may_lead(folded):
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
        if not lead or kind == "end" or boundary.start() < covered or not leads.may_be_lead(lead):
            continue
        is_speech = kind in ("colon", "quote") and leads.is_reported(lead)
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
        return leads.is_work_on_text(lead) or leads.names_text(lead)
    if kind in ("line", "asked"):
        return leads.is_work_on_text(lead, needs_pointer=True) or (is_paragraph and leads.points_at_text(lead))
    return leads.is_work_on_text(lead)


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
