"""Separates a person's own words from quoted text, in English and Chinese, and evidence from what repeats memory.

Pasted text is a document with an author of its own. What a document tells the assistant to do or to remember is pending
until a person approves it. Where the end of a document is in doubt, the rest of the message is the document's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b

from muniment.memory.domain.memory import TRUST_RANK, Trust
from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.provenance import announcements, documents, leads, requests
from muniment.memory.rules.provenance.requests import CJK, find_instructions, has_instructions, is_instruction

__all__ = (
    "TurnParts",
    "find_instructions",
    "find_quoted_instructions",
    "has_instructions",
    "hash_shingles",
    "hold_instruction",
    "is_echo",
    "is_own_reply",
    "is_repetition",
    "split_quoted",
    "strip_quoted",
    "weigh_trust",
)

_MOST = 3  # instructions of a turn that a person is asked about
_LONGEST = 280
_SHARED = 0.5  # of a statement's words; then it says the same as the sentence
_SOME = 0.2  # less in common is chance
_NEARLY = 0.8  # of the largest share
_FOREIGN: tuple[Trust, ...] = ("tool", "document")


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnParts:
    """A turn's own text, and the texts that it quotes."""

    own_text: str
    quotes: tuple[str, ...] = ()


def split_quoted(turn: Turn) -> TurnParts:
    """The own words of a turn and its quotes. A turn of a tool or a document is one quote."""
    if turn.role != "user" or turn.source != "user":
        return TurnParts(own_text="", quotes=(turn.text,) if turn.text.strip() else ())
    own: list[str] = []
    pasted: list[str] = []
    done = 0
    for start, end in find_quoted_spans(turn.text) if may_quote(turn.text) else ():
        if end > done:
            own.append(turn.text[done:start])
            pasted.append(turn.text[max(done, start) : end])
            done = end
    own.append(turn.text[done:])
    return TurnParts(own_text="\n".join(own) if pasted else turn.text, quotes=tuple(filter(str.strip, pasted)))


def strip_quoted(turn: Turn) -> Turn:
    """A user's turn with the person's own words only; other turns unchanged."""
    return replace(turn, text=split_quoted(turn).own_text) if turn.role == "user" else turn


def find_quoted_instructions(turn: Turn, parts: TurnParts | None = None) -> tuple[Candidate, ...]:
    """Pending candidates of the instructions that a user pasted, word for word; at most 3. `parts` are those of the
    turn, where they are known."""
    quotes = (parts or split_quoted(turn)).quotes if turn.role == "user" else ()
    sentences = dict.fromkeys(sentence for text in quotes for sentence in find_instructions(text))
    return tuple(
        Candidate(
            text=sentence[:_LONGEST],
            category="activity",
            kind="episodic",
            importance=1,
            confidence=0.5,
            trust="document",
            turns=(turn.id,),
            actor=turn.actor,
            role=turn.role,
            state="pending",
        )
        for sentence in list(sentences)[:_MOST]
    )


def hold_instruction(candidate: Candidate) -> Candidate:
    """The candidate, pending if a tool or a document states it and it instructs.

    A statement of theirs about what the user wants is an instruction, too."""
    is_ordered = candidate.trust in _FOREIGN and is_instruction(candidate.text)
    return replace(candidate, state="pending") if is_ordered else candidate


def weigh_trust(candidate: Candidate, turns: Sequence[Turn]) -> Candidate:
    """The candidate with the trust of the words that state it, pending if those instruct.

    `turns` are its supporting turns and those that were read with them. Of the parts with most of its words, or nearly,
    the most trusted one counts. A candidate that shares no words, such as a translation, has the least trust of its
    supporting turns."""
    lexemes = tokens.get_lexeme_set(candidate.text)
    sources = [source for turn in turns for source in _find_sources(turn, candidate, lexemes)]
    best = max((source.overlap for source in sources), default=0.0)
    if best >= _SOME:
        trust = max(
            (source.trust for source in sources if source.overlap >= best * _NEARLY), key=TRUST_RANK.__getitem__
        )
    else:
        trust = min(
            (source.trust for source in sources if source.is_cited), key=TRUST_RANK.__getitem__, default=candidate.trust
        )
    is_ordered = trust in _FOREIGN and any(
        best < _SOME or _measure_overlap(lexemes, order) >= _SHARED  # no overlap: perhaps another language
        for source in sources
        if source.trust in _FOREIGN
        for order in find_instructions(source.text)
    )
    return hold_instruction(replace(candidate, trust=trust, state="pending" if is_ordered else candidate.state))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A part of a turn, with the share in [0, 1] of a statement's words that it has."""

    text: str
    trust: Trust
    is_cited: bool
    overlap: float


def _find_sources(turn: Turn, candidate: Candidate, lexemes: frozenset[str]) -> Iterator[_Source]:
    parts = split_quoted(turn)
    pasted: Trust = "document" if turn.source == "user" else turn.source
    own: list[tuple[Trust, str]] = [("user", parts.own_text)] if parts.own_text.strip() else []
    for trust, text in [*own, *((pasted, quote) for quote in parts.quotes)]:
        yield _Source(
            text=text, trust=trust, is_cited=turn.id in candidate.turns, overlap=_measure_overlap(lexemes, text)
        )


def _measure_overlap(lexemes: frozenset[str], text: str) -> float:
    return len(lexemes & tokens.get_lexeme_set(text)) / len(lexemes) if lexemes else 0.0


_MARK = lazy_compile(r"[\n:：?？\"“「『«<>`\[{]|~~~|[ıİ]")  # a Turkish i is written in any word of the signs
_SIGNS = (*announcements.SIGNS, *documents.SIGNS, *requests.SIGNS)


def may_quote(text: str) -> bool:
    """Whether a text has any mark or word with which a span of pasted text begins; many messages have none."""
    if _MARK.search(text):
        return True
    folded = " ".join(text.casefold().split())
    return any(map(folded.__contains__, _SIGNS))


def find_quoted_spans(text: str) -> list[tuple[int, int]]:
    """The spans of pasted text, sorted; none in a text that `may_quote` passes over."""
    marked = [*_find_fenced(text), *_find_tagged(text), *_find_lines(text)]
    quotes = _find_quotes(text)
    spans = [*marked, *(_select_foreign_quotes(text, quotes) if quotes else ())]
    spans += requests.find_foreign_spans(text)
    spans += documents.find_letter_spans(text)
    spans += documents.find_transcript_spans(text)
    spans += documents.find_listing_spans(text)
    spans += requests.find_ordered_spans(text)
    open_from = min((start for start, end in spans if end == len(text)), default=len(text))
    spans += announcements.find_announced_spans(text, [*marked, *quotes], open_from)
    return sorted(spans)


# The text between marks: fences, triple quotes, tags, quoting lines and quotation marks. A mark of a document's own
# ends no quotation: of several marks of one kind, the text from the first to the last is quoted.

_LONG_QUOTE = 80  # characters; a Chinese one counts three times
_INTRODUCTION = 80  # characters before a quote that are looked at

_FENCE = lazy_compile(r"`{3,}|~{3,}")
_TRIPLE = lazy_compile(r'"""')
_ANGLES = lazy_compile(r"<<<|>>>")
# Of these an opening tag is enough; of others, a pair.
_TAG = lazy_compile(
    r"<(?P<close>/?)(?P<name>(?:e?mail|document|doc|page|web_?page|article|file|transcript|quote|content|context|text"
    r"|message|data|tool_result|output|search_results?|result)\b|[^\W\d][\w-]{0,30})[^<>\n]{0,200}>",
    re.IGNORECASE,
)
_DOCUMENT_TAG = lazy_compile(
    r"e?mail|document|doc|page|web_?page|article|file|transcript|quote|content|context|text|message|data|tool_result"
    r"|output|search_results?|result",
    re.IGNORECASE,
)
_FORMAT_TAG = lazy_compile(
    r"[abiqsu]|br|em|strong|sub|sup|del|ins|code|span|small|big", re.IGNORECASE
)  # inside a sentence
_QUOTING_LINE = lazy_compile(r"^[ \t]*>.*$", re.MULTILINE)
_RULE = lazy_compile(r"^[ \t]*(?:[-=*_#]{3,}|\W{0,6}(?:BEGIN|END)\b[^\n]{0,40})[ \t]*$", re.MULTILINE)
_STRAIGHT = lazy_compile(r'(?<!\d)"[^"]{2,4000}"')  # after a number it means inches
_PAIRS = {"「": "」", "『": "』", "«": "»", "“": "”"}
_PAIRED = lazy_compile("[" + "".join([*_PAIRS, *_PAIRS.values()]) + "]")
# A clause in the first person: a name or a title has only capitals beside it.
_FIRST_PERSON = lazy_compile(r"\b(?:I|i|[Mm]y|[Ww]e|[Oo]ur)\b(?=.*\b[a-z]{3,}\b)|[我咱俺]", re.DOTALL)
_LETTER = 3  # characters with the marks; a letter is no quote
_FEW = 8  # characters; a shorter quote is a name


def _find_quotes(text: str) -> list[tuple[int, int]]:
    """The spans between quotation marks, the outermost of nested ones."""
    spans = [match.span() for match in _STRAIGHT.finditer(text)]
    opened: list[tuple[str, int]] = []
    for mark in _PAIRED.finditer(text):
        closing = mark.group()
        if closing in _PAIRS:
            opened.append((_PAIRS[closing], mark.start()))
            continue
        start = -1
        while opened and start < 0:  # a mark that is left open inside ends with those around it
            kind, at = opened.pop()
            start = at if kind == closing else -1
        if start >= 0 and not opened and mark.end() - start > _LETTER:
            spans.append((start, mark.end()))
    return spans


def _select_foreign_quotes(text: str, quotes: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Those of the quotes that are another's words: long ones, instructions, and first persons that a person does not
    report of themselves."""
    for start, end in quotes:
        inside = text[start + 1 : end - 1]
        if (
            end - start + 2 * len(CJK.findall(inside)) >= _LONG_QUOTE
            or has_instructions(inside)
            or (
                len(inside) + len(CJK.findall(inside)) >= _FEW
                and _FIRST_PERSON.search(inside)
                and not leads.is_own_speech(text[max(0, start - _INTRODUCTION) : start])
            )
        ):
            yield start, end


def _find_lines(text: str) -> Iterator[tuple[int, int]]:
    rules = list(_RULE.finditer(text))
    if len(rules) > 1:
        yield rules[0].start(), rules[-1].end()
    yield from (match.span() for match in _QUOTING_LINE.finditer(text))


def _find_fenced(text: str) -> Iterator[tuple[int, int]]:
    """From the first mark of a kind to the last one; to the end of the text where one is left open."""
    for pattern in (_FENCE, _TRIPLE):
        found = list(pattern.finditer(text))
        kinds = [mark.group() for mark in found]
        if found:
            is_closed = kinds[0] == kinds[-1] and kinds.count(kinds[0]) % 2 == 0
            yield found[0].start(), found[-1].end() if is_closed else len(text)
    found = list(_ANGLES.finditer(text))
    start = next((mark.start() for mark in found if mark.group() == "<<<"), None)
    if start is not None:
        last = found[-1]
        yield start, last.end() if last.group() == ">>>" else len(text)


def _find_tagged(text: str) -> Iterator[tuple[int, int]]:
    """From the first opening tag of a name to its last closing tag."""
    opened: dict[str, int] = {}
    closed: dict[str, int] = {}
    for tag in _TAG.finditer(text):
        name = tag["name"].lower()
        if _FORMAT_TAG.fullmatch(name):
            continue
        if tag["close"]:
            closed[name] = tag.end()
        else:
            opened.setdefault(name, tag.start())
    for name, start in opened.items():
        end = closed.get(name, 0)
        if end > start:
            yield start, end
        elif _DOCUMENT_TAG.fullmatch(name):
            yield start, len(text)


# What memory put before a model, by the hashes of its words, and the replies that quote it: what repeats memory is no
# evidence of it.

_SEQUENCE = 3  # lexemes of a sequence; a Chinese lexeme is a pair of characters
_MOSTLY = 0.6  # of a statement's sequences, or of its words
_NEARLY_ALL, _SOME_PAIRS, _MOST_PAIRS = 0.9, 0.3, 0.7
_MOST_HASHES = 4_000  # hashes of a turn
_OWN_REPLY = lazy_compile(
    r"^(?:I have read that\.|From memory:|I have nothing in memory about that\.|What I do know about you:"
    r"|Your message has no text that I can read\.|No model is configured, so I can only quote memory\."
    r"|Memory updates since rev \d)",
    re.MULTILINE,
)


def hash_shingles(texts: Iterable[str]) -> tuple[int, ...]:
    """The hashes, 63 bits each, of the word sequences of each line, at most 4,000.

    The words of a sequence are sorted, so that their order changes nothing."""
    hashes: dict[int, None] = {}
    for text in texts:
        for line in text.splitlines():
            hashes.update(dict.fromkeys(_hash_line(line)))
    return tuple(hashes)[:_MOST_HASHES]


@lru_cache(maxsize=4_096)
def _hash_line(line: str) -> tuple[int, ...]:
    """Cached, because the same memories come before the model again and again."""
    lexemes = list(tokens.extract_lexemes(line))
    return tuple(hashed for size in range(1, _SEQUENCE + 1) for hashed in _hash_sequences(lexemes, size))


def is_repetition(statement: str, recalled_hashes: Iterable[int]) -> bool:
    """Whether the recalled hashes have most sequences of a statement, or all its words and some of its pairs."""
    hashes, groups = frozenset(recalled_hashes), _group_shingles(statement)
    if not groups:
        return False
    alone, pairs, longest = (len(group & hashes) / len(group) for group in groups)
    # A Chinese lexeme is a pair of characters, and half of the pairs join two words.
    rearranged = (alone >= _NEARLY_ALL and pairs >= _SOME_PAIRS) or (tokens.has_cjk(statement) and alone >= _MOST_PAIRS)
    return longest >= _MOSTLY or rearranged


@lru_cache(maxsize=4_096)
def _group_shingles(statement: str) -> tuple[frozenset[int], ...]:
    """The hashed sequences of one, two and three words. Cached, because a statement is compared with many turns."""
    lexemes = list(tokens.extract_lexemes(statement))
    sizes = (1, 2, _SEQUENCE) if lexemes else ()
    return tuple(frozenset(_hash_sequences(lexemes, min(size, len(lexemes)))) for size in sizes)


def is_echo(candidate: Candidate, turns: Sequence[Turn]) -> bool:
    """Whether a candidate repeats what memory put before the model in one of these turns, and no person states it.

    A person states it if the person's own words in the supporting turns have most of its words."""
    recalled = {hashed for turn in turns for hashed in turn.recalled}
    if not recalled or not is_repetition(candidate.text, recalled):
        return False
    lexemes = tokens.get_lexeme_set(candidate.text)
    own_texts = [split_quoted(turn).own_text for turn in turns if turn.id in candidate.turns]
    return len(lexemes & tokens.get_lexeme_set("\n".join(own_texts))) < _MOSTLY * len(lexemes)


def _hash_sequences(lexemes: Sequence[str], size: int) -> Iterator[int]:
    for start in range(len(lexemes) - size + 1):
        key = "\x1f".join(sorted(lexemes[start : start + size]))
        yield int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big") >> 1


def is_own_reply(turn: Turn) -> bool:
    """Whether the turn is a reply that quotes memory without a model."""
    return turn.role == "assistant" and _OWN_REPLY.search(turn.text) is not None
