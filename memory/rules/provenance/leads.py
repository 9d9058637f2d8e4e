"""Tells what a lead says: that work on a text is asked for, that a text is named, or that somebody speaks.

A lead is the clause before a colon, a dash, a line break or a quotation mark."""

from __future__ import annotations

import re

from muniment.memory.rules.language.english_words import LANGUAGES
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.signs import fold_text, has_sign, split_signs
from muniment.memory.rules.provenance.requests import POLITE, POLITE_ZH

# One of these stands in each lead that asks for work on a text, names one, or reports speech.
_SIGNS = (
    *sorted(LANGUAGES),
    *split_signs(
        "translat|proof|phras|reword|re-word|rewrit|re-writ|summari|polish|spell|transcri|this|these|"
        "following|below|grammar|wording|typo|punctuation|homework|composition|letter|resume|cv|"
        "abstract|code|json|csv|mail|messag|paragraph|sentence|text|essay|poem|lyrics|chat|thread|"
        "conversation|article|post|draft|speech|note|document|report|passage|sentiment|tone|tense|"
        "quote|dialog|excerpt|headline|chapter|sheet|repl|novel|story|script|screenplay|comic|play|"
        "scene|campaign|said|say|told|tell|wrote|writ|answer|ask|sent|send|comment|shout|yell|whisper|"
        "state|read|goes|译|总结|概括|润色|改|校对|纠正|病|缩写|扩写|语法|错别字|检查|看|分析|解释|整理|读|评价|打分|这|那|下|做成|转发|引用|例|造句|"
        "仿写|续写|原文|正文|开头|结尾|片段|选段|节选|判断|提取|识别|标注|作文|日记|论文|稿|文章|诗|检讨|简历|信|邮件|短信|留言|歌词|台词|聊天|对话|原话|小说|故事|"
        "剧本|漫画|主角|角色|说|写|问|答|讲|喊|念|表示|提到|发来"
    ),
)
_SIGN = lazy_compile("|".join(map(re.escape, _SIGNS)))


def may_lead(folded: str) -> bool:
    """Whether a lead may stand in a folded text."""
    return has_sign(folded, _SIGNS)


def may_be_lead(clause: str) -> bool:
    """Whether a clause may be a lead."""
    return _SIGN.search(fold_text(clause)) is not None


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
