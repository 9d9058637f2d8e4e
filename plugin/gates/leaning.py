"""How much a message leans on what was said before it, by its form, in words that it shares with it without saying so.

A form that needs something before it (a connective, a pronoun, a change of what is there, a part of it) weighs for the
topic; a marker of discourse that turns away, and a question that is whole in itself, weigh against it."""

from __future__ import annotations

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.tokens import extract_lexemes, has_cjk
from muniment.plugin.gates.word_weights import weigh_lexemes

_READ_CHARS = 200  # the beginning of a message shows it
_ANTECEDENT = 3  # lexemes before a pronoun that may be what it stands for
_SHORT_ZH = 6  # characters of a remark that says little by itself
_BASE = 2.5  # a message without any sign belongs to the topic when it has so few words of its own
_LEANS, _PARTLY, _SLIGHTLY, _AWAY, _WHOLE = 6.0, 3.0, 1.5, -4.0, -1.5

_OPENING = (
    r"(?i)^\W*(?:(?:hm+|oh|ok|okay|yes|no|well|wait|ah|great|cool|nice|thanks|perfect|good|alright|right|so|and|hey)"
    r"[\s,.!-]+){0,4}"
)
# Markers of discourse that turn to something else.
_SHIFTS = lazy_compile(
    _OPENING + r"(?:by\s+the\s+way|btw|unrelated"
    r"|off[\s-]topic|separately|before\s+i\s+forget|switching|changing|moving\s+on|anyway"
    r"|speaking\s+of|let's\s+(?:switch|move|turn|talk)|ps\b"
    r"|(?:on|in)\s+(?:a|an)(?:nother|other)?\s+(?:\w+\s+)?(?:note|topic|subject)"
    r"|(?:a\s+)?(?:completely\s+|totally\s+|very\s+)?(?:different|another|one\s+more|one\s+other|other|new|separate|next)"
    r"\s+(?:question|topic|thing|task|subject|matter|issue)|something\s+(?:else|different)|now\s+(?:let's|lets|for|to|the|i|we|on|my"
    r"|our)\b|next(?:\s+up)?\s*[,:]|(?:could|can|would)\s+you\s+also|also,?\s+(?:can|could|would|please|i|help|do)\b"
    r"|i\s+also\s+(?:need|want|have)|quick\s+question|remind\s+me)|\b(?:about|do)\s+something\s+(?:else|different)\b"
    r"|^[\W好嗯哦行谢谢的]*(?:对了|另外|换个|顺便|话说|说起来|插一句"
    r"|题外话|还有一?(?:个|件)|另一(?:个|件)|接下来|下一个|再问一?个|突然想|问个别的)"
)
# A connective at the beginning, a comparative alone, or a question without its subject.
_CONNECTS = lazy_compile(
    _OPENING + r"(?:and|or|but|because|then|plus|except"
    r"|without|instead|not|only|why\W*$|which\s+(?:one|of)|what\s+(?:about|if|else)"
    r"|how\s+about|how\s+so|same|even|still|too|more|less|fewer|with|in\s+\w+(?:\s+please)?\W*$|(?:\w{3,}er)\b(?=\W*$|,|\s+please))\b"
    r"|^\W*(?:或者?|还是|那(?!天)|而且|但是?|可是|不过|所以|因为|然后|再|也|还|就|又|要不|如果|太|更|不|没有?(?!个)|最后|具体"
    r"|会不会|是不是|要不要|有没有|行不行|对不对|为什么\W*$|(?:能不能|可不可以)(?!帮))|[这那]样(?:吗|呢|么|行|可以)"
)
_PRONOUN = lazy_compile(
    r"(?i)\b(?:(?<!\bis\s)(?<!\bwas\s)it|its|it's|they|they're|them|their|those|these|this|he|him|his|she|her|ones?|both|either|neither|another|else"
    r"|that(?=\s*(?:$|[?,.!]|'s|is|was|one|day|way|too|\w+\s*[?.!,]?$)))\b|^that\b"
    r"|[它他她]|这(?!周|个?月|几天|两天)|(?<!的)那(?:个|些|样|边|里|种|么|段|次)|其中|前者|后者|上面|刚才|该(?=[\u3400-\u9fff]{2})"
)
_INTRODUCES = lazy_compile(r"(?i)\b(?:an?|my|our|some|there's)\s+\w")  # what a pronoun behind it may stand for
# A change of what is there, and a part, a degree or a form of it.
_EDITS = lazy_compile(
    _OPENING + r"(?:(?:please|can|could|you|we|now|just|i)\s+){0,3}"
    r"(?:add(?:ed)?|remove[d]?|change[d]?|replace[d]?|swap(?:ped)?|drop|include"
    r"|expand|shorten|expose|revert|undo|redo|rename|reword|rephrase|invert|increase|decrease|reduce|tweak|adjust|merge|split"
    r"|cut|keep|try|tried|skip|swap|make|give\s+(?:me\s+)?an?\s+\w+|show\s+me)\b"
    r"|^\W*(?:请|把|帮我把|都)*(?:加|改|换|去掉|删|调|缩短|简化|扩写|保留|举|减|增|语气|用(?!户)|倒|试)"
    r"|把.{1,12}(?:改|换|去掉|删|调|放|移|写)|(?:换|改)(?:成|为)"
)
_PARTS = lazy_compile(
    r"(?i)\b(?:versions?|examples?|parts?|bits?|steps?|lines?|sentences?|paragraphs?|sections?|options?|endings?|words|rows?|columns?"
    r"|diff|output|results?|whole|rest|rather|instead|the\s+(?:first|second|third|last)(?!\s+(?:time|week|month|year|quarter))|there(?!\s+(?:is|are|was|were)\b)|still"
    r"|(?:too|as\s+well|either|automatically|max|instead|yet)\W*$)\b"
    r"|第[一二三四五六七八九十\d]+|例子|部分|区别|呢\W*$|太.{1,6}了|一?(?:点|些)儿?\W*$|[再更].{0,8}(?:点|些)|还是"
)
# Somebody tells something of themselves, and asks for nothing.
_TELLS = lazy_compile(
    _OPENING
    + r"(?:i|we)(?:'d|'ve|'m|'re)?\s+(?!need|want|have\s+to|would\s+like|'d\s+like|like\s+to|must|should|wonder)\w+"
)
_SUBJECTLESS_ZH = lazy_compile(r"^\W*(?:会|能|要|可以|可|需要|有|是|跟|和|与|比|用|给我|在|按|对|从|多|几|哪)")
# A question or an order that names all that it is about.
_WHOLE_QUESTION = lazy_compile(
    _OPENING + r"(?:(?:what(?:'s|\s+(?:is|are|was))|how\s+(?:do|does|did|can)|why\s+(?:do|does|did|is|are)|who|where)\b"
    r"|(?:can|could|would|please|help)?\s*(?:you|me)?\s*(?:write|draft|create|build|plan|summari[sz]e|prepare|proofread|translate|find"
    r"|book|explain|set\s+up|design|look\s+over)\b)"
    r"|^\W*(?:请|帮我|给(?!我)|我想|我要|麻烦|怎么|怎样|如何)|[这下上](?:周|个?月)|明天|今晚|周末"
)
_SIGNS = ((_CONNECTS, _LEANS), (_EDITS, _PARTLY), (_TELLS, _SLIGHTLY))


def weigh_leaning(text: str) -> float:
    """Return how many words a message shares with those before it by its form alone; at least 0.1."""
    head = text[:_READ_CHARS].strip().replace("’", "'")
    if _SHIFTS.search(head):
        return max(0.1, _BASE + _AWAY)
    weight = _BASE + sum(each for pattern, each in _SIGNS if pattern.search(head))
    is_whole = _WHOLE_QUESTION.search(head) and weigh_lexemes(frozenset(extract_lexemes(head))) > 1
    weight += _WHOLE if is_whole else _PARTLY * bool(_PARTS.search(head))
    if (pronoun := _PRONOUN.search(head)) and _is_open(head[: pronoun.start()]):
        weight += _LEANS
    if has_cjk(head) and (len(head) <= _SHORT_ZH or _SUBJECTLESS_ZH.search(head)):
        weight += _SLIGHTLY
    return max(0.1, weight)


def _is_open(before: str) -> bool:
    """Whether too little stands before a pronoun, and nothing that is introduced there, for it to mean something of its
    own message."""
    return not _INTRODUCES.search(before) and weigh_lexemes(frozenset(extract_lexemes(before))) <= _ANTECEDENT
