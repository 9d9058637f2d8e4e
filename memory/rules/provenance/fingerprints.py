"""Hashes of what memory put before a model, and the replies that quote it: what repeats memory is no evidence of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b

from muniment.memory.domain.turn import Candidate, Turn
from muniment.memory.rules.language import tokens
from muniment.memory.rules.language.lazy_regex import lazy_compile
from muniment.memory.rules.provenance.quoted import split_quoted

_LONGEST = 3  # lexemes of a sequence; a Chinese lexeme is a pair of characters
_MOSTLY = 0.6  # of a statement's sequences, or of its words
_NEARLY_ALL, _SOME, _MOST_PAIRS = 0.9, 0.3, 0.7
_MOST = 4_000  # hashes of a turn
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
    return tuple(hashes)[:_MOST]


@lru_cache(maxsize=4_096)
def _hash_line(line: str) -> tuple[int, ...]:
    """Cached, because the same memories come before the model again and again."""
    lexemes = list(tokens.extract_lexemes(line))
    return tuple(hashed for size in range(1, _LONGEST + 1) for hashed in _hash_sequences(lexemes, size))


def is_repetition(statement: str, recalled_hashes: Iterable[int]) -> bool:
    """Whether the recalled hashes have most sequences of a statement, or all its words and some of its pairs."""
    hashes, groups = frozenset(recalled_hashes), _group_shingles(statement)
    if not groups:
        return False
    alone, pairs, longest = (len(group & hashes) / len(group) for group in groups)
    # A Chinese lexeme is a pair of characters, and half of the pairs join two words.
    rearranged = (alone >= _NEARLY_ALL and pairs >= _SOME) or (tokens.has_cjk(statement) and alone >= _MOST_PAIRS)
    return longest >= _MOSTLY or rearranged


@lru_cache(maxsize=4_096)
def _group_shingles(statement: str) -> tuple[frozenset[int], ...]:
    """The hashed sequences of one, two and three words. Cached, because a statement is compared with many turns."""
    lexemes = list(tokens.extract_lexemes(statement))
    sizes = (1, 2, _LONGEST) if lexemes else ()
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
