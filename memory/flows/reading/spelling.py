"""Typing errors in a query: the words of a space are read for a word that none of its memories has."""

from __future__ import annotations

from dataclasses import dataclass, replace

from muniment.memory.config.settings import Settings
from muniment.memory.domain.ids import Revision
from muniment.memory.domain.scope import Reader
from muniment.memory.domain.search import Search, SearchSnapshot
from muniment.memory.ports.reads import MemoryReads
from muniment.memory.rules.redaction.redact import Redactor
from muniment.memory.rules.retrieval.render import choose_vocabulary
from muniment.memory.rules.retrieval.spelling import correct_words, find_unknown_words


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Spelling:
    """Reads typing errors as the words that memories have, as far as the reader may read them."""

    reads: MemoryReads
    redactor: Redactor
    settings: Settings

    async def correct_text(
        self, reader: Reader, text: str, search: Search, snapshot: SearchSnapshot, as_of: Revision | None
    ) -> str | None:
        """Return the text of a query without its typing errors, or None where there are none.

        Memories are read again only for a word that none of them has and that no vocabulary knows."""
        if not snapshot.missing_terms:
            return None
        safe = self.redactor.sanitize_text(text)[: self.settings.limits.query_chars]
        unknown = find_unknown_words(safe, snapshot.missing_terms, choose_vocabulary(self.settings.chat_model))
        if not unknown:
            return None
        asked = replace(search, beginnings=tuple(sorted({word[0] for word in unknown})))
        words = (await self.reads.read_snapshot(reader, asked, as_of=as_of)).words
        return correct_words(safe, unknown, words)
