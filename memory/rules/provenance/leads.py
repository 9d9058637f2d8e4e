"""Tells whether a clause asks for work on the text that follows it, or names that text, in English and Chinese."""

from __future__ import annotations

from muniment.memory.rules.language.english_words import LANGUAGES
from muniment.memory.rules.language.lazy_regex import lazy_compile

# How a request to an assistant begins.
POLITE = (
    r"(?:(?:ok(?:ay)?|so|hi|hey|hello|now|and|also|then|please|pls|plz|just|kindly|quick(?:ly)?|sorry|could|can|would|will"
    r"|you|u|help(?:\s+me)?(?:\s+to)?|me|maybe|let's|lets)[\s,]+){0,8}(?:i(?:'d|\s+would)?\s+(?:want|need|like)\s+(?:you|help)\s+(?:to\s+)?)?"
)
POLITE_ZH = (
    r"(?:请|麻烦|能不能|可不可以|可以|能|你|您|帮忙?|替|给|为|我想让|我要|我想|需要|再|来|先|把|将|一下|我|[，,])*"
)
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
