"""The vectors that all who take part share: each text is embedded once, or, when it is timed, each time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from langchain_core.embeddings import Embeddings

from muniment.memory.domain.ids import Vector
from muniment.memory.ports.embedders import Embedder


class Vectors:
    """An embedder that keeps every vector. While `working`, the one behind it makes known ones again, for the time."""

    def __init__(self, behind: Embedder) -> None:
        self.name, self.working = behind.name, False
        self._behind, self._asked = behind, 0
        self._known: dict[tuple[bool, str], Vector] = {}

    async def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors of texts."""
        new = [text for text in dict.fromkeys(texts) if (False, text) not in self._known]
        if new:
            made = await self._behind.embed_documents(new)
            self._known |= {(False, text): vector for text, vector in zip(new, made, strict=True)}
        elif self.working and texts:
            await self._behind.embed_documents([self._make_unknown(text) for text in texts])
        return [self._known[False, text] for text in texts]

    async def embed_query(self, text: str) -> Vector:
        """Return the vector of a question."""
        known = self._known.get((True, text))
        if known is None:
            known = self._known[True, text] = await self._behind.embed_query(text)
        elif self.working:
            await self._behind.embed_query(self._make_unknown(text))
        return known

    async def prepare(self, texts: Iterable[str], questions: Iterable[str], batch: int = 32) -> int:
        """Embed what will be needed, and return the number of dimensions."""
        waiting = list(texts)
        for start in range(0, len(waiting), batch):
            await self.embed_documents(waiting[start : start + batch])
        for question in questions:
            await self.embed_query(question)
        return len(next(iter(self._known.values())))

    def list_known(self) -> Iterator[tuple[bool, str, list[float]]]:
        """Yield every vector as `(whether it is a question's, the text, the vector)`."""
        for (query, text), vector in self._known.items():
            yield query, text, vector.tolist()

    def _make_unknown(self, text: str) -> str:
        """The text with a number, which keeps it out of the embedder's own cache."""
        self._asked += 1
        return f"{text} {self._asked}"

    async def close(self) -> None:
        """Leave the embedder behind it open: the benchmark closes it."""


class Langchain(Embeddings):
    """The same as LangChain's embeddings, by which LangGraph's stores tell a question from a text."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of texts."""
        return [vector.tolist() for vector in await self._vectors.embed_documents(texts)]

    async def aembed_query(self, text: str) -> list[float]:
        """Return the vector of a question."""
        vector: list[float] = (await self._vectors.embed_query(text)).tolist()
        return vector

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Raise: the benchmark calls the stores by their asynchronous calls alone."""
        raise NotImplementedError

    def embed_query(self, text: str) -> list[float]:
        """Raise: the benchmark calls the stores by their asynchronous calls alone."""
        raise NotImplementedError
