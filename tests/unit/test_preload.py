"""A service answers while its model is loaded, and its first question does not load it."""

from __future__ import annotations

import asyncio
import threading

from muniment.memory.errors import BadConfig
from muniment.memory.models.preload import load_in_background
from muniment.testing import HashEmbedder


class LoadedEmbedder(HashEmbedder):
    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.began, self.may_end, self.error = threading.Event(), threading.Event(), error
        self.is_loaded = False

    def load_model(self) -> None:
        self.began.set()
        self.may_end.wait(10)
        if self.error:
            raise self.error
        self.is_loaded = True


async def test_the_block_runs_while_the_model_is_loaded() -> None:
    embedder = LoadedEmbedder()
    async with load_in_background(embedder):
        while not embedder.began.is_set():
            await _pause()
        assert not embedder.is_loaded
        embedder.may_end.set()
        while not embedder.is_loaded:
            await _pause()


async def test_a_model_that_cannot_be_had_stops_nothing() -> None:
    embedder = LoadedEmbedder(BadConfig("embedder_folder: cannot be written"))
    embedder.may_end.set()
    async with load_in_background(embedder):
        while not embedder.began.is_set():
            await _pause()
        await _pause()


async def test_an_embedder_without_a_model_is_let_be() -> None:
    async with load_in_background(HashEmbedder()):
        pass


async def _pause() -> None:
    await asyncio.sleep(0.01)
