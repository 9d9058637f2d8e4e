"""What a sentence asks to forget, and which memories are meant by it: English and Chinese, precision before recall."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set as AbstractSet
from dataclasses import replace
from shlex import quote

from muniment.memory.domain.memory import Memory
from muniment.memory.domain.turn import Wish
from muniment.memory.rules.language import chinese_words, english_words, tokens as words
from muniment.memory.rules.language.lazy_regex import late
from muniment.memory.rules.statements import attributes
from muniment.memory.rules.statements.parse import read
from muniment.memory.rules.statements.people import of_two_people

POLITE = r"^[\s,]*(?:(?:and|but|so|also|oh|ok|okay|well|hey|hi|hello|actually|btw|yes|no|now|please|kindly|just|can you|could you|will you|would you|i want you to|i need you to|i'd like you to|you should|you can|you must|always)[\s,]+)*"
_FORGET = late(
    POLITE
    + r"(?:forget|stop\s+remembering|don't\s+remember|do\s+not\s+remember|don't\s+save|do\s+not\s+save|don't\s+store|(?:delete|erase|remove|clear|drop)\s+(?:the\s+)?(?:memory|memories|note|notes|fact|information|everything|all|what)"
    r"(?:\s+(?:you\s+(?:know|have|remember|saved|stored)|i\s+(?:said|told\s+you)))?(?:\s+about)?)\s+(?:(?:about|that|everything|all|anything|the\s+fact|what\s+(?:i\s+said|i\s+told\s+you|you\s+know)|the\s+thing|of)\s+)*(?P<inner>\S.*)$",
    re.IGNORECASE | re.DOTALL,
)
_IDLE_FORGET = late(
    r"(?:it|that|this|them|me|him|her|you|to\b.*|about\s+(?:it|that)|the\s+(?:rest|past|haters)|all\s+(?:that|this)|everything|how\b.*|what\b.*|where\b.*|when\b.*|why\b.*|if\b.*|last\s+\w+|never\s*mind|i\s+(?:just\s+|ever\s+)?(?:said|asked|mentioned)\b.*)(?:[\s,]+(?:thanks|thank\s+you|please|ok|okay|then|now))*\W*$",
    re.IGNORECASE,
)
_FORGET_ZH = late(
    r"^[\s，,]*(?:请|麻烦|帮我|我(?:想|要|希望)(?:让|请|叫)?你|你|把)*(?:忘掉|忘记|忘了|别记住?|不要记住?|不用记住?|别再记|删掉|删除|清除|抹掉)(?:了|关于|有关|我说的|我说过的|你记得的|：|:|，|,|\s)*(?P<inner>\S.*)$|^[\s，,]*(?:请|麻烦|帮我|你)*把(?P<moved>.{1,60}?)(?:忘掉|忘了|删掉|删除|抹掉)(?:吧|了)?[。.！!]*$",
    re.DOTALL,
)
_IDLE_FORGET_ZH = late(r"(?:它|这个|那个|这些|吧|这件事|他|她|我|一切|什么.*)[吧了。.！!]*$")
_EVERYTHING = late(
    POLITE
    + r"(?:(?:forget|stop\s+remembering)\s+(?:about\s+)?(?:(?:absolutely\s+)?(?:everything|all|anything)(?:\s+of\s+it)?|it\s+all|me)"
    r"|(?:delete|erase|remove|clear|wipe|forget)\s+(?:(?:everything|all|anything)(?=\s+(?:that\s+)?(?:you|about\s+me|i\s))|what(?=\s+you\s)|(?:all\s+(?:of\s+)?)?(?:your|my)\s+(?:(?:whole|entire)\s+)?(?:memory|memories|data)))"
    r"(?:\s+(?:that\s+)?you(?:'ve|\s+have)?\s+(?:ever\s+)?(?:know|knew|have|remember(?:ed)?|saved|stored|learn(?:ed|t)))?"
    r"(?:\s+(?:that\s+)?i(?:'ve|\s+have)?\s+(?:ever\s+)?(?:said|told\s+you))?(?:\s+(?:about|of|on)\s+me)?",
    re.IGNORECASE,
)
_EVERYTHING_ZH = late(
    r"(?:关于|有关)?(?:(?:我的?)?(?:一切|(?:所有|全部)的?(?:事情?|信息|记忆|内容|东西|资料|数据|记录)?)|我|[你我]的(?:全部|所有)?记忆)(?:都|全都|全部|统统)*"
)
_THANKS = late(
    r"(?:[\s,]+(?:please|thanks|thank\s+you|ok|okay|for\s+me|completely|entirely|again|from\s+now\s+on))+$",
    re.IGNORECASE,
)
_LONGEST = 600  # characters of a sentence; a longer one tells more than what is to be forgotten
_ENDS = " .,!?。，！？"
_TAIL = late(r"\s*[,;:(–—].*|\s+-\s.*", re.DOTALL)
_ASIDE = late(
    r"\s*[,;:–—-]\s*(?:and\s+)?(?:let's|let\s+us|i|i'm|we|we'll|you|it|it's|that's|what|how|just|there|this)\b",
    re.IGNORECASE,
)
_ASKING = late(r"(?:how|what|where|when|why)\b", re.IGNORECASE)
_FIRST = late(r"\b(?:i|i'm|i've|im|my|our)\b", re.IGNORECASE)
_BEGGED = late(r"\b(?:can|could)\s+you\b|\bplease\b", re.IGNORECASE)
_UNSURE = late(r"\b(?:don't|do\s+not)\s+remember\b", re.IGNORECASE)  # who says so may have forgotten it
# Whoever works on a text or a folder has other things deleted than what is remembered.
_OTHER_THINGS = late(
    r"(?!.*\b(?:about|you|i|that|memor(?:y|ies)|the\s+fact)\b).*\b(?:delete|erase|remove|clear|drop)\b",
    re.IGNORECASE | re.DOTALL,
)
_NOT_FORGET = late(r"(?:don't|do\s+not|never)\b", re.IGNORECASE)
_ABOUT_IT_ZH = late(r"(?:的(?:事情?|记忆|内容|信息)|的?[这那](?:件事情?|个?事儿?|一点|回事))?[吧了]?$")
_BEGGED_ZH = late(r"请|麻烦|帮我|把|我(?:想|要|希望)|[吧]\W*$")
_FORGOT_ZH = late(r"忘(?:了|[记掉]了)|你忘")
_MINE_ZH = late(r"^我的?")
_CJK = late(r"[\u3400-\u9fff]")
_SHOWN = 80
_KEPT = (
    'Nothing was forgotten for "{said}", since no memory matches it for certain: say what the memory says ("forget that I '
    'live in Rome"), or use `muniment forget ID` with an id from `muniment list`.'
)
_ALL_KEPT = (
    "Nothing was forgotten, since a message does not erase everything: `muniment erase --user {owner}` does; to forget one "
    'memory, say what it says ("forget that I live in Rome"), or use `muniment forget ID`.'
)
_KEPT_ZH = "没有忘记任何内容：没有哪条记忆确定就是“{said}”；请说出那条记忆的内容（例如“忘记我住在罗马”），或用 `muniment list` 查到编号后执行 `muniment forget 编号`。"
_ALL_KEPT_ZH = "没有忘记任何内容：一句话不会清除全部记忆。要全部清除，请执行 `muniment erase --user {owner}`；要忘记某一条，请说出它的内容（例如“忘记我住在罗马”），或执行 `muniment forget 编号`。"


def wish(sentence: str) -> Wish | None:
    """What a sentence asks to forget; None where it is no request, but a question, a reproach or an idiom."""
    return None if len(sentence) > _LONGEST else _english(sentence) or _chinese(sentence)


def _english(sentence: str) -> Wish | None:
    bare = _THANKS.sub("", sentence.strip(_ENDS)).strip(_ENDS)
    if sentence.rstrip().endswith(("?", "？")) and not _BEGGED.search(sentence):
        return None
    if _EVERYTHING.fullmatch(bare):
        return Wish(said=bare, words="", everything=True)
    found = _FORGET.match(sentence)
    if (
        not found
        or _OTHER_THINGS.match(sentence[: found.start("inner")])
        or (_NOT_FORGET.match(sentence.strip()) and "forget" in sentence.casefold()[:20])
    ):
        return None
    inner = found["inner"].strip(" .,!?")
    phrase = _THANKS.sub("", inner).strip(" .,!?")
    if named := attributes.english(phrase):
        return replace(named, vain=bool(_UNSURE.search(sentence[: found.start("inner")])))
    if _IDLE_FORGET.match(inner):
        return _unnamed(phrase)
    aside = _ASIDE.search(phrase)
    if aside and not _FIRST.search(phrase[: aside.start()]):
        return None  # forget the rain, let's go out
    return Wish(said=phrase, words=phrase, told=(_FIRST.search(phrase) and english_words.narrate(phrase)) or "")


def _unnamed(phrase: str) -> Wish | None:
    """What else about the speaker is to be forgotten without its words: of that nothing is known for sure."""
    head = _TAIL.sub("", phrase)
    meant = attributes.english(head) or (head == phrase and _ASKING.match(phrase) and _FIRST.search(phrase))
    return Wish(said=head, words="", vain=True) if meant else None


def _chinese(sentence: str) -> Wish | None:
    found = _FORGET_ZH.match(sentence)
    if not found or sentence.rstrip().endswith(("？", "?", "吗")):
        return None
    begged = _BEGGED_ZH.search(sentence)
    verb = sentence[: found.start("inner")] if found["inner"] else ""
    if not begged and "你" in verb and _FORGOT_ZH.search(verb):
        return None
    said = (found["inner"] or found["moved"]).strip(" 。，！.,!")
    if _EVERYTHING_ZH.fullmatch(said.rstrip("吧了")):
        return Wish(said=said, words="", everything=True)
    phrase = _ABOUT_IT_ZH.sub("", said, count=1)
    inner = _MINE_ZH.sub("", phrase)
    if named := attributes.chinese(phrase):
        return replace(named, words=inner, vain=not begged and bool(_FORGOT_ZH.search(verb)))
    if not inner or _IDLE_FORGET_ZH.match(inner):
        return None
    return Wish(said=phrase, words=inner, told=(phrase != inner and chinese_words.owned(phrase)) or "")


def meant(wish: Wish, near: Sequence[Memory]) -> list[Memory]:
    """The memories among these that a wish is about: those with its attribute, else those that have every one of its words
    and are not about somebody else. None where it names one thing and they are several."""
    if wish.vain or wish.everything:
        return []
    if not wish.keys:
        wanted = set(words.terms(wish.words))
        return [one for one in near if _stated(wish, one) or (wanted and _says(wish, wanted, one))]
    found = [one for one in near if _has(wish, one)]
    several = wish.alone and len({words.lexeme_set(one.fact.object if one.fact else one.text) for one in found}) > 1
    return [] if several else found


def _says(wish: Wish, wanted: AbstractSet[str], memory: Memory) -> bool:
    if not wanted <= words.lexeme_set(memory.text):
        return False
    return not (wish.told and of_two_people(read(wish.told), read(memory.text)))


def _stated(wish: Wish, memory: Memory) -> bool:
    """Whether the memory has a fact that the wish states, in whatever words."""
    fact = memory.fact
    return fact is not None and any(
        fact.attribute == one.attribute
        and fact.negated == one.negated
        and words.lexeme_set(fact.object) == words.lexeme_set(one.object)
        for one in wish.facts
    )


def _has(wish: Wish, memory: Memory) -> bool:
    """Whether the memory is a value of the attribute, by its fact or, of a note, by how it begins."""
    text, fact = memory.text.casefold(), memory.fact
    if fact is not None and fact.attribute in wish.keys and not fact.negated:
        word = re.escape(wish.word)
        return re.search(word if _CJK.search(word) else rf"\b{word}\b", text) is not None
    if not wish.told:
        return False
    return re.match(rf"{re.escape(wish.told.casefold())}\s*(?:is\b|are\b|was\b|[是为叫])", text) is not None


def refusal(wish: Wish, owner: str) -> str:
    """That nothing was forgotten by a wish, and what would work."""
    chinese = _CJK.search(wish.said) is not None
    if wish.everything:
        return (_ALL_KEPT_ZH if chinese else _ALL_KEPT).format(owner=quote(owner))
    said = wish.said if len(wish.said) <= _SHOWN else f"{wish.said[:_SHOWN].rstrip()}…"
    return (_KEPT_ZH if chinese else _KEPT).format(said=said)
