"""Typing errors in a query: the words of a space are read for a word that none of its memories has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.query import Query
from muniment.memory.domain.scope import Reader
from muniment.memory.domain.search import Search
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.rules.redaction.redact import Redactor
from muniment.memory.rules.retrieval.spelling import correct_words


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spelling:
    """Reads typing errors as the words that memories have, as far as the reader may read them."""

    reads: MemoryReads
    redactor: Redactor
    settings: Settings

    async def correct_query(
        self, reader: Reader, query: Query, search: Search, unknown: Sequence[str], as_of: Revision | None
    ) -> Query:
        """Return the query with its `unknown` words read as words of memories, itself where none is near enough."""
        most = self.settings.limits.query_chars  # a secret that it cuts is looked at with what follows
        text = self.redactor.sanitize_text(query.text[: 2 * most])[:most]
        asked = replace(search, beginnings=tuple(sorted({word[0] for word in unknown})))
        words = (await self.reads.read_snapshot(reader, asked, as_of=as_of)).words
        corrected = correct_words(text, unknown, words)
        return query if corrected is None else replace(query, text=corrected)
