"""The forms of English clauses that say what somebody decided."""

from __future__ import annotations

from muniment.memory.rules.extraction.work.english.parts import (
    ADVERBS,
    GROUP,
    OBJECT,
    WHO,
    WHO_OR_NONE,
    WORDS,
    make_sign,
)

DECISIONS = (
    make_sign("decision", rf"{WHO_OR_NONE}(?P<act><decided>(?:\s+not(?:\s+to)?)?)(?![\w-])[\s,:]+(?:that\s+)?{OBJECT}"),
    make_sign(
        "decision",
        rf"(?:it was|it's been|it has been|it is|it's){ADVERBS}\s+(?:decided|agreed|settled)\s+(?:that\s+|to"
        rf"\s+|on\s+)?{OBJECT}",
    ),
    make_sign(
        "decision",
        rf"{WHO_OR_NONE}<chose>(?![\w-])\s+(?!up\b|off\b|my\b|over\b|part\b){OBJECT}",
        "closure",
        "contrast",
    ),
    make_sign(
        "decision",
        rf"{WHO_OR_NONE}(?:chose|chosen|picked|selected|booked)\s+(?:the|our|a)\s+[\w -]{{2,30}}:\s+{OBJECT}",
    ),
    make_sign("decision", rf"(?P<who><self>)(?:'ll|\s+will){ADVERBS}\s+(?P<object>\w+\s+\S.*)", "force"),
    make_sign("decision", rf"{WHO}<adopted>(?![\w-])\s+(?!up\b|off\b){OBJECT}", "work"),
    make_sign(
        "decision",
        rf"(?P<who><self>)(?:'re|'m|'ll\s+be|\s+are|\s+am|\s+will\s+be){ADVERBS}\s+<staying>"
        rf"\s+(?!my\s+\w+$|him\b|her\b|them\b|you\b|friends\b|my\b|it\b){OBJECT}",
    ),
    make_sign(
        "decision",
        rf"(?P<who><self>|{GROUP})(?:'re|'m|'ll\s+be|\s+are|\s+am|\s+is|\s+will\s+be){ADVERBS}\s+"
        r"(?P<object><planning>\s+\S.*)",
        "force",
    ),
    make_sign(
        "decision",
        r"(?:the|our|my|(?:the\s+)?(?:team|board)'s)\s+(?:final\s+|joint\s+|last\s+)?(?:decision|verdict"
        r"|choice|call|conclusion)\s+(?:is|was|fell\s+on|went\s+to)\s+(?:that\s+|to\s+|for\s+|against"
        rf"\s+)?{OBJECT}",
    ),
    make_sign(
        "decision",
        rf"(?:the\s+|our\s+|my\s+)?<outcome>(?:\s+(?:of|on|for|from)\s{WORDS}{{2,50}}?)?\s*(?:\s(?:is|was)"
        rf"(?:\s+that)?|:|,)\s+{OBJECT}",
        "who",
        "closure",
        "colon",
    ),
    make_sign(
        "decision",
        rf"(?P<who><self>)(?:'re|'m|\s+are|\s+am){ADVERBS}\s+(?P<object><ending>\s+(?!my\s+\w+\s+(?:off"
        r"|at)\b)\S.*)",
    ),
    make_sign(
        "decision",
        rf"(?P<who><self>)(?:'ll|\s+will){ADVERBS}\s+(?:stay|stick|keep|go|carry\s+on|continue)\s+with\s+"
        rf"(?!my\b|you\b|him\b|her\b|them\b){OBJECT}",
    ),
    make_sign(
        "decision",
        rf"(?P<who><self>){ADVERBS}\s+(?:took|kept|booked|hired|bought|ordered|extended|extend|signed)\s+{OBJECT}",
        "deliberation",
    ),
    make_sign(
        "decision",
        rf"(?P<topic>(?:the|our|my)\s+(?:new\s+|next\s+)?[\w-]+(?:\s+[\w-]+)?)\s+(?:is|will\s+be)\s+{OBJECT}",
        "vote",
    ),
    make_sign("decision", rf"(?:final\s+)?(?:decision|verdict)(?:\s+of\s+[\w ]{{2,30}})?\s*:\s+{OBJECT}"),
    make_sign("decision", r"(?P<object><drop>\s+(?:the|that|our|my)\s+(?:[\w'-]+\s+){0,3}<plan>\b.*)"),
    make_sign(
        "decision",
        rf"(?P<topic>(?:the|our|my)\s{WORDS}{{2,60}}?)\s+(?:is|are|was|were|has\s+been|have\s+been)\s+(?:now"
        r"\s+|officially\s+|finally\s+)?(?:decided|agreed|off\s+the\s+table)(?:\s+on)?[,:;.\s]*"
        r"(?P<object>.*)",
    ),
    make_sign(
        "decision",
        rf"(?P<object>(?:<self>|our|my|the)\b{WORDS}{{3,120}}?),\s+(?:and\s+|so\s+)?(?:that|this|it)(?:'s|\s+is)"
        r"\s+(?:now\s+)?(?:final|settled|decided|agreed)\b",
    ),
    make_sign(
        "decision",
        r"(?:from\s+now\s+on|going\s+forward|from\s+(?:today|tomorrow|monday|next\s+\w+)\s+on|as\s+of\s+"
        r"(?:today|tomorrow|monday|next\s+\w+)),?\s+(?:we|i|everyone)\s+(?P<object>(?:will\s+)?<adopt>"
        r"\s+\S.*)",
    ),
)
