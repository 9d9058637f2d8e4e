"""Reads what a person lays down for good, and no piece of work: `use pnpm, conventional commits, short answers`,
`we use pnpm here`, `from now on write the test first`.

A sentence counts where each of its clauses says what is worked with or how to answer, and the message asks for nothing
else, or where it says itself that it holds from now on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from muniment.memory.domain.memory import Fact, is_structured
from muniment.memory.domain.turn import Candidate
from muniment.memory.rules.extraction import classify
from muniment.memory.rules.extraction.clauses import split_sentences
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.language.tokens import has_cjk
from muniment.memory.rules.provenance import quoted
from muniment.plugin.gates.remarks import find_remark
from muniment.plugin.reading import order_forms

if TYPE_CHECKING:
    from muniment.memory.domain.turn import Turn
    from muniment.memory.rules.extraction.turn_reader import TurnReader

_MAX_CHARS = 200  # of a sentence that is such an order
_MAX_SENTENCES = 20
_MAX_PARTS = 6
_CONFIDENCE, _IMPORTANCE = 0.85, 3
_JOINT = lazy_compile(r"\s*[,，、;；]\s*(?:(?:and|but)\s+|和)?|\s+(?:and|&|\+)\s+|和(?=\s*[a-z])")
# What another thing is to be used in place of: `use pnpm, not npm`. It stays in the rule, which replaces the other one.
_CONTRAST = lazy_compile(
    r"(?i)[,;]?\s+(?:instead\s+of|rather\s+than|(?:and\s+)?not)\s+(?P<other>[\w.+#-]+(?:\s+[\w.+#-]+){0,2})[\s.!]*$"
)
_USE, _USE_ZH = "use ", "用"
_EVER, _EVER_ZH = "always ", "以后"


@dataclass(frozen=True, slots=True, eq=False)
class _Reading:
    """A turn whose clauses are read, with the rules of extraction for what is a wish about answers."""

    turn: Turn
    reader: TurnReader

    def split_order(self, sentence: str) -> tuple[Candidate, ...]:
        """What the clauses of a sentence lay down; nothing where one of them lays down nothing."""
        if len(sentence) > _MAX_CHARS:
            return ()
        contrast = _CONTRAST.search(sentence)
        texts: list[str] = []
        is_told, denied_before = False, None
        for raw in _JOINT.split(sentence[: contrast.start()] if contrast else sentence):
            clause = order_forms.strip_clause(raw)
            if not clause.text:
                continue
            if (denied := order_forms.read_denial(clause.text)) is not None:
                if texts:
                    texts[-1] = _contrast(texts[-1], denied)
                denied_before = None if texts else denied
            elif (order := order_forms.read_order(clause.text)) is not None:
                texts.append(_contrast(order, denied_before) if denied_before else order)
                denied_before = None
            elif (clause.opens or texts) and self._is_named(clause.text):
                texts.append(f"{_USE_ZH if has_cjk(clause.text) else _USE}{clause.text}")
                is_told = is_told or clause.is_scoped
                continue
            elif self.read_wish(clause.text) is not None:
                texts.append(clause.text)
                continue
            else:
                return ()
            is_told = True
        if contrast and texts:
            texts[-1] = _contrast(texts[-1], contrast["other"].rstrip("."))
        return tuple(map(self._make_candidate, texts[:_MAX_PARTS])) if is_told else ()

    def read_wish(self, sentence: str) -> Candidate | None:
        """The wish about answers that a sentence is."""
        if len(sentence) > _MAX_CHARS:
            return None
        _, _, extraction = self.reader.read_turn(replace(self.turn, text=sentence), ())
        wishes = (one for one in extraction.candidates if one.category == "style" and is_structured(one.fact))
        return next(wishes, None)

    def make_rule(self, text: str) -> Candidate:
        """A rule in the words of an order."""
        return Candidate(
            text=text,
            category="projects",
            fact=Fact(kind="rule", predicate="keeps_rule", object=text),
            importance=_IMPORTANCE,
            confidence=_CONFIDENCE,
            turns=(self.turn.id,),
            actor=self.turn.actor,
        )

    def _is_named(self, words: str) -> bool:
        return order_forms.is_kind(words) and find_remark(words) is None and not classify.is_request(words)

    def _make_candidate(self, text: str) -> Candidate:
        """A wish about answers where the rules of extraction know it as one, or else a rule."""
        kind = text.removeprefix(_USE).removeprefix(_USE_ZH)
        told = (f"I prefer {kind}", kind) if kind.isascii() else (f"我喜欢{kind}", f"以后{kind}一点", kind)
        found = next(filter(None, map(self.read_wish, told)), None)
        return found or self.make_rule(text)


def read_instructions(turn: Turn, reader: TurnReader) -> tuple[Candidate, ...]:
    """Return what a redacted turn of a person lays down for good, one candidate for each thing.

    What the rules of extraction know as a wish about answers is one; all else is a rule in the words of the order."""
    text = quoted.strip_quoted(turn).text
    sentences = [sentence for _, sentence in zip(range(_MAX_SENTENCES), split_sentences(text), strict=False)]
    if any(sentence.rstrip().endswith(("?", "？")) for sentence in sentences):
        return ()
    reading = _Reading(turn, reader)
    orders = [reading.split_order(sentence) for sentence in sentences]
    others = [sentence for sentence, parts in zip(sentences, orders, strict=True) if not parts]
    found = [part for parts in orders for part in parts]
    wishes = {sentence: reading.read_wish(sentence) for sentence in others if found or _find_lasting(sentence)}
    lasting = [act for sentence, wish in wishes.items() if wish is None and (act := _find_lasting(sentence))]
    if any(classify.is_request(each) and wishes.get(each) is None and not _find_lasting(each) for each in others):
        return tuple(map(reading.make_rule, lasting))  # an order beside a request is a part of it
    return (*found, *filter(None, wishes.values()), *map(reading.make_rule, lasting))


def _contrast(order: str, other: str) -> str:
    """An order with what its object takes the place of."""
    return f"{order}，不用{other}" if has_cjk(order) else f"{order}, not {other}"


def _find_lasting(sentence: str) -> str | None:
    """An order that says in so many words that it holds from now on, told as one that always holds."""
    act = order_forms.read_lasting(sentence) if len(sentence) <= _MAX_CHARS else None
    if act is None:
        return None
    if has_cjk(act):
        return None if order_forms.tells_future(act) else f"{_EVER_ZH}{act}"
    return f"{_EVER}{act}" if classify.is_request(act) else None
