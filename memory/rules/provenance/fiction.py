"""Tells what a person supposes, imagines or plays from what they state, in English and Chinese."""

from __future__ import annotations

from muniment.memory.rules.language.lazy_regex import lazy_compile

_SHOWN = 240  # characters of a sentence that are looked at
_START = (
    r"^\W{0,4}(?:(?:and|so|but|ok|okay|well|now|or|then|please|just|let's|let us|let me|we can|can you)[\s,]+){0,4}"
)
_SUPPOSED = lazy_compile(
    rf"(?i){_START}(?:(?:for\s+(?:example|instance|argument's\s+sake)[\s,:]+)?(?:suppose|supposing|imagine(?!\s+my\s+(?:surprise|joy|shock))"
    r"|pretend|assume|assuming|hypothetically|theoretically|picture(?!\s+this\s*:)|say\s+(?:I|we|my|you|there)|what\s+if)\b"
    r"|for\s+(?:example|instance)[\s,:]+(?:if\s+)?(?:I|we)\b(?=.*\?)"
    r"|if\s+(?:I|we|my\s+\w+)\s+(?!need\b|feed\b)(?:were|was|had|could|would|\w{2,}ed|won|got|went|became|made)\b)"
)
_SUPPOSED_ZH = lazy_compile(
    r"(?:^|[，,。\s])(?:那么?|但|就)?(?:假如|假设|假使|设想|想象一下|倘若|倘使|试想|就当)"
    r"|(?:^|[，,。\s])(?:如果|要是|万一)(?:[我咱]们?)(?![没不])|(?:^|[，,。\s])比(?:如|方)说?，?我.*(?:怎么|吗|呢|[?？])"
)
_PLAYED = lazy_compile(
    rf"(?i){_START}(?:i(?:'m|\s+am)\s+(?:role-?playing|playing)\s+(?:as\s+)?an?\s+(?!lot\b|bit\b|little\b|new\b|part\b"
    r"|(?:[\w-]+\s+)?(?:game|match|gig|show|concert|set|song|piece|round|tournament|recital|solo|sonata|role)\b)"
    r"|i\s+(?:had\s+a\s+dream|dream(?:t|ed))\b|my\s+(?:(?!favou?rite\b)\w+\s+)?character(?:'s\s+\w+)?\s+(?:is|was|has|comes|lives|wants|hates|loves)\b"
    r"|in\s+(?:my|the|our|this)\s+(?:\w+\s+)?(?:story|novel|campaign|screenplay|script|comic|role-?play|dream)\b"
    r"|you(?:'re|\s+are|\s+be)\s+(?:an?|my|the)\s+(?!great|good|best|favou?rite|real)[^.,;!?]{1,40}(?:[,;]\s*(?:and\s+)?|\s+and\s+)"
    r"I(?:'m|\s+am)\s+(?:an?|the|your)\b)"
)
_PLAYED_ZH = lazy_compile(
    r"角色扮演|梦[见到]|(?:小说|故事|剧本|游戏|漫画|梦)[里中]|我(?:来)?(?:扮演|演一个|假装)"
    r"|你(?:来)?(?:扮演|演|假装|当)[^，。]{1,12}[，,]我(?:来)?(?:是|当|演|扮演)|^你是[^，。]{1,12}[，,]我是"
)
_OPENED = lazy_compile(
    rf"(?i){_START}(?:(?:i\s+want\s+to\s+|wanna\s+)?(?:do\s+|start\s+|try\s+)?(?:a\s+|some\s+)?role-?\s?play(?:ing)?\b"
    r"|(?:act|behave|pretend|speak|answer)\s+(?:as|like|to\s+be)\s+[^.,;:!?\n]{1,80}"
    r"|pretend(?=\s*[.!,:])|(?:pretend|imagine)\s+(?:that\s+)?you(?:'re|\s+are)\b[^.,;:!?\n]{1,80})"
)
_OPENED_ZH = lazy_compile(
    r"^(?:我们|咱们|来|玩|一起|请|你|现在|个)*(?:角色扮演|(?:扮演|假装你?是)[^，。！？：:\n]{1,16})"
)


def is_fictional(sentence: str) -> bool:
    """Whether a sentence supposes, imagines or plays what it says: "suppose I earn 50k", "my character is an elf",
    假如我住在海边."""
    head = sentence[:_SHOWN]
    return any(pattern.search(head) for pattern in (_SUPPOSED, _PLAYED, _SUPPOSED_ZH, _PLAYED_ZH))


def opens_role_play(sentence: str) -> int | None:
    """Where in a sentence a role play begins, None where none does. An order to play is the person's own."""
    if opened := _OPENED.search(sentence) or _OPENED_ZH.search(sentence):
        return opened.end()
    played = _PLAYED.search(sentence) or _PLAYED_ZH.search(sentence)
    return 0 if played else None
