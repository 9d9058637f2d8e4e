"""Whether a message leans on what was said before it, or says that it turns to something else, by its form."""

from __future__ import annotations

from typing import Literal, TypeAlias

from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.tokens import extract_lexemes, has_cjk

Leaning: TypeAlias = Literal["leans", "open", "shifts"]
_READ_CHARS = 200  # the beginning of a message shows it
_ANTECEDENT = 3  # lexemes before a pronoun that may be what it stands for
_SHORT_ZH = 4  # characters of a remark that says nothing by itself

# A marker of discourse at the beginning.
_SHIFTS = lazy_compile(
    r"(?i)^\W*(?:(?:ok|okay|oh|hey|great|thanks|cool|nice|good|perfect|and|so|alright|right|well)[\s,.!-]+){0,4}(?:by\s+the\s+way"
    r"|btw|unrelated|off[\s-]topic|separately|before\s+i\s+forget|switching|changing|moving\s+on|anyway|speaking\s+of"
    r"|(?:on|in)\s+(?:a|an)(?:nother|other)?\s+(?:\w+\s+)?(?:note|topic|subject)|on\s+another\s+(?:note|topic|subject)"
    r"|(?:a\s+)?(?:completely\s+|totally\s+)?(?:different|another|one\s+more|one\s+other|other|new|separate)\s+(?:question|topic|thing"
    r"|task|subject|matter|issue)|now\s+(?:let's|lets|for|to|the|i|we|on)\b|next(?:\s+up)?\s*[,:]|also,?\s+(?:can|could|would|please"
    r"|i|help|do)\b|i\s+also\s+(?:need|want|have)|quick\s+question)"
    r"|^[\W好嗯哦行]*(?:对了|另外|换个|顺便|话说|说起来|插一句|题外话|还有一?(?:个|件)|另一(?:个|件)|接下来|下一个|再问一?个|突然想)"
    r"|^\W*(?:btw|ps)\b"
)
# What needs something before it: a connective, a pronoun, a degree, a question without its subject.
_CONNECTS = lazy_compile(
    r"(?i)^\W*(?:(?:hm+|oh|ok|okay|yes|no|well|wait|ah)[\s,.!]+)*(?:and|or|but|so|because|then|plus|except|without|instead|not|only"
    r"|why|which\s+one|what\s+about|how\s+about|what\s+if|same|even|still|too|more|less|fewer|make|with)\b"
    r"|^\W*(?:或者?|还是|那(?!天)|而且|但是?|可是|不过|所以|因为|然后|再|也|还|就|又|要不|换成|改成|加上|去掉|为什么|如果|太|更|不|没"
    r"|会不会|是不是|要不要|有没有|行不行|对不对|(?:能不能|可不可以)(?!帮))"
)
_PRONOUN = lazy_compile(
    r"(?i)\b(?:it|its|it's|they|they're|them|their|those|these|this|he|him|his|she|her|ones?|both|either|neither|another|else"
    r"|that(?=\s*(?:$|[?,.!]|'s|is|was|one|day|way|too|\w+\s*[?.!,]?$)))\b|(?<=^)that\b"
    r"|[它他她]|这|那(?:个|些|样|边|里|种|么|段|次)|其中|前者|后者|上面|刚才|该(?=[\u3400-\u9fff]{2})"
)
_DEGREE_ZH = lazy_compile(r"呢\W*$|太.{1,6}了|[一]?(?:点|些)儿?\W*$|[再更].{0,8}(?:点|些)")


def find_leaning(text: str) -> Leaning:
    """Return how a message stands to those before it: it leans on them, leaves them, or shows neither."""
    head = text[:_READ_CHARS].strip().replace("’", "'")
    if _SHIFTS.search(head):
        return "shifts"
    if _CONNECTS.search(head) or ((pronoun := _PRONOUN.search(head)) and _is_open(head[: pronoun.start()])):
        return "leans"
    is_short = has_cjk(head) and len(head) <= _SHORT_ZH
    return "leans" if is_short or _DEGREE_ZH.search(head) else "open"


def _is_open(before: str) -> bool:
    """Whether too little stands before a pronoun for it to mean something of its own message."""
    return len(set(extract_lexemes(before))) <= _ANTECEDENT
