"""Cuts the blocks of a document into statements that stand alone: each has the headings above it, and what it is an
item of. What instructs its reader is held for a person."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from muniment.memory.config.schema import ResourceSettings
from muniment.memory.domain.layers.resources import Block, BlockKind, Statement
from muniment.memory.errors import TooLarge
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.provenance.requests import has_instructions
from muniment.memory.rules.redaction.redact import Redactor

_CONTEXT_SHARE = 3  # a statement is headings and leads to one part in so many at most
_JOINT = " > "  # between a heading and the one below it
_CUT = "…"
_ANNOUNCING = (":", "：")  # ends of a paragraph that its list belongs to
_CLOSED_ZH = tuple("。！？；…”’」』）")  # what ends a Chinese sentence, after which no blank stands
_WORD = lazy_compile(r"\w")
# The end of a sentence: a mark that blanks and no small letter follow, or a Chinese one, with what closes behind it. A
# letter or two before a full stop are an initial or a title, as in "J. Doe" and "Dr. Doe".
_SENTENCE_END = lazy_compile(
    r"(?<![.!?])(?<!\b[A-Z])(?<!\b[A-Z][a-z])[.!?]++[\"')\]]{0,3}(?=\s+[^\sa-z])|[。！？；…]+[”’」』）]{0,3}|\n"
)
# Where a long sentence may be cut, best first.
_SEAMS = (lazy_compile(r"[;,:](?=\s)|[，、；：]"), lazy_compile(r"\s"))


@dataclass(slots=True)
class _Context:
    """What stands above a block: headings by their level, and the paragraph that announces a list, a table or code."""

    headings: list[tuple[int, str]] = field(default_factory=list)
    announcement: str = ""
    announced: BlockKind | None = None  # the kind of what came first after the announcement; it holds for no other

    def follow_block(self, kind: BlockKind) -> None:
        """Let the announcement end before a block that it is not about."""
        if kind == "text" or self.announced not in (None, kind):
            self.announcement, self.announced = "", None
        elif self.announcement:
            self.announced = kind

    def open_heading(self, block: Block) -> None:
        while self.headings and self.headings[-1][0] >= block.level:
            self.headings.pop()
        self.headings.append((block.level, _join_words(block.text)))
        self.announcement, self.announced = "", None

    def describe(self, lead: str, most: int) -> str:
        """Return the headings, the announcement and the lead, the innermost of them in `most` characters."""
        parts = [text for _, text in self.headings]
        parts += [_join_words(part).rstrip(":：") for part in (self.announcement, lead) if part]
        described = ""
        for part in filter(None, reversed(parts)):
            longer = f"{part}{_JOINT}{described}" if described else part
            if len(longer) > most:
                return described or f"{part[: most - 1].rstrip()}{_CUT}"
            described = longer
        return described


def cut_document(blocks: Iterable[Block], settings: ResourceSettings, redactor: Redactor) -> tuple[Statement, ...]:
    """Return the statements of a document, redacted, each once, in order.

    A block is redacted before it is cut, so that no secret is cut in two. Raises TooLarge for more statements than
    `resources.statements`."""
    statements: dict[str, Statement] = {}
    context = _Context()
    for block in blocks:
        safe = Block(
            kind=block.kind,
            text=redactor.sanitize_text(block.text),
            level=block.level,
            lead=redactor.sanitize_text(block.lead) if block.lead else "",
        )
        for statement in _cut_block(safe, context, settings.statement_chars):
            known = statements.setdefault(statement.text, statement)
            if statement.is_held and not known.is_held:
                statements[statement.text] = statement
        if len(statements) > settings.statements:
            raise TooLarge(f"makes more than {settings.statements:,} statements (resources.statements)")
    return tuple(statements.values())


def _cut_block(block: Block, context: _Context, most: int) -> Iterator[Statement]:
    """Yield the statements of a block; a heading makes none, and stands in those below it."""
    if block.kind == "heading":
        context.open_heading(block)
        return
    if not block.lead:
        context.follow_block(block.kind)
    above = context.describe(block.lead, most // _CONTEXT_SHARE)
    if block.kind == "text" and not block.lead and block.text.endswith(_ANNOUNCING):
        context.announcement = block.text
    room = most - len(above) - 2
    pieces = _cut_lines(block.text, room) if block.kind == "code" else _cut_sentences(block.text, room)
    made = [f"{above}: {piece}" if above else piece for piece in pieces if _WORD.search(piece)]
    held = [has_instructions(text) for text in made]
    # An instruction may be cut so that no piece of it instructs by itself.
    is_whole_held = len(made) > 1 and not any(held) and has_instructions(_join_words(block.text))
    for text, is_held in zip(made, held, strict=True):
        yield Statement(text=text, is_held=is_held or is_whole_held)


def _join_words(text: str) -> str:
    return " ".join(text.split())


def _cut_lines(text: str, most: int) -> Iterator[str]:
    """Yield a block of code whole where it has no more than `most` characters, else by lines."""
    lines = (piece for line in text.split("\n") for piece in _cut_long(line.rstrip(), most))
    return _pack(lines, most, "\n")


def _cut_sentences(text: str, most: int) -> Iterator[str]:
    """Yield a text whole where it has no more than `most` characters, else by sentences, a long one by its clauses."""
    joined = _join_words(text)
    if len(joined) <= most:
        return iter([joined] if joined else [])
    sentences = (_join_words(sentence) for sentence in _split(text, _SENTENCE_END))
    return _pack((piece for sentence in sentences for piece in _cut_long(sentence, most)), most, " ")


def _split(text: str, ends: re.Pattern[str]) -> Iterator[str]:
    """Yield the parts of a text, each with the mark at its end."""
    start = 0
    for end in ends.finditer(text):
        yield text[start : end.end()]
        start = end.end()
    yield text[start:]


def _cut_long(text: str, most: int) -> Iterator[str]:
    """Yield a text in pieces of `most` characters: at a clause's end, else between words, else anywhere."""
    start = 0
    while len(text) - start > most:
        window = text[start : start + most]
        cut = next((seams[-1] for seam in _SEAMS if (seams := [each.end() for each in seam.finditer(window)])), most)
        if cut < most // 2:
            cut = most
        yield text[start : start + cut].strip()
        start += cut
    yield text[start:].strip() if start else text


def _pack(pieces: Iterable[str], most: int, joint: str) -> Iterator[str]:
    """Yield pieces joined as long as they have no more than `most` characters."""
    packed = ""
    for piece in filter(None, pieces):
        glue = "" if packed.endswith(_CLOSED_ZH) else joint
        if packed and len(packed) + len(glue) + len(piece) > most:
            yield packed
            packed = piece
        else:
            packed = f"{packed}{glue}{piece}" if packed else piece
    if packed:
        yield packed
