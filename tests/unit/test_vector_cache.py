"""The cache of vectors: its size, what it keeps, and threads that share it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from muniment.memory.domain.ids import Vector
from muniment.memory.models.sharing import CACHE_SIZE, VectorCache


def test_the_cache_keeps_the_last_used_and_no_more() -> None:
    """By use, not by age, and it counts what it had."""
    cache, vector = VectorCache(2), np.ones(1, dtype=np.float32)
    cache.put("a", vector)
    cache.put("b", vector)
    cached: Vector | None = cache.get("a")
    cache.put("c", vector)
    assert cached is vector
    assert (cache.get("a") is vector, cache.get("b"), len(cache)) == (True, None, 2)
    assert (cache.hits, cache.misses) == (2, 1)


def test_a_cache_without_a_size_is_bounded() -> None:
    """The oldest vector makes room for the one that is too many."""
    cache, vector = VectorCache(), np.ones(1, dtype=np.float32)
    for n in range(CACHE_SIZE + 1):
        cache.put(str(n), vector)
    assert len(cache) == CACHE_SIZE
    assert cache.get("0") is None
    assert cache.get(str(CACHE_SIZE)) is vector


def test_threads_may_share_the_cache() -> None:
    """It never has more than it may, and never another text's vector."""
    cache = VectorCache(50)
    vectors = {f"text {n}": np.full(1, n, dtype=np.float32) for n in range(80)}

    def use(seed: int) -> int:
        wrong = 0
        for n in range(4_000):
            text = f"text {n * seed % 80}"
            found = cache.get(text)
            wrong += found is not None and found is not vectors[text]
            cache.put(text, vectors[text])
        return wrong

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(use, (1, 7, 11, 13))) == 0
    assert len(cache) == 50
    assert cache.hits + cache.misses == 16_000
