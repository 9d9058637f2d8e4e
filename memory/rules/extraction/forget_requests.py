"""Requests to forget, in English and Chinese, and the memories that they mean; precision before recall."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set as AbstractSet
from dataclasses import replace
from shlex import quote

from muniment.memory.domain.memory import StoredMemory
from muniment.memory.domain.turn import ForgetRequest
from muniment.memory.rules.language import chinese_words, english_words, tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.statements import attributes
from muniment.memory.rules.statements.parse import parse_statement
from muniment.memory.rules.statements.people import has_different_people

POLITE = (
    r"^[\s,]*(?:(?:and|but|so|also|oh|ok|okay|well|hey|hi|hello|actually|btw|yes|no|now|please|kindly|just|can you"
    r"|could you|will you|would you|i want you to|i need you to|i'd like you to|you should|you can|you must"
    r"|always)[\s,]+)*"
)
# One of these stands in every request to forget, and in few other sentences.
FORGET_WORD = lazy_compile(
    r"forget|remember|save|store|delete|erase|remove|clear|wipe|drop|忘|记|删|清除|抹掉", re.IGNORECASE
)
_FORGET = lazy_compile(
    POLITE
    + r"(?:forget|stop\s+remembering|don't\s+remember|do\s+not\s+remember|don't\s+save|do\s+not\s+save|don't\s+store"
    r"|(?:delete|erase|remove|clear|drop)\s+(?:the\s+)?(?:memory|memories|note|notes|fact|information|everything|all"
    r"|what)(?:\s+(?:you\s+(?:know|have|remember|saved|stored)|i\s+(?:said|told\s+you)))?(?:\s+about)?)\s+(?:(?:about"
    r"|that|everything|all|anything|the\s+fact|what\s+(?:i\s+said|i\s+told\s+you|you\s+know)|the\s+thing"
    r"|of)\s+)*(?P<inner>\S.*)$",
    re.IGNORECASE | re.DOTALL,
)
_IDLE_FORGET = lazy_compile(
    r"(?:it|that|this|them|me|him|her|you|to\b.*|about\s+(?:it|that)|the\s+(?:rest|past|haters)|all\s+(?:that|this)"
    r"|everything|how\b.*|what\b.*|where\b.*|when\b.*|why\b.*|if\b.*|last\s+\w+|never\s*mind|i\s+(?:just\s+"
    r"|ever\s+)?(?:said|asked|mentioned)\b.*)(?:[\s,]+(?:thanks|thank\s+you|please|ok|okay|then|now))*\W*$",
    re.IGNORECASE,
)
_FORGET_ZH = lazy_compile(
    r"^[\s，,]*(?:请|麻烦|帮我|我(?:想|要|希望)(?:让|请|叫)?你|你|把)*(?:忘掉|忘记|忘了|别记住?|不要记住?|不用记住?"
    r"|别再记|删掉|删除|清除|抹掉)(?:了|关于|有关|我说的|我说过的|你记得的|：|:|，|,|\s)*(?P<inner>\S.*)$"
    r"|^[\s，,]*(?:请|麻烦|帮我|你)*把(?P<moved>.{1,60}?)(?:忘掉|忘了|删掉|删除|抹掉)(?:吧|了)?[。.！!]*$",
    re.DOTALL,
)
_IDLE_FORGET_ZH = lazy_compile(r"(?:它|这个|那个|这些|吧|这件事|他|她|我|一切|什么.*)[吧了。.！!]*$")
_EVERYTHING = lazy_compile(
    POLITE
    + r"(?:(?:forget|stop\s+remembering)\s+(?:about\s+)?(?:(?:absolutely\s+)?(?:everything|all|anything)(?:\s+of\s+it)?"
    r"|it\s+all|me)|(?:delete|erase|remove|clear|wipe|forget)\s+(?:(?:everything|all|anything)(?=\s+(?:that\s+)?(?:you"
    r"|about\s+me|i\s))|what(?=\s+you\s)|(?:all\s+(?:of\s+)?)?(?:your|my)\s+(?:(?:whole|entire)\s+)?(?:memory|memories"
    r"|data)))(?:\s+(?:that\s+)?you(?:'ve|\s+have)?\s+(?:ever\s+)?(?:know|knew|have|remember(?:ed)?|saved|stored"
    r"|learn(?:ed|t)))?(?:\s+(?:that\s+)?i(?:'ve|\s+have)?\s+(?:ever\s+)?(?:said|told\s+you))?(?:\s+(?:about|of"
    r"|on)\s+me)?",
    re.IGNORECASE,
)
_EVERYTHING_ZH = lazy_compile(
    r"(?:关于|有关)?(?:(?:我的?)?(?:一切|(?:所有|全部)的?(?:事情?|信息|记忆|内容|东西|资料|数据|记录)?)|我"
    r"|[你我]的(?:全部|所有)?记忆)(?:都|全都|全部|统统)*"
)
_THANKS = lazy_compile(
    r"(?:[\s,]+(?:please|thanks|thank\s+you|ok|okay|for\s+me|completely|entirely|again|from\s+now\s+on))+$",
    re.IGNORECASE,
)
_LONGEST = 600  # characters of a sentence; a longer one says more than what to forget
_ENDS = " .,!?。，！？"
_TAIL = lazy_compile(r"\s*[,;:(–—].*|\s+-\s.*", re.DOTALL)
_ASIDE = lazy_compile(
    r"\s*[,;:–—-]\s*(?:and\s+)?(?:let's|let\s+us|i|i'm|we|we'll|you|it|it's|that's|what|how|just|there|this)\b",
    re.IGNORECASE,
)
_ASKING = lazy_compile(r"(?:how|what|where|when|why)\b", re.IGNORECASE)
_FIRST = lazy_compile(r"\b(?:i|i'm|i've|im|my|our)\b", re.IGNORECASE)
_BEGGED = lazy_compile(r"\b(?:can|could)\s+you\b|\bplease\b", re.IGNORECASE)
_UNSURE = lazy_compile(r"\b(?:don't|do\s+not)\s+remember\b", re.IGNORECASE)  # the person may have forgotten it
# Requests to delete a part of a text or a folder, and no memory.
_OTHER_THINGS = lazy_compile(
    r"(?!.*\b(?:about|you|i|that|memor(?:y|ies)|the\s+fact)\b).*\b(?:delete|erase|remove|clear|drop)\b",
    re.IGNORECASE | re.DOTALL,
)
_NOT_FORGET = lazy_compile(r"(?:don't|do\s+not|never)\b", re.IGNORECASE)
_ABOUT_IT_ZH = lazy_compile(r"(?:的(?:事情?|记忆|内容|信息)|的?[这那](?:件事情?|个?事儿?|一点|回事))?[吧了]?$")
_BEGGED_ZH = lazy_compile(r"请|麻烦|帮我|把|我(?:想|要|希望)|[吧]\W*$")
_FORGOT_ZH = lazy_compile(r"忘(?:了|[记掉]了)|你忘")
_MINE_ZH = lazy_compile(r"^我的?")
_CJK = lazy_compile(r"[\u3400-\u9fff]")
_SHOWN = 80
_NO_MATCH = (
    'Nothing was forgotten for "{said}", since no memory matches it for certain: say what the memory says ("forget '
    "that I "
    'live in Rome"), or use `muniment forget ID` with an id from `muniment list`.'
)
_NO_ERASURE = (
    "Nothing was forgotten, since a message does not erase everything: `muniment erase --user {owner}` does; to forget "
    "one "
    'memory, say what it says ("forget that I live in Rome"), or use `muniment forget ID`.'
)
_NO_MATCH_ZH = (
    "没有忘记任何内容：没有哪条记忆确定就是“{said}”；请说出那条记忆的内容（例如“忘记我住在罗马”），或用 `muniment "
    "list` 查到编号后执行 `muniment forget 编号`。"
)
_NO_ERASURE_ZH = (
    "没有忘记任何内容：一句话不会清除全部记忆。要全部清除，请执行 `muniment erase --user {owner}`；要忘记某一条，"
    "请说出它的内容（例如“忘记我住在罗马”），或执行 `muniment forget 编号`。"
)


def parse_forget_request(sentence: str) -> ForgetRequest | None:
    """The request to forget that a sentence makes; None for a question, a reproach or an idiom."""
    if len(sentence) > _LONGEST:
        return None
    return _parse_english(sentence) or (_parse_chinese(sentence) if _CJK.search(sentence) else None)


def _parse_english(sentence: str) -> ForgetRequest | None:
    bare = _THANKS.sub("", sentence.strip(_ENDS)).strip(_ENDS)
    if sentence.rstrip().endswith(("?", "？")) and not _BEGGED.search(sentence):
        return None
    if _EVERYTHING.fullmatch(bare):
        return ForgetRequest(quote=bare, words="", everything=True)
    match = _FORGET.match(sentence)
    if (
        not match
        or _OTHER_THINGS.match(sentence[: match.start("inner")])
        or (_NOT_FORGET.match(sentence.strip()) and "forget" in sentence.casefold()[:20])
    ):
        return None
    inner = match["inner"].strip(" .,!?")
    phrase = _THANKS.sub("", inner).strip(" .,!?")
    if attribute := attributes.parse_english_attribute(phrase):
        return replace(attribute, is_void=bool(_UNSURE.search(sentence[: match.start("inner")])))
    if _IDLE_FORGET.match(inner):
        return _parse_topic(phrase)
    aside = _ASIDE.search(phrase)
    if aside and not _FIRST.search(phrase[: aside.start()]):
        return None  # `forget the rain, let's go out`
    return ForgetRequest(
        quote=phrase, words=phrase, third_person=(_FIRST.search(phrase) and english_words.narrate_clause(phrase)) or ""
    )


def _parse_topic(phrase: str) -> ForgetRequest | None:
    """A request to forget an attribute without its value, which matches no memory for certain; else None."""
    head = _TAIL.sub("", phrase)
    attribute = attributes.parse_english_attribute(head) or (
        head == phrase and _ASKING.match(phrase) and _FIRST.search(phrase)
    )
    return ForgetRequest(quote=head, words="", is_void=True) if attribute else None


def _parse_chinese(sentence: str) -> ForgetRequest | None:
    match = _FORGET_ZH.match(sentence)
    if not match or sentence.rstrip().endswith(("？", "?", "吗")):
        return None
    is_polite = _BEGGED_ZH.search(sentence)
    verb = sentence[: match.start("inner")] if match["inner"] else ""
    if not is_polite and "你" in verb and _FORGOT_ZH.search(verb):
        return None
    request = (match["inner"] or match["moved"]).strip(" 。，！.,!")
    if _EVERYTHING_ZH.fullmatch(request.rstrip("吧了")):
        return ForgetRequest(quote=request, words="", everything=True)
    phrase = _ABOUT_IT_ZH.sub("", request, count=1)
    inner = _MINE_ZH.sub("", phrase)
    if attribute := attributes.parse_chinese_attribute(phrase):
        return replace(attribute, words=inner, is_void=not is_polite and bool(_FORGOT_ZH.search(verb)))
    if not inner or _IDLE_FORGET_ZH.match(inner):
        return None
    return ForgetRequest(
        quote=phrase, words=inner, third_person=(phrase != inner and chinese_words.replace_pronouns(phrase)) or ""
    )


def resolve_forget_request(request: ForgetRequest, memories: Sequence[StoredMemory]) -> list[StoredMemory]:
    """The memories among these that a request means.

    They have its attribute, or all of its words and no other person. Empty if the request names one value and several
    memories have different ones."""
    if request.is_void or request.everything:
        return []
    if not request.key_prefixes:
        terms = set(tokens.extract_terms(request.words))
        return [
            memory
            for memory in memories
            if _has_same_fact(request, memory) or (terms and _has_every_word(request, terms, memory))
        ]
    matches = [memory for memory in memories if _has_attribute(request, memory)]
    several = (
        request.is_single
        and len({tokens.get_lexeme_set(memory.fact.object if memory.fact else memory.text) for memory in matches}) > 1
    )
    return [] if several else matches


def _has_every_word(request: ForgetRequest, terms: AbstractSet[str], memory: StoredMemory) -> bool:
    if not terms <= tokens.get_lexeme_set(memory.text):
        return False
    return not (
        request.third_person
        and has_different_people(parse_statement(request.third_person), parse_statement(memory.text))
    )


def _has_same_fact(request: ForgetRequest, memory: StoredMemory) -> bool:
    """Whether a memory has a fact that the request states."""
    fact = memory.fact
    return fact is not None and any(
        fact.attribute == stated.attribute
        and fact.negated == stated.negated
        and tokens.get_lexeme_set(fact.object) == tokens.get_lexeme_set(stated.object)
        for stated in request.facts
    )


def _has_attribute(request: ForgetRequest, memory: StoredMemory) -> bool:
    """Whether a memory is a value of the requested attribute, by its fact or, for a note, by its beginning."""
    text, fact = memory.text.casefold(), memory.fact
    if fact is not None and fact.attribute in request.key_prefixes and not fact.negated:
        word = re.escape(request.qualifier)
        return re.search(word if _CJK.search(word) else rf"\b{word}\b", text) is not None
    if not request.third_person:
        return False
    return re.match(rf"{re.escape(request.third_person.casefold())}\s*(?:is\b|are\b|was\b|[是为叫])", text) is not None


def explain_refusal(request: ForgetRequest, owner: str) -> str:
    """A message that nothing was forgotten, and what to do instead, in the language of the request."""
    is_chinese = _CJK.search(request.quote) is not None
    if request.everything:
        return (_NO_ERASURE_ZH if is_chinese else _NO_ERASURE).format(owner=quote(owner))
    shown = request.quote if len(request.quote) <= _SHOWN else f"{request.quote[:_SHOWN].rstrip()}…"
    return (_NO_MATCH_ZH if is_chinese else _NO_MATCH).format(said=shown)
