"""The parts of Chinese clauses: who speaks, what stands before a verb, and where a clause begins."""

from __future__ import annotations

from collections.abc import Iterator

from muniment.memory.domain.memory import FactKind
from muniment.memory.rules.extraction.work.signs import Sign, make_filler
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.lexicon import load_lexicon

LEXICON = load_lexicon("work.zh")
fill_classes = make_filler(LEXICON, is_spaced=False)

# Parts of a clause.
WORDS = r"[^，,；;。：:！!]"  # of the same clause
END = r"(?=[，,；;。！!\s]|$)"
WHO = r"(?P<who><group>|<self>)?(?:[跟和与]<partner>)?"
BEFORE = rf"{WHO}(?P<lead>{WORDS}{{0,16}}?)"
OBJECT = r"(?P<object>\S.*)"
_BORDER = lazy_compile(r"[，,；;：:。！!—]+\s*|\s+(?=[\u3400-\u9fff])|(?<=[\u3400-\u9fff])\s+")
OPENING = lazy_compile(
    r"(?:跟大家说一下|通知一下|说一下|对了|好家伙|嗯|哦|噢|啊|哎呀?|诶|那|所以|于是|不过|但是|而且|另外"
    r"|总之|结果|好消息|太好了|终于|总算|记一下|补充一下|更新一下|顺便)+[，,：:！!\s]*"
)
_MOST_STARTS = 14


def list_starts(text: str) -> Iterator[int]:
    """The places at which a clause begins, with and without what opens it."""
    given: set[int] = set()
    for border in [0, *(match.end() for match in _BORDER.finditer(text))][:_MOST_STARTS]:
        opening = OPENING.match(text, border)
        for place in (border, opening.end() if opening else border):
            if place not in given and place < len(text):
                given.add(place)
                yield place


def make_sign(kind: FactKind, pattern: str, *needs: str, is_order: bool = False, is_whole: bool = False) -> Sign:
    """A sign of which the pattern has the names of classes in it: `<decided>`."""
    compiled = lazy_compile(pattern, fill=fill_classes)
    return Sign(kind=kind, pattern=compiled, needs=needs, is_order=is_order, is_whole=is_whole)
