"""Things of one kind that differ by their numbers: invoice 12 is not invoice 13, and chapter 3 is not chapter 4."""

from __future__ import annotations

import re

from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.statements.parse import ParsedStatement

# A number between the first noun and a verb or a colon is a name and not an amount.
_LEADING = lazy_compile(
    r"(?:(?:the|my|our|his|her|their|[\w-]+['’]s) )*"
    r"(?!(?:in|on|at|since|until|by|before|after|all|another|first|last|next|may|june?|july?|(?:jan|feb|mar|apr"
    r"|aug|sep|oct|nov|dec)\w*|\w+day) )"
    r"(?P<what>[^\W\d_]+) ?(?:no\.? |number |nr\.? |#)?(?P<which>[a-z]*-?\d+[a-z]?(?: of \d+)?)"
    r"(?::(?!\S)| (?=(?:is|was|has|had|will|can|needs?|must|should|does|did|went|came|broke|fell|got|lies|starts"
    r"|ends|[a-z]+ed"
    # A verb that ends in s, and not a plural.
    r"|(?:explain|describe|contain|belong|arrive|leave|depart|open|close|begin|run|serve|listen|meet|take|give"
    r"|go(?=e)|cover|teach(?=e)|deal|fit"
    r"|hold|keep|send|get|come|connect|include|provide|require|expire|depend|lead|lose|say|tell|want|make|bring"
    r"|sit|stop)e?s)\b))"
)
_LEADING_ZH = lazy_compile(r"第?(?P<which>\d+)(?P<what>[章节集期页层栋室]|[号日](?=[房楼线门仓库床桌院馆机站]))")
# The object of an action is one of many. A place or a thing in progress is one at a time, and a model that somebody has
# (`an iPhone 13`) is replaced by the next.
_OBJECT = lazy_compile(
    r"(?<!\bin )(?<!\bon )(?<!\bat )(?<!\bto )(?<!\binto )(?<!\bfrom )(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bwere )"
    r"(?<!\ban )(?<!\ba )(?<!\bin the )(?<!\bon the )(?<!\bat the )(?<!\bto the )(?<!\bis the )(?<!\bwas the )"
    r"\b(?P<what>chapter|episode|season|volume|part|certificate|invoice|receipt|ticket|order|module|lesson|lecture"
    r"|unit|level|grade|stage|phase|step|round|match|game"
    r"|race|marathon|leg|lap|exam|test|quiz|exercise|assignment|task|issue|report|session|draft|letter|payment"
    r"|instal?lment|dose|flight|room|week)"
    r" (?:no\.? ?|number |nr\.? ?|# ?)?#?(?P<which>\d+|one|two|three|four|five|six|seven|eight|nine|ten)"
    r"(?=$|[,;)]|\.(?!\d)| (?:of|in|on|at|for|from|to|with|by|and|about|before|after|again|already|yesterday|today"
    r"|last)\b)"
)
_ONGOING = lazy_compile(r"\b(?:is|are|was|were|am) (?:\w+ )?\w+ing\b")
_OBJECT_ZH = lazy_compile(
    r"[了完过][^，。]{0,8}?(?P<which>第[\d一二三四五六七八九十百]+(?=[章节集期页课回季卷册部话关级轮场])"
    r"|\d+(?=[日号](?:发票|订单|合同|车票|机票)))"
    r"[日号]?(?P<what>[章节集期页课回季卷册部话关级轮场]|发票|订单|合同|车票|机票)"
)


def has_other_number(new: ParsedStatement, old: ParsedStatement) -> bool:
    """Whether two statements are about things of one kind with different numbers.

    A statement that reports a change may replace one number by another, so only a number at the start counts."""
    chinese = tokens.has_cjk(new.text)
    leading = _LEADING_ZH if chinese else _LEADING
    if (first := leading.match(new.text)) and _has_other_figure(first, leading.match(old.text)):
        return True
    inner = (_OBJECT_ZH if chinese else _OBJECT).search
    # Most statements name nothing by its number, and are not searched further.
    if new.is_correction or new.retracted_words or (found := inner(new.text)) is None:
        return False
    return not any(_ONGOING.search(each.text) for each in (new, old)) and _has_other_figure(found, inner(old.text))


def _has_other_figure(a: re.Match[str], b: re.Match[str] | None) -> bool:
    """Whether two things are of one kind and have different numbers."""
    return b is not None and a["what"] == b["what"] and a["which"] != b["which"]
