"""Reads orders that name what to work with, and no piece of work: `use pnpm, conventional commits, short answers`.

Such an order holds for good by its form: what is to be used stands without an article, a pointer or a number, so that
the kind is meant and not a thing at hand, and the message asks for nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from muniment.memory.domain.memory import Fact, is_structured
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.extraction import classify
from muniment.memory.rules.extraction.clauses import split_sentences
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.provenance import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from muniment.memory.domain.turn import Turn
    from muniment.memory.rules.extraction.turn_reader import TurnReader

_MAX_CHARS = 200  # of a sentence that is such an order
_MAX_SENTENCES = 20
_MAX_PARTS = 6
_CONFIDENCE, _IMPORTANCE = 0.85, 3
_ORDER = lazy_compile(
    r"(?i)\s*(?:(?:please|always|and|also|just|from\s+now\s+on|going\s+forward|in\s+(?:the\s+)?future),?\s+)*"
    r"(?:use|stick\s+(?:to|with)|prefer)\s+(?P<parts>\S.*?)\s*(?:please)?[\s.!]*$"
)
_ORDER_ZH = lazy_compile(
    r"\s*(?:请|麻烦|以后|今后|从现在起|总是|都|一律|统一|始终|[，,]|\s)*(?:使用|采用|用)(?P<parts>\S.*?)[\s。.!！]*$"
)
_JOINT = lazy_compile(r"\s*[,，、;；]\s*(?:and\s+|和)?|\s+(?:and|&)\s+|和")
# What makes a thing at hand of a kind: an article, a pointer, a number, a person; or what it is used for just now.
_AT_HAND = lazy_compile(
    r"(?i)\b(?:the|an?|this|that|these|those|it|its|them|my|your|our|his|her|their|me|you|one|some|another|instead"
    r"|to|when|if|here|below|above|now|once|not)\b|\d|[/\\`\"“”?？:：]|[这那此该我你您他她它]|[来去]|一下|而不|不要|代替"
)
# What another thing is to be used in place of: `use pnpm, not npm`. It stays in the rule, which replaces the other one.
_CONTRAST = lazy_compile(
    r"(?i)[,;]?\s+(?:instead\s+of|rather\s+than|(?:and\s+)?not)\s+(?P<other>[\w.+#-]+(?:\s+[\w.+#-]+){0,2})[\s.!]*$"
)
_MAX_WORDS = 4  # of a kind's name
_MAX_CJK = 12  # characters


def read_instructions(turn: Turn, reader: TurnReader) -> tuple[Candidate, ...]:
    """Return what a redacted turn of a person orders to use for good, one candidate for each thing.

    What the rules of extraction know as a preference is one; all else is a rule in the words of the order."""
    text = quoted.strip_quoted(turn).text
    sentences = [sentence for _, sentence in zip(range(_MAX_SENTENCES), split_sentences(text), strict=False)]
    if any(sentence.rstrip().endswith(("?", "？")) for sentence in sentences):
        return ()
    orders = [list(_split_order(sentence)) for sentence in sentences]
    others = [sentence for sentence, parts in zip(sentences, orders, strict=True) if not parts]
    if any(map(classify.is_request, others)):  # an order beside a request is a part of it
        return ()
    return tuple(_make_candidate(part, turn, reader) for parts in orders for part in parts)


def _split_order(sentence: str) -> Iterator[str]:
    """The things that an order names; nothing for any other sentence."""
    if len(sentence) > _MAX_CHARS:
        return
    contrast = _CONTRAST.search(sentence)
    order = sentence[: contrast.start()] if contrast else sentence
    match = _ORDER.match(order) or _ORDER_ZH.match(order)
    parts = [part for part in _JOINT.split(match["parts"]) if part] if match else []
    if match and 0 < len(parts) <= _MAX_PARTS and all(map(_is_kind, parts)):
        yield from parts[:-1]
        yield f"{parts[-1]}, not {contrast['other']}" if contrast else parts[-1]


def _is_kind(part: str) -> bool:
    is_short = len(part.split()) <= _MAX_WORDS and (part.isascii() or len(part) <= _MAX_CJK)
    return is_short and _AT_HAND.search(part) is None


def _make_candidate(part: str, turn: Turn, reader: TurnReader) -> Candidate:
    for said in _tell_preference(part):
        _, _, extraction = reader.read_turn(replace(turn, text=said), ())
        found = next((one for one in extraction.candidates if is_structured(one.fact)), None)
        if found is not None:
            return found
    is_chinese = not part.isascii()
    text = f"{'用' if is_chinese else 'use '}{part}"
    return Candidate(
        text=text,
        category="projects",
        fact=Fact(kind="rule", predicate="keeps_rule", object=text),
        importance=_IMPORTANCE,
        confidence=_CONFIDENCE,
        turns=(turn.id,),
        actor=turn.actor,
    )


def _tell_preference(part: str) -> Sequence[str]:
    """A kind as a preference of its speaker, as the rules of extraction read it."""
    return (f"I prefer {part}",) if part.isascii() else (f"我喜欢{part}", f"以后{part}一点")
