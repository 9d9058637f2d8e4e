"""The side of a peer: it answers one JSON object a line, and asks for its vectors the same way.

A request is `{"id", "call", ...}`; its reply is `{"id", "result", "seconds"}` or `{"id", "error"}`. Within a call the
peer may send `{"embed": [texts], "query": bool}`, which is answered by `{"vectors": [...]}`. Only the standard library
is used here: a peer has an environment of its own."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, Protocol, TextIO


class Store(Protocol):
    """What every peer can be asked for. A call that its library does not have raises NotImplementedError."""

    def load(self, user: str, items: Sequence[Mapping[str, str]]) -> int:
        """Store `{"key", "text"}` each, by the library's way for many, and return how many it took."""
        ...

    def add(self, user: str, key: str, text: str) -> str:
        """Store one statement and return the id that the library gives it; empty where it keeps nothing of it."""
        ...

    def search(self, user: str, text: str, k: int) -> list[dict[str, str]]:
        """Return at most `k` hits, best first, as `{"id", "key", "text"}`."""
        ...

    def change(self, user: str, ref: str, text: str) -> None:
        """Give a statement other words by the library's own call."""
        ...

    def history(self, user: str, ref: str) -> list[str]:
        """Return the words that a statement had and has."""
        ...

    def delete(self, user: str, ref: str) -> None:
        """Delete a statement by the library's own call."""
        ...

    def erase(self, user: str, ref: str) -> None:
        """Remove a statement by the most thorough call that the library has."""
        ...


class Lines:
    """The pipe to the benchmark. What the library prints goes to standard error, so that it cannot break a line."""

    def __init__(self, reads: TextIO, writes: TextIO) -> None:
        self._reads, self._writes = reads, writes

    def read_object(self) -> dict[str, Any] | None:
        """Return the next object; None at the end."""
        line = self._reads.readline()
        return json.loads(line) if line else None

    def write_object(self, found: Mapping[str, Any]) -> None:
        """Send an object."""
        self._writes.write(json.dumps(found, ensure_ascii=False) + "\n")
        self._writes.flush()

    def embed(self, texts: Sequence[str], *, query: bool) -> list[list[float]]:
        """Return the vectors of texts, or of questions, which the benchmark has or makes."""
        self.write_object({"embed": list(texts), "query": query})
        answer = self.read_object()
        if answer is None:
            raise EOFError("the benchmark went away while a vector was made")
        return [list(map(float, vector)) for vector in answer["vectors"]]


class Vectors:
    """The vectors of a peer: those that it was given beforehand, and the benchmark's embedder for the others."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        self.known: dict[tuple[bool, str], list[float]] = {}

    def embed(self, texts: Sequence[str], *, query: bool) -> list[list[float]]:
        """Return the vector of each text."""
        new = [text for text in dict.fromkeys(texts) if (query, text) not in self.known]
        made = dict(zip(new, self._lines.embed(new, query=query), strict=True)) if new else {}
        return [made[text] if text in made else self.known[query, text] for text in texts]

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors of texts, as LangChain's embeddings do."""
        return self.embed(texts, query=False)

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question, as LangChain's embeddings do."""
        return self.embed([text], query=True)[0]


Make = Callable[[Mapping[str, Any], Vectors], Store]


def serve(make: Make) -> None:
    """Answer requests until the benchmark closes the pipe. The first one is `open`, with what `make` needs."""
    lines = Lines(sys.stdin, sys.stdout)
    sys.stdout = sys.stderr
    vectors = Vectors(lines)
    store: Store | None = None
    while (request := lines.read_object()) is not None:
        number, call = request.pop("id"), request.pop("call")
        try:
            started = perf_counter()
            if call == "open":
                store, result = make(request, vectors), None
            elif call == "know":
                vectors.known = _read_vectors(request["file"])
                result = len(vectors.known)
            else:
                result = getattr(store, call)(**request)
            seconds = perf_counter() - started
        except EOFError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the library raises is its answer to the benchmark
            lines.write_object({"id": number, "error": f"{type(error).__name__}: {error}"})
        else:
            lines.write_object({"id": number, "result": result, "seconds": seconds})


def _read_vectors(file: str | None) -> dict[tuple[bool, str], list[float]]:
    """The vectors of a file, a JSON array of `[query, text, vector]`; none of no file."""
    if file is None:
        return {}
    return {(query, text): vector for query, text, vector in json.loads(Path(file).read_text(encoding="utf-8"))}
