"""mem0's own store and search on given texts and vectors; runs in an environment of its own, which has mem0ai.

It reads one JSON object from standard input (`texts` with `vectors`, `questions` with `question_vectors`) and writes
one: `memories`, as `get_all` returns them, and for each question the positions of the texts that `search` found."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from typing import Any

_USER = "ana"
_FOUND = 10


class GivenVectors:
    """An embedder that knows the vector of each text beforehand."""

    def __init__(self, vectors: dict[str, list[float]]) -> None:
        self.config = None
        self._vectors = vectors

    def embed(self, text: str, *_: object, **__: object) -> list[float]:
        return self._vectors[text]

    def embed_batch(self, texts: list[str], *_: object, **__: object) -> list[list[float]]:
        return [self._vectors[text] for text in texts]


def main() -> None:
    given = json.load(sys.stdin)
    os.environ |= {"MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "none"}
    # mem0 reads the environment when it is imported.
    from mem0 import Memory

    vectors = dict(zip(given["texts"], given["vectors"], strict=True))
    vectors |= dict(zip(given["questions"], given["question_vectors"], strict=True))
    with tempfile.TemporaryDirectory() as folder:
        os.environ["MEM0_DIR"] = folder
        store = {"path": f"{folder}/qdrant", "embedding_model_dims": len(given["vectors"][0])}
        memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "history_db_path": f"{folder}/history.db",
            }
        )
        memory.embedding_model = GivenVectors(vectors)
        for position, text in enumerate(given["texts"]):
            memory.add(text, user_id=_USER, metadata={"position": position}, infer=False)
        filters: dict[str, Any] = {"user_id": _USER}
        found = [
            [
                each["metadata"]["position"]
                for each in memory.search(question, filters=filters, top_k=_FOUND, threshold=0.0)["results"]
            ]
            for question in given["questions"]
        ]
        kept = memory.get_all(filters=filters, top_k=10 * len(given["texts"]))
        json.dump({"memories": kept, "found": found}, sys.stdout)


if __name__ == "__main__":
    main()
