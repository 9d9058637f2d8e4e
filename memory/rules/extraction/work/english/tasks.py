"""The forms of English clauses that say what somebody has to do."""

from __future__ import annotations

from muniment.memory.rules.extraction.work.english.parts import ADVERBS, OBJECT, WORDS, make_sign

TASKS = (
    make_sign(
        "todo",
        rf"(?:[\w-]+\s+){{0,3}}?on\s+my\s+<list_place>(?:\s+for\s+[\w ]{{3,20}})?\s*[:,–—-]+\s+(?:to\s+)?{OBJECT}",
    ),
    make_sign(
        "todo",
        rf"(?P<who>i|we)(?:'ve\s+got|\s+have|\s+still\s+have){ADVERBS}\s+(?P<object>(?:an?|the|two|three"
        rf"|four|five|six|\d+|some|my|our|a\s+few|several)\s{WORDS}{{2,50}}?\s+to\s+(?:finish|write|send"
        r"|grade|review|read|file|submit|sign|fix|pay|return|deliver|prepare|mark|check|hand\s+in|fill\s+in"
        r"|answer|order|correct|do)\b.*)",
        "dated",
        "day",
        "term",
    ),
    make_sign(
        "todo",
        r"(?P<dropped>)<promised>\s+(?!myself)(?:[\w'-]+\s+){1,3}?(?:to\s+|(?:that\s+)?(?:i'd|we'd|i"
        rf"\s+would|i'll|we'll)\s+)(?!never\b|always\b){OBJECT}",
        "dated",
        "day",
        "term",
    ),
    make_sign(
        "todo",
        r"(?:(?:<list>)(?:\s+for\s+[\w ]{3,20})?\s*[:,–—-]+|my\s+(?:to-?do\s+list"
        rf"|list)\b{WORDS}{{0,40}}[:,–—-])\s+{OBJECT}",
    ),
    make_sign("todo", rf"(?:please\s+)?<remember>\s+(?:to\s+|about\s+|that\s+i\s+(?:have|need)\s+to\s+){OBJECT}"),
    make_sign("todo", rf"(?P<who>(?:i|we)(?:'ve|'m|'re)?){ADVERBS}\s+still{ADVERBS}\s+(?:<must>|owe)\s+{OBJECT}"),
    make_sign(
        "todo",
        rf"(?:(?P<who>(?:i|we|me\s+and\s+\w+)(?:'ve|'m|'re)?){ADVERBS}\s+|(?P<dropped>)(?:(?:<adverb>|\w+ly)"
        rf"\s+)*?)(?:<must>)(?:\s+|:\s+){OBJECT}",
        "dated",
        "day",
        "term",
    ),
    make_sign("todo", rf"(?P<dropped>)got\s+to\s+{OBJECT}", "dated", "day"),
    make_sign("todo", rf"(?P<who>i|we)'ve{ADVERBS}\s+got\s+to\s+{OBJECT}", "dated", "day", "term", "work"),
    make_sign(
        "todo",
        rf"(?P<who>i|we){ADVERBS}\s+owe\s+(?!my\b|it\b|everything|a\s+lot|so\b)(?:[\w'-]+\s+){{1,3}}?"
        r"(?P<object>(?:an?|the|two|three|some|my|our|those)\s+(?!lot|great|favou?r)\S.*)",
    ),
    make_sign(
        "todo",
        rf"(?P<who>i|we)(?:'ve)?{ADVERBS}\s+<promised>\s+(?!myself)(?:[\w'-]+\s+){{0,3}}?(?:to\s+|(?:that"
        rf"\s+)?(?:i'd|we'd|i\s+would|we\s+would|i'll|we'll)\s+)(?!never\b|always\b){OBJECT}",
        "dated",
        "day",
        "term",
        "work",
    ),
    make_sign(
        "todo",
        rf"(?P<topic>(?:the|our|my|that|this)\s{WORDS}{{2,60}}?)\s+(?:is|are)\s+(?:still\s+)?<mine>\b.*",
        "dated",
        "day",
        "term",
        is_whole=True,
    ),
    make_sign(
        "todo",
        rf"(?P<topic>(?:the|our|my|that|this)\s{WORDS}{{2,60}}?)\s+(?:is|are)\s+due\s+(?!in\b)\S.*",
        "dated",
        "day",
        is_whole=True,
    ),
    make_sign(
        "todo",
        rf"(?P<topic>(?:the|our|my|that|this)\s{WORDS}{{2,60}}?)\s+(?:still\s+)?(?:needs?|has|have|must)\s+"
        r"(?:to\s+)?(?:be\s+\w+|go\s+(?:out|back|to)|\w+ing)\b.*",
        "dated",
        is_whole=True,
    ),
    make_sign(
        "todo",
        r"(?P<who>i|we)'ll\s+(?P<object>(?:send|call|ring|email|finish|submit|file|post|return|order|book"
        r"|pay|write|fix|check|deliver|print|sign|draft|review)\s.*\b(?:by|before)\s.*)",
        "dated",
    ),
    make_sign(
        "todo",
        r"(?:tomorrow|tonight|today|on\s+\w+day|\w+day)(?:\s+(?:morning|afternoon|first\s+thing))?(?:"
        r"\s+first\s+thing)?\s*[:–—]\s+(?P<object>(?!i\b|we\b|the\b)\w+\s+\S.*)",
        "dated",
    ),
)
