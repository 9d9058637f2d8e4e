"""A reranker that needs no second model: texts beside a question, token by token, as the offline embedder reads them.

The sum over the question's tokens of each one's best match in a text is the late interaction (MaxSim) of ColBERT
(Khattab & Zaharia 2020), here with the token states of a model that was trained for one vector a text."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from muniment.memory.errors import ModelUnavailable
from muniment.memory.models.embedders import OnnxEmbedder, Tokens
from muniment.memory.models.sharing import TextCache

TOKENS = 128  # of a text that are read: what takes longer would keep a reply waiting
CACHED = 512  # texts: 10 MB where they are sentences, 50 MB at most
# What the mean best match has less than the cosine of the same texts: 0.027 to 0.041 in two sets of dialogue, of the sixteen
# best for own and for foreign questions.
BELOW = 0.03


class TokenReranker:
    """Compares with the model of `embedder`, which stays its owner's to close. `workers` texts are read at the same time."""

    def __init__(self, embedder: OnnxEmbedder, *, workers: int | None = None) -> None:
        self._embedder = embedder
        self._pool = ThreadPoolExecutor(workers or min(4, os.cpu_count() or 1), thread_name_prefix="reranker")
        self._cache: TextCache[Tokens] = TextCache(CACHED)
        self._closed = False

    async def alike(self, question: str, texts: Sequence[str]) -> list[float]:
        """The mean over the question's tokens of the cosine of each to the nearest in a text, and BELOW; 0 where one of both has
        none. A token counts by its IDF among these texts: what all of them have tells none apart.

        Raises ModelUnavailable after `close`, BadConfig if the model's files cannot be had."""
        asked, *said = await asyncio.gather(*map(self._tokens, (question, *texts)))
        found = np.array([sum(token in one.ids for one in said) for token in asked.ids], dtype=np.float32)
        weights = np.log1p((len(said) - found + 0.5) / (found + 0.5))
        weights /= weights.sum() if len(weights) else 1
        words = asked.vectors.astype(np.float32)
        return [
            BELOW + float((words @ one.vectors.astype(np.float32).T).max(axis=1) @ weights)
            if asked.ids and one.ids
            else 0.0
            for one in said
        ]

    async def close(self) -> None:
        """Let the running texts finish."""
        self._closed = True
        await asyncio.to_thread(self._pool.shutdown, wait=True, cancel_futures=True)

    async def _tokens(self, text: str) -> Tokens:
        if self._closed:
            raise ModelUnavailable("The reranker has been closed.")
        known = self._cache.get(text)
        if known is None:
            known = await asyncio.get_running_loop().run_in_executor(self._pool, self._embedder.tokens, text, TOKENS)
            self._cache.put(text, known)
        return known
