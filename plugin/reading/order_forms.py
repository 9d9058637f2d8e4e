"""The forms of a clause that says what is worked with, or how: an order, a practice of the team, a norm of a thing.

What is meant for good is named without an article, a pointer or a number, so that the kind is meant and no thing at
hand."""

from __future__ import annotations

from dataclasses import dataclass

from muniment.memory.rules.extraction.work.chinese.parts import fill_classes as fill_chinese
from muniment.memory.rules.extraction.work.english.parts import GROUP, PLACE, fill_classes
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.tokens import has_cjk
from muniment.plugin.gates.stability import EVER, EVER_ZH

_ASIDE = r"just\s+so\s+you\s+know|for\s+the\s+record|for\s+your\s+information|fyi|note\s+that|btw|by\s+the\s+way"
_LEAD = lazy_compile(
    rf"(?i)\s*(?P<open>(?:(?:{_ASIDE}|{PLACE}|{EVER}|please|always|and|also|just)\b\s*[,:]?\s*|[：:]\s*)*)",
    fill=fill_classes,
)
_TAIL = lazy_compile(rf"(?i)(?:\s+(?:{PLACE}|{EVER}|please|everywhere|only|always))*[\s.!。！]*$", fill=fill_classes)
_SCOPE = lazy_compile(rf"(?i)(?:{PLACE}|{EVER})", fill=fill_classes)
_ORDER = lazy_compile(r"(?i)^(?P<verb>use|prefer|follow|stick\s+(?:to|with)|keep\s+to)\s+(?P<what>\S.*)$")
_PRACTICE = lazy_compile(
    rf"(?i)^(?:we|<everyone>|{GROUP})(?:\s+(?:all|always|just|\w+ly))*"
    r"(?P<verb>(?:'re|\s+are|\s+is)\s+on|\s+(?:<adopt>|follow|prefer))s?\s+(?P<what>\S.*)$",
    fill=fill_classes,
)
_NORM = lazy_compile(
    r"(?i)^(?:(?:our|all|every|each)\s+(?:[\w-]+\s+){1,3}?(?:(?P<is>is|are)|follows?|uses?|<habit>)"
    r"|(?:[a-z][\w-]*\s+){0,2}[a-z][\w-]*s\s+(?:follow|use|<habit>))\s+(?P<what>\S.*)$",
    fill=fill_classes,
)
# What something is for good: a name, or a kind in the plural. An adjective or a participle tells how it is.
_NAMED = lazy_compile(r"[A-Z]|(?<!s)s$")
_OUR = lazy_compile(r"(?i)^our\s+")
_DENIAL = lazy_compile(r"(?i)^(?:(?:do\s+not|don't|don’t|never|no\s+longer)\s+use|never|not|no)\s+(?P<what>\S.*)$")
_ORDER_ZH = lazy_compile(
    r"^(?:<place>|<group>|我们|咱们)?(?:这里|这边|项目)?[里中内]?(?:请|麻烦|总是|都|一律|统一|始终|[，,]|\s)*(?:使用|采用|用)"
    r"\s*(?P<what>\S.*)$",
    fill=fill_chinese,
)
_NORM_ZH = lazy_compile(
    r"^[\u3400-\u9fff]{2,8}?(?:[要得都]|必须|应该?|需要?|统一|一律|始终)*(?:使用|采用|用|遵循|符合|遵守|按照?)"
    r"\s*(?P<what>\S.*)$"
)
_DENIAL_ZH = lazy_compile(r"^(?:不要|不再|不|别|不许|禁止)(?:使用|采用|用)\s*(?P<what>\S.*)$")
_PERSON_ZH = lazy_compile("[你您他她它咱我这那哪怎什谁帮给把]")
_EVER_FIRST = lazy_compile(rf"(?i)^\s*(?:(?:please|and|ok|okay)\s*,?\s+)*{EVER}\s*,?\s+(?P<act>\S.*)$")
_EVER_LAST = lazy_compile(rf"(?i)^\s*(?P<act>\S.*?)\s*,?\s+{EVER}[\s.!]*$")
_EVER_FIRST_ZH = lazy_compile(rf"^\s*(?:请|麻烦)?{EVER_ZH}[，,\s]*(?:请|麻烦|都)?(?P<act>\S.*)$")
# A question without its mark: a preposition, a word that asks, and before its verb an auxiliary with its subject.
_ASKS = lazy_compile(
    r"(?i)^\W*(?:(?:so|and|but)\s+)?(?:at|in|on|by|for|from|to|with|until|since)\s+(?:what|which|whose|whom)"
    r"\s+(?:[\w-]+\s+){0,2}(?:do|does|did|is|are|was|were|can|could|should|would|will)\s+\w"
)
# What will be, or is put off, and no order: `以后会有的`, `以后再说`.
_FUTURE_ZH = lazy_compile("^(?:再|会|有|还|可能|可以|想|也许|就是|慢慢)|[我他她它咱]|[吧呢嘛]$")
# What makes a thing at hand of a kind: an article, a pointer, a number, a person; or what it is used for just now.
_AT_HAND = lazy_compile(
    r"(?i)\b(?:the|an?|this|that|these|those|it|its|them|my|your|our|his|her|their|me|you|one|some|another|instead"
    r"|to|when|if|here|below|above|now|once|not)\b|\d|[/\\`\"“”?？:：]|[这那此该我你您他她它]|[来去]|一下|而不|不要|代替"
)
_PURPOSE = lazy_compile(r"(?i)\s+(?:for|in)\s+")
_MAX_WORDS = 4  # of a kind's name, and of what it is for
_MAX_CJK = 14  # characters
_USE = frozenset({"use", "go with", "stick to", "stick with", "prefer", "keep to", "are on", "is on", "re on"})


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause without what leads to it.

    `is_scoped`: words before it say where or from when it holds; `opens`: those, or that it always holds."""

    text: str
    is_scoped: bool
    opens: bool


def strip_clause(text: str) -> Clause:
    """Return a clause without asides, courtesies, and what says where and for how long it holds."""
    lead = _LEAD.match(text)
    opening = lead["open"] if lead else ""
    bare = _TAIL.sub("", text[len(opening) :].lstrip()) if opening else _TAIL.sub("", text.strip())
    is_scoped = _SCOPE.search(opening) is not None
    return Clause(bare.strip(), is_scoped, is_scoped or "always" in opening.lower())


def read_order(clause: str) -> str | None:
    """Return what a clause lays down for good, as an order or a norm: `use pnpm`, `commit messages follow …`."""
    if clause.isascii():
        match = _ORDER.match(clause) or _PRACTICE.match(clause)
        if match and is_kind(match["what"]):
            verb = " ".join(match["verb"].replace("'", " ").split()).lower()
            return f"{'use' if verb in _USE else verb} {match['what']}"
        norm = _NORM.match(clause)
        if norm is None or not is_kind(norm["what"]) or (norm["is"] and not _NAMED.search(norm["what"])):
            return None
        return _OUR.sub("", clause)
    if match := _ORDER_ZH.match(clause):
        return f"用{match['what']}" if is_kind(match["what"]) else None
    norm = _NORM_ZH.match(clause)
    is_norm = norm is not None and is_kind(norm["what"]) and _PERSON_ZH.search(clause) is None
    return clause if is_norm else None


def read_denial(clause: str) -> str | None:
    """Return what a clause says is not to be used: `npm` of `never npm`."""
    match = _DENIAL.match(clause) or _DENIAL_ZH.match(clause)
    return match["what"] if match and is_kind(match["what"]) else None


def read_lasting(sentence: str) -> str | None:
    """Return what is to be done of a sentence that says in so many words that it holds from now on."""
    match = _EVER_FIRST.match(sentence) or _EVER_FIRST_ZH.match(sentence) or _EVER_LAST.match(sentence)
    return match["act"] if match else None


def tells_future(act: str) -> bool:
    """Return whether Chinese words after `from now on` tell what will be, or put it off, and order nothing."""
    return _FUTURE_ZH.search(act) is not None


def is_question(sentence: str) -> bool:
    """Return whether an English sentence asks, by its form: `at which point do we cluster again`."""
    return _ASKS.match(sentence) is not None


def is_put_off(sentence: str) -> bool:
    """Return whether a Chinese sentence puts something off, or tells what will be: `以后再说`."""
    act = read_lasting(sentence)
    return act is not None and has_cjk(act) and tells_future(act)


def is_kind(words: str) -> bool:
    """Return whether words name a kind of thing, with what it is for."""
    parts = _PURPOSE.split(words)
    is_short = len(parts) <= 2 and all(len(part.split()) <= _MAX_WORDS for part in parts)
    return is_short and (words.isascii() or len(words) <= _MAX_CJK) and _AT_HAND.search(words) is None
