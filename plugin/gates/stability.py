"""Whether what is said holds for good or for the moment, by its form: what it points at, for how long it says to hold,
and whether it tells how something was or how its speaker is."""

from __future__ import annotations

from muniment.memory.rules.extraction.work.chinese.parts import fill_classes as fill_chinese
from muniment.memory.rules.extraction.work.english.parts import IRREGULAR
from muniment.memory.rules.extraction.work.read import choose_language
from muniment.memory.rules.language.lazy_regex import join_alternatives, lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon

_READ_CHARS = 1_000  # of a sentence
# From when something holds: parts of patterns.
EVER = r"(?:from\s+(?:now|here|today)\s+on(?:wards?)?|going\s+forward|henceforth|in\s+(?:the\s+)?future)"
EVER_ZH = "(?:以后|今后|往后|从[^，,。\\s]{1,4}?(?:起|开始|以后|往后))"
# How long a wish holds, in so many words.
_STANDING = lazy_compile(
    rf"(?i)\b(?:always|never|generally|usually|normally|whenever|every\s+time|each\s+time|by\s+default|as\s+a\s+rule"
    rf"|{EVER}|any\s?more|in\s+general"
    r"|across\s+(?:all|the)|for\s+(?:all|every)|i\s+(?:prefer|like|hate|love|dislike|favou?r))\b"
    rf"|{EVER_ZH}|总是|一直|始终|一律|每次|每当|默认|一般|平时|永远|所有|我(?:更|比较)?(?:喜欢|偏好|讨厌|习惯)"
)
# What is at hand or passes: a pointer, an object that only the talk names, a time that ends, a degree beside what was.
_PASSING = lazy_compile(
    r"(?i)\b(?:this|these|that\s+one|today|tonight|right\s+now|for\s+now|for\s+the\s+moment|at\s+the\s+moment"
    r"|just\s+(?:this\s+)?once|only\s+(?:this\s+)?once|here|the\s+(?:above|following|last|latest|next|previous)\s+\w+"
    r"|(?:make|keep|do|write|say|put|give|try|explain|translate|rewrite|format)\s+(?:me\s+)?(?:it|that|them)"
    r"|(?:a\s+(?:bit|little)|slightly|even|much)\s+(?:more|less|\w+er)|(?:more|less)\s+\w+\s+(?:please|version)"
    r"|(?:short|long|simpl|brief|formal|clear|nic|cut)e?r)\b"
    r"|这(?:个|次|段|篇|条|里|回|一|封|句|份|些|边)|现在|今天|今晚|暂时|目前|刚才|上面|下面|[再更]?[\u3400-\u9fff](?:一点|一些|点儿)"
)

_BASE_FORMS = join_alternatives(load_lexicon("verbs.en").get_words("not_past"))
_BESIDE = r"(?:\s+(?:just|only|really|also|still|all|both|never|always|once|\w+ly))*"
# How the speaker is, how something was, and what somebody did. What became of a thing, such as `was renamed`, and what
# a team has done may well last.
_STATE = lazy_compile(
    r"(?i)^\W*(?:(?:and|but|so|well|oh|ok|yes|no|lol|haha|man|wow)\b\W*)*(?:"
    rf"i(?:'m|\s+am|{_BESIDE}\s+feel)\b|(?:i|we){_BESIDE}\s+(?:was|were|felt|had(?!\s+to\b))\b"
    rf"|(?:i|it|that|this|he|she|they){_BESIDE}\s+(?:(?!{_BASE_FORMS}\b)\w+ed|{IRREGULAR})\b"
    rf"|[^,;:]{{1,80}}?\s(?:was|were|wasn't|weren't)\b(?!{_BESIDE}\s+(?:not\s+)?(?:\w+ed|\w+en|made|built|set|put|cut|found)\b))"
)
# Of whom or of when a Chinese sentence is, where that stands first: of others, of an earlier time, of what may be.
_OTHERS_ZH = lazy_compile(r"^\W*(?:<others>)", fill=fill_chinese)


def is_momentary(sentence: str) -> bool:
    """Return whether a wish is for the moment: it points at something at hand or at a time that passes, and does not
    say that it holds for longer."""
    return _PASSING.search(sentence[:_READ_CHARS]) is not None and not is_standing(sentence)


def is_standing(sentence: str) -> bool:
    """Return whether a sentence says in so many words that it holds for longer."""
    return _STANDING.search(sentence[:_READ_CHARS]) is not None


def tells_state(sentence: str) -> bool:
    """Return whether a sentence lays nothing down: it tells how its speaker is, how something was or what somebody did,
    or is none that the engine's rules of work take for said, as what is asked, supposed, reported, wished or meant in
    jest."""
    read = sentence[:_READ_CHARS].replace("’", "'")
    is_unsaid = choose_language(read).not_said.search(read) or _OTHERS_ZH.search(read)
    return is_unsaid is not None or _STATE.search(read) is not None
