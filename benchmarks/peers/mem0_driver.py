"""mem0 as it takes part: `infer=False`, its pgvector store, its history file; run in the environment of the peers.

Its vectors are those of the benchmark: the class that its factory makes for an embedder's name is this one's. A model
to extract with is never called; the client of one, which mem0 makes in any case, has no key and no address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mem0 import Memory
from mem0.embeddings.base import EmbeddingBase
from mem0.utils.factory import EmbedderFactory

from benchmarks.peers.wire import Store, Vectors

_NAME = "langchain"  # an embedder's name that mem0 accepts
_NOWHERE = "http://127.0.0.1:9/v1"


class Embedding(EmbeddingBase):  # type: ignore[misc]  # mem0 is in an environment of its own
    """mem0's hook for an embedder: it says for what it wants a vector."""

    vectors: Vectors

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Return the vector of a question for a search, of a text else."""
        return self.vectors.embed([text], query=memory_action == "search")[0]


class Mem0:
    """The calls of `mem0.Memory`; a statement is the message of a user."""

    def __init__(self, memory: Any) -> None:
        self._memory = memory
        self._keys: dict[str, str] = {}

    def load(self, user: str, items: Sequence[Mapping[str, str]]) -> int:
        """`add` with all messages at once."""
        messages = [{"role": "user", "content": item["text"]} for item in items]
        kept = self._memory.add(messages, user_id=user, infer=False)["results"]
        self._keys |= {one["id"]: item["key"] for one, item in zip(kept, items, strict=True)}
        return len(kept)

    def add(self, user: str, key: str, text: str) -> str:
        """`add` with one message."""
        kept = self._memory.add([{"role": "user", "content": text}], user_id=user, infer=False)["results"]
        id_ = str(kept[0]["id"]) if kept else ""
        self._keys[id_] = key
        return id_

    def search(self, user: str, text: str, k: int) -> list[dict[str, str]]:
        """`search`, without a threshold."""
        found = self._memory.search(text, top_k=k, filters={"user_id": user}, threshold=0.0)["results"]
        return [{"id": one["id"], "key": self._keys.get(one["id"], ""), "text": one["memory"]} for one in found]

    def change(self, user: str, ref: str, text: str) -> None:  # noqa: ARG002 - an id of mem0 is enough
        """`update`."""
        self._memory.update(ref, text=text)

    def history(self, user: str, ref: str) -> list[str]:  # noqa: ARG002 - an id of mem0 is enough
        """`history`."""
        lines = self._memory.history(ref)
        return [str(line[part]) for line in lines for part in ("old_memory", "new_memory") if line.get(part)]

    def delete(self, user: str, ref: str) -> None:  # noqa: ARG002 - an id of mem0 is enough
        """`delete`."""
        self._memory.delete(ref)

    def erase(self, user: str, ref: str) -> None:  # noqa: ARG002 - all of the user goes
        """`delete_all` of the user: mem0 has no other way that is meant to leave less."""
        self._memory.delete_all(user_id=user)


def make_store(given: Mapping[str, Any], vectors: Vectors) -> Store:
    """Open mem0 on a database, with its files in a folder."""
    Embedding.vectors = vectors
    EmbedderFactory.provider_to_class[_NAME] = f"{__name__}.{Embedding.__name__}"
    pgvector = {
        "connection_string": given["dsn"],
        "embedding_model_dims": given["dims"],
        "collection_name": "memories",
        "maxconn": given["connections"],
    }
    return Mem0(
        Memory.from_config(
            {
                "vector_store": {"provider": "pgvector", "config": pgvector},
                "embedder": {"provider": _NAME, "config": {"embedding_dims": given["dims"]}},
                "llm": {"provider": "openai", "config": {"api_key": "none", "openai_base_url": _NOWHERE}},
                "history_db_path": str(Path(given["folder"]) / "history.db"),
            }
        )
    )
